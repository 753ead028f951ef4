"""The verdict on a run: one of four words, and one sentence that says what to do.

There is no verdict while a grave warning stands: a significant difference means nothing if the labels are
wrong, if the answer is among the votes, or if the rows are sorted by label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linmax.evaluate.metrics import Metrics
from linmax.evaluate.significance import BETTER, WORSE, Gain, gain
from linmax.validation import DataWarning

MIN_ITEMS = 30
"""With fewer labelled items there is no verdict."""
MIN_COVERAGE = 0.5
"""An expert that votes on a smaller fraction of the items is no alternative to linmax."""
DROP_MARGIN = 0.01
"""An expert can be dropped if the 95 % interval of the loss of accuracy is below this value."""
NAMES = {
    "plurality": "the plurality of the experts",
    "best expert": "the best expert",
    "most frequent class": "always predicting the most frequent class so far",
    "last label": "repeating the last label",
}
"""The baselines in sentences."""


class Baseline(NamedTuple):
    """A simple alternative to linmax, on the same items.

    Attributes
    ----------
    name : str
        "plurality", "best expert", "most frequent class" or "last label".
    detail : str
        The name of the expert; otherwise empty.
    trials : int
        The items on which it is judged: those on which an expert votes, otherwise all.
    coverage : float
        The fraction of all counted items that these are.
    mistakes : float
        Its mistakes on them; a tie of m classes counts as 1 - 1/m of a mistake.
    linmax_mistakes : int
        The mistakes of linmax on them.
    accuracy : float
        The fraction of correct predictions.
    metrics : Metrics
        Further metrics on these items.
    gain : Gain
        The accuracy of linmax minus that of the baseline.
    """

    name: str
    detail: str
    trials: int
    coverage: float
    mistakes: float
    linmax_mistakes: int
    accuracy: float
    metrics: Metrics
    gain: Gain

    @property
    def is_alternative(self) -> bool:
        """Whether it answers enough items to replace linmax."""
        return self.coverage >= MIN_COVERAGE


def paired_baseline(
    name: str,
    detail: str,
    *,
    trials: int,
    all_trials: int,
    correct: float,
    linmax_correct: int,
    both_correct: float,
    metrics: Metrics,
) -> Baseline:
    """Return a baseline from the counts of the items on which it is judged.

    Parameters
    ----------
    name, detail : str
        See `Baseline`.
    trials, all_trials : int
        The items on which it is judged, and all counted items.
    correct, both_correct : float
        Its correct predictions, and those of them on which linmax was correct, too. With ties, both are
        expected numbers.
    linmax_correct : int
        The correct predictions of linmax on the same items.
    metrics : Metrics
        Further metrics.

    Examples
    --------
    >>> found = paired_baseline(
    ...     "plurality", "", trials=600, all_trials=600,
    ...     correct=512, linmax_correct=544, both_correct=500, metrics=Metrics(512 / 600),
    ... )
    >>> found.mistakes, found.linmax_mistakes, found.gain.better, found.gain.worse
    (88, 56, 44, 12)
    """
    difference = gain(trials, max(linmax_correct - both_correct, 0.0), max(correct - both_correct, 0.0))
    return Baseline(
        name, detail, trials, trials / all_trials if all_trials else 0.0, round(trials - correct, 6),
        trials - linmax_correct, correct / trials if trials else float("nan"), metrics, difference,
    )  # fmt: skip


class Verdict(NamedTuple):
    """The verdict on a run.

    Attributes
    ----------
    verdict : {"better", "no significant difference", "worse", "not judged"}
        Whether linmax is significantly better than every alternative, worse than one, or neither.
    decision : str
        What to do, in a sentence.
    """

    verdict: str
    decision: str


def judge(
    baselines: Sequence[Baseline],
    warnings: Sequence[DataWarning] = (),
    *,
    trials: int,
    classes: Sequence[Any],
    unlabelled: int = 0,
    by_cost: bool = False,
) -> Verdict:
    """Compare linmax with all alternatives, unless something forbids a verdict.

    linmax is better if it is significantly better than each alternative, which needs no correction for
    several tests: the probability that it is better than all by chance is at most 5 %. It is worse if it is
    significantly worse than one of them. An expert that votes on fewer than half of the items is no
    alternative.

    Parameters
    ----------
    baselines : sequence of Baseline
        The baselines.
    warnings : sequence of DataWarning
        What is wrong with the data; with a grave warning the verdict is "not judged".
    trials : int
        Labelled items that were counted.
    classes : sequence
        The different labels of these items.
    unlabelled : int
        Items without a label.
    by_cost : bool
        Whether predictions have the least expected cost; errors then say nothing about them.

    Returns
    -------
    verdict : Verdict
        The verdict and a sentence.

    Examples
    --------
    >>> counts = {"trials": 600, "all_trials": 600, "metrics": Metrics(None)}
    >>> plurality = paired_baseline(
    ...     "plurality", "", correct=512, linmax_correct=544, both_correct=500, **counts
    ... )
    >>> found = judge([plurality], trials=600, classes=["ham", "spam"])
    >>> found.verdict
    'better'
    >>> print(found.decision)
    Use it: linmax avoids 32 of the 88 errors that the best alternative, the plurality of the experts, makes
    on 600 items.
    >>> sorted_rows = DataWarning("sorted-by-label", "grave", "the rows are sorted by label")
    >>> print(judge([plurality], [sorted_rows], trials=600, classes=["ham", "spam"]).decision)
    Not judged: the rows are sorted by label.
    """
    reason = _why_not(warnings, trials, classes, unlabelled)
    if not reason and by_cost:
        reason = (
            "predictions have the least expected cost, and the alternatives are compared by errors;"
            " compare what the mistakes cost"
        )
    if reason:
        return Verdict("not judged", f"Not judged: {reason}.")
    rivals = [one for one in baselines if one.is_alternative and one.trials]
    if not rivals:
        return Verdict("not judged", "Not judged: there is nothing to compare linmax with.")
    best = min(rivals, key=lambda one: one.gain.gain)  # the strongest, judged on its own items
    on = f"on {best.trials:,} items" if best.coverage == 1.0 else f"on the {best.trials:,} items it votes on"
    name = f"{NAMES[best.name]}{f' ({best.detail})' if best.detail else ''}"
    errors, own = round(best.mistakes), best.linmax_mistakes  # ties of the plurality make fractions
    conclusions = {one.gain.conclusion for one in rivals}
    if WORSE in conclusions:
        if best.gain.conclusion != WORSE:  # another one has a smaller lead, but on more items
            others = [one for one in rivals if one.gain.conclusion == WORSE]
            return judge(others, trials=trials, classes=classes)
        return Verdict(
            "worse",
            f"Do not use it: linmax makes {own - errors:,} more errors than the best alternative, {name},"
            f" {on} ({own:,} instead of {errors:,}).",
        )
    if conclusions == {BETTER}:
        return Verdict(
            "better",
            f"Use it: linmax avoids {errors - own:,} of the {errors:,} errors that the best alternative,"
            f" {name}, makes {on}.",
        )
    return Verdict(
        "no significant difference",
        f"Do not switch yet: linmax makes {own:,} errors and the best alternative, {name}, {errors:,} {on},"
        " which may be chance.",
    )


def _why_not(warnings: Sequence[DataWarning], trials: int, classes: Sequence[Any], unlabelled: int) -> str:
    """Return why there is no verdict; empty if nothing forbids it."""
    grave = [one.text for one in warnings if one.severity == "grave"]
    if grave:
        more = f" (and {len(grave) - 1} more grave warnings)" if len(grave) > 2 else ""
        return f"{grave[0]}{more or (' (and one more grave warning)' if len(grave) == 2 else '')}"
    if not trials:
        return "no item has a label" if unlabelled else "no item has a label of a known class"
    if len(classes) < 2:
        return f"all labels are {classes[0]!r}" if classes else "there is no class"
    if trials < MIN_ITEMS:
        return f"{trials} labelled items are too few, at least {MIN_ITEMS} are needed"
    return ""


def can_be_dropped(loss: Gain | None) -> bool:
    """Return whether an expert can be dropped: the loss of accuracy is below 1 point with 95 % confidence.

    Parameters
    ----------
    loss : Gain or None
        The accuracy with all experts minus that without the expert, on the same items.

    Examples
    --------
    >>> can_be_dropped(gain(2000, 3, 4)), can_be_dropped(gain(200, 3, 4)), can_be_dropped(None)
    (True, False, False)
    """
    return loss is not None and loss.trials > 0 and loss.ci_high < DROP_MARGIN
