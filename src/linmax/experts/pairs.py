"""The source Pairs: pairs of attribute values that remember the labels they came with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import Capacity, FrozenVotes, Source, SourceMemory, State, TrialData
from linmax.kernels.forms import RememberedPairs
from linmax.kernels.forms.attributes import EMPTY, number_pairs
from linmax.validation import check_array, is_integer, require


@dataclass(frozen=True, repr=False)
class Pairs(Source):
    """One sub-expert per pair of attribute values that occurred together.

    It votes for the most frequent label of the last `memory` trials with the pair; labels that tie share the
    vote. It abstains the first time. All columns are read as nominal attributes.

    Parameters
    ----------
    memory : int, default 5
        How many labels each pair remembers, 1 to 1000.
    limit : int, optional
        The largest number of pairs. Later ones abstain. Default: no limit.

    Notes
    -----
    The key of a weight is ``("pair", (column, value), (column, value))``.

    References
    ----------
    A. Blum (1995). Empirical support for Winnow and Weighted-Majority based algorithms: results on a calendar
    scheduling domain.

    C. Mesterharm (2003). Using linear-threshold algorithms to combine multi-class sub-experts, section 5.2.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> from linmax.experts import Pairs
    >>> meetings = [["mon", "Ann"], ["tue", "Bob"], ["mon", "Ann"], ["mon", "Bob"], ["mon", "Ann"]]
    >>> fusion = Fusion(Winnow(1.5).on(Pairs()))
    >>> fusion.learn(attributes=meetings, labels=["room 1", "room 2", "room 1", "room 2", "room 1"]).right
    2
    """

    memory: int = field(default=5, kw_only=True)
    limit: int | None = field(default=None, kw_only=True)

    needs: ClassVar[str] = "nominal"

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if not is_integer(self.memory, 1, 1000):
            raise ValueError(
                f"Pairs requires an integer 1 <= memory <= 1000 (got {self.memory!r}); 5 is usual"
            )
        if self.limit is not None and not is_integer(self.limit, 1):
            raise ValueError(
                f"Pairs requires an integer limit >= 1 or None (got {self.limit!r}); None is no limit"
            )

    @property
    def single_item(self) -> bool:
        """Not supported: every item changes the arrays of the memory."""
        return False

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per pair."""
        return (capacity.stored,)

    def new_memory(self) -> PairMemory:
        """Return a memory without pairs."""
        return PairMemory(self.memory, self.limit)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the pairs of each trial, their frozen votes, and the arrays of the memory."""
        frozen = data.frozen
        assert frozen is not None
        return RememberedPairs(frozen.pair, frozen.favourite, frozen.tied, memory.labels, memory.seen)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by pair."""
        values = names.values.names
        for i, (low, high) in enumerate(memory.members[: memory.count].tolist()):
            yield ("pair", values[low], values[high]), (i,)

    def owner(self, key: Any) -> Any:
        """Return the pair."""
        return key


class PairMemory(SourceMemory):
    """The pairs that occurred, and the last labels of each.

    Parameters
    ----------
    memory : int
        How many labels are stored per pair.
    limit : int or None
        The largest number of pairs.
    """

    freezes_votes = True

    def __init__(self, memory: int, limit: int | None) -> None:
        self.limit = limit if limit is not None else 2**31 - 1
        self.count = 0
        self.table = np.full(64, EMPTY, dtype=np.int64)
        self.members = np.zeros((16, 2), dtype=np.int64)
        self.labels = np.zeros((16, memory), dtype=np.int32)
        self.seen = np.zeros(16, dtype=np.int64)

    def freeze(self, codes: np.ndarray, add: np.ndarray) -> FrozenVotes:
        """Number the pairs of some items (new ones only where `add`), and return arrays for votes."""
        columns = codes.shape[1]
        pairs = np.empty((len(codes), columns * (columns - 1) // 2), dtype=np.int32)
        self.make_space(min(self.count + int(add.sum()) * pairs.shape[1], self.limit))
        self._number(codes, add, pairs)
        return FrozenVotes(
            pairs,
            np.zeros((*pairs.shape, self.labels.shape[1]), dtype=np.int32),
            np.zeros(pairs.shape, dtype=np.int32),
        )

    def make_space(self, count: int) -> None:
        """Make space for this many pairs, with a hash table that is at most half full."""
        size = len(self.members)
        while size < count:
            size *= 2
        if size > len(self.members):
            more = size - len(self.members)
            self.members = np.concatenate((self.members, np.zeros((more, 2), dtype=np.int64)))
            self.labels = np.concatenate(
                (self.labels, np.zeros((more, self.labels.shape[1]), dtype=np.int32))
            )
            self.seen = np.concatenate((self.seen, np.zeros(more, dtype=np.int64)))
        if 2 * size > len(self.table):
            known = self.members[: self.count].copy()
            self.table = np.full(4 * size, EMPTY, dtype=np.int64)
            self.count = 0
            self._number(known, np.ones(len(known), dtype=bool), np.empty((len(known), 1), dtype=np.int32))

    def _number(self, codes: np.ndarray, add: np.ndarray, out: np.ndarray) -> None:
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.count = int(number_pairs(codes, self.table, self.members, self.count, self.limit, add, out))

    def state(self, sizes: Capacity) -> State:
        """Return the pairs, their labels and how often each occurred."""
        return {
            "members": self.members[: self.count],
            "labels": self.labels[: self.count],
            "seen": self.seen[: self.count],
        }

    def restore(self, state: State) -> None:
        """Take over the pairs, and number them again."""
        members = state["members"]
        self.make_space(len(members))
        self._number(members, np.ones(len(members), dtype=bool), np.empty((len(members), 1), dtype=np.int32))
        self.labels[: self.count] = state["labels"]
        self.seen[: self.count] = state["seen"]

    def validate(self, state: State, names: Any) -> int:
        """Check that pairs are of known values, each once, with known labels."""
        pairs, length = len(state["seen"]), self.labels.shape[1]
        check_array(state, "members", (pairs, 2), np.int64, 0, len(names.values))
        check_array(state, "labels", (pairs, length), np.int32, 0, max(len(names.classes), 1))
        check_array(state, "seen", (pairs,), np.int64, 0, 2**62)
        members = state["members"]
        require(pairs <= self.limit, "members has more pairs than the learner allows")
        require(len(np.unique(members, axis=0)) == pairs, "members has a pair twice")
        require(bool((members[:, 0] <= members[:, 1]).all()), "members is out of order")
        return pairs
