"""Interval bounds: whether the prediction of a mixture of linear learners is settled."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.kernels.settlement import always, first
from linmax.runtime.influence import MOST_CELLS, Influences, Leaf


class IntervalBound:
    """What the answers of some experts can change in a mixture, in the present state of a session.

    Parameters
    ----------
    leaves
        The learners that are mixed.
    """

    def __init__(self, leaves: list[Leaf]) -> None:
        parts: list[Influences] = [leaf.influences for leaf in leaves]
        g = [leaf.g for leaf in leaves]
        places = {part: j for j, part in enumerate(parts)}
        shares = []
        for j, leaf in enumerate(leaves):
            for member, weight in leaf.members:
                if member not in places:
                    places[member] = len(parts)
                    parts.append(member)
                    g.append(0.0)
                shares.append((j, places[member], abs(weight)))
        self.g = np.array(g)
        self.share = np.zeros((len(parts), len(parts)))
        for j, m, weight in shares:
            self.share[j, m] += weight
        _, n, k = parts[0].diagonal.shape
        tables = [part.table if part.table.shape[3] else np.zeros((1, n, k, k)) for part in parts]
        wide = any(part.table.shape[3] for part in parts)
        self.base = np.concatenate([part.base for part in parts])
        self.diagonal = np.concatenate([part.diagonal for part in parts])
        self.table = np.concatenate(tables) if wide else np.zeros((len(parts), n, 0, 0))
        self.spread = np.stack([np.stack([_spread(part) for part in parts])] * 2)
        self.place = np.arange(k)
        self.labels_only = any(part.labels_only or part.raw for part in parts)

    def settled(self, answers: np.ndarray, leader: int) -> bool:
        """Return whether a class is predicted whatever the experts not asked vote."""
        return bool(always(self.base, answers, self.place, leader, *self._tables(), *self._scratch()))

    def first_settled(
        self, votes: np.ndarray, available: np.ndarray, order: np.ndarray, leader: np.ndarray
    ) -> np.ndarray:
        """Return after how many answers the prediction of each item is settled."""
        settled = np.zeros(len(votes), dtype=np.int64)
        answers = np.zeros(votes.shape[1], dtype=np.int64)
        first(
            votes.astype(np.int64), available.astype(np.uint8), order, leader, self.base, self.place,
            *self._tables(), answers, *self._scratch(), settled,
        )  # fmt: skip
        return settled

    def _tables(self) -> tuple[np.ndarray, ...]:
        return self.g, self.diagonal, self.table, self.spread, self.share

    def _scratch(self) -> tuple[np.ndarray, ...]:
        return np.zeros(self.base.shape), np.zeros(self.base.shape), np.zeros(self.base.shape[1])


def interval_bound(predictor: Any, experts: np.ndarray, k: int, names: Any) -> IntervalBound | None:
    """Return the interval bound of a predictor; None if it has none, or if its tables are too large."""
    leaves = predictor.leaves_of_mixture(experts, k, names) if k == len(names.classes) and k > 0 else None
    if leaves is None or any(leaf.influences.of_attributes for leaf in leaves):
        return None
    members = sum(1 + len(leaf.members) for leaf in leaves)
    return IntervalBound(leaves) if members * len(experts) * k * k <= MOST_CELLS else None


def _spread(part: Influences) -> np.ndarray:
    """Return the largest difference that a vote of each expert makes between two classes."""
    effect = (
        part.table[0].copy()
        if part.table.shape[3]
        else np.zeros((*part.diagonal.shape[1:], part.base.shape[1]))
    )
    classes = np.arange(part.base.shape[1])
    effect[:, classes, classes] += part.diagonal[0]
    found: np.ndarray = (effect.max(axis=2) - effect.min(axis=2)).max(axis=1, initial=0.0)
    return found
