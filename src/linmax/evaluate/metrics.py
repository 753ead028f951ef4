"""Metrics of predictors beyond accuracy, from counts by class that are exact for all trials.

`ClassCounts` counts labels and predictions of each class while a session learns. It also makes the
predictions of the two baselines that know only the labels so far: the most frequent class and the last label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax._jit.compilation import CompiledKernel
from linmax.evaluate.audit.trial_counter import most_votes, pack_votes, packed_steps

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

LINMAX, PLURALITY, MOST_FREQUENT, LAST_LABEL = range(4)
"""The predictors of `ClassCounts`."""
EXPERT_CELLS = 1 << 17
"""With more experts times classes, experts are not counted by class."""
PAIR_CELLS = 1 << 16
"""Up to so many cells, pairs of label and vote are counted in a table first, which is faster."""
MAX_EXACT_VALUE = 1 << 20
"""Sums of the distances of integers up to this one are exact in any order."""
MIN_ORDERED_CLASSES = 3
"""With two classes, the mean absolute error is the error rate."""


class Metrics(NamedTuple):
    """Metrics of one predictor.

    Attributes
    ----------
    accuracy : float or None
        The fraction of correct predictions.
    balanced_accuracy : float or None
        The mean over the classes of the fraction of their items that are predicted correctly.
    macro_f1 : float or None
        The mean over the classes of the harmonic mean of precision and recall.
    kappa : float or None
        Cohen's kappa: the agreement with the labels beyond that of independent predictions.
    mean_absolute_error : float or None
        The mean distance of prediction and label, if all classes are numbers.
    """

    accuracy: float | None
    balanced_accuracy: float | None = None
    macro_f1: float | None = None
    kappa: float | None = None
    mean_absolute_error: float | None = None


def class_metrics(true: Any, predicted: Any, hits: Any, distance: float | None = None) -> Metrics:
    """Return the metrics of a predictor; those that are not defined are None.

    Parameters
    ----------
    true, predicted, hits : array-like of shape (n_classes,)
        The number of items with each label, with each prediction, and with both. Numbers of predictions may
        be fractions, if a predictor shares an item between classes.
    distance : float, optional
        The sum of the distances of predictions and labels.

    Returns
    -------
    metrics : Metrics
        The metrics.

    Examples
    --------
    >>> found = class_metrics([6, 4], [5, 5], [4, 3])
    >>> found.accuracy, round(found.balanced_accuracy, 3), round(found.macro_f1, 3), round(found.kappa, 3)
    (0.7, 0.708, 0.697, 0.4)
    """
    true, predicted, hits = (np.asarray(one, np.float64) for one in (true, predicted, hits))
    items = float(true.sum())
    if not items:
        return Metrics(None)
    accuracy, occurs = float(hits.sum()) / items, true > 0
    named = occurs | (predicted > 0)
    by_chance = float((true * predicted).sum()) / items**2
    return Metrics(
        accuracy=accuracy,
        balanced_accuracy=float((hits[occurs] / true[occurs]).mean()),
        macro_f1=float((2.0 * hits[named] / (true + predicted)[named]).mean()),
        kappa=(accuracy - by_chance) / (1.0 - by_chance) if by_chance < 1.0 - 1e-12 else None,
        mean_absolute_error=None if distance is None else distance / items,
    )


def class_values(classes: Sequence[Any]) -> Floats:
    """Return the number that each class stands for; NaN if it is no number.

    Parameters
    ----------
    classes : sequence
        The classes: numbers, or numbers written as text.

    Examples
    --------
    >>> class_values([3, "2.5", "good", True, " 7", "nan"])
    array([3. , 2.5, nan, nan, 7. , nan])
    """
    return np.array([_value(one) for one in classes], np.float64)


def _value(name: Any) -> float:
    if isinstance(name, bool | np.bool_) or not isinstance(name, Real | str):
        return math.nan
    try:
        value = float(name)
    except (ValueError, OverflowError):
        return math.nan
    return value if math.isfinite(value) else math.nan


class ClassCounts:
    """Labels and predictions of each class: linmax, the plurality, two simple baselines and the experts.

    Only trials whose label was a known class count. The plurality shares an item between the m classes with
    the most votes; without votes, these are all known classes. The most frequent class is that of all labels
    before the item; a class replaces another one when it has more labels. The last label is that of the item
    before. Both see all labels, and predict nothing before the first.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        All labels so far.
    memory : ndarray of shape (2,)
        The most frequent class and the last label, as codes; -1 before the first label.
    true : ndarray of shape (n_classes,)
        Labels of counted trials.
    predicted, hits : ndarray of shape (4, n_classes)
        Predictions, and correct predictions, of each predictor.
    distances : ndarray of shape (4,)
        Sums of the distances of predictions and labels that are numbers.
    experts : ndarray of shape (n_experts, 3, n_classes)
        For the trials on which an expert votes: labels, votes and correct votes. Without rows if there would
        be more than `EXPERT_CELLS` experts times classes.
    expert_distances : ndarray of shape (n_experts,)
        Sums of the distances of votes and labels that are numbers.

    Examples
    --------
    >>> counts = ClassCounts()
    >>> votes = np.array([[0, 1], [1, 1], [0, 0]], np.int32)
    >>> truth, known = np.array([0, 1, 0], np.int32), np.array([2, 2, 2], np.int32)
    >>> counts.add(votes, truth, known, predictions=truth, classes=["a", "b"]).tolist()
    [[-1, 0, 0], [-1, 0, 1]]
    >>> counts.metrics(PLURALITY).accuracy
    0.8333333333333334
    """

    def __init__(self) -> None:
        self.labels, self.true = np.zeros((2, 0), np.int64)
        self.memory = np.full(2, -1, np.int64)
        self.predicted, self.hits = np.zeros((2, 4, 0))
        self.distances = np.zeros(4)
        self.experts = np.zeros((0, 3, 0), np.int64)
        self.expert_distances = np.zeros(0)
        self.values = np.zeros(0)
        self.counts_experts = True

    def add(
        self, votes: Codes, truth: Codes, known: Codes, predictions: Codes, classes: Sequence[Any]
    ) -> Codes:
        """Count more trials, and return the predictions of the most frequent class and of the last label.

        Parameters
        ----------
        votes, truth, known, predictions
            As for `MistakeCounts.add`.
        classes : sequence
            The names of all classes; every code on a trial with a label is below their number.

        Returns
        -------
        baselines : ndarray of int32 of shape (2, n_trials)
            The predictions of the two baselines; -1 is none.
        """
        self.grow(votes.shape[1], classes)
        n, k, trials = votes.shape[1], len(self.true), len(truth)
        cells = (n + 3) * k * (k + 1)
        in_table = self.counts_experts and cells <= min(PAIR_CELLS, trials * n) and self._has_exact_sums()
        pairs = np.zeros((n + 3, k, k + 1) if in_table else (0, 0, 0), np.int64)
        baselines = np.empty((2, trials), np.int32)
        _count_classes(
            np.ascontiguousarray(votes), truth, known, predictions, self.values, self.labels, self.memory,
            self.true, self.predicted, self.hits, self.distances, self.experts, self.expert_distances,
            np.zeros(k + 1, np.int64), packed_steps(n, k), pairs, baselines,
        )  # fmt: skip
        if in_table:
            self._add_pairs(pairs[:, :, :k])
        return baselines

    def _has_exact_sums(self) -> bool:
        """Return whether sums of distances do not depend on their order."""
        numbers = self.values[~np.isnan(self.values)]
        return bool((np.abs(numbers) <= MAX_EXACT_VALUE).all() and (numbers == np.trunc(numbers)).all())

    def _add_pairs(self, pairs: Longs) -> None:
        """Add pairs of label and vote: those of the experts, of linmax and of the two baselines."""
        n, k = len(pairs) - 3, len(self.true)
        true, voted, correct = pairs.sum(axis=2), pairs.sum(axis=1), np.diagonal(pairs, axis1=1, axis2=2)
        values = self.values[:k]
        distances = (pairs * np.nan_to_num(np.abs(values[:, None] - values))).sum(axis=(1, 2))
        self.experts[:n] += np.stack((true, voted, correct), axis=1)[:n]
        self.expert_distances[:n] += distances[:n]
        others = [LINMAX, MOST_FREQUENT, LAST_LABEL]
        self.predicted[others] += voted[n:]
        self.hits[others] += correct[n:]
        self.distances[others] += distances[n:]

    def grow(self, experts: int, classes: Sequence[Any]) -> None:
        """Make room for more experts and classes.

        Parameters
        ----------
        experts : int
            The number of experts.
        classes : sequence
            The names of all classes.
        """
        if len(self.values) < len(classes):
            self.values = np.append(self.values, class_values(classes[len(self.values) :]))
        more = len(classes) - len(self.true)
        if more > 0:
            self.labels, self.true = np.pad(self.labels, (0, more)), np.pad(self.true, (0, more))
            self.predicted = np.pad(self.predicted, ((0, 0), (0, more)))
            self.hits = np.pad(self.hits, ((0, 0), (0, more)))
        n, k = max(experts, len(self.experts)), len(self.true)
        self.counts_experts = self.counts_experts and n * k <= EXPERT_CELLS
        if not self.counts_experts:
            self.experts, self.expert_distances = np.zeros((0, 3, 0), np.int64), np.zeros(0)
        elif self.experts.shape != (n, 3, k):
            rows, columns = n - len(self.experts), k - self.experts.shape[2]
            self.experts = np.pad(self.experts, ((0, rows), (0, 0), (0, columns)))
            self.expert_distances = np.pad(self.expert_distances, (0, rows))

    def metrics(self, predictor: int) -> Metrics:
        """Return the metrics of a predictor over all counted trials.

        Parameters
        ----------
        predictor : int
            `LINMAX`, `PLURALITY`, `MOST_FREQUENT` or `LAST_LABEL`.
        """
        predicted = self.predicted[predictor]
        distance = float(self.distances[predictor]) if self._is_ordered(self.true, predicted) else None
        return class_metrics(self.true, predicted, self.hits[predictor], distance)

    def expert_metrics(self, i: int) -> Metrics:
        """Return the metrics of expert i over the trials on which it votes.

        Parameters
        ----------
        i : int
            The index of the expert.
        """
        if i >= len(self.experts):
            return Metrics(None)
        true, predicted, hits = self.experts[i]
        ordered = self._is_ordered(self.true, predicted)
        return class_metrics(true, predicted, hits, float(self.expert_distances[i]) if ordered else None)

    @property
    def ordered(self) -> list[int]:
        """The codes of the classes with labels, in ascending order of their numbers; empty if not ordered."""
        codes = np.flatnonzero(self.true)
        if not self._is_ordered(self.true):
            return []
        return [int(code) for code in codes[np.argsort(self.values[codes], kind="stable")]]

    def _is_ordered(self, *counts: Any) -> bool:
        """Return whether all classes that occur are numbers, and at least three of them are labels."""
        values = self.values[: len(self.true)]
        numbers = all(not np.isnan(values[one > 0]).any() for one in counts)
        return numbers and len(np.unique(values[self.true > 0])) >= MIN_ORDERED_CLASSES

    def state(self) -> dict[str, Any]:
        """Return the counts as plain lists of numbers, which `from_state` takes."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        return {**arrays, "counts_experts": self.counts_experts}

    @classmethod
    def from_state(cls, state: Any) -> ClassCounts:
        """Restore counts.

        Parameters
        ----------
        state : dict
            What `state` has returned.
        """
        counts = cls()
        for name in ARRAYS:
            old = getattr(counts, name)
            setattr(counts, name, np.array(state[name], old.dtype).reshape(_restored_shape(name, state)))
        counts.counts_experts = bool(state["counts_experts"])
        return counts


