"""Votes on an item, counted by class in one integer: faster than in an array, for few classes and experts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax._jit import inline

MAX_CLASSES, MAX_EXPERTS = 8, 255
"""All counts fit into 64 bits, 8 for each class."""


def packed_steps(experts: int, classes: int) -> NDArray[np.uint64]:
    """Return what a vote for each class adds to packed counts; empty if there is no room for the counts.

    Parameters
    ----------
    experts, classes : int
        Their numbers.

    Returns
    -------
    steps : ndarray of uint64 of shape (n_classes + 1,) or (0,)
        The last one is that of an abstention, code -1: it adds nothing.

    Examples
    --------
    >>> packed_steps(experts=20, classes=3).tolist(), len(packed_steps(experts=20, classes=9))
    ([1, 256, 65536, 0], 0)
    """
    if classes > MAX_CLASSES or experts > MAX_EXPERTS:
        return np.zeros(0, np.uint64)
    return np.array([*(1 << 8 * c for c in range(classes)), 0], np.uint64)


@inline
def pack_votes(votes: Any, t: Any, steps: Any) -> Any:
    """Return the packed counts of the votes on item t."""
    packed = np.uint64(0)
    for i in range(votes.shape[1]):
        packed += steps[votes[t, i]]
    return packed


@inline
def votes_for(packed: Any, c: Any) -> Any:
    """Return the number of votes for class c."""
    return np.int64((packed >> np.uint64(8 * c)) & np.uint64(255))


@inline
def most_votes(packed: Any, classes: Any) -> Any:
    """Return the first class with the most votes, their number, how many such classes, and all votes."""
    winner = 0
    most = votes_for(packed, 0)
    tied = 1
    total = most
    for c in range(1, classes):
        number = votes_for(packed, c)
        tied = 1 if number > most else tied + (number == most)
        winner = c if number > most else winner
        most = max(most, number)
        total += number
    return winner, most, tied, total
