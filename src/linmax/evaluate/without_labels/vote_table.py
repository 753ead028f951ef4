"""Votes as three columns of codes: item, expert, class."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linmax.inputs import Batch, Dense, Hard, NameIndex, Names, Sparse, read

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VoteTable:
    """Hard votes, one row per vote, ordered by item.

    Attributes
    ----------
    item, expert, label : ndarray of int64, shape (votes,)
        The codes of the item, of the expert and of the class it votes for.
    items : int
        The number of items, with those that have no vote.
    experts, classes : tuple
        The names of the codes.

    Examples
    --------
    >>> table = vote_table([["ham", "spam"], [None, "ham"]])
    >>> table.item.tolist(), table.expert.tolist(), table.label.tolist()
    ([0, 0, 1], [0, 1, 1], [0, 1, 0])
    >>> table.items, table.votes, table.experts, table.classes
    (2, 3, (0, 1), ('ham', 'spam'))
    """

    item: Codes
    expert: Codes
    label: Codes
    items: int
    experts: tuple[Any, ...]
    classes: tuple[Any, ...]

    @property
    def votes(self) -> int:
        """The number of votes."""
        return len(self.item)

    @cached_property
    def votes_per_item(self) -> Codes:
        """The number of votes on each item."""
        return np.bincount(self.item, minlength=self.items)

    @cached_property
    def votes_per_expert(self) -> Codes:
        """The number of votes of each expert."""
        return np.bincount(self.expert, minlength=len(self.experts))

    @cached_property
    def class_counts(self) -> Any:
        """The votes for each class on each item, as a sparse matrix of shape (items, classes)."""
        ones = np.ones(self.votes)
        return sparse.csr_array((ones, (self.item, self.label)), shape=(self.items, len(self.classes)))

    def select(self, votes: NDArray[Any]) -> VoteTable:
        """Return some of the votes, given by flags or places, on the same items, experts and classes."""
        return VoteTable(
            self.item[votes], self.expert[votes], self.label[votes], self.items, self.experts, self.classes
        )


def vote_table(
    votes: Any, *, classes: Iterable[Hashable] | None = None, experts: Iterable[Hashable] | None = None
) -> VoteTable:
    """Read votes in any form that `Fusion.learn` accepts.

    An expert that scores classes votes for the one with the highest score, the first of equal ones.

    Parameters
    ----------
    votes : VoteTable, Triplets, array, data frame, list of dicts or Batch
        The votes. A batch as `fusion.read` returns it has no names: pass `classes=fusion.classes` and
        `experts=fusion.experts`.
    classes : iterable, optional
        The classes, in order. Votes for others are left out. Default: those that occur, sorted.
    experts : iterable, optional
        The names of the first experts, where the votes have none.

    Returns
    -------
    table : VoteTable
        The votes.

    Examples
    --------
    >>> from linmax import Triplets
    >>> table = vote_table(Triplets([0, 0, 1], ["ann", "bob", "ann"], ["no", "yes", "maybe"]))
    >>> table.classes, table.label.tolist()
    (('maybe', 'no', 'yes'), [1, 2, 0])
    >>> vote_table([["no", "yes"], ["no", "?"]], classes=["yes", "no"]).label.tolist()
    [1, 0, 1]
    """
    if isinstance(votes, VoteTable):
        return votes
    names = Names(
        classes=NameIndex(() if classes is None else classes, what="class"),
        experts=NameIndex(() if experts is None else experts, what="expert"),
    )
    if isinstance(votes, Batch):
        batch = votes
        if classes is None:
            raise ValueError("a batch has no names of classes; pass classes=fusion.classes")
    else:
        batch = read(votes, None, None, names, on_new_class="add" if classes is None else "ignore")
    item, expert, code = _entries(batch)
    known = [*names.classes.names, *batch.new_classes]
    label, found = _name_codes(batch, item, code, known)
    if classes is None:
        order = sorted(range(len(found)), key=found.__getitem__)
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        label, found = position[label], [found[i] for i in order]
    experts_found = [*names.experts.names, *batch.new_experts]
    experts_found += range(len(experts_found), batch.experts_seen)
    return VoteTable(item, expert, label, batch.trials, tuple(experts_found), tuple(found))


def _entries(batch: Batch) -> tuple[Codes, Codes, Codes]:
    """Return the item, the expert and the code of the class of each vote, ordered by item and expert."""
    votes = batch.votes
    if isinstance(votes, Hard):
        item, expert = np.nonzero(votes.codes >= 0)
        return item, expert, votes.codes[item, expert].astype(np.int64)
    if isinstance(votes, Dense):
        scores = np.where(votes.values == 0.0, -np.inf, votes.values)
        item, expert = np.nonzero((votes.values != 0.0).any(axis=2))
        return item, expert, scores[item, expert].argmax(axis=1) if len(item) else item
    if not isinstance(votes, Sparse):
        raise ValueError("this batch has no votes; pass votes to fusion.read")
    item = np.repeat(np.arange(batch.trials), np.diff(votes.indptr))
    expert, code = votes.expert.astype(np.int64), votes.label.astype(np.int64)
    key = item * max(batch.experts_seen, 1) + expert
    if (np.diff(key) > 0).all():
        return item, expert, code
    order = np.lexsort((code, -votes.value, key))  # of each expert the highest score, then the first class
    order = order[np.flatnonzero(np.diff(key[order], prepend=-1))]
    return item[order], expert[order], code[order]


def _name_codes(batch: Batch, item: Codes, code: Codes, known: list[Any]) -> tuple[Codes, list[Any]]:
    """Replace codes of one item only by codes of the whole table; also return the names of all codes."""
    unknown = batch.unknown_classes
    if unknown.in_all_rows:
        return code, list(unknown.in_all_rows)
    if not len(unknown.row):
        return code, known
    index = NameIndex(known)
    names = np.array([index.add(name) for name in unknown.names], np.int64)
    width = 1 + max(int(unknown.code.max()), int(code.max(initial=0)))
    keys, wanted = unknown.row * width + unknown.code, item * width + code
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, names[unknown.which[at]], code), index.names
