"""A batch: votes, attributes and labels as arrays of codes and numbers."""

from collections.abc import Hashable, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.classes import UnknownClasses, no_unknown_classes
from linmax.inputs.encode import Codes, Flags
from linmax.inputs.names import Label, Names
from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows

BLOCK_CELLS = 1 << 18
"""Counts of votes that `plurality` holds in memory at once."""


class Nominal(NamedTuple):
    """Nominal attributes.

    Attributes
    ----------
    codes : ndarray of int32, shape (trials, columns)
        Codes of (column, value) pairs; -1 is missing.
    """

    codes: Codes


class Newcomers(NamedTuple):
    """Experts and attributes that a session has not met.

    Parameters
    ----------
    experts
        The names of experts.
    attributes
        The names of attributes.
    values
        Pairs (attribute, value): new values of nominal attributes that are known.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> fusion = Fusion(Winnow(1.2), experts=["ann", "bob"])
    >>> fusion.newcomers([{"ann": "ham", "eve": "spam"}])
    Newcomers(experts=['eve'], attributes=[], values=[])
    """

    experts: list[Any]
    attributes: list[Any]
    values: list[tuple[Any, Any]]


@dataclass
class Batch:
    """Encoded trials, and the names that they add.

    Attributes
    ----------
    trials : int
        The number of trials.
    votes : Hard, Dense, Sparse or None
        The votes, if the learner needs them.
    rows : Rows, SparseRows or None
        The attributes as numbers, if the learner needs them.
    nominal : Nominal or None
        The attributes as nominal values, if the learner needs them.
    labels : ndarray of int32, shape (trials,)
        The codes of the labels; -1 for a trial that is only predicted.
    known : ndarray of int32, shape (trials,)
        The number of classes known when a trial is scored. A label with this code or a larger one is novel.
    new_classes, new_experts, new_attributes, new_values : list
        The names to add to each index, in this order.
    unknown_classes : UnknownClasses
        Classes that have a code in one trial only.
    ignored : int
        The number of votes and labels that were left out because their class is unknown.
    classes_seen, experts_seen : int
        All codes of classes and of experts are smaller.
    left_out : Newcomers
        The experts and attributes that were ignored because they are unknown.
    needs : set of {"votes", "rows", "nominal"} or None
        What the session that has read it needed then.
    names, sizes : Names or None, and tuple of int
        The names of that session, and how many there were of each kind; no sizes once it has added names.
    """

    trials: int
    votes: Hard | Dense | Sparse | None
    rows: Rows | SparseRows | None
    nominal: Nominal | None
    labels: Codes
    known: Codes
    new_classes: list[Label]
    new_experts: list[Hashable]
    new_attributes: list[Hashable]
    new_values: list[Hashable]
    unknown_classes: UnknownClasses
    ignored: int
    classes_seen: int
    experts_seen: int
    left_out: Newcomers = field(default_factory=lambda: Newcomers([], [], []))
    needs: Set[str] | None = None
    names: Names | None = None
    sizes: tuple[int, ...] = ()

    @classmethod
    def of_codes(cls, names: Names, votes: Codes, labels: Codes | None) -> "Batch":
        """Return items whose votes and labels are codes of names that a session knows.

        Parameters
        ----------
        names : Names
            The names of the session, which learns from votes alone.
        votes : ndarray of int32, shape (trials, experts)
            The codes of the classes that the experts vote for; -1 is an abstention.
        labels : ndarray of int32, shape (trials,), or None
            The codes of the labels; -1 for a trial that is only predicted. None to predict all.

        Returns
        -------
        batch : Batch
            A batch like the one that `read` returns for these items.

        Examples
        --------
        >>> from linmax import Fusion
        >>> fusion = Fusion("Winnow(1.2)", classes=["ham", "spam"], experts=["ann", "bob"])
        >>> votes, labels = np.array([[1, -1], [0, 1]], np.int32), np.array([1, 0], np.int32)
        >>> fusion.learn_batch(Batch.of_codes(fusion.names, votes, labels)).codes
        array([1, 0], dtype=int32)
        """
        trials, classes = len(votes), len(names.classes)
        given = np.full(trials, -1, np.int32) if labels is None else labels
        known = np.full(trials, classes, np.int32)
        return cls(
            trials, Hard(votes), None, None, given, known, [], [], [], [], no_unknown_classes(), 0,
            classes, len(names.experts), needs=frozenset({"votes"}), names=names, sizes=names.sizes,
        )  # fmt: skip

    @cached_property
    def counted(self) -> Flags | None:
        """Which trials have a label that was a known class; None if all have."""
        if self.trials and self.labels.min() >= 0 and self.labels.max() < self.known.min():
            return None
        return (self.labels >= 0) & (self.labels < self.known)

    def wrong(self, codes: Codes) -> Flags:
        """Return which predictions are mistakes."""
        counted = self.counted
        wrong: Flags = codes != self.labels
        return wrong if counted is None else counted & wrong

    @property
    def sliceable(self) -> bool:
        """Whether `slice` can be used: only hard votes, all classes known, no new names."""
        new = self.new_classes or self.new_experts or self.new_attributes or self.new_values
        unknown = len(self.unknown_classes.row) or self.unknown_classes.in_all_rows or self.ignored
        hard = isinstance(self.votes, Hard) and self.rows is None and self.nominal is None
        return hard and not new and not unknown

    def slice(self, begin: int, end: int) -> "Batch":
        """Return some consecutive trials of a sliceable batch, as if they had been read alone."""
        assert isinstance(self.votes, Hard)
        rows = slice(begin, end)
        votes = Hard(self.votes.codes[rows])
        return replace(
            self, trials=len(votes.codes), votes=votes, labels=self.labels[rows], known=self.known[rows]
        )

    def add_names(self, names: Names, classes: int) -> bool:
        """Add the new names to those of a session, and tell whether there were any.

        Codes of the batch then mean names that another session does not have, so it cannot be learned again.

        Parameters
        ----------
        names : Names
            The names of the session.
        classes : int
            The number of classes that it knows then; those beyond stay new.
        """
        count = max(0, classes - len(names.classes.names))
        named, self.new_classes = self.new_classes[:count], self.new_classes[count:]
        added = (
            (names.classes, named),
            (names.experts, self.new_experts),
            (names.attributes, self.new_attributes),
            (names.values, self.new_values),
        )
        self.new_experts, self.new_attributes, self.new_values = [], [], []
        for index, new in added:
            if new:
                index.append_checked(new)
                self.sizes = ()
        return any(new for _, new in added)


def plurality(votes: NDArray[np.integer[Any]], classes: int) -> NDArray[np.int64]:
    """Return the class with the most votes on each item.

    Parameters
    ----------
    votes : ndarray of int of shape (n_items, n_experts)
        Class codes; -1 is an abstention.
    classes : int
        The number of classes.

    Returns
    -------
    winners : ndarray of int of shape (n_items,)
        Class codes; ties, including items without votes, go to the first class.

    Examples
    --------
    >>> plurality(np.array([[2, 1, 1, 2], [-1, 2, -1, -1], [-1, -1, -1, -1]]), 3).tolist()
    [1, 2, 0]
    """
    winners = np.zeros(len(votes), np.int64)
    rows = max(1, BLOCK_CELLS // max(classes, votes.shape[1], 1))
    for start in range(0, len(votes), rows):
        block = votes[start : start + rows]
        cells = (block + np.arange(len(block))[:, None] * classes)[block >= 0]
        support = np.bincount(cells, minlength=len(block) * classes).reshape(len(block), classes)
        winners[start : start + rows] = support.argmax(axis=1)
    return winners
