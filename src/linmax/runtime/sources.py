"""The state of sources: capacity, memories, and the form of trials that kernels read."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linmax.experts.base import Capacity, FrozenVotes, Source, SourceMemory, TrialData
from linmax.kernels.forms import Sum
from linmax.runtime.instances import TrialSequence, append, take
from linmax.runtime.layout import WeightLayout, enlarged, strip_prefix

NO_COSTS = np.zeros((0, 0))
NO_TRIALS = TrialSequence(TrialData(), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), 0)


def sizes_of(names: Any) -> Capacity:
    """Return how many experts, classes and attributes a session knows."""
    return Capacity(len(names.experts.names), len(names.classes.names), len(names.attributes.names), 0)


class Sources:
    """The sources that one or more rule runs share; sources with memory are never shared.

    Parameters
    ----------
    parts
        The sources, in the order of their weights.
    names
        The names of classes, experts, attributes and values of the session.

    Attributes
    ----------
    memories : list of SourceMemory or None
        One per source.
    stateful : list of SourceMemory
        The memories that exist.
    capacity : Capacity
        How many experts, classes, attributes and stored items there is space for.
    sizes : Capacity
        How many there are now, those of the current batch included.
    active : int
        The number of weights that `sizes` makes.
    trials : TrialSequence
        The trials of the current chunk.
    form : NamedTuple
        The same trials as kernels read them.
    cost_matrix : callable or None
        Returns what multiplies the slack of rules, given the names of the classes and the size of the matrix.
    """

    def __init__(self, parts: tuple[Source, ...], names: Any) -> None:
        self.parts = parts
        self.names = names
        self.buffer = 0
        self.memories: list[SourceMemory | None] = [part.new_memory() for part in parts]
        self.frozen: FrozenVotes | None = None  # of the buffered trials
        self.capacity = Capacity(*(enlarged(0, needed) for needed in (1, 2, 1, 1)))
        self.layout = WeightLayout(parts, self.capacity)
        self.sizes = Capacity(0, 0, 0, 0)
        self.active = 0
        self.trials = NO_TRIALS
        self.form: Any = None
        self.cost_matrix: Callable[[Sequence[Any], int], np.ndarray] | None = None
        self._find_memories()

    def _find_memories(self) -> None:
        self.stateful = [memory for memory in self.memories if memory is not None]
        self.freezing: Any = next((memory for memory in self.stateful if memory.freezes_votes), None)

    def twin(self) -> Self:
        """Return a copy with memories of its own."""
        twin = copy.copy(self)
        twin.memories = [copy.deepcopy(memory) for memory in self.memories]
        twin._find_memories()
        return twin

    # --- sizes

    def sizes_of_names(self) -> Capacity:
        """Return how many of each the session knows."""
        stored = max((memory.count for memory in self.stateful), default=0) if self.stateful else 0
        return sizes_of(self.names)._replace(stored=stored)

    def check(self, sizes: Capacity) -> None:
        """Raise a ValueError if the sources cannot serve so many, before anything has changed."""
        for part in self.parts:
            part.check(sizes.classes)

    def resize(self, sizes: Capacity) -> bool:
        """Make space for so many; return whether the capacity has changed."""
        if self.stateful:
            sizes = sizes._replace(stored=max(memory.capacity_needed() for memory in self.stateful))
        if sizes == self.sizes:
            return False
        self.sizes = sizes
        self.active = 0
        for part in self.parts:
            self.active += math.prod(part.shape(sizes))
        if all(map(operator.ge, self.capacity, sizes)):
            return False
        self.capacity = Capacity(*map(enlarged, self.capacity, sizes))
        self.layout = WeightLayout(self.parts, self.capacity)
        return True

    def costs(self) -> np.ndarray:
        """Return what multiplies the slack of rules, by true class and rival; empty if nothing does."""
        if self.cost_matrix is None:
            return NO_COSTS
        return self.cost_matrix(self.names.classes.names, self.capacity.classes)

    # --- trials

    def chunk_size(self, classes: int) -> int:
        """Return how many trials may be run at a time."""
        return min((memory.chunk_size(classes) for memory in self.stateful), default=1 << 62)

    def load(self, trials: TrialSequence, batch: Any, rows: slice) -> None:
        """Take the trials of a chunk; a memory that freezes votes adds its votes on them."""
        if self.freezing is not None and batch.nominal is not None:
            labelled = trials.labels[trials.buffered :] >= 0
            frozen = TrialData(frozen=self.freezing.freeze(batch.nominal.codes[rows], labelled))
            if trials.buffered:
                frozen = append(TrialData(frozen=self.frozen), frozen)
            trials = trials._replace(data=replace(trials.data, frozen=frozen.frozen))
        self.trials = trials

    def reserve(self, trials: int, classes: int) -> None:
        """Let the memories make space for what so many trials may store."""
        for memory in self.stateful:
            memory.reserve(trials, classes)

    def build_form(self, data: TrialData) -> Any:
        """Return trials as kernels read them, all sources side by side."""
        for stored in self.stateful:
            stored.resize(self.capacity)
        whole: Any = None
        for block, memory in zip(self.layout.blocks, self.memories, strict=True):
            form = block.part.form(data, self.capacity, self.names, memory)
            whole = form if whole is None else Sum(whole, form, block.at)
        return whole

    def own_form(self) -> Any:
        """Return the form of the chunk for one kernel, which may write to its scratch arrays."""
        shared = not self.stateful  # sources with memory serve one rule run only
        if shared and any(part.scratch for part in self.parts):
            return self.build_form(self.trials.data)
        return self.form

    def keep_frozen(self) -> None:
        """Keep the frozen votes of the latest trials."""
        if self.buffer and self.trials.data.frozen is not None:
            places = self.trials.latest(self.buffer)
            if len(places):
                self.frozen = take(TrialData(frozen=self.trials.data.frozen), places).frozen

    def release(self) -> None:
        """Forget the chunk."""
        self.trials, self.form = NO_TRIALS, None

    def named_weights(self, names: Any = None) -> Iterator[tuple[Any, Any, int]]:
        """Yield every sub-expert: the key of its weight, its owner, and its index among the weights."""
        names = names or self.names
        for (part, at, shape), memory in zip(self.layout.blocks, self.memories, strict=True):
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
            for key, place in part.keys(names, memory):
                offset = sum(i * stride for i, stride in zip(place, strides, strict=True))
                yield key, part.owner(key), at + offset

    # --- as arrays

    def memories_of(self, state: dict[str, np.ndarray]) -> Iterator[tuple[Any, dict[str, np.ndarray]]]:
        """Yield every memory with its part of a state."""
        for i, memory in enumerate(self.stateful):
            yield memory, strip_prefix(state, f"memory.{i}.")

    def state(self) -> dict[str, np.ndarray]:
        """Return what the memories hold, as arrays."""
        state: dict[str, np.ndarray] = {}
        for i, memory in enumerate(self.stateful):
            arrays = memory.state(self.sizes_of_names())
            state |= {f"memory.{i}.{field}": array for field, array in arrays.items()}
        if self.frozen is not None:
            state |= {f"frozen.{field}": getattr(self.frozen, field) for field in FrozenVotes._fields}
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over arrays that `state` returned."""
        for memory, part in self.memories_of(state):
            memory.restore(part)
        if "frozen.pair" in state:
            self.frozen = FrozenVotes(*(state[f"frozen.{field}"] for field in FrozenVotes._fields))
        self.resize(self.sizes_of_names())
