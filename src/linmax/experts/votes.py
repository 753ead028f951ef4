"""Experts' votes, as they come or brought to one scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import PLAIN, Data, Room, Source
from linmax.forms import Dense, Hard, Sparse

WAYS = ("raw", "onehot", "softmax", "rank")


@dataclass(frozen=True, repr=False)
class Votes(Source):
    """One sub-expert per expert.

    `as_` brings scores to one scale, expert by expert and item by item, over the classes it gave a score:
    "onehot" (1 for the best), "softmax", or "rank" (best 1, worst 0, ties share): the forms of 2008's plan
    for normalisation.

    >>> import numpy as np
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Votes
    >>> scores = np.array([[[9.0, 1.0], [0.1, 0.2]]])
    >>> Fusion(Perceptron(start="equal").on(Votes("rank")), classes=["a", "b"]).scores(scores)
    array([[1., 1.]])
    """

    as_: str = "raw"

    needs: ClassVar[str] = "votes"
    claims: ClassVar[frozenset[str]] = PLAIN
    equal: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse an unknown way of reading."""
        super().__post_init__()
        if self.as_ not in WAYS:
            raise ValueError(f'Votes needs as_ "raw", "onehot", "softmax" or "rank" (got {self.as_!r})')

    def __repr__(self) -> str:
        return "Votes()" if self.as_ == "raw" else super().__repr__()

    def holds(self, what: str) -> bool:
        """Scores on another scale are other votes: a constant added to them, say, is not lost."""
        return self.as_ == "raw" and super().holds(what)

    def shape(self, room: Room) -> tuple[int, ...]:
        """One weight per expert."""
        return (room.experts,)

    def form(self, data: Data, room: Room, names: Any, memory: Any) -> Any:
        """The votes themselves."""
        return on_one_scale(data.votes, self.as_)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by expert."""
        for i, expert in enumerate(names.experts.names):
            yield expert, (i,)


def on_one_scale(votes: Any, as_: str) -> Any:
    """Votes read in one of the four ways; a zero score is no score."""
    if as_ == "raw" or isinstance(votes, Hard):
        return votes
    if isinstance(votes, Dense):
        trials, experts, classes = votes.values.shape
        return Dense(_scaled(votes.values.reshape(-1, classes), as_).reshape(trials, experts, classes))
    return _sparse_scaled(votes, as_)


def _scaled(scores: np.ndarray, as_: str) -> np.ndarray:
    """Each row of a matrix on one scale."""
    given = scores != 0.0
    if not given.any():
        return scores
    low = np.where(given, scores, -np.inf)
    if as_ == "onehot":
        best = low.argmax(axis=1)
        scaled = np.zeros_like(scores)
        scaled[np.arange(len(scores)), best] = given.any(axis=1)
        return scaled
    if as_ == "softmax":
        top = low.max(axis=1, keepdims=True, initial=-1e308)
        raised = np.where(given, np.exp(np.minimum(low - top, 0.0)), 0.0)
        raised /= np.maximum(raised.sum(axis=1, keepdims=True), 1e-300)
        return raised
    below = (low[:, :, None] > low[:, None, :]) & given[:, None, :]
    level = (low[:, :, None] == low[:, None, :]) & given[:, None, :]
    rank = below.sum(axis=2) + (level.sum(axis=2) - 1) / 2
    most = given.sum(axis=1, keepdims=True) - 1
    return np.where(given, np.where(most > 0, rank / np.maximum(most, 1), 1.0), 0.0)


def _sparse_scaled(votes: Sparse, as_: str) -> Sparse:
    """The same for sparse votes: a row of the matrix is what one expert gave for one item."""
    entries = len(votes.value)
    if entries == 0:
        return votes
    item = np.repeat(np.arange(len(votes.indptr) - 1), np.diff(votes.indptr))
    new = np.ones(entries, dtype=bool)
    new[1:] = (votes.expert[1:] != votes.expert[:-1]) | (item[1:] != item[:-1])
    row = np.cumsum(new) - 1
    column = np.arange(entries) - np.flatnonzero(new)[row]
    matrix = np.zeros((row[-1] + 1, column.max() + 1))
    matrix[row, column] = votes.value
    value = _scaled(matrix, as_)[row, column]
    kept = value != 0.0
    indptr = np.concatenate(([0], np.cumsum(np.bincount(item[kept], minlength=len(votes.indptr) - 1))))
    return Sparse(indptr.astype(np.int64), votes.expert[kept], votes.label[kept], value[kept])
