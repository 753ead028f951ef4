"""The results of a run in sentences: what to do, why, and how far its probabilities can be believed."""

from __future__ import annotations

from linmax.evaluate.findings.findings import BaselineComparison, Findings, ModelResult
from linmax.evaluate.findings.verdict import DROP_MARGIN
from linmax.evaluate.significance import BETTER, NO_DIFFERENCE, WORSE, Gain
from linmax.report.text import SPACE, decimal, finite, label, p_value, percent, points, things

VERBS = {
    BETTER: "is significantly more accurate than",
    WORSE: "is significantly less accurate than",
    NO_DIFFERENCE: "does not differ significantly from",
}
MAX_DROPPABLE = 20
"""Experts in a sentence."""
BASELINES = {"plurality": "the plurality of the experts", "best expert": "the best expert"}


def answer(findings: Findings) -> str:
    """Return what to do, in one sentence.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    if findings.decision:
        return findings.decision
    if not findings.trials:
        return "No item has a label of a known class, so nothing can be said about accuracy."
    return f"linmax was correct on {percent(findings.accuracy)} of {things(findings.trials, 'item')}."


def is_judged(findings: Findings) -> bool:
    """Return whether differences may be called significant.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    return bool(findings.trials) and findings.verdict != "not judged"


def compared_with(findings: Findings, part: str = "all") -> list[BaselineComparison]:
    """Return the comparisons with the plurality and the best expert on a part of the stream.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    part : {"all", "last half"}
        The part.
    """
    return [
        one
        for one in findings.comparisons
        if one.part == part and one.gain.trials and one.baseline in BASELINES
    ]


def compared(found: list[BaselineComparison]) -> str:
    """Return the results of the tests against the baselines in one sentence.

    Parameters
    ----------
    found : list of BaselineComparison
        The comparisons.

    Examples
    --------
    >>> from linmax.evaluate.significance import gain
    >>> one = BaselineComparison("plurality", "", "all", gain(1000, 60, 30))
    >>> other = BaselineComparison("best expert", "ann", "all", gain(1000, 30, 60))
    >>> print(compared([one, other]))
    linmax is significantly more accurate than the plurality of the experts, but is significantly less
    accurate than the best expert.
    """
    verbs = [VERBS[one.gain.conclusion] for one in found]
    baselines = [BASELINES.get(one.baseline, one.baseline) for one in found]
    if len(set(verbs)) == 1:
        if found[0].gain.conclusion == NO_DIFFERENCE:
            return f"linmax {verbs[0]} {' or '.join(baselines)}."
        return f"linmax {verbs[0]} {'both ' * (len(found) == 2)}{' and '.join(baselines)}."
    parts = [f"{verb} {baseline}" for verb, baseline in zip(verbs, baselines, strict=True)]
    return f"linmax {', but '.join(parts)}."


def account(findings: Findings) -> list[str]:
    """Return the figures behind the answer, in a few sentences.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    if not findings.trials:
        return [_without_labels(findings)]
    how = (
        "all of which were learned before"
        if findings.repeated
        else "each predicted before its label was seen"
    )
    sentences, judged = [], is_judged(findings)
    if judged and compared_with(findings):
        sentences.append(compared(compared_with(findings)))
    if finite(findings.accuracy):
        sentences.append(
            f"Over {things(findings.trials, 'labelled item')}, {how},"
            f" linmax was correct on {percent(findings.accuracy)}."
        )
    named: set[str] = set()
    for part, begin in (("all", "That is"), ("last half", "Over the last half of the stream it is")):
        texts = []
        for one in compared_with(findings, part) if judged else ():
            texts.append(_difference(one, f"95{SPACE}% interval " * (not named), named))
            named.add(one.detail)
        if texts:
            sentences.append(f"{begin} {' and '.join(texts)}.")
    if findings.novel:
        have, are = ("has a label", "is") if findings.novel == 1 else ("have labels", "are")
        sentences.append(
            f"{things(findings.novel, 'more item')} {have} never seen before, and {are} not counted."
        )
    return sentences


def describe_calibration(findings: Findings) -> str:
    """Return how far the probabilities of linmax can be believed, in a sentence; empty if nobody knows.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    found = findings.calibration
    if found is None:
        return ""
    linmax, votes = found
    shares = "" if votes is None else f"; the shares of the votes are off by {points(votes.ece, sign=False)}"
    losses = "" if votes is None else f", that of the shares {decimal(votes.log_loss)}"
    return (
        f"The probabilities of linmax are off by {points(linmax.ece, sign=False)}{SPACE}points on average"
        f" (expected calibration error){shares}. Its log loss is {decimal(linmax.log_loss)}{losses}."
    )


