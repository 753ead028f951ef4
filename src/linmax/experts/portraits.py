"""Statistics of classes: the first instance of each, or the running mean of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Room
from linmax.experts.expect import expect
from linmax.experts.memory import Memory, State
from linmax.forms import Portraits


class ClassPortraits(Memory):
    """What every class has looked like: sums of instances, and how many there were."""

    def __init__(self, statistic: str) -> None:
        self.first = int(statistic == "first")
        self.total = np.zeros((0, 0))
        self.seen = np.zeros(0, dtype=np.int64)

    def fit(self, room: Room) -> None:
        """Room for every attribute and class."""
        if self.total.shape != (room.attributes, room.classes):
            total, seen = self.total, self.seen
            self.total = np.zeros((room.attributes, room.classes))
            self.seen = np.zeros(room.classes, dtype=np.int64)
            self.total[: total.shape[0], : total.shape[1]] = total
            self.seen[: len(seen)] = seen

    def portraits(self) -> Portraits:
        """As kernels see them."""
        return Portraits(self.total, self.seen, self.first)

    def state(self, sizes: Room) -> State:
        """Sums and counts."""
        whole = np.zeros((sizes.attributes, sizes.classes))
        seen = np.zeros(sizes.classes, dtype=np.int64)
        corner = self.total[: sizes.attributes, : sizes.classes]
        whole[: corner.shape[0], : corner.shape[1]] = corner
        seen[: len(self.seen)] = self.seen[: sizes.classes]
        return {"total": whole, "seen": seen}

    def restore(self, state: State) -> None:
        """Take them up; `fit` makes room again."""
        self.total, self.seen = state["total"].copy(), state["seen"].copy()

    def check(self, state: State, names: Any) -> int:
        """Shapes, and counts that are counts."""
        expect(state, "total", (len(names.attributes), len(names.classes)), np.float64)
        expect(state, "seen", (len(names.classes),), np.int64, 0, 2**62)
        return 0
