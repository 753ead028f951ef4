"""Experts' votes, as they come or brought to one scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import PLAIN, Capacity, Source, TrialData
from linmax.kernels.forms import Always, Dense, Hard, PerClassVotes, Sparse, SplitVotes

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
    starts_equal: ClassVar[bool] = True

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

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """One weight per expert."""
        return (room.experts,)

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
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


@dataclass(frozen=True, repr=False)
class Thresholds(Source):
    """One sub-expert per class, which always votes 1 for it (2003, section 2.2). Part of the default source.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Thresholds
    >>> fusion = Fusion(Perceptron().on(Thresholds()))
    >>> run = fusion.learn(None, ["ham", "spam", "spam", "spam"])
    >>> fusion.weights
    {('threshold', 'ham'): -1.0, ('threshold', 'spam'): 1.0}
    """

    claims: ClassVar[frozenset[str]] = PLAIN

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """One weight per class."""
        return (room.classes,)

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """Constant votes."""
        return Always(room.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by class."""
        for c, name in enumerate(names.classes.names):
            yield ("threshold", name), (c,)


@dataclass(frozen=True, repr=False)
class Split(Source):
    """Sub-expert (i, c) repeats expert i's vote for class c and is silent on the others.

    1999, section 4.4, adds these beside the originals: `Votes() + Split()`. `classes` limits them to some
    classes.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Split, Votes
    >>> fusion = Fusion(Perceptron().on(Votes() + Split()))
    >>> run = fusion.learn([["a", "b"], ["b", "a"]], ["b", "b"])
    >>> fusion.weights[1, "b"]
    1.0
    """

    classes: tuple[Any, ...] | None = None

    needs: ClassVar[str] = "votes"

    def __post_init__(self) -> None:
        """Classes are a tuple of names, so that a source is a value."""
        if self.classes is None:
            return
        classes: Any = self.classes
        given = [] if isinstance(classes, str | int) else list(classes)
        names = [name.item() if isinstance(name, np.generic) else name for name in given]
        if not names or len({type(name) for name in names}) > 1 or type(names[0]) not in (int, str, bool):
            raise ValueError(f"Split needs a tuple of classes (got {self.classes!r}); None is all of them")
        if len(set(names)) < len(names):
            raise ValueError(f"Split needs each class once (got {self.classes!r})")
        object.__setattr__(self, "classes", tuple(names))

    def __repr__(self) -> str:
        return "Split()" if self.classes is None else super().__repr__()

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """One weight per expert and class."""
        return (room.experts, room.classes)

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """The votes for the chosen classes."""
        chosen = np.ones(room.classes, dtype=np.uint8)
        if self.classes is not None:
            chosen[:] = 0
            chosen[[c for c in map(names.classes.get, self.classes) if c >= 0]] = 1
        return SplitVotes(data.votes, chosen, room.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by expert and class."""
        for i, expert in enumerate(names.experts.names):
            for c, name in enumerate(names.classes.names):
                if self.classes is None or name in self.classes:
                    yield (expert, name), (i, c)


@dataclass(frozen=True, repr=False)
class PerClass(Source):
    """Sub-expert (i, a, c) votes for class c whenever expert i votes for a: a confused expert is informative.

    An expert's vote is taken as k attributes of the linear machine of 1999; weights by expert, what it says,
    what it means.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import PerClass
    >>> fusion = Fusion(Perceptron().on(PerClass()), classes=["yes", "no"])
    >>> run = fusion.learn([["yes"], ["no"]] * 5, ["no", "yes"] * 5)  # it always says the opposite
    >>> fusion.predict([["yes"], ["no"]])
    array(['no', 'yes'], dtype='<U3')
    """

    needs: ClassVar[str] = "votes"

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """One weight per expert, class said and class meant."""
        return (room.experts, room.classes, room.classes)

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """The votes as attributes."""
        return PerClassVotes(data.votes, room.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by expert, what it says and what it means."""
        for i, expert in enumerate(names.experts.names):
            for a, says in enumerate(names.classes.names):
                for c, means in enumerate(names.classes.names):
                    yield (expert, says, means), (i, a, c)
