"""The baselines of an audited run: plurality, best expert, most frequent class and last label."""

from __future__ import annotations

from typing import Any

from linmax.evaluate.audit.audit import MODELS, Audit
from linmax.evaluate.audit.counts import MistakeCounts
from linmax.evaluate.findings.verdict import MIN_COVERAGE, Baseline, paired_baseline
from linmax.evaluate.metrics import LAST_LABEL, MOST_FREQUENT, PLURALITY, Metrics

COLUMNS = {"most frequent class": (1, MOST_FREQUENT), "last label": (2, LAST_LABEL)}
"""The column of an audit's counts, and the predictor of its counts by class."""


def compared_counts(audit: Audit) -> MistakeCounts:
    """Return the counts of all trials on which the baselines were counted.

    Parameters
    ----------
    audit : Audit
        The audit of a run.
    """
    return audit.counts.since(audit.compared_from)


def last_half(audit: Audit) -> MistakeCounts:
    """Return the counts since the last snapshot before the middle of the stream.

    Parameters
    ----------
    audit : Audit
        The audit of a run.
    """
    earlier = [audit.compared_from]
    earlier += [counts for items, counts in audit.history.snapshots if 2 * items <= audit.items]
    return audit.counts.since(max(earlier, key=lambda counts: counts.trials))


def plurality_mistakes(audit: Audit, counts: MistakeCounts) -> float:
    """Return the mistakes of the plurality, with ties shared.

    In the part of a run that version 0.1 has counted, ties went to the first class.

    Parameters
    ----------
    audit : Audit
        The audit of a run.
    counts : MistakeCounts
        Its counts at some time.
    """
    if counts.trials <= audit.compared_from.trials:
        old = counts.mistakes if audit.compared_from.trials else [0] * (MODELS + 1)
        return float(old[MODELS])
    since = counts.since(audit.compared_from)
    return float(audit.compared_from.mistakes[MODELS] + since.trials - since.shared[0])


def find_baselines(audit: Audit, experts: list[Any], counts: MistakeCounts) -> list[Baseline]:
    """Return the baselines on a part of the stream.

    The best expert is the one that is most accurate where it votes, among those that vote on at least half
    of the items; if there are none, among all.

    Parameters
    ----------
    audit : Audit
        The audit of a run.
    experts : list
        The names of the experts.
    counts : MistakeCounts
        The counts of the part.

    Returns
    -------
    baselines : list of Baseline
        The plurality and the best expert if there are experts, the most frequent class and the last label.
        Metrics are those of the whole stream.
    """
    if not counts.trials:
        return []
    whole: dict[str, int] = {"trials": counts.trials, "all_trials": counts.trials}
    linmax = int(counts.correct[0])
    found = []
    # a part has the best expert of the whole stream, so that both are about the same expert
    best = compared_counts(audit).best_where_it_votes(MIN_COVERAGE)
    if best is not None:
        correct, both = counts.shared.tolist()
        found.append(
            paired_baseline(
                "plurality", "", correct=correct, linmax_correct=linmax, both_correct=both,
                metrics=audit.class_counts.metrics(PLURALITY), **whole,
            )
        )  # fmt: skip
    if best is not None and counts.voted[best]:
        column = counts.first_expert + best
        accuracy = float(counts.correct[column] / counts.voted[best])
        metrics = audit.class_counts.expert_metrics(best)
        found.append(
            paired_baseline(
                "best expert", str(experts[best]), trials=int(counts.voted[best]), all_trials=counts.trials,
                correct=int(counts.correct[column]), linmax_correct=int(counts.heard[best]),
                both_correct=int(counts.both_correct[column]),
                metrics=Metrics(accuracy) if metrics.accuracy is None else metrics,
            )
        )  # fmt: skip
    for name, (column, predictor) in COLUMNS.items():
        found.append(
            paired_baseline(
                name, "", correct=int(counts.correct[column]), linmax_correct=linmax,
                both_correct=int(counts.both_correct[column]),
                metrics=audit.class_counts.metrics(predictor), **whole,
            )
        )  # fmt: skip
    return found
