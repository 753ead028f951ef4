"""One rule at work, recycled and averaged as its learner asks: weights over all sub-experts."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from linmax import _jit
from linmax.experts.base import Room
from linmax.kernels import trial as trials
from linmax.kernels.recycling import ROUGH, Buffer, NoBuffer
from linmax.kernels.structs import (
    COUNTS,
    HELD,
    KEPT,
    MOST_PASSES,
    NEXT,
    SILENT,
    TRIALS,
    History,
    How,
    Hypothesis,
    Out,
    Work,
)
from linmax.rules import base as rivals
from linmax.rules.base import OWN, SCALARS, SCALE, SLACK, rehearse
from linmax.runtime.instances import Tape
from linmax.runtime.layout import Columns, blank, copy_columns, layout, size_of
from linmax.runtime.sources import Ground
from linmax.spec import UNLIMITED, RunOptions

COLUMNS = ("theta", "w", "spoken", "past", "since")


class Engine:
    """The state of one rule, and how it runs over trials.

    Everything that changes while learning is in `counts`, `s`, the columns over sub-experts, and how often
    kept trials were `used`; all of it is a function of the trials alone, whatever pieces they came in.
    """

    def __init__(self, rule: Any, options: RunOptions, ground: Ground) -> None:
        self.rule = rule
        self.ground = ground
        self.averages = False
        rehearse(self.rule)
        self.size = options.buffer
        self.updates = options.updates
        self.hears = self.rule.joins or self.rule.first() != 0.0 or self.size > 0
        self.counts = np.zeros(COUNTS, dtype=np.int64)
        self.s = np.zeros(SCALARS)
        own = self.rule.scalars()
        if len(own) > SCALARS - OWN:
            raise ValueError(f"{self.rule!r} keeps {len(own)} scalars; {SCALARS - OWN} is the most")
        self.s[SCALE], self.s[SLACK], self.s[OWN : OWN + len(own)] = 1.0, self.rule.threshold(), own
        for memory in ground.remembering:
            memory.set_up(self.size, self.updates, 1 if self.rule.rivals == "top" else None)
        self.total = np.zeros(1)
        self.used = np.zeros(0, dtype=np.int64)
        self.active = 0
        self._lay_out(ground.room)

    def average(self) -> None:
        """Keep the mean of all hypotheses, too; before anything is learned."""
        self.averages = True
        self._lay_out(self.ground.room)

    # --- room

    def _lay_out(self, room: Room) -> None:
        self.room = room
        self.columns = self.blank(room)
        n, classes = len(self.columns["w"]), room.classes + 1  # the spare slot is where abstentions go
        self.work = Work(
            np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1),
            np.zeros(classes), np.zeros(classes), np.zeros(classes), np.zeros(SCALARS), np.zeros(n + 1),
        )  # fmt: skip

    def blank(self, room: Room) -> Columns:
        """A fresh column for each thing that is kept per sub-expert."""
        return blank(self.ground.parts, room, self.rule.first(), self.averages)

    def fit(self, need: Room) -> None:
        """The room of the ground, and the right number of sub-experts that have yet to speak."""
        parts = self.ground.parts
        if self.room != self.ground.room:
            before, old = self.columns, self.room
            self._lay_out(self.ground.room)
            copy_columns(before, layout(parts, old), self.columns, layout(parts, self.room))
        spoken = self.active - int(self.counts[SILENT])
        self.active = size_of(parts, need)
        self.counts[SILENT] = self.active - spoken

    def sweep(self) -> None:
        """Let go of the weights of what sources remember no longer."""
        for place, memory in zip(layout(self.ground.parts, self.room), self.ground.memories, strict=True):
            kept = memory.sweep() if memory is not None else None
            if kept is not None:
                blank = self.blank(self.room)
                for name in COLUMNS:
                    if len(self.columns[name]):
                        column = place.of(self.columns[name])
                        column[: len(kept)] = column[kept]
                        column[len(kept) :] = place.of(blank[name])[len(kept) :]

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

    def buffer(self, tape: Tape) -> Buffer | NoBuffer:
        """The kept instances of a tape, ready to be recycled."""
        if not self.size:
            return NoBuffer(0)
        held = min(tape.held, len(self.used))
        self.counts[HELD] = self.counts[NEXT] = held
        ring, used = np.zeros(self.size, dtype=np.int64), np.zeros(len(tape.labels), dtype=np.int64)
        ring[:held] = np.arange(tape.held - held, tape.held)
        used[ring[:held]] = self.used[:held]
        sketched = self.s[SLACK] < 0.0 and not self.ground.remembering
        votes = self.ground.form(tape.data).most_marks() if sketched else -1
        slots, weights = (self.size, len(self.columns["w"])) if votes >= 0 else (0, 0)
        return Buffer(
            ring, used, np.zeros(self.size, dtype=np.int64),
            np.zeros((slots, max(votes, 0) + 1), dtype=np.int64), np.zeros(weights, dtype=np.int64),
            np.zeros(weights), np.zeros(ROUGH),
        )  # fmt: skip

    def tools(self, buffer: Buffer | NoBuffer) -> tuple[Any, ...]:
        """All but the trials and the results, as the kernel takes them."""
        return (self.hypothesis(), self.history(), buffer, self.work, self.how(), self.counts)

    def errand(self, form: Any, tape: Tape, out: Out) -> Callable[[], None]:
        """A run over the new trials of a tape, all prepared; any thread may do it."""
        buffer = self.buffer(tape)
        arguments = (form, tape.labels, tape.known, tape.held, len(tape.labels), *self.tools(buffer), out)

        def run() -> None:
            trials.run(*arguments)
            self.note_uses(tape, buffer)

        return run

    def note_uses(self, tape: Tape, buffer: Buffer | NoBuffer) -> None:
        """Remember how often each kept instance has been used."""
        if isinstance(buffer, Buffer) and bool((tape.labels[tape.held :] >= 0).any()):
            self.used = buffer.used[tape.last(self.size)]

    def twin(self) -> Self:
        """An engine in the same state, which goes its own way."""
        twin = copy.copy(self)
        twin.columns = {name: column.copy() for name, column in self.columns.items()}
        twin.counts, twin.s, twin.total = self.counts.copy(), self.s.copy(), self.total.copy()
        if self.ground.remembering:
            twin.ground = self.ground.twin()
        return twin

    # --- what was learned

    def weights(self, *, mean: bool) -> np.ndarray:
        """A hypothesis over all sub-experts: the mean of all, or the last."""
        w = self.columns["w"]
        scale = float(self.s[SCALE])
        if not mean:
            return scale * w
        total = self.columns["past"] + w * (self.total[0] - self.columns["since"]) + w * scale
        return total / (int(self.counts[TRIALS]) + 1)  # type: ignore[no-any-return]

    # --- as arrays

    def state(self) -> dict[str, np.ndarray]:
        """Everything that learning changed, without the spare room: equal states are equal arrays."""
        sizes, parts = self.ground.sizes(), self.ground.parts
        trimmed = self.blank(sizes)
        copy_columns(self.columns, layout(parts, self.room), trimmed, layout(parts, sizes))
        state = {name: trimmed[name] for name in COLUMNS}
        return state | {"s": self.s, "total": self.total, "counts": self.counts[:KEPT], "used": self.used}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state that `state` gave (and that was found sound)."""
        sizes, parts = self.ground.sizes(), self.ground.parts
        self.fit(sizes)
        trimmed = {name: state[name] for name in COLUMNS}
        copy_columns(trimmed, layout(parts, sizes), self.columns, layout(parts, self.room))
        self.s[:], self.total[:], self.counts[:KEPT] = state["s"], state["total"], state["counts"]
        self.counts[SILENT] = self.active - int(state["spoken"].sum())
        self.used = state["used"]
