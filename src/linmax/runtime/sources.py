"""Sources at work: the room their weights have, what they remember, and the forms they make of trials."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from functools import reduce
from typing import Any, Self

import numpy as np

from linmax.experts.base import Data, Frozen, Memory, Room, Source
from linmax.kernels.forms import Sum
from linmax.runtime.instances import Tape, append, take
from linmax.runtime.layout import doubled, layout, part_of, size_of

MOST_WEIGHTS = 1 << 28  # 2 GiB in each column


def check_size(weights: int, need: Room) -> None:
    """Refuse more weights than anybody means to have."""
    if weights > MOST_WEIGHTS:
        raise ValueError(
            f"{need.experts} experts, {need.attributes} attributes and {need.classes} classes make over"
            f" {MOST_WEIGHTS} weights; is an id column taken for a label?"
        )


class Ground:
    """What learners on the same source share; one with a memory has a single learner on it."""

    def __init__(self, parts: tuple[Source, ...], names: Any) -> None:
        self.parts = parts
        self.names = names
        self.size = 0  # kept instances
        self.memories = [part.new_memory() for part in parts]
        self.frozen: Frozen | None = None  # votes of the kept instances, as they were in their own time
        self.room = Room(*(doubled(0, want) for want in (1, 2, 1, 1)))

    @property
    def remembering(self) -> list[Memory]:
        """The memories there are; one with any is not shared, for a learner writes into it as it runs."""
        return [memory for memory in self.memories if memory is not None]

    @property
    def freezing(self) -> Any:
        """The memory that freezes votes, or None."""
        return next((memory for memory in self.remembering if memory.freezes), None)

    def twin(self) -> Self:
        """A ground that remembers the same, and goes its own way."""
        twin = copy.copy(self)
        twin.memories = [copy.deepcopy(memory) for memory in self.memories]
        return twin

    # --- room

    def sizes(self) -> Room:
        """How many of each there are now."""
        names = self.names
        remembered = max((memory.count for memory in self.remembering), default=0)
        return Room(len(names.experts), len(names.classes), len(names.attributes), remembered)

    def need(self, batch: Any) -> Room:
        """How many of each there are with those of a batch."""
        attributes = len(self.names.attributes) + len(batch.new_attributes)
        remembered = max((memory.need() for memory in self.remembering), default=0)
        come = Room(batch.experts_seen, batch.classes_seen, attributes, remembered)
        return Room(*map(max, self.sizes(), come))

    def check(self, need: Room) -> None:
        """Refuse what the sources cannot serve, before anything has changed."""
        for part in self.parts:
            part.check(need.classes)
        check_size(size_of(self.parts, need), need)

    def grow(self, need: Room) -> bool:
        """Double what has become too small."""
        if all(have >= want for have, want in zip(self.room, need, strict=True)):
            return False
        self.room = Room(*(doubled(have, want) for have, want in zip(self.room, need, strict=True)))
        return True

    # --- trials

    def expect_trials(self, trials: int, classes: int) -> None:
        """So many trials are to be learned: what is remembered may need room for more."""
        for memory in self.remembering:
            memory.expect_trials(trials, classes)

    def lay(self, tape: Tape, batch: Any, rows: slice) -> Tape:
        """A tape as this ground sees it: a source with memory adds the votes it froze."""
        if batch.nominal is None or self.freezing is None:
            return tape
        data, labels = tape.data, tape.labels[tape.held :]
        frozen = Data(frozen=self.freezing.freeze(batch.nominal.codes[rows], labels >= 0))
        if tape.held:
            frozen = append(Data(frozen=self.frozen), frozen)
        return tape._replace(data=Data(data.votes, data.rows, frozen.frozen))

    def take_in(self, tape: Tape) -> None:
        """Keep the frozen votes of the latest trials."""
        places = tape.last(self.size)
        if self.size and len(places) and tape.data.frozen is not None:
            self.frozen = take(Data(frozen=tape.data.frozen), places).frozen

    def form(self, data: Data) -> Any:
        """All parts side by side."""
        for memory in self.remembering:
            memory.fit(self.room)
        made = [
            (part.form(data, self.room, self.names, memory), math.prod(part.shape(self.room)))
            for part, memory in zip(self.parts, self.memories, strict=True)
        ]
        whole, _ = reduce(lambda left, right: (Sum(left[0], right[0], left[1]), left[1] + right[1]), made)
        return whole

    def named(self, names: Any = None) -> Iterator[tuple[Any, Any, int]]:
        """Every sub-expert there is: its name, whose it is, and its place among the weights."""
        names = names or self.names
        for (part, at, shape), memory in zip(layout(self.parts, self.room), self.memories, strict=True):
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
            for key, place in part.keys(names, memory):
                yield (
                    key,
                    part.owner(key),
                    at + sum(i * stride for i, stride in zip(place, strides, strict=True)),
                )

    # --- as arrays

    def _memories(self) -> Iterator[tuple[str, Memory]]:
        for i, memory in enumerate(self.remembering):
            yield f"memory.{i}.", memory

    def memories_of(self, state: dict[str, np.ndarray]) -> Iterator[tuple[Memory, dict[str, np.ndarray]]]:
        """Every memory with its part of a state."""
        for start, memory in self._memories():
            yield memory, part_of(state, start)

    def state(self) -> dict[str, np.ndarray]:
        """What sources remember."""
        state: dict[str, np.ndarray] = {}
        for start, memory in self._memories():
            state |= {start + field: array for field, array in memory.state(self.sizes()).items()}
        if self.frozen is not None:
            state |= {f"frozen.{field}": getattr(self.frozen, field) for field in Frozen._fields}
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up what `state` gave."""
        for memory, part in self.memories_of(state):
            memory.restore(part)
        if "frozen.pair" in state:
            self.frozen = Frozen(*(state[f"frozen.{field}"] for field in Frozen._fields))
        self.grow(self.sizes())
