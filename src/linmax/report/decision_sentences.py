"""Sentences about decisions: answers within an error limit, sets of classes, costs and drift."""

from __future__ import annotations

import math

from linmax.evaluate.consultation import Replay
from linmax.evaluate.findings.decisions import DriftSummary
from linmax.evaluate.findings.findings import Findings
from linmax.fusion.consult.settlement import NEVER_SETTLED
from linmax.report.text import count, label, percent

SHOWN_EXPERTS = 5
"""Experts in the sentence on an alarm."""
SHOWN_ALARMS = 5
"""Alarms with a sentence of their own."""
SHOWN_PLURALITY = (1, 2, 3, 5, 10, 20, 50)
"""Of how many experts the plurality is shown."""


def describe_decisions(findings: Findings) -> list[str]:
    """Return a sentence each on the answers, sets and costs that were asked for, and on alarms of drift.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    found = findings.decisions
    if found is None:
        return []
    sentences = []
    continued = found.trials > findings.trials
    whole = f" (of all {count(found.trials)} that the model has learned)" if continued else ""
    if found.limit is not None:
        one = found.limit
        wrong = f", of which {percent(one.wrong / one.answered)} were wrong" if one.answered else ""
        sentences.append(
            f"With at most {percent(one.max_error)} wrong answers at a confidence of 95 %,"
            f" {count(one.answered)} of {count(one.items)} items"
            f" ({percent(one.answered / max(1, one.items))}) were answered{wrong}."
        )
        if not one.answered:
            sentences.append("Nothing is answered until enough labels show that so few errors are possible.")
    if found.asked is not None:
        size = "" if found.asked.size is None else f", with {found.asked.size:.2f} classes on average"
        sentences.append(
            f"Of the sets with a coverage of {percent(found.asked.coverage)},"
            f" {percent(found.asked.observed)} had the label{whole}{size}."
        )
    if found.cost is not None:
        each = found.cost / max(1, found.trials)
        sentences.append(f"The mistakes cost {found.cost:,.6g} in all, {each:.3g} per labelled item{whole}.")
    sentences += [describe_alarm(alarm) for alarm in found.drift[:SHOWN_ALARMS]]
    if len(found.drift) > SHOWN_ALARMS:
        sentences.append(f"There were {count(len(found.drift))} alarms of drift in all.")
    return sentences


def answer_rows(findings: Findings) -> list[tuple[str, str, str, str]]:
    """Return the table of answers: the limit, items answered, errors among them, and least probability.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    if findings.decisions is None:
        return []
    return [
        (
            percent(one.max_error),
            percent(one.answered),
            "" if one.probability is None else percent(one.error),
            "" if one.probability is None else f"{one.probability:.4g}",
        )
        for one in findings.decisions.answers
    ]


def strategy_table(replay: Replay) -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of a table of strategies: what they cost, and how accurate they are.

    Parameters
    ----------
    replay : Replay
        The strategies; everybody is in the first row, and consultations are next.
    """
    plurality = [one for one in replay.others if one.name.startswith("plurality")]
    shown = [plurality[m - 1] for m in SHOWN_PLURALITY if m <= len(plurality)]
    strategies = [replay.everybody, *replay.consultations, *replay.others[:2], *shown, *replay.subsets]
    rows = []
    for one in strategies:
        saved = f"{1.0 - one.cost / replay.everybody.cost:.1%}" if replay.everybody.cost else ""
        accuracy, changed = (
            "" if math.isnan(part) else f"{part:.2%}" for part in (one.accuracy, one.changed)
        )
        cost = [f"{one.cost:.4g}"] if replay.priced else []
        rows.append([one.name, f"{one.asked:.2f}", *cost, saved, accuracy, changed])
    return ["strategy", "asked", *(["cost"] if replay.priced else []), "saved", "accuracy", "changed"], rows


def why_nothing_is_saved(replay: Replay) -> str:
    """Return why consultations with risk 0 ask everybody; empty if they do not.

    Parameters
    ----------
    replay : Replay
        The strategies, of which risk 0 is the first consultation.
    """
    if replay.consultations[0].asked < replay.everybody.asked:
        return ""
    if replay.limit in NEVER_SETTLED:
        why = "no prediction of this learner is proved to be settled before"
    elif replay.limit:
        why = replay.limit
    elif replay.everybody.asked <= 1.0:
        why = "there is one expert to ask"
    else:
        why = "on these items, no prediction was settled before the last answers"
    return f"Risk 0 asks everybody: {why}."


def describe_alarm(alarm: DriftSummary) -> str:
    """Return when the share of mistakes rose, by how much, and whose accuracy changed.

    Parameters
    ----------
    alarm : DriftSummary
        The alarm.

    Examples
    --------
    >>> print(describe_alarm(DriftSummary(3104, 3008, 0.1, 0.4, [])).replace("\\xa0", " "))
    Drift: after about 3,008 labelled items the mistakes rose from 10.0 % to 40.0 % (noticed after 3,104).
    """
    text = (
        f"Drift: after about {count(alarm.since)} labelled items the mistakes rose from"
        f" {percent(alarm.error_before)} to {percent(alarm.error_after)} (noticed after {count(alarm.trial)})"
    )
    if alarm.experts:
        changes = [
            f"{label(one.name)} {percent(one.before)} to {percent(one.after)}"
            for one in alarm.experts[:SHOWN_EXPERTS]
        ]
        more = len(alarm.experts) - SHOWN_EXPERTS
        text += f"; accuracy of {', '.join(changes)}" + (f" and {count(more)} more" if more > 0 else "")
    return f"{text}."
