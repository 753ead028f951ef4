"""Calibration: are predictions with probability p correct in a fraction p of the cases?

`CalibrationCounts` counts on-line how often linmax and the plurality are correct at each level of confidence.
The probabilities of linmax are those of `Fusion.predict_proba` before the label was seen; those of the
plurality are the shares of the votes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax._jit.compilation import CompiledKernel

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

BINS = 10
"""Bins of confidence, all of the same width."""
ALL_TRIALS_CLASSES = 256
"""With m times so many known classes, only every (m + 1)-th trial is counted, because each takes longer."""
ALL_TRIALS, LATER_TRIALS = 100_000, 8
"""After the first so many trials, one of so many is counted: that is accurate enough."""
MIN_PROBABILITY = 1e-15
"""A smaller probability of the truth counts as this one, so that the log loss is finite."""


class ReliabilityBin(NamedTuple):
    """Predictions with about the same confidence.

    Attributes
    ----------
    low, high : float
        The limits of the confidence; a value between two bins belongs to the upper one.
    items : int
        The number of predictions.
    confidence : float
        Their mean confidence.
    accuracy : float
        The fraction of them that is correct.
    """

    low: float
    high: float
    items: int
    confidence: float
    accuracy: float


class Calibration(NamedTuple):
    """How far the probabilities of a predictor can be believed.

    Attributes
    ----------
    items : int
        The number of predictions.
    ece : float
        The expected calibration error: the mean distance of confidence and accuracy over the bins.
    log_loss : float
        The mean of -log p, where p is the probability of the truth.
    brier : float
        The mean of the sum over the classes of (p - 1)^2 for the truth and p^2 for the others.
    confidence, accuracy : float
        Their means over all predictions.
    bins : list of ReliabilityBin
        The bins with predictions.
    """

    items: int
    ece: float
    log_loss: float
    brier: float
    confidence: float
    accuracy: float
    bins: list[ReliabilityBin]


class CalibrationCounts:
    """The confidence of linmax and of the plurality, in bins, and their losses.

    Only trials whose label was a known class count, and all classes known at a trial have a probability. The
    confidence is the probability of the predicted class. The plurality is correct in 1/m of the cases if m
    classes have the most votes, and its probabilities are equal without votes. Its log loss would be infinite
    where nobody votes for the truth, so for this loss one more vote is shared between all classes. With more
    than `ALL_TRIALS_CLASSES` classes, only some trials are counted, at equal distances.

    Parameters
    ----------
    bins : ndarray of shape (2, BINS, 3), optional
        Saved counts for linmax and the plurality: items, and sums of confidence and of correct predictions.
    losses : ndarray of shape (2, 2), optional
        Saved sums of the log loss and the Brier score.
    seen : int
        The number of trials so far, counted or not.

    Examples
    --------
    >>> counts = CalibrationCounts()
    >>> probabilities = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> votes = np.array([[0, 0, 1], [0, 0, 0]], np.int32)
    >>> truth, known = np.array([0, 1], np.int32), np.array([2, 2], np.int32)
    >>> counts.add(probabilities, votes, truth, known, predictions=truth)
    >>> found = counts.result(0)
    >>> found.items, round(found.ece, 3), round(found.log_loss, 3), round(found.brier, 3)
    (2, 0.15, 0.164, 0.05)
    """

    def __init__(self, bins: Floats | None = None, losses: Floats | None = None, seen: int = 0) -> None:
        self.bins = np.zeros((2, BINS, 3)) if bins is None else bins
        self.losses = np.zeros((2, 2)) if losses is None else losses
        self.seen = seen

    def add(
        self, probabilities: Floats, votes: Codes, truth: Codes, known: Codes, predictions: Codes
    ) -> None:
        """Count more trials.

        Parameters
        ----------
        probabilities : ndarray of shape (n_trials, n_classes)
            The probabilities of linmax.
        votes, truth, known, predictions
            As for `MistakeCounts.add`.
        """
        support = np.zeros(max(probabilities.shape[1], int(votes.max(initial=-1)) + 1), np.int64)
        seen = _count_calibration(
            np.ascontiguousarray(probabilities), np.ascontiguousarray(votes), truth, known, predictions,
            support, self.bins, self.losses, self.seen,
        )  # fmt: skip
        self.seen = int(seen)

    def result(self, predictor: int) -> Calibration | None:
        """Return the calibration of linmax (0) or of the plurality (1); None without trials.

        Parameters
        ----------
        predictor : int
            0 or 1.
        """
        table = self.bins[predictor]
        items = float(table[:, 0].sum())
        if not items:
            return None
        log_loss, brier = (self.losses[predictor] / items).tolist()
        found = [
            ReliabilityBin(b / BINS, (b + 1) / BINS, int(count), confidence / count, correct / count)
            for b, (count, confidence, correct) in enumerate(table.tolist())
            if count
        ]
        confidence, correct = (math.fsum(table[:, j].tolist()) / items for j in (1, 2))
        ece = math.fsum(one.items * abs(one.confidence - one.accuracy) for one in found) / items
        return Calibration(int(items), ece, log_loss, brier, confidence, correct, found)

    def state(self) -> list[Any]:
        """Return the counts as plain lists of numbers, which `from_state` takes."""
        return [self.bins.tolist(), self.losses.tolist(), self.seen]

    @classmethod
    def from_state(cls, state: Any) -> CalibrationCounts:
        """Restore counts.

        Parameters
        ----------
        state : list
            What `state` has returned.
        """
        bins, losses, seen = state
        return cls(
            np.array(bins, np.float64).reshape(2, BINS, 3),
            np.array(losses, np.float64).reshape(2, 2),
            int(seen),
        )


def count_calibration(  # type: ignore[no-untyped-def]
    probabilities, votes, truth, known, guess, support, bins, losses, seen
):
    """Add the confidence and the losses of the counted trials, and return the number of trials so far.

    `support` is zero before and after.
    """
    n = votes.shape[1]
    for t in range(len(truth)):
        y = truth[t]
        k = known[t]
        if y < 0 or y >= k:
            continue
        seen += 1
        every = 1 + k // (ALL_TRIALS_CLASSES + 1)
        if seen > ALL_TRIALS:
            every *= LATER_TRIALS
        if (seen - 1) % every > 0:
            continue
        squares = 0.0
        for c in range(k):
            squares += probabilities[t, c] * probabilities[t, c]
        of_truth = probabilities[t, y]
        confidence = probabilities[t, guess[t]]
        b = min(int(confidence * BINS), BINS - 1)
        bins[0, b, 0] += 1.0
        bins[0, b, 1] += confidence
        bins[0, b, 2] += guess[t] == y
        losses[0, 0] -= math.log(max(of_truth, MIN_PROBABILITY))
        losses[0, 1] += squares - 2.0 * of_truth + 1.0

        voted = 0
        most = 0
        for i in range(n):
            c = votes[t, i]
            if c >= 0:
                voted += 1
                support[c] += 1
                most = max(most, support[c])
        votes_for_truth = support[y]
        tied = 0
        squares = 0.0
        for i in range(n):
            c = votes[t, i]
            if c >= 0:
                tied += support[c] == most
                squares += support[c] * support[c]
                support[c] = 0
        if voted == 0:
            of_truth = 1.0 / k
            confidence = of_truth
            squares = of_truth
            tied = k
        else:
            of_truth = votes_for_truth / voted
            confidence = most / voted
            squares /= voted * voted
        b = min(int(confidence * BINS), BINS - 1)
        bins[1, b, 0] += 1.0
        bins[1, b, 1] += confidence
        if votes_for_truth == most:
            bins[1, b, 2] += 1.0 / tied
        losses[1, 0] -= math.log((votes_for_truth + 1.0 / k) / (voted + 1.0))
        losses[1, 1] += squares - 2.0 * of_truth + 1.0
    return seen


_count_calibration = CompiledKernel(count_calibration)
