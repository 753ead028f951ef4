"""Runs gone through again: the hypotheses that a leader held in a stretch which is over."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.techniques import trials
from linmax.techniques.engine import Engine
from linmax.techniques.head import Stretch
from linmax.techniques.records import Out
from linmax.techniques.recycling import Buffer, NoBuffer


class Again:
    """The runs of leaders, gone through again from the start of a stretch."""

    def __init__(self, stretch: Stretch) -> None:
        self.stretch = stretch
        self.needed = bool(stretch.twins)
        self.runs: dict[int, tuple[Any, Engine, Buffer | NoBuffer]] = {}
        self.reached: dict[int, int] = {}

    def at(self, engine: Engine, begin: int, end: int) -> tuple[Any, tuple[Any, ...], Out]:
        """An engine as it was before trial `begin`; it will be taken on to `end`."""
        stretch, key = self.stretch, id(engine)
        tape = stretch.tapes[id(engine.ground)]
        if not self.needed:
            return stretch.forms[id(engine.ground)], engine.tools(engine.buffer(tape)), stretch.outs[key]
        if key not in self.runs:
            twin = stretch.twins[key].twin()  # somebody else may follow the same run
            form = stretch.forms[id(engine.ground)]
            if twin.ground is not engine.ground:
                form = twin.ground.form(tape.data)
            self.runs[key] = (form, twin, twin.buffer(tape))
            self.reached[key] = 0
        form, twin, buffer = self.runs[key]
        tools, gap = twin.tools(buffer), begin - self.reached[key]
        if gap > 0:
            skipped = _out(gap, 0, stretch.batch.classes_seen)
            place = tape.held + begin
            trials.run(form, tape.labels, tape.known, place - gap, place, *tools, skipped)
        self.reached[key] = min(end, stretch.length)
        return form, tools, _out(1, 1, stretch.batch.classes_seen)


def _out(guesses: int, boards: int, classes: int) -> Out:
    return Out(
        np.zeros(guesses, dtype=np.int32), np.zeros(guesses, dtype=np.int32),
        np.zeros((boards, classes)), np.zeros((boards, classes)), np.zeros(0, dtype=np.uint8),
    )  # fmt: skip