ARRAYS = (
    "labels", "memory", "true", "predicted", "hits", "distances", "experts", "expert_distances",
)  # fmt: skip
"""The arrays of `ClassCounts` that are saved."""


def _restored_shape(name: str, state: Any) -> tuple[int, ...]:
    k, n = len(state["true"]), len(state["experts"])
    shapes = {"memory": (2,), "predicted": (4, k), "hits": (4, k), "distances": (4,)}
    return {**shapes, "experts": (n, 3, k if n else 0), "expert_distances": (n,)}.get(name, (k,))


def count_classes(  # type: ignore[no-untyped-def]
    votes, truth, known, guess, values, labels, memory, true, predicted, hits, distances,
    experts, expert_distances, support, steps, pairs, baselines,
):  # fmt: skip
    """Count trials by class, see `ClassCounts`; `support` is zero before and after.

    If `pairs` is not empty, the votes of the experts, and the predictions of linmax and the baselines, are
    counted in it instead, by label and vote; an abstention is in the last column.
    """
    n = votes.shape[1]
    in_table = len(pairs) > 0
    frequent = memory[0]
    last = memory[1]
    for t in range(len(truth)):
        y = truth[t]
        baselines[0, t] = frequent
        baselines[1, t] = last
        if y < 0:
            continue
        if y < known[t]:
            true[y] += 1
            winner = 0
            most = 0
            tied = 0
            if len(steps) > 0:
                winner, most, tied, _ = most_votes(pack_votes(votes, t, steps), len(steps) - 1)
            if most > 0 and tied == 1:
                predicted[1, winner] += 1.0
                hits[1, winner] += winner == y
                distance = abs(values[winner] - values[y])
                if distance == distance:
                    distances[1] += distance
            else:
                most = 0
                for i in range(n):
                    c = votes[t, i]
                    if c >= 0:
                        support[c] += 1
                        most = max(most, support[c])
                tied = 0
                for i in range(n):
                    c = votes[t, i]
                    tied += c >= 0 and support[c] == most
                if most == 0:
                    for c in range(known[t]):
                        predicted[1, c] += 1.0 / known[t]
                        distance = abs(values[c] - values[y])
                        if distance == distance:
                            distances[1] += distance / known[t]
                    hits[1, y] += 1.0 / known[t]
                for i in range(n):  # `tied` counts a class with the most votes as often as it has votes
                    c = votes[t, i]
                    if c >= 0:
                        if support[c] == most:
                            share = most / tied
                            predicted[1, c] += share
                            hits[1, c] += share * (c == y)
                            distance = abs(values[c] - values[y])
                            if distance == distance:
                                distances[1] += share * distance
                        support[c] = 0
            if in_table:
                for i in range(n):
                    pairs[i, y, votes[t, i]] += 1
                pairs[n, y, guess[t]] += 1
                pairs[n + 1, y, frequent] += 1
                pairs[n + 2, y, last] += 1
            else:
                for p in range(4):
                    c = guess[t] if p == 0 else frequent if p == 2 else last
                    if p != 1 and c >= 0:
                        predicted[p, c] += 1.0
                        hits[p, c] += c == y
                        distance = abs(values[c] - values[y])
                        if distance == distance:
                            distances[p] += distance
                for i in range(len(experts)):
                    c = votes[t, i] if i < n else -1
                    if c >= 0:
                        experts[i, 0, y] += 1
                        experts[i, 1, c] += 1
                        experts[i, 2, c] += c == y
                        distance = abs(values[c] - values[y])
                        if distance == distance:
                            expert_distances[i] += distance
        labels[y] += 1
        if frequent < 0 or labels[y] > labels[frequent]:
            frequent = y
        last = y
    memory[0] = frequent
    memory[1] = last


_count_classes = CompiledKernel(count_classes)
