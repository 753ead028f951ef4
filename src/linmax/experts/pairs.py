"""Pairs of attribute values that remember the labels they came with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._jit import Kernel
from linmax.experts.base import Capacity, FrozenVotes, Source, SourceMemory, State, TrialData
from linmax.kernels.forms import RememberedPairs
from linmax.validation import check_array, require

EMPTY = -1


def pair_up(codes, table, members, count, limit, add, out):  # type: ignore[no-untyped-def]
    """Give every pair of values of an item its number (open addressing, linear probing)."""
    mask = len(table) - 1
    for t in range(codes.shape[0]):
        j = 0
        for a in range(codes.shape[1]):
            for b in range(a + 1, codes.shape[1]):
                low = min(codes[t, a], codes[t, b])
                high = max(codes[t, a], codes[t, b])
                out[t, j] = EMPTY
                if low >= 0:
                    place = (low * 1_000_003 + high * 7_368_787) & mask
                    while table[place] != EMPTY and (
                        members[table[place], 0] != low or members[table[place], 1] != high
                    ):
                        place = (place + 1) & mask
                    if table[place] == EMPTY and add[t] and count < limit:
                        table[place] = count
                        members[count, 0] = low
                        members[count, 1] = high
                        count += 1
                    out[t, j] = table[place]
                j += 1
    return count


number_pairs = Kernel(pair_up)


@dataclass(frozen=True, repr=False)
class Pairs(Source):
    """A sub-expert for every pair of attribute values seen together, voting for the label of late.

    It looks at the last `memory` times the pair occurred, those that tie share the vote, and it is silent the
    first time. Blum 1995; 2003, section 5.2. Every column is read as nominal. `limit` bounds the number of
    pairs; later ones stay silent.

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
        """Refuse a memory of nothing."""
        super().__post_init__()
        if not isinstance(self.memory, int) or isinstance(self.memory, bool) or not 1 <= self.memory <= 1000:
            raise ValueError(f"Pairs needs 1 <= memory <= 1000 (got {self.memory!r}); 5 is usual")
        if self.limit is not None and (
            not isinstance(self.limit, int) or isinstance(self.limit, bool) or self.limit < 1
        ):
            raise ValueError(f"Pairs needs limit >= 1 or None (got {self.limit!r})")

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """One weight per pair."""
        return (room.stored,)

    def new_memory(self) -> PairMemory:
        """No pair seen yet."""
        return PairMemory(self.memory, self.limit)

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """The pairs of each trial, their frozen votes, and the memory behind them."""
        frozen = data.frozen
        assert frozen is not None
        return RememberedPairs(frozen.pair, frozen.favourite, frozen.tied, memory.labels, memory.seen)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by pair of (column, value) pairs."""
        values = names.values.names
        for i, (low, high) in enumerate(memory.members[: memory.count].tolist()):
            yield ("pair", values[low], values[high]), (i,)

    def owner(self, key: Any) -> Any:
        """Each pair stands for itself."""
        return key


class PairMemory(SourceMemory):
    """The pairs met so far and the last labels each came with."""

    freezes_votes = True

    def __init__(self, memory: int, limit: int | None) -> None:
        self.limit = limit if limit is not None else 2**31 - 1
        self.count = 0
        self.table = np.full(64, EMPTY, dtype=np.int64)
        self.members = np.zeros((16, 2), dtype=np.int64)
        self.labels = np.zeros((16, memory), dtype=np.int32)
        self.seen = np.zeros(16, dtype=np.int64)

    def freeze(self, codes: np.ndarray, add: np.ndarray) -> FrozenVotes:
        """Number the pairs of these items (new ones where `add` says so) and make place for their votes."""
        columns = codes.shape[1]
        pairs = np.empty((len(codes), columns * (columns - 1) // 2), dtype=np.int32)
        self.make_room(min(self.count + int(add.sum()) * pairs.shape[1], self.limit))
        self._number(codes, add, pairs)
        return FrozenVotes(
            pairs,
            np.zeros((*pairs.shape, self.labels.shape[1]), dtype=np.int32),
            np.zeros(pairs.shape, dtype=np.int32),
        )

    def make_room(self, count: int) -> None:
        """Room for this many pairs, at least half of the table empty."""
        room = len(self.members)
        while room < count:
            room *= 2
        if room > len(self.members):
            more = room - len(self.members)
            self.members = np.concatenate((self.members, np.zeros((more, 2), dtype=np.int64)))
            self.labels = np.concatenate(
                (self.labels, np.zeros((more, self.labels.shape[1]), dtype=np.int32))
            )
            self.seen = np.concatenate((self.seen, np.zeros(more, dtype=np.int64)))
        if 2 * room > len(self.table):
            known = self.members[: self.count].copy()
            self.table = np.full(4 * room, EMPTY, dtype=np.int64)
            self.count = 0
            self._number(known, np.ones(len(known), dtype=bool), np.empty((len(known), 1), dtype=np.int32))

    def _number(self, codes: np.ndarray, add: np.ndarray, out: np.ndarray) -> None:
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        self.count = int(number_pairs(codes, self.table, self.members, self.count, self.limit, add, out))

    def state(self, sizes: Capacity) -> State:
        """The pairs, their labels and how often each was seen."""
        return {
            "members": self.members[: self.count],
            "labels": self.labels[: self.count],
            "seen": self.seen[: self.count],
        }

    def restore(self, state: State) -> None:
        """Number the pairs again."""
        members = state["members"]
        self.make_room(len(members))
        self._number(members, np.ones(len(members), dtype=bool), np.empty((len(members), 1), dtype=np.int32))
        self.labels[: self.count] = state["labels"]
        self.seen[: self.count] = state["seen"]

    def validate(self, state: State, names: Any) -> int:
        """Pairs of values there are, each once, with labels there are."""
        pairs, length = len(state["seen"]), self.labels.shape[1]
        check_array(state, "members", (pairs, 2), np.int64, 0, len(names.values))
        check_array(state, "labels", (pairs, length), np.int32, 0, max(len(names.classes), 1))
        check_array(state, "seen", (pairs,), np.int64, 0, 2**62)
        members = state["members"]
        require(pairs <= self.limit, "members has more pairs than the learner allows")
        require(len(np.unique(members, axis=0)) == pairs, "members has a pair twice")
        require(bool((members[:, 0] <= members[:, 1]).all()), "members is out of order")
        return pairs
