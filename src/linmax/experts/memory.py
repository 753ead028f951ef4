"""What a source remembers between trials."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Room

State = dict[str, np.ndarray]


class Memory:
    """Arrays that a form writes into while it runs; they grow with the room."""

    count = 0  # what has a weight of its own: pairs, supports
    binds = False  # do weights mean something only beside what this learner remembers?
    freezes = False  # are the votes of a trial kept as they were in its own time?

    def set_up(self, size: int, updates: int, rivals: int | None) -> None:
        """The learner recycles `size` instances for `updates` moves each, on so many rivals (None: all)."""

    def chunk(self, classes: int) -> int:
        """How many trials to run at a time, at most."""
        return 1 << 62

    def expect_trials(self, trials: int, classes: int) -> None:
        """So many trials are to be learned."""

    def need(self) -> int:
        """For how many of what it counts there must be room, with those that may come."""
        return self.count

    def fit(self, room: Room) -> None:
        """Follow the room."""

    def sweep(self) -> np.ndarray | None:
        """After some trials: which of what it counts is still there, or None for all."""
        return None

    def state(self, sizes: Room) -> State:
        """What a model file keeps, without spare room."""
        raise NotImplementedError

    def restore(self, state: State) -> None:
        """Take up what a model file kept (and what was found sound)."""
        raise NotImplementedError

    def check(self, state: State, names: Any) -> int:
        """Raise a ValueError that says what is wrong with a state; return how many it counts."""
        raise NotImplementedError
