"""The losses of experts that vote with probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs import Batch, Dense, Sparse

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SUM_TOLERANCE = 1e-3
"""Votes are probabilities if they add up to 1 within this tolerance."""
MIN_PROBABILITY = 1e-15
"""A smaller probability of the truth counts as this one, so that the log loss is finite."""


class ProbabilityLosses:
    """The square loss and the log loss of each expert that votes with probabilities.

    An expert is not rated if it ever gives scores that are no probabilities, or if it only gives
    probabilities of 0 and 1.

    Parameters
    ----------
    table : ndarray of shape (n_experts, 5), optional
        Saved sums: rated votes, their square losses, their log losses, votes that are no probabilities, and
        votes without a probability of 1.
    """

    def __init__(self, table: Floats | None = None) -> None:
        self.table = np.zeros((0, 5)) if table is None else table

    def add(self, batch: Batch, counted: Flags) -> None:
        """Rate more votes.

        Parameters
        ----------
        batch : Batch
            The trials.
        counted : ndarray of bool of shape (n_trials,)
            The trials whose label was known.
        """
        if not isinstance(batch.votes, Dense | Sparse):
            return
        more = batch.experts_seen - len(self.table)
        self.table = np.pad(self.table, ((0, max(more, 0)), (0, 0)))
        forecasts = _forecasts(batch.votes, batch)
        voted = forecasts.voted & counted[:, None]
        rated = voted & forecasts.valid
        of_truth = np.where(rated, forecasts.of_truth, 1.0)
        self.table[: voted.shape[1]] += np.stack(
            (
                rated.sum(axis=0),
                # the sum over classes of (p_c - [c = y])^2
                np.where(rated, forecasts.squares - 2.0 * forecasts.of_truth + 1.0, 0.0).sum(axis=0),
                -np.log(np.maximum(of_truth, MIN_PROBABILITY)).sum(axis=0),
                (voted & ~forecasts.valid).sum(axis=0),
                (rated & forecasts.uncertain).sum(axis=0),
            ),
            axis=1,
        )

    def means(self, i: int) -> tuple[float, float] | None:
        """Return the mean square loss and the mean log loss of expert i; None if it is not rated.

        Parameters
        ----------
        i : int
            The index of the expert.
        """
        if i >= len(self.table):
            return None
        rated, square, log, invalid, uncertain = self.table[i].tolist()
        return (square / rated, log / rated) if rated and not invalid and uncertain else None


class _Forecasts(NamedTuple):
    """Facts about the votes, each of shape (n_trials, n_experts)."""

    voted: Flags
    valid: Flags  # the votes are probabilities
    of_truth: Floats  # the probability of the truth
    squares: Floats  # the sum of squared probabilities
    uncertain: Flags  # no class has probability 1


def _forecasts(votes: Dense | Sparse, batch: Batch) -> _Forecasts:
    shape = (batch.trials, batch.experts_seen)
    if isinstance(votes, Dense):
        p = votes.values
        more = max(shape[1] - p.shape[1], 0)
        truth = np.clip(batch.labels, 0, max(p.shape[2] - 1, 0))
        of_truth = (
            np.take_along_axis(p, truth[:, None, None], axis=2)[:, :, 0] if p.shape[2] else p.sum(axis=2)
        )
        total, squares = p.sum(axis=2), (p * p).sum(axis=2)
        least, most = p.min(axis=2, initial=0.0), p.max(axis=2, initial=0.0)
        total, squares, of_truth, least, most = (
            np.pad(one, ((0, 0), (0, more))) for one in (total, squares, of_truth, least, most)
        )
        voted = most > 0.0
    else:
        trial = np.repeat(np.arange(shape[0]), np.diff(votes.indptr))
        cell = trial * shape[1] + votes.expert
        size = shape[0] * shape[1]
        true = votes.label == batch.labels[trial]

        def sums(values: Floats) -> Floats:
            return np.bincount(cell, values, minlength=size).reshape(shape).astype(np.float64)

        total, squares, of_truth = sums(votes.value), sums(votes.value**2), sums(votes.value * true)
        least, most = np.zeros(size), np.zeros(size)
        np.minimum.at(least, cell, votes.value)
        np.maximum.at(most, cell, votes.value)
        least, most = least.reshape(shape), most.reshape(shape)
        voted = sums(np.ones(len(cell))) > 0
    valid = (abs(total - 1.0) <= SUM_TOLERANCE) & (least >= 0.0)
    return _Forecasts(voted, valid, of_truth, squares, most < 1.0)
