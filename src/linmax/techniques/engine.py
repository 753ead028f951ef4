"""A learner at work: weights over all sub-experts, what techniques keep, and room for it to grow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linmax import _jit
from linmax.experts import Thresholds, Votes
from linmax.experts.base import Data, Frozen, Room, Source
from linmax.experts.tape import append, sparse, take
from linmax.forms import Sparse, SparseRows, Sum
from linmax.learner import Learner
from linmax.rules import rivals
from linmax.rules.base import OWN, SCALARS, SCALE, SLACK
from linmax.rules.rehearsal import rehearse
from linmax.techniques import trials
from linmax.techniques.averaged import Averaged
from linmax.techniques.base import layers
from linmax.techniques.columns import Columns, blank, copy_columns, doubled, layout, size_of
from linmax.techniques.interrupts import deferred
from linmax.techniques.records import (
    COUNTS,
    HELD,
    KEPT,
    MOST_PASSES,
    NEXT,
    SILENT,
    TRIALS,
    Buffer,
    History,
    How,
    Hypothesis,
    Out,
    Work,
)
from linmax.techniques.recycled import Recycled

UNLIMITED = 2**62
CELLS = 1 << 18  # of frozen votes in memory at once
MOST_WEIGHTS = 1 << 28  # 2 GiB in each column
CHUNK = 1 << 16  # trials that an interrupt waits for at most

DEFAULT_SOURCE = Votes() + Thresholds()


class Result(NamedTuple):
    """What a stretch of trials gave."""

    guesses: np.ndarray
    scores: np.ndarray


class Engine:
    """The state of one learner, and how it runs over data.

    Everything that changes while learning is in `counts`, `s`, the columns over sub-experts, the kept trials
    and the memories of sources; all of it is a function of the trials alone, whatever pieces they came in.
    """

    def __init__(self, learner: Learner, names: Any) -> None:
        self.learner = learner
        self.rule = learner.rule
        self.names = names
        rehearse(self.rule)
        source: Source = self.rule.experts or DEFAULT_SOURCE
        self.parts = source.parts
        self.memories = [part.new_memory() for part in self.parts]
        techniques = {type(layer): layer for layer in layers(learner)}
        self.averages = Averaged in techniques
        recycled = techniques.get(Recycled)
        self.size = recycled.size if isinstance(recycled, Recycled) else 0
        self.updates = (recycled.updates or UNLIMITED) if isinstance(recycled, Recycled) else 0
        self.hears = self.rule.joins or self.rule.first() != 0.0 or self.size > 0
        self.counts = np.zeros(COUNTS, dtype=np.int64)
        self.s = np.zeros(SCALARS)
        own = self.rule.scalars()
        if len(own) > SCALARS - OWN:
            raise ValueError(f"{self.rule!r} keeps {len(own)} scalars; {SCALARS - OWN} is the most")
        self.s[SCALE], self.s[SLACK], self.s[OWN : OWN + len(own)] = 1.0, self.rule.threshold(), own
        self.total = np.zeros(1)
        self.kept = Data()
        self.kept_labels = np.zeros(0, dtype=np.int32)
        self.kept_used = np.zeros(0, dtype=np.int64)
        self.room = Room(0, 0, 0, 0)
        self.active = 0
        self.version = 0  # changes with the room and the names: what was bound to the old arrays is void
        self.columns = self.blank(Room(0, 0, 0, 0))
        self.grow(Room(1, 2, 1, 1))

    # --- room

    def blank(self, room: Room) -> Columns:
        """A fresh column for each thing that is kept per sub-expert."""
        return blank(self.parts, room, self.rule.first(), self.averages)

    def grow(self, need: Room) -> None:
        """Double what has become too small; weights move to their new places."""
        if all(have >= want for have, want in zip(self.room, need, strict=True)):
            return
        self.version += 1
        old = self.room
        wider = (doubled(have, want) for have, want in zip(old, need, strict=True))
        self.room = Room(*wider)
        before, self.columns = self.columns, self.blank(self.room)
        copy_columns(before, layout(self.parts, old), self.columns, layout(self.parts, self.room))
        n = len(self.columns["w"])
        classes = self.room.classes + 1  # the spare slot is where abstentions go
        self.work = Work(
            np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1),
            np.zeros(classes), np.zeros(classes), np.zeros(classes), np.zeros(SCALARS),
        )  # fmt: skip

    def fit(self, need: Room) -> None:
        """Room for this many, and the right number of sub-experts that have yet to speak."""
        self.grow(need)
        spoken = self.active - int(self.counts[SILENT])
        self.active = size_of(self.parts, need)
        self.counts[SILENT] = self.active - spoken

    def sizes(self) -> Room:
        """How many of each there are now."""
        pairs = max((memory.count for memory in self.memories if memory is not None), default=0)
        names = self.names
        return Room(len(names.experts), len(names.classes), len(names.attributes), pairs)

    # --- running

    def hypothesis(self) -> Hypothesis:
        """The rule's state as the kernel takes it."""
        c = self.columns
        return Hypothesis(
            c["theta"], c["w"], c["first"], c["spoken"], _jit.parameters(self.rule.parameters()), self.s
        )

    def history(self) -> History:
        """What averaging keeps."""
        return History(self.columns["past"], self.columns["since"], self.total)

    def how(self) -> How:
        """What rule and techniques ask of the kernel."""
        code, rounds = rivals.code(self.rule.rivals)
        return How(
            _jit.reach(self.rule.update, _jit.UPDATE),
            _jit.reach(self.rule.join, _jit.JOIN),
            _jit.reach(self.rule.settle, _jit.SETTLE),
            code,
            rounds,
            int(self.rule.asks_margin),
            int(self.hears),
            int(self.averages),
            self.updates,
            MOST_PASSES if self.updates == UNLIMITED else UNLIMITED,
        )

    def form(self, data: Data) -> Any:
        """All parts side by side."""
        made = [
            (part.form(data, self.room, self.names, memory), int(np.prod(part.shape(self.room))))
            for part, memory in zip(self.parts, self.memories, strict=True)
        ]
        whole, _ = reduce(lambda left, right: (Sum(left[0], right[0], left[1]), left[1] + right[1]), made)
        return whole

    def run(self, batch: Any, *, scores: bool = False) -> Result:
        """Run a batch: its labelled trials are learned, the others only guessed."""
        count = batch.trials
        guesses = np.empty(count, dtype=np.int32)
        board = np.zeros((count if scores else 0, batch.classes_seen))
        chunk = CHUNK
        if batch.nominal is not None:
            columns = batch.nominal.codes.shape[1]
            chunk = max(1, CELLS // max(1, columns * (columns - 1) // 2))
        for begin in range(0, count, chunk):
            rows = slice(begin, min(begin + chunk, count))
            with deferred() if (batch.labels[rows] >= 0).any() else nullcontext():
                self._run_chunk(batch, rows, Out(guesses[rows], board[rows]))
        return Result(guesses, board)

    def lay_out(self, batch: Any, rows: slice) -> Data:
        """The data of some trials, with room for everyone in them."""
        data = Data(batch.votes, batch.rows)
        if rows != slice(0, batch.trials):
            data = take(data, rows)
        if batch.nominal is not None:
            memory = next(memory for memory in self.memories if memory is not None)
            data = Data(
                data.votes, data.rows, memory.freeze(batch.nominal.codes[rows], batch.labels[rows] >= 0)
            )
        self.fit(self.need(batch))
        return data

    def need(self, batch: Any) -> Room:
        """How many of each there are with those of a batch."""
        attributes = len(self.names.attributes) + len(batch.new_attributes)
        return Room(*map(max, self.sizes(), Room(batch.experts_seen, batch.classes_seen, attributes, 0)))

    def check(self, batch: Any) -> None:
        """Refuse a batch that the sources cannot serve, before anything has changed."""
        for part in self.parts:
            part.check(batch.classes_seen)
        need = self.need(batch)
        if size_of(self.parts, need) > MOST_WEIGHTS:
            raise ValueError(
                f"{need.experts} experts, {need.attributes} attributes and {need.classes} classes make over"
                f" {MOST_WEIGHTS} weights; is an id column taken for a label?"
            )

    def _run_chunk(self, batch: Any, rows: slice, out: Out) -> None:
        data, labels, known = self.lay_out(batch, rows), batch.labels[rows], batch.known[rows]
        learns = bool((labels >= 0).any())
        held = len(self.kept_labels) if learns else 0  # a prediction recycles nothing
        used = np.zeros(held + len(labels) if self.size else 0, dtype=np.int64)
        ring = np.zeros(self.size, dtype=np.int64)
        if held:
            data = append(self.kept, data)
            labels = np.concatenate((self.kept_labels, labels))
            known = np.concatenate((np.zeros(held, dtype=np.int32), known))
            used[:held] = self.kept_used
            ring[:held] = np.arange(held)
        self.counts[HELD] = self.counts[NEXT] = held
        trials.run(
            self.form(data), labels, known, held, len(labels),
            self.hypothesis(), self.history(), Buffer(ring, used), self.work, self.how(), self.counts, out,
        )  # fmt: skip
        self.fit(self.sizes())
        if self.size and learns:
            last = int(self.counts[NEXT])
            order = ring[np.arange(last - int(self.counts[HELD]), last) % self.size]
            self.kept, self.kept_labels, self.kept_used = take(data, order), labels[order], used[order]

    # --- what was learned

    def weights(self) -> np.ndarray:
        """The hypothesis that predicts, over all sub-experts."""
        w = self.columns["w"]
        scale = float(self.s[SCALE])
        if not self.averages:
            return scale * w
        mean = self.columns["past"] + w * (self.total[0] - self.columns["since"]) + w * scale
        return mean / (int(self.counts[TRIALS]) + 1)  # type: ignore[no-any-return]

    def named(self, names: Any = None) -> Iterator[tuple[Any, Any, int]]:
        """Every sub-expert there is: its name, whose it is, and its place among the weights."""
        names = names or self.names
        for (part, at, shape), memory in zip(layout(self.parts, self.room), self.memories, strict=True):
            strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
            for key, place in part.keys(names, memory):
                yield (
                    key,
                    part.owner(key),
                    at + sum(i * stride for i, stride in zip(place, strides, strict=True)),
                )

    # --- as arrays

    def state(self) -> dict[str, np.ndarray]:
        """Everything that learning changed, without the spare room: equal states are equal arrays."""
        sizes = self.sizes()
        trimmed = self.blank(sizes)
        copy_columns(self.columns, layout(self.parts, self.room), trimmed, layout(self.parts, sizes))
        state = {name: trimmed[name] for name in ("theta", "w", "spoken", "past", "since")}
        state |= {"s": self.s, "total": self.total, "counts": self.counts[:KEPT]}
        state |= {"kept.labels": self.kept_labels, "kept.used": self.kept_used}
        for name, part in (
            ("votes", self.kept.votes),
            ("rows", self.kept.rows),
            ("frozen", self.kept.frozen),
        ):
            if part is not None:
                whole = sparse(part)
                state |= {f"kept.{name}.{field}": getattr(whole, field) for field in whole._fields}
        for memory in self.memories:
            if memory is not None:
                state |= {f"memory.{field}": array for field, array in memory.state().items()}
        return {name: np.array(array) for name, array in state.items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state` gave (and that was found sound)."""
        for memory in self.memories:
            if memory is not None:
                memory.restore(*(state[f"memory.{field}"] for field in memory.state()))
        sizes = self.sizes()
        self.fit(sizes)
        trimmed = {name: state[name] for name in ("theta", "w", "spoken", "past", "since")}
        copy_columns(trimmed, layout(self.parts, sizes), self.columns, layout(self.parts, self.room))
        self.s[:], self.total[:], self.counts[:KEPT] = state["s"], state["total"], state["counts"]
        self.counts[SILENT] = self.active - int(state["spoken"].sum())
        self.kept_labels, self.kept_used = state["kept.labels"], state["kept.used"]
        held: dict[str, Any] = {}
        for name, form in (("votes", Sparse), ("rows", SparseRows), ("frozen", Frozen)):
            if f"kept.{name}.{form._fields[0]}" in state:
                held[name] = form(*(state[f"kept.{name}.{field}"] for field in form._fields))
        self.kept = Data(**held)
