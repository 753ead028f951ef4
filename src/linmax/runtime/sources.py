"""The state of sources: capacity, memories, generated votes, scaled attributes, and what kernels read."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linmax.experts.base import Capacity, FrozenVotes, Source, SourceMemory, TrialData
from linmax.experts.generated import GeneratedSource, Generator
from linmax.kernels.forms import Rows, Sparse, SparseRows, Sum
from linmax.kernels.sources.scaling import ColumnStatistics, ScaledRows, scale
from linmax.runtime.instances import TrialSequence, append, take
from linmax.runtime.layout import WeightLayout, enlarged, strip_prefix
from linmax.validation import check_array, require

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


State = dict[str, np.ndarray]


class Generators:
    """The generators of a session, one per different source.

    Parameters
    ----------
    parts
        All sources of the session.
    names
        The names of classes, experts, attributes and values of the session.

    Attributes
    ----------
    sources : tuple of GeneratedSource
        The different sources that generate votes.
    generators : tuple of Generator
        The generator of each.
    """

    def __init__(self, parts: Iterable[Source], names: Any) -> None:
        self.names = names
        self.sources = tuple(dict.fromkeys(part for part in parts if isinstance(part, GeneratedSource)))
        self.generators = tuple(source.new_generator(names) for source in self.sources)

    def vote(
        self, data: TrialData, labels: np.ndarray, sizes: Capacity, new: Sequence[Any]
    ) -> dict[Source, Sparse]:
        """Return the votes of each source on some trials; those with a label are learned.

        `new` are the attributes of the trials that the session does not know yet.
        """
        return {
            source: one.vote(data, labels, sizes, new)
            for source, one in zip(self.sources, self.generators, strict=True)
        }

    def most_votes(self, classes: int) -> int:
        """Return the largest number of votes on a trial."""
        return sum(one.most_votes(classes) for one in self.generators)

    def state(self) -> State:
        """Return what all have learned, as arrays."""
        return {
            f"{i}.{name}": array
            for i, one in enumerate(self.generators)
            for name, array in one.state().items()
        }

    def _parts_of(self, state: State) -> Iterator[tuple[Generator, State]]:
        for i, one in enumerate(self.generators):
            yield one, strip_prefix(state, f"{i}.")

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        for one, part in self._parts_of(state):
            one.restore(part)

    def validate(self, state: State) -> None:
        """Raise a ValueError if these are not the arrays of such generators."""
        for one, part in self._parts_of(state):
            one.validate(part, self.names)


def add_derived(
    scaling: Scaling | None,
    generators: Generators,
    sizes: Capacity,
    new: Sequence[Any],
    data: TrialData,
    labels: np.ndarray,
) -> TrialData:
    """Add to the data of some trials what sources read besides: standardised attributes, generated votes."""
    if scaling is not None and data.rows is not None:
        data = replace(data, scaled=scaling.scale(data.rows, labels))
    if generators.sources and data.rows is not None:
        data = replace(data, generated=generators.vote(data, labels, sizes, new))
    return data


SAVED = {"nonzeros": np.int64, "mean": np.float64, "squares": np.float64}


class Scaling:
    """Standardises the attributes of a session, once for all learners that read them so.

    Parameters
    ----------
    names
        The names of classes, experts, attributes and values of the session.

    Attributes
    ----------
    statistics : ColumnStatistics
        The statistics of the labelled items so far.
    """

    def __init__(self, names: Any) -> None:
        self.names = names
        self._use(np.zeros(1, dtype=np.int64), {name: np.zeros(8, dtype) for name, dtype in SAVED.items()})

    def _use(self, items: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        frequent = np.flatnonzero(2 * columns["nonzeros"] > items[0])
        listed = np.zeros(len(columns["mean"]) + 1, dtype=np.int32)
        listed[: len(frequent) + 1] = [len(frequent), *frequent]
        self.statistics = ColumnStatistics(items, **columns, frequent=listed, next=listed.copy())

    def resize(self, sizes: Capacity) -> bool:
        """Make space for so many attributes; return whether the arrays are new."""
        capacity = len(self.statistics.mean)
        if sizes.attributes <= capacity:
            return False
        space = enlarged(capacity, sizes.attributes) - capacity
        self._use(
            self.statistics.items,
            {name: np.pad(getattr(self.statistics, name), (0, space)) for name in SAVED},
        )
        return True

    def scale(self, rows: Rows | SparseRows, labels: np.ndarray) -> ScaledRows:
        """Return the standardised rows of some trials; those with a label are counted."""
        trials, reached = len(labels), np.zeros(1, dtype=np.int64)
        each = rows.values.shape[1] if isinstance(rows, Rows) else len(rows.index) // max(trials, 1)
        out = empty_rows(trials, trials * (2 + each) + len(self.statistics.next))
        begin = 0
        while True:
            scale(rows, labels, self.statistics, out, reached, begin, trials)
            if reached[0] == trials:
                break
            begin = int(reached[0])  # the entries of one trial fit into the added space
            space = len(out.index) + len(self.statistics.next) + 2
            out = out._replace(
                **{name: np.pad(getattr(out, name), (0, space)) for name in ("index", "value", "unit")}
            )
        size = int(out.indptr[-1])
        return ScaledRows(out.indptr, out.index[:size], out.value[:size], out.unit[:size])

    def bind(self, program: Any, rows: Any) -> ScaledRows:
        """Return the row of a single item, which a program writes anew for every item."""
        out = empty_rows(1, len(rows.index) + len(self.statistics.next) + 2)
        program.call(scale, rows, program.labels, self.statistics, out, np.zeros(1, dtype=np.int64))
        return out

    def state(self) -> dict[str, np.ndarray]:
        """Return the statistics, without spare capacity."""
        columns = {name: getattr(self.statistics, name)[: len(self.names.attributes)] for name in SAVED}
        return {"items": self.statistics.items, **columns}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        space = enlarged(0, len(self.names.attributes)) - len(self.names.attributes)
        self._use(state["items"].copy(), {name: np.pad(state[name], (0, space)) for name in SAVED})

    def validate(self, state: dict[str, np.ndarray]) -> None:
        """Raise a ValueError if these are no statistics of the columns of the session."""
        check_array(state, "items", (1,), np.int64, 0, 2**62)
        for name, dtype in SAVED.items():
            check_array(state, name, (len(self.names.attributes),), dtype)
        valid = (
            (state["nonzeros"] >= 0) & (state["nonzeros"] <= state["items"][0]) & (state["squares"] >= 0.0)
        )
        require(bool(valid.all()), "the statistics of its attributes are not those of any columns")


def empty_rows(trials: int, entries: int) -> ScaledRows:
    """Return arrays for so many trials and entries."""
    index = np.zeros(entries, dtype=np.int32)
    return ScaledRows(np.zeros(trials + 1, dtype=np.int64), index, np.zeros(entries), np.zeros(entries))
