"""The memory of Kernel: support vectors in arrays that grow."""

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

MAX_CHUNK = 256  # trials
MAX_SPARE = 1 << 14  # support vectors for which a chunk reserves space
UNLIMITED = 2**40  # updates of one recycled instance, at least


class SupportVectorMemory(SourceMemory):
    """Support vectors, statistics of classes, and intermediate results of the current trial.

    Parameters
    ----------
    way : int
        How instances are compared: PLAIN, FACTORED or GENERAL.
    statistic : {"first", "mean"}
        The statistic of classes.
    sets : int or None
        The number of sets of classes; None for one per class.
    budget : int or None
        The largest number of support vectors.
    """

    binds_weights = True

    def __init__(self, way: int, statistic: str, sets: int | None, budget: int | None) -> None:
        self.way = way
        self.sets = sets
        self.budget = budget
        self.statistics = ClassStatistics(statistic)
        self.reserved = 0
        self.recycled = (0, 0)
        self.rivals: int | None = None
        self.outdated = False
        self._allocate(Capacity(0, 0, 0, 0))

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of support vectors, with those that were dropped since the last `compact`."""
        return int(self.supports.numbers[COUNT])

    def _allocate(self, capacity: Capacity) -> None:
        sets, classes = self.sets or capacity.classes, capacity.classes
        table = 0 if self.way == PLAIN else classes
        size, attributes = capacity.stored, capacity.attributes
        self.supports = Supports(
            np.zeros((attributes, size)), np.zeros(size), np.zeros(size), np.zeros((size, sets)),
            np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.int64), np.zeros((size, table)),
            np.zeros(size, dtype=np.int64), np.zeros(NUMBERS, dtype=np.int64),
        )  # fmt: skip
        self.scratch = Scratch(
            np.zeros(attributes), np.zeros(attributes), np.zeros(attributes), np.zeros(size),
            np.zeros(size), np.zeros(classes), np.zeros(classes), np.zeros(sets),
        )  # fmt: skip

    def configure(self, size: int, updates: int, rivals: int | None) -> None:
        """Set how the learner recycles, and on how many rivals it updates at a time (None: all)."""
        if size and self.budget is not None and updates >= UNLIMITED:
            raise ValueError("a Kernel with a budget requires Recycled with a limit on updates; 5 is usual")
        self.recycled = (size, updates)
        self.rivals = rivals

    def chunk_size(self, classes: int) -> int:
        """Return a number of trials that can add at most MAX_SPARE support vectors, or 1."""
        trials = MAX_CHUNK
        while trials > 1 and self._most_new(trials, classes) > MAX_SPARE:
            trials //= 2
        return trials

    def reserve(self, trials: int, classes: int) -> None:
        """Reserve space for every support vector that so many trials can add."""
        self.reserved = self._most_new(trials, classes)

    def _most_new(self, trials: int, classes: int) -> int:
        size, updates = self.recycled
        updated = (trials + size) * updates if size and trials else trials
        each = classes if self.rivals is None else min(classes, 1 + self.rivals)
        most = updated * (1 if self.way == PLAIN else each)
        if self.budget is not None:
            return most  # one that was dropped may be added again
        # an instance does not change during a trial, and equal ones are stored once
        return min(most, trials + size if self.way == PLAIN else trials * (size + 1) * classes)

    def capacity_needed(self) -> int:
        """Return the number of support vectors, with those that may be added."""
        return self.count + self.reserved

    def resize(self, capacity: Capacity) -> None:
        """Copy everything into larger arrays."""
        self.statistics.resize(capacity)
        before, old = self.supports, self.supports.z.shape
        if old == (capacity.attributes, capacity.stored) and len(self.scratch.part) == capacity.classes:
            return
        self._allocate(capacity)
        for name, array in before._asdict().items():
            after = getattr(self.supports, name)
            corner = tuple(slice(min(pair)) for pair in zip(array.shape, after.shape, strict=True))
            after[corner] = array[corner]

    def start_trials(self, mercer: Mercer) -> None:
        """Forget the current trial; after a model file was read, compute the table E again."""
        self.supports.numbers[TRIAL] = -1
        if self.outdated and self.way == FACTORED:
            renew_table(self.supports, self.statistics.struct(), mercer, self.scratch.dot)
        self.outdated = False

    def compact(self) -> np.ndarray | None:
        """Remove the support vectors that were dropped; the others keep their order."""
        self.reserved = 0
        count, alive = self.count, self.supports.alive
        if self.supports.numbers[FULL]:
            raise RuntimeError(
                "more support vectors were added than there was space for; please report this bug of linmax"
            )
        if alive[:count].all():
            return None
        alive_at = np.flatnonzero(alive[:count])
        for name, array in self.supports._asdict().items():
            if name == "z":
                array[:, : len(alive_at)] = array[:, alive_at]
            elif name != "numbers":
                array[: len(alive_at)] = array[alive_at]
        self.supports.numbers[COUNT] = len(alive_at)
        return alive_at

    def state(self, sizes: Capacity) -> State:
        """Return support vectors, coefficients and statistics; all else is computed from them."""
        count, sets = self.count, self.sets or sizes.classes
        z, alpha = np.zeros((sizes.attributes, count)), np.zeros((count, sets))
        z[: self.supports.z.shape[0]] = self.supports.z[: sizes.attributes, :count]
        here = self.supports.alpha[:count, :sets]
        alpha[:, : here.shape[1]] = here
        return {
            "z": z, "alpha": alpha, "norm": self.supports.norm[:count],
            "length": self.supports.length[:count], "born": self.supports.born[:count],
            "numbers": self.supports.numbers[[BORN]],
            **self.statistics.state(sizes),
        }  # fmt: skip

    def restore(self, state: State) -> None:
        """Take over the arrays of a model file; `resize` makes them larger."""
        self.statistics.restore(state)
        count, classes = len(state["norm"]), len(state["seen"])
        self._allocate(Capacity(0, classes, len(state["z"]), count))
        for name in ("z", "alpha", "norm", "length", "born"):
            getattr(self.supports, name)[...] = state[name]
        self.supports.alive[:] = 1
        self.supports.numbers[[COUNT, ALIVE, BORN]] = count, count, state["numbers"][0]
        self.outdated = True

    def validate(self, state: State, names: Any) -> int:
        """Check shapes and ranges."""
        self.statistics.validate(state, names)
        count, attributes = len(state["norm"]), len(names.attributes)
        check_array(state, "z", (attributes, count), np.float64)
        check_array(state, "alpha", (count, self.sets or len(names.classes)), np.float64)
        for name in ("norm", "length"):
            check_array(state, name, (count,), np.float64)
        check_array(state, "born", (count,), np.int64, 0, 2**62)
        check_array(state, "numbers", (1,), np.int64, 0, 2**62)
        require(
            self.budget is None or count <= self.budget,
            "there are more support vectors than the budget allows",
        )
        return count
