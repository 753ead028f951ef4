"""Experts that give probabilities, by what their forecasts lose: the square loss and the log loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.ballots import Batch, Dense, Sparse

Floats = NDArray[np.float64]

NEAR = 1e-3  # probabilities add up to 1 up to this
LEAST = 1e-15  # a class that was held impossible costs -ln of this, not infinity


class Losses:
    """Sums of losses of each expert; one that once gave no probabilities is not rated at all."""

    def __init__(self, table: Floats | None = None) -> None:
        self.table = np.zeros((0, 5)) if table is None else table

    def add(self, batch: Batch, counted: NDArray[np.bool_]) -> None:
        """Rate what was said on some trials whose label was known."""
        if not isinstance(batch.votes, Dense | Sparse):
            return
        more = batch.experts_seen - len(self.table)
        self.table = np.pad(self.table, ((0, max(more, 0)), (0, 0)))
        spoke, fair, hit, squares, shaded = _forecasts(batch.votes, batch)
        rated = spoke & counted[:, None]
        good = rated & fair
        true = np.where(good, hit, 1.0)
        self.table[: spoke.shape[1]] += np.stack(
            (
                good.sum(axis=0),
                np.where(good, squares - 2.0 * hit + 1.0, 0.0).sum(axis=0),  # sum of (p_c - [c = y])^2
                -np.log(np.maximum(true, LEAST)).sum(axis=0),
                (rated & ~fair).sum(axis=0),
                (good & shaded).sum(axis=0),
            ),
            axis=1,
        )

    def of(self, i: int) -> tuple[float, float] | None:
        """The mean square loss and log loss of an expert; None if it does not give probabilities."""
        if i >= len(self.table):
            return None
        rated, square, log, unfair, shaded = self.table[i].tolist()
        return (square / rated, log / rated) if rated and not unfair and shaded else None


def _forecasts(votes: Dense | Sparse, batch: Batch) -> tuple[Any, ...]:
    """Of each trial and expert: did it speak, in probabilities, that of the truth, the sum of squares."""
    shape = (batch.trials, batch.experts_seen)
    if isinstance(votes, Dense):
        p = votes.values
        seen = shape[1] - p.shape[1]
        truth = np.clip(batch.labels, 0, max(p.shape[2] - 1, 0))
        hit = np.take_along_axis(p, truth[:, None, None], axis=2)[:, :, 0] if p.shape[2] else p.sum(axis=2)
        total, squares = p.sum(axis=2), (p * p).sum(axis=2)
        least, most = p.min(axis=2, initial=0.0), p.max(axis=2, initial=0.0)
        total, squares, hit, least, most = (
            np.pad(one, ((0, 0), (0, max(seen, 0)))) for one in (total, squares, hit, least, most)
        )
        spoke = most > 0.0
    else:
        trial = np.repeat(np.arange(shape[0]), np.diff(votes.indptr))
        cell = trial * shape[1] + votes.expert
        size = shape[0] * shape[1]
        true = votes.label == batch.labels[trial]

        def summed(weights: Floats) -> Floats:
            return np.bincount(cell, weights, minlength=size).reshape(shape).astype(np.float64)

        total, squares, hit = summed(votes.value), summed(votes.value**2), summed(votes.value * true)
        least, most = np.zeros(size), np.zeros(size)
        np.minimum.at(least, cell, votes.value)
        np.maximum.at(most, cell, votes.value)
        least, most = least.reshape(shape), most.reshape(shape)
        spoke = summed(np.ones(len(cell))) > 0
    return spoke, (abs(total - 1.0) <= NEAR) & (least >= 0.0), hit, squares, most < 1.0
