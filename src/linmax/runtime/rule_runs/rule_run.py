"""The run of one rule: its weights over all sub-experts, averaged and recycled as the learner asks."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from linmax._jit import addresses, compilation
from linmax._jit.memory import Stage, aligned_zeros
from linmax._jit.vectors import WIDTH
from linmax.experts.base import Capacity, State
from linmax.kernels import in_place, trial
from linmax.kernels.averaging import AverageState
from linmax.kernels.forms.base import has_multiply
from linmax.kernels.forms.votes import class_slots
from linmax.kernels.recycling import ROUGH, Buffer, NoBuffer
from linmax.kernels.structs import (
    COUNTS,
    HELD,
    KEPT,
    NEXT,
    SILENT,
    TRIALS,
    Hypothesis,
    Outputs,
    RunSettings,
    Workspace,
)
from linmax.rules import base
from linmax.rules.base import OWN, SCALARS, SCALE, SLACK, Rule
from linmax.runtime import tables
from linmax.runtime.instances import TrialSequence
from linmax.runtime.layout import WeightLayout, copy_columns
from linmax.runtime.rule_runs.rule_group import RuleGroup
from linmax.runtime.rule_runs.rule_settings import (
    adding_settings,
    can_add,
    can_multiply,
    multiplying_settings,
    run_settings,
)
from linmax.runtime.rule_runs.weight_blocks import WeightBlocks, check_weights, columns_of
from linmax.runtime.sources import NO_COSTS, Sources
from linmax.spec import RunOptions
from linmax.validation import check_array

NO_PARAMETERS = np.zeros(0)
COLUMNS = ("theta", "w", "spoken", "past", "since")


@dataclass
class Requests:
    """What predictors need of a rule run in the current chunk, beside its predictions."""

    scores: bool = False
    mean_scores: bool = False
    moves: bool = False
    replay: bool = False


class RuleRun:
    """The state of one rule, and how it runs over trials.

    Everything that learning changes is in `counts`, `s`, the columns over the sub-experts and the `used`
    counters of buffered trials. It depends on the trials alone, not on the chunks they came in.

    Parameters
    ----------
    rule
        The update rule.
    options
        Recycling, as the learner declares it. Averaging is switched on by `average`.
    sources
        The sources of sub-experts.

    Attributes
    ----------
    outputs : Out
        The predictions, scores and updates of the current chunk.
    before : RuleRun or None
        A copy of the state before the current chunk, if a predictor has asked for replay.
    """

    def __init__(self, rule: Any, options: RunOptions, sources: Sources) -> None:
        self.rule = rule
        self.sources = sources
        self.averages = False
        self.in_place = self.multiplies = self.sparse = False  # sparse: weights may be stored in blocks
        self.safe_updates = np.zeros(2, dtype=np.int64)  # see `Multiplying`
        self.group: RuleGroup | None = None
        self.table: WeightBlocks | None = None
        base.try_rule(rule)
        self.buffer_size = options.buffer
        self.updates = options.updates
        self.tracks_spoken = rule.joins or rule.first() != 0.0 or self.buffer_size > 0
        self.counts = np.zeros(COUNTS, dtype=np.int64)
        self.s = np.zeros(SCALARS)
        own = rule.scalars()
        if len(own) > SCALARS - OWN:
            raise ValueError(f"{rule!r} keeps {len(own)} scalars; at most {SCALARS - OWN} are possible")
        self.s[SCALE], self.s[SLACK], self.s[OWN : OWN + len(own)] = 1.0, rule.threshold(), own
        for memory in sources.stateful:
            memory.configure(self.buffer_size, self.updates, 1 if rule.rivals == "top" else None)
        self.total = np.zeros(1)
        self.used = np.zeros(0, dtype=np.int64)
        self.active = 0
        self.requests = Requests()
        self.outputs: Any = None
        self.before: RuleRun | None = None
        self._buffer: Any = None
        self._stage: Any = None
        self._settings: dict[tuple[Rule, bool], tuple[np.ndarray, RunSettings]] = {}
        self._allocate(sources.layout)

    def average(self) -> None:
        """Also keep the mean of all hypotheses; called before anything is learned."""
        self.averages = True
        self._settings.clear()
        self._allocate(self.sources.layout)

    def use_in_place(self) -> None:
        """Update weights in place, if the rule and its sources can; called before anything is learned."""
        parts = self.sources.parts
        if not self.buffer_size:
            self.multiplies = can_multiply(self.rule, parts, self.averages)
            self.in_place = can_add(self.rule, parts, self.averages)
        self.sparse = self.in_place and self.rule.step().adapts and any(part.sparse for part in parts)
        self._allocate(self.sources.layout)

    def join(self, group: RuleGroup) -> None:
        """Keep the columns in those of a group; called before anything is learned."""
        self.group = group
        self._allocate(self.sources.layout)

    # --- sizes

    def _allocate(self, layout: WeightLayout) -> None:
        self.layout = layout
        self.table = None
        if self.sparse and layout.size > tables.DENSE:
            self.table = WeightBlocks(layout)
        self.columns = self.empty_columns(layout)
        if self.group is not None:
            self.group.share(self, self.columns, layout)
        elif self.in_place and not self.rule.step().adapts:
            self.columns["theta"] = self.columns["w"]  # they are equal
        sizes = layout.sizes
        n = layout.size
        if self.in_place:  # no list of all coordinates of z
            n = layout.voters + sizes.experts + sizes.attributes + WIDTH
        scores, mean, q = aligned_zeros((3, class_slots(sizes.classes)))
        self.work = Workspace(
            np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1),
            scores, mean, q, np.zeros(SCALARS), np.zeros(1), NO_COSTS,
        )  # fmt: skip

    def empty_columns(self, layout: WeightLayout) -> dict[str, np.ndarray]:
        """Return a new column for each thing that is kept per sub-expert."""
        adapts = self.in_place and self.rule.step().adapts
        dtype = np.float32 if adapts and any(part.many for part in self.sources.parts) else np.float64
        tracked = layout.voters if self.in_place else None
        stored = 0 if self.table is not None else None
        return layout.empty_columns(self.rule.first(), self.averages, dtype, tracked, stored)

    def check_sizes(self, sizes: Capacity) -> None:
        """Raise a ValueError if so many would need too much memory, before anything has changed."""
        shapes = [part.shape(sizes) for part in self.sources.parts]
        tables.check_size(sum(map(math.prod, shapes)), sizes, self.sparse)

    @property
    def in_blocks(self) -> bool:
        """Whether weights are stored in blocks."""
        return self.table is not None

    def chunk_size(self, votes: Any, classes: int) -> int:
        """Return how many trials with such votes may be run at a time."""
        if self.table is None:
            return 1 << 62
        return max(1, tables.CHUNK_BLOCKS // max(1, self.table.most_blocks(votes, classes)[0]))

    def reserve(self, votes: Any, trials: int, classes: int) -> bool:
        """Make space for what so many trials may add; return whether arrays were replaced."""
        if self.table is None:
            return False
        blocks, pages = self.table.most_blocks(votes, classes)
        return self.table.reserve(trials * blocks, trials * pages)

    def lacks(self, votes: Any, classes: int) -> bool:
        """Whether there is no space for what one trial may add."""
        return self.table is not None and self.table.lacks(*self.table.most_blocks(votes, classes))

    def resize(self) -> None:
        """Follow the capacity of the sources, and count the sub-experts that have not spoken yet."""
        if self.layout is not self.sources.layout:
            before, old, table = self.columns, self.layout, self.table
            self._allocate(self.sources.layout)
            copy_columns(before, old, self.columns, self.layout)
            if table is not None:
                self.table = table
                table.follow(self.layout)
            elif self.table is not None:
                self.table.add_columns(before, old)
        if self.in_place:
            self._count_silent()
        elif self.active != self.sources.active:
            self.counts[SILENT] += self.sources.active - self.active
            self.active = self.sources.active

    def _count_silent(self) -> None:
        """Count the experts that have not voted yet; other sub-experts start with weight 0."""
        self.counts[SILENT] = 0
        for block in self.layout.blocks:
            if block.part.starts_equal:
                shape = block.part.shape(self.sources.sizes)
                spoken = block.view(self.columns["spoken"])[tuple(map(slice, shape))]
                self.counts[SILENT] += spoken.size - int(np.count_nonzero(spoken))

    def drop_forgotten(self) -> None:
        """Remove the weights of what the sources store no longer."""
        for block, memory in zip(self.layout.blocks, self.sources.memories, strict=True):
            kept = memory.compact() if memory is not None else None
            if kept is not None:
                empty = self.empty_columns(self.layout)
                for name in COLUMNS:
                    if len(self.columns[name]):
                        column = block.view(self.columns[name])
                        column[: len(kept)] = column[kept]
                        column[len(kept) :] = block.view(empty[name])[len(kept) :]

    # --- running

    def settings(self) -> tuple[np.ndarray, RunSettings]:
        """Return the parameters and functions of the rule as the kernel takes them."""
        rule, interpreting = self.rule, compilation.interpreting()
        if (rule, interpreting) not in self._settings:
            self._settings[rule, interpreting] = (
                addresses.parameters(rule.parameters()),
                run_settings(rule, self.tracks_spoken, self.averages, self.updates),
            )
        return self._settings[rule, interpreting]

    def in_place_state(self) -> tuple[Any, ...]:
        """Return all that the kernel of rules that add takes between the trials and the outputs."""
        c, table = self.columns, self.table
        theta, w = (c["theta"], c["w"]) if table is None else (table.column(0), table.column(1))
        return (
            Hypothesis(theta, w, c["first"], c["spoken"], NO_PARAMETERS, self.s),
            AverageState(c["past"], c["since"], self.total),
            self.work._replace(costs=self.sources.costs()),
            adding_settings(self.rule, self.averages),
            self.counts,
        )

    def kernel_state(self, buffer: Buffer | NoBuffer) -> tuple[Any, ...]:
        """Return all that the kernel takes between the trials and the outputs."""
        parameters, settings = self.settings()
        c = self.columns
        return (
            Hypothesis(c["theta"], c["w"], c["first"], c["spoken"], parameters, self.s),
            AverageState(c["past"], c["since"], self.total),
            buffer,
            self.work._replace(costs=self.sources.costs()),
            settings,
            self.counts,
        )

    def stage(
        self, form: Any, labels: np.ndarray, known: np.ndarray, buffer: Buffer | NoBuffer, outputs: Outputs
    ) -> Stage:
        """Return the kernel of this run, bound to its state and to trials."""
        if self.in_place:
            return in_place.run.stage(form, labels, known, *self.in_place_state(), outputs)
        state = self.kernel_state(buffer)
        if not self.multiplies or not has_multiply(form):
            return trial.run.stage(form, labels, known, *state, outputs)
        h, average, _, work, settings, counts = state
        multiplying = multiplying_settings(settings, self.safe_updates)
        return in_place.run.stage(form, labels, known, h, average, work, multiplying, counts, outputs)

    def recycling_buffer(self, trials: TrialSequence, form: Any) -> Buffer | NoBuffer:
        """Return the buffered trials, ready to be recycled."""
        if not self.buffer_size:
            return NoBuffer(0)
        size = self.buffer_size
        held = min(trials.buffered, len(self.used))
        self.counts[HELD] = self.counts[NEXT] = held
        ring, used = np.zeros(size, dtype=np.int64), np.zeros(len(trials.labels), dtype=np.int64)
        ring[:held] = np.arange(trials.buffered - held, trials.buffered)
        used[ring[:held]] = self.used[:held]
        sketched = self.s[SLACK] < 0.0 and not self.sources.stateful
        votes = form.sketch_votes() if sketched else -1
        slots, weights = (size, len(self.columns["w"])) if votes >= 0 else (0, 0)
        return Buffer(
            ring, used, np.zeros(size, dtype=np.int64),
            np.zeros((slots, max(votes, 0) + 1), dtype=np.int64), np.zeros(weights, dtype=np.int64),
            np.zeros(weights), np.zeros(ROUGH),
        )  # fmt: skip

    def begin(self, length: int, classes: int) -> None:
        """Allocate what was requested for a chunk."""
        requests = self.requests
        self.before = self.twin() if requests.replay else None
        self.outputs = Outputs(
            np.empty(length, dtype=np.int32),
            np.empty(length if self.averages else 0, dtype=np.int32),
            np.zeros((length if requests.scores else 0, classes)),
            np.zeros((length if requests.mean_scores else 0, classes)),
            np.zeros(length if requests.moves else 0, dtype=np.uint8),
        )
        sources = self.sources
        self._buffer = self.recycling_buffer(sources.trials, sources.form)
        trials = sources.trials  # compiles here, not in another thread
        self._stage = self.stage(sources.own_form(), trials.labels, trials.known, self._buffer, self.outputs)

    def execute(self) -> None:
        """Run over the new trials of the chunk; any thread may do it."""
        trials = self.sources.trials
        self._stage(trials.buffered, len(trials.labels))
        if isinstance(self._buffer, Buffer) and (trials.labels[trials.buffered :] >= 0).any():
            self.used = self._buffer.used[trials.latest(self.buffer_size)]

    def release(self) -> None:
        """Forget the chunk."""
        self.outputs = self.before = self._buffer = self._stage = None

    def twin(self) -> Self:
        """Return a run in the same state that goes its own way."""
        twin = copy.copy(self)
        twin.group = None
        twin.columns = {name: column.copy() for name, column in self.columns.items()}
        twin.table = self.table and self.table.twin()
        twin.counts, twin.s, twin.total = self.counts.copy(), self.s.copy(), self.total.copy()
        twin.safe_updates = np.zeros_like(self.safe_updates)
        if self.sources.stateful:
            twin.sources = self.sources.twin()
        return twin

    # --- what was learned

    def weights(self, *, mean: bool, at: Any = ...) -> np.ndarray:
        """Return a hypothesis over all sub-experts, or over those `at` some indices.

        It is the mean of all hypotheses, or the last one.
        """
        if self.table is not None:
            return float(self.s[SCALE]) * self.table.gather(
                np.arange(self.layout.size) if at is ... else at, 1
            )
        w = self.columns["w"][at]
        scale = float(self.s[SCALE])
        if not mean:
            return scale * w  # type: ignore[no-any-return]
        past, since = self.columns["past"][at], self.columns["since"][at]
        total = past + w * (self.total[0] - since) + w * scale
        return total / (int(self.counts[TRIALS]) + 1)  # type: ignore[no-any-return]

    # --- as arrays

    def state(self) -> State:
        """Return all that learning has changed, without spare capacity: equal states are equal arrays.

        Weights that could not be stored as arrays are blocks: their places, and eight numbers each.
        """
        trimmed = WeightLayout(self.sources.parts, self.sources.sizes_of_names())
        in_blocks = self.table is not None and trimmed.size > tables.DENSE
        sizes = (trimmed.voters, 0) if in_blocks else (None, None)
        columns = trimmed.empty_columns(self.rule.first(), self.averages, np.float64, *sizes)
        copy_columns(self.columns, self.layout, columns, trimmed)
        state = {name: columns[name] for name in COLUMNS}
        if self.table is not None:
            saved = self.table.saved(trimmed)
            state |= saved if in_blocks else columns_of(saved, trimmed)
        return state | {"s": self.s, "total": self.total, "counts": self.counts[:KEPT], "used": self.used}

    def restore(self, state: State) -> None:
        """Take over a state that `state` returned and that was validated."""
        trimmed = WeightLayout(self.sources.parts, self.sources.sizes_of_names())
        self.resize()
        columns = {name: state[name] for name in COLUMNS}
        in_blocks = self.sparse and "places" in state
        if self.table is None:
            columns |= columns_of(state, trimmed) if in_blocks else {}
        elif in_blocks:
            self.table.add_saved(state, trimmed)
        else:
            self.table.add_columns(columns, trimmed)
        copy_columns(columns, trimmed, self.columns, self.layout)
        if self.in_place and self.averages:  # in files of earlier versions, since > 0
            c = self.columns
            c["past"] -= c["w"] * c["since"]
            c["since"][:] = 0.0
        self.safe_updates[:] = 0
        self.s[:], self.total[:], self.counts[:KEPT] = state["s"], state["total"], state["counts"]
        self.counts[SILENT] = self.active - int(state["spoken"].sum())
        if self.in_place:
            self._count_silent()
        self.used = state["used"]

    def validate(self, state: State, sizes: Capacity) -> None:
        """Raise a ValueError if the columns of a state do not have the sizes that belong to it."""
        layout = WeightLayout(self.sources.parts, sizes)
        check_weights(state, layout, in_blocks=self.sparse and "places" in state)
        for name in ("past", "since"):
            check_array(state, name, (layout.size if self.averages else 0,), np.float64)