def describe_droppable(findings: Findings) -> str:
    """Return which experts can be dropped, the most expensive first, in a sentence; empty without ablation.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    tried = [one for one in findings.experts if one.loss is not None]
    if not tried:
        return ""
    margin = f"{100 * DROP_MARGIN:g}{SPACE}point"
    found = [one for one in tried if one.can_be_dropped]
    if not found:
        items = things(max(one.loss.trials for one in tried if one.loss is not None), "item")
        return (
            f"No expert can safely be dropped: without it, accuracy may fall by {margin} or more ({items})."
        )
    found.sort(key=lambda one: (-(one.price or 0.0), one.loss.ci_high if one.loss else 0.0))
    names = [
        label(one.name, 28) + (f" (saves {one.price:g})" if one.price else "")
        for one in found[:MAX_DROPPABLE]
    ]
    more = f" and {len(found) - MAX_DROPPABLE} more" if len(found) > MAX_DROPPABLE else ""
    return (
        f"Any one of these experts can be dropped; the loss of accuracy is below {margin} (95{SPACE}%"
        f" interval): {', '.join(names)}{more}."
    )


def _difference(one: BaselineComparison, interval_name: str, named: set[str]) -> str:
    """Return a difference with its interval and p-value; an expert is named the first time only."""
    gain, baseline = one.gain, BASELINES.get(one.baseline, one.baseline)
    if one.baseline == "best expert" and one.detail not in named | {""}:
        baseline = f"{baseline}, {label(one.detail, 40)}"
    size = points(abs(gain.gain), gain_digits(gain), sign=False)
    if gain.better == gain.worse:
        text = f"equal to {baseline}"
    else:
        text = f"{size}{SPACE}points {'above' if gain.gain > 0 else 'below'} {baseline}"
    significance = "not significant" if gain.conclusion == NO_DIFFERENCE else "significant"
    return f"{text} ({interval_name}{interval(gain)}, {p_value(gain.p_value)}: {significance})"


def _without_labels(findings: Findings) -> str:
    if not findings.items:
        return "There are no items."
    read = f"{things(findings.items, 'item')} {'was' if findings.items == 1 else 'were'} read."
    if findings.next_labels:
        return f"{read} The items listed below are the most useful ones to label."
    return read


def result_of(findings: Findings, name: str) -> ModelResult | None:
    """Return the result of one predictor.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    name : str
        "linmax", "plurality", "best expert", "most frequent class", "last label" or "best fixed weights".
    """
    return next((one for one in findings.results if one.name == name), None)


def interval(gain: Gain) -> str:
    """Return the confidence interval of a difference, in percentage points.

    Parameters
    ----------
    gain : Gain
        The difference.

    Examples
    --------
    >>> from linmax.evaluate.significance import gain
    >>> interval(gain(1000, 60, 30))
    '+1.1 to +4.9'
    """
    digits = gain_digits(gain)
    return f"{points(gain.ci_low, digits)} to {points(gain.ci_high, digits)}"


def gain_digits(gain: Gain) -> int:
    """Return the number of decimals of a difference that its interval justifies.

    Parameters
    ----------
    gain : Gain
        The difference.
    """
    return 1 if gain.ci_high - gain.ci_low > 0.003 else 2
