"""The few items of a stream that matter most by some measure."""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple


class Item(NamedTuple):
    """One item of a stream, as it was when it was guessed."""

    row: int  # from 0 on
    line: int  # of the file, from 1 on
    id: Any
    guess: Any
    truth: Any  # None: nobody knows
    margin: float  # how far the guess was ahead of the runner-up
    votes: dict[Any, Any]


class Heap:
    """Keeps the items of the largest measure; of equals, those that came first.

    >>> heap = Heap(2)
    >>> [heap.admits(1.0) or None, heap.push(1.0, Item(0, 2, "a", 0, 1, 1.0, {}))]
    [True, None]
    >>> heap.push(3.0, Item(1, 3, "b", 0, 1, 3.0, {})); heap.push(2.0, Item(2, 4, "c", 0, 1, 2.0, {}))
    >>> [item.id for item in heap.items], heap.admits(2.0)
    (['b', 'c'], False)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._heap: list[tuple[float, int, Item]] = []

    def admits(self, measure: float) -> bool:
        """Whether an item that comes now would stay."""
        return measure > self.least

    @property
    def least(self) -> float:
        """What an item that comes now has to exceed."""
        return self._heap[0][0] if len(self._heap) >= self.most else -math.inf

    def push(self, measure: float, item: Item) -> None:
        """Take an item in, and let the least go when there are too many."""
        heapq.heappush(self._heap, (measure, -item.row, item))
        if len(self._heap) > self.most:
            heapq.heappop(self._heap)

    @property
    def items(self) -> list[Item]:
        """The largest measure first."""
        return [item for _, _, item in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]

    def state(self) -> list[Any]:
        """As plain values."""
        return [
            [measure, *item[:-1], list(item.votes.items())]
            for measure, _, item in sorted(self._heap, key=lambda entry: entry[:2])
        ]

    def restore(self, state: Any) -> None:
        """From plain values."""
        self._heap = []
        for measure, row, line, name, guess, truth, margin, votes in state:
            item = Item(int(row), int(line), name, guess, truth, float(margin), dict(votes))
            self.push(float(measure), item)
