"""The supports of a dual hypothesis, in arrays that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Capacity, SourceMemory, State
from linmax.experts.shared import ClassStatistics
from linmax.kernels.forms.support_vectors import (
    ALIVE,
    BORN,
    COUNT,
    FACTORED,
    FULL,
    NUMBERS,
    PLAIN,
    TRIAL,
    Mercer,
    Scratch,
    Supports,
    renew_table,
)
from linmax.validation import check_array, require

CHUNK = 256  # trials at a time, for which there must be room
SPARE = 1 << 14  # supports to have room for that may not come
UNLIMITED = 2**40  # moves of one recycled instance






class SupportVectorMemory(SourceMemory):
    """Supports, what classes look like, and the trial that is looked at."""

    binds_weights = True

    def __init__(self, way: int, statistic: str, sets: int | None, budget: int | None) -> None:
        self.way = way
        self.sets = sets  # None: one for each class
        self.budget = budget
        self.portraits = ClassStatistics(statistic)
        self.coming = 0
        self.recycled = (0, 0)
        self.rivals: int | None = None
        self.stale = False
        self._blank(Capacity(0, 0, 0, 0))

    @property
    def count(self) -> int:  # type: ignore[override]
        """Supports, with those that were dropped since the last sweep."""
        return int(self.supports.numbers[COUNT])

    def _blank(self, room: Capacity) -> None:
        sets, classes = self.sets or room.classes, room.classes
        table = 0 if self.way == PLAIN else classes
        size = room.stored
        self.supports = Supports(
            np.zeros((room.attributes, size)), np.zeros(size), np.zeros(size), np.zeros((size, sets)),
            np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.int64), np.zeros((size, table)),
            np.zeros(size, dtype=np.int64), np.zeros(NUMBERS, dtype=np.int64),
        )  # fmt: skip
        self.scratch = Scratch(
            np.zeros(room.attributes), np.zeros(room.attributes), np.zeros(room.attributes), np.zeros(size),
            np.zeros(size), np.zeros(classes), np.zeros(classes), np.zeros(sets),
        )  # fmt: skip

    # --- room

    def configure(self, size: int, updates: int, rivals: int | None) -> None:
        """How its learner recycles, and on how many rivals it moves at a time (None: all)."""
        if size and self.budget is not None and updates >= UNLIMITED:
            raise ValueError("a Kernel with a budget needs Recycled with a limit on updates; 5 is usual")
        self.recycled = (size, updates)
        self.rivals = rivals

    def chunk_size(self, classes: int) -> int:
        """So many that the room for the supports they can bring is not out of proportion."""
        trials = CHUNK
        while trials > 1 and self._brought(trials, classes) > SPARE:
            trials //= 2
        return trials

    def reserve(self, trials: int, classes: int) -> None:
        """Room for every support that so many trials can bring."""
        self.coming = self._brought(trials, classes)

    def _brought(self, trials: int, classes: int) -> int:
        size, updates = self.recycled
        moves = (trials + size) * updates if size and trials else trials
        each = classes if self.rivals is None else min(classes, 1 + self.rivals)
        most = moves * (1 if self.way == PLAIN else each)
        if self.budget is not None:
            return most  # what was dropped may come again
        looks = trials + size if self.way == PLAIN else trials * (size + 1) * classes
        return min(most, looks)  # an instance looks the same all trial, and what looks the same is kept once

    def capacity_needed(self) -> int:
        """Those there are, and those that may come."""
        return self.count + self.coming

    def resize(self, room: Capacity) -> None:
        """Move into larger arrays."""
        self.portraits.resize(room)
        before, old = self.supports, self.supports.z.shape
        if old == (room.attributes, room.stored) and len(self.scratch.part) == room.classes:
            return
        self._blank(room)
        for name, array in before._asdict().items():
            after = getattr(self.supports, name)
            corner = tuple(slice(min(pair)) for pair in zip(array.shape, after.shape, strict=True))
            after[corner] = array[corner]

    def make_current(self, mercer: Mercer) -> None:
        """Another tape: no trial of it was looked at; after a file was read, make E again."""
        self.supports.numbers[TRIAL] = -1
        if self.stale and self.way == FACTORED:
            renew_table(self.supports, self.portraits.portraits(), mercer, self.scratch.dot)
        self.stale = False

    def compact(self) -> np.ndarray | None:
        """Let go of what was dropped; the order stays."""
        self.coming = 0
        count, alive = self.count, self.supports.alive
        if self.supports.numbers[FULL]:
            raise RuntimeError("more supports came than there was room for; this is a mistake in linmax")
        if alive[:count].all():
            return None
        kept = np.flatnonzero(alive[:count])
        for name, array in self.supports._asdict().items():
            if name == "z":
                array[:, : len(kept)] = array[:, kept]
            elif name != "numbers":
                array[: len(kept)] = array[kept]
        self.supports.numbers[COUNT] = len(kept)
        return kept

    # --- as arrays

    def state(self, sizes: Capacity) -> State:
        """Supports, coefficients and portraits; what follows from them is made again."""
        count, sets = self.count, self.sets or sizes.classes
        z, alpha = np.zeros((sizes.attributes, count)), np.zeros((count, sets))
        z[: self.supports.z.shape[0]] = self.supports.z[: sizes.attributes, :count]
        here = self.supports.alpha[:count, :sets]
        alpha[:, : here.shape[1]] = here
        return {
            "z": z, "alpha": alpha, "norm": self.supports.norm[:count],
            "length": self.supports.length[:count], "born": self.supports.born[:count],
            "numbers": self.supports.numbers[[BORN]],
            **self.portraits.state(sizes),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Take them up; `resize` makes room."""
        self.portraits.restore(state)
        count, classes = len(state["norm"]), len(state["seen"])
        self._blank(Capacity(0, classes, len(state["z"]), count))
        for name in ("z", "alpha", "norm", "length", "born"):
            getattr(self.supports, name)[...] = state[name]
        self.supports.alive[:] = 1
        self.supports.numbers[[COUNT, ALIVE, BORN]] = count, count, state["numbers"][0]
        self.stale = True

    def validate(self, state: State, names: Any) -> int:
        """Shapes, and numbers that a run could have left."""
        self.portraits.validate(state, names)
        count, attributes = len(state["norm"]), len(names.attributes)
        check_array(state, "z", (attributes, count), np.float64)
        check_array(state, "alpha", (count, self.sets or len(names.classes)), np.float64)
        for name in ("norm", "length"):
            check_array(state, name, (count,), np.float64)
        check_array(state, "born", (count,), np.int64, 0, 2**62)
        check_array(state, "numbers", (1,), np.int64, 0, 2**62)
        require(self.budget is None or count <= self.budget, "it has more supports than its budget")
        return count
