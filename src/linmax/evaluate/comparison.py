"""Accuracies compared on the same items: a paired test, and learners that learn a stream side by side."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linmax import inputs
from linmax.evaluate.counts import CountHistory, MistakeCounts
from linmax.evaluate.progressive import voted_classes
from linmax.fusion import Fusion
from linmax.inputs import Batch, Names
from linmax.spec import Learner

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

SIGNIFICANCE_LEVEL = 0.05
"""A difference is significant if its p-value is below this level."""
NORMAL_QUANTILE = 1.959963984540054
SMALL_TEST = 500  # items up to which McNemar's test is computed with integers
"""The 97.5 % quantile of the standard normal distribution."""
WARM_UP_ITEMS = 64
"""Items that copies of the learners learn before times are measured."""

BETTER, WORSE, NO_DIFFERENCE = "significantly better", "significantly worse", "no significant difference"


class Gain(NamedTuple):
    """The difference of two accuracies on the same items, with a 95 % confidence interval and a paired test.

    Attributes
    ----------
    trials : int
        The number of items.
    better, worse : int
        The items on which only the first or only the second predictor was correct.
    gain : float
        The accuracy of the first minus that of the second.
    ci_low, ci_high : float
        The 95 % confidence interval of `gain`.
    p_value : float
        The p-value of McNemar's exact test: the probability of a split at least as uneven if both are equally
        good.
    """

    trials: int
    better: int
    worse: int
    gain: float
    ci_low: float
    ci_high: float
    p_value: float

    @property
    def conclusion(self) -> str:
        """Either "significantly better", "significantly worse" or "no significant difference"."""
        if self.p_value >= SIGNIFICANCE_LEVEL or not self.trials:
            return NO_DIFFERENCE
        return BETTER if self.better > self.worse else WORSE


def gain(trials: int, better: int, worse: int) -> Gain:
    """Compare two predictors on the same items.

    The confidence interval is Wald's with 1/2 added to each of the four cells. It and McNemar's test assume
    that items are independent draws; on a stream that drifts they say less.

    Parameters
    ----------
    trials : int
        The number of items.
    better, worse : int
        The items on which only the first or only the second predictor was correct.

    Returns
    -------
    gain : Gain
        The difference of the accuracies.

    References
    ----------
    A. Agresti and Y. Min (2005), "Simple improved confidence intervals for comparing matched proportions",
    Statistics in Medicine 24.

    Examples
    --------
    >>> found = gain(1000, better=60, worse=30)
    >>> round(found.gain, 3), round(found.ci_low, 3), round(found.ci_high, 3), round(found.p_value, 4)
    (0.03, 0.011, 0.049, 0.0021)
    >>> found.conclusion, gain(0, 0, 0).conclusion
    ('significantly better', 'no significant difference')
    """
    if not trials:
        return Gain(0, 0, 0, 0.0, -1.0, 1.0, 1.0)
    size = trials + 2.0
    up, down = (better + 0.5) / size, (worse + 0.5) / size
    center = up - down
    half_width = NORMAL_QUANTILE * math.sqrt(max(up + down - center * center, 0.0) / size)
    return Gain(
        trials, better, worse, (better - worse) / trials,
        max(center - half_width, -1.0), min(center + half_width, 1.0), mcnemar(better, worse),
    )  # fmt: skip


def mcnemar(better: int, worse: int) -> float:
    """Return the p-value of McNemar's exact test.

    It is the probability of a split at least as uneven as ``better : worse`` if each side is equally likely.

    Parameters
    ----------
    better, worse : int
        The items on which only the first or only the second predictor was correct.

    Returns
    -------
    p_value : float
        The two-sided p-value.

    Examples
    --------
    >>> round(mcnemar(0, 5), 12), mcnemar(3, 3)
    (0.0625, 1.0)
    """
    if better == worse:
        return 1.0
    # The p-value of scipy.stats.binomtest(better, better + worse): twice a binomial distribution function.
    # Importing scipy.stats takes a second and scipy.special 0.2 s, so a small sum is made of integers.
    n, least = better + worse, min(better, worse)
    if n <= SMALL_TEST:
        return min(1.0, 2 * sum(math.comb(n, k) for k in range(least + 1)) / float(2**n))
    from scipy.special import betainc

    return min(1.0, 2.0 * float(betainc(n - least, least + 1, 0.5)))


class ComparisonResult(NamedTuple):
    """The result of one learner, of the plurality or of the best expert in a comparison.

    Attributes
    ----------
    name : str
        The name of the learner, "plurality" or "best expert".
    detail : str
        Which expert is the best one; otherwise empty.
    mistakes : int
        Wrong predictions.
    accuracy : float
        The fraction of correct predictions.
    accuracy_last_half : float
        The accuracy since the middle of the stream; NaN without labels since then.
    microseconds : float or None
        Processor time per item; None for those that do not learn.
    gain : Gain or None
        The difference to the first learner; None for the first learner.
    """

    name: str
    detail: str
    mistakes: int
    accuracy: float
    accuracy_last_half: float
    microseconds: float | None
    gain: Gain | None


class LearnerComparison:
    """Let several learners learn the same stream, and count their mistakes.

    A chunk is counted when all learners have learned it.

    Parameters
    ----------
    learners : mapping of str to Learner
        The learners by name; the others are compared with the first.

    Attributes
    ----------
    names : list of str
        The names of the learners.
    fusions : list of Fusion
        Their sessions.
    items, trials, unlabelled, novel : int
        Items so far, those whose label was a known class, those without a label, and those with a novel
        label.

    Examples
    --------
    >>> import io
    >>> from linmax import Perceptron, Winnow
    >>> from linmax.streams import open_stream
    >>> rows = b"ham,spam,spam\\nham,ham,ham\\n" * 50
    >>> comparison = LearnerComparison({"a": Winnow(1.5), "b": Perceptron()})
    >>> for chunk in open_stream(io.BytesIO(b"ann,bob,truth\\n" + rows)):
    ...     comparison.learn(chunk)
    >>> [(result.name, result.detail, result.mistakes) for result in comparison.results()]
    [('best expert', 'bob', 0), ('a', '', 1), ('b', '', 2), ('plurality', '', 50)]
    """

    def __init__(self, learners: Mapping[str, Learner]) -> None:
        if not learners:
            raise ValueError("a comparison requires at least one learner (got none), such as Winnow(1.2)")
        self.names = list(learners)
        self.fusions = [Fusion(learner) for learner in learners.values()]
        self.unlabelled = self.novel = 0
        self.seconds = np.zeros(len(self.names))
        self.history = CountHistory(len(self.names))
        self._panel = Names()

    @property
    def items(self) -> int:
        """Items so far."""
        return self.history.items

    @property
    def trials(self) -> int:
        """Items so far whose label was a known class."""
        return self.history.counts.trials

    def warm_up(self, chunk: Chunk, labels: Any = None) -> None:
        """Let copies of the learners learn some items, so that compilation is not measured.

        Parameters
        ----------
        chunk : Chunk
            The first chunk of the stream.
        labels : array-like, optional
            Labels to use instead of those of the chunk.
        """
        items = chunk.slice(0, WARM_UP_ITEMS)
        labels = _labels(chunk, labels)[: items.items]
        for fusion in self.fusions:
            Fusion(fusion.learner).learn(items.votes, labels, attributes=items.attributes)

    def learn(self, chunk: Chunk, labels: Any = None) -> None:
        """Let all learners learn the next chunk, and count who was correct.

        Parameters
        ----------
        chunk : Chunk
            The next chunk of the stream.
        labels : array-like, optional
            Labels to use instead of those of the chunk.
        """
        labels = _labels(chunk, labels)
        batch = self._read(chunk, labels)
        correct = np.zeros((len(self.fusions), chunk.items), np.bool_)
        spent = np.zeros(len(self.fusions))
        for i, fusion in enumerate(self.fusions):
            begun = time.process_time()
            own = fusion.read(chunk.votes, labels, attributes=chunk.attributes)
            predictions = fusion.learn_batch(own)
            spent[i] = time.process_time() - begun
            correct[i] = predictions.codes == own.labels
        self._panel.classes.extend(batch.new_classes)
        self._panel.experts.extend(batch.new_experts)
        self.seconds += spent
        truth = batch.labels
        self.unlabelled += int((truth < 0).sum())
        self.novel += int((truth >= batch.known).sum())
        # sessions may use different codes, so their predictions are written in those of the panel
        predicted = np.where(correct, truth, -1).astype(np.int32)
        self.history.add(voted_classes(batch), truth, batch.known, predicted, batch.classes_seen)

    def _read(self, chunk: Chunk, labels: Any) -> Batch:
        """Encode the votes with the classes and experts of all chunks so far."""
        needs = frozenset() if chunk.votes is None else frozenset({"votes"})
        return inputs.read(chunk.votes, labels, None, self._panel, needs=needs)

    def results(self) -> list[ComparisonResult]:
        """Return the results of all learners, the plurality and the best expert, the most accurate first."""
        counts, half = self.history.counts, self.history.counts.since(self._middle())
        columns: list[tuple[int, str, str]] = [(i, name, "") for i, name in enumerate(self.names)]
        if counts.trials:
            columns += self._panel_columns()
        results = [
            ComparisonResult(
                name, detail, int(counts.mistakes[column]),
                _fraction(counts.correct[column], counts.trials),
                _fraction(half.correct[column], half.trials),
                1e6 * float(self.seconds[column]) / max(self.items, 1) if column < len(self.names) else None,
                self._gain(column) if column else None,
            )
            for column, name, detail in columns
        ]  # fmt: skip
        return sorted(results, key=lambda result: result.mistakes)

    def _panel_columns(self) -> list[tuple[int, str, str]]:
        """Return the columns of the plurality and of the best expert, if there are experts."""
        counts = self.history.counts
        best = counts.best_expert
        if best is None:
            return []
        name = str(self._panel.experts.names[best - counts.first_expert])
        return [(counts.plurality, "plurality", ""), (best, "best expert", name)]

    def _gain(self, column: int) -> Gain:
        counts = self.history.counts
        both = int(counts.both_correct[column])
        return gain(counts.trials, int(counts.correct[column]) - both, int(counts.correct[0]) - both)

    def _middle(self) -> MistakeCounts:
        """Return the counts of the snapshot nearest to the middle of the stream."""
        start = (0, MistakeCounts(len(self.names)))
        return min([start, *self.history.snapshots], key=lambda snapshot: abs(2 * snapshot[0] - self.items))[
            1
        ]

    def curves(self) -> tuple[list[int], dict[str, list[int]]]:
        """Return numbers of items, and the mistakes of everyone in `results` by then."""
        snapshots = self.history.with_end()
        columns = [(i, name) for i, name in enumerate(self.names)]
        columns += [(column, name) for column, name, _ in self._panel_columns()]
        curves = {name: [int(counts.mistakes[column]) for _, counts in snapshots] for column, name in columns}
        return [items for items, _ in snapshots], curves


def _labels(chunk: Chunk, labels: Any) -> Any:
    labels = chunk.labels if labels is None else labels
    return np.full(chunk.items, None, object) if labels is None else labels


def _fraction(part: Any, whole: int) -> float:
    return float(part) / whole if whole else float("nan")
