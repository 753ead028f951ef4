"""One item at a time: all arrays stay where they are, and every kernel is called with no look-up.

A head that can work so puts its kernel on the desk after those of its members. Each is told where to
write its guess and its scores, so that a committee finds what it needs side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linmax._jit import Kernel
from linmax.experts.base import Data
from linmax.experts.portraits import ClassPortraits
from linmax.experts.votes import Votes
from linmax.forms import Sparse, SparseRows
from linmax.techniques import trials
from linmax.techniques.engine import Engine
from linmax.techniques.head import UnfitError
from linmax.techniques.kept import Tape
from linmax.techniques.records import Out

NO_SCORES = np.zeros((0, 0))
NOTHING = Tape(Data(), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), 0)


class Desk:
    """The calls that are one trial of a council, for as long as its room stays as it is."""

    def __init__(self, council: Any, votes: Sparse, rows: SparseRows) -> None:
        self.votes, self.rows = votes, rows
        self.label = np.zeros(1, dtype=np.int32)
        self.known = np.array([len(council.names.classes)], dtype=np.int32)
        self.guess = np.zeros(1, dtype=np.int32)
        self.outs: dict[int, dict[str, np.ndarray]] = {}
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._seated: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._boards: dict[tuple[int, ...], np.ndarray] = {}
        for ground in council.grounds:
            check_ground(ground)
        self.seat(council.head, self.guess, NO_SCORES)
        engines = [self._engine(engine) for engine in council.engines]
        self.calls = engines + self.calls

    def seat(self, head: Any, guesses: np.ndarray, board: np.ndarray) -> None:
        """A head that writes here; one that already writes elsewhere is copied."""
        if id(head) in self._seated:
            there = self._seated[id(head)]
            for target, source in zip((guesses, board), there, strict=True):
                if len(target):
                    if not len(source):
                        raise UnfitError
                    self.calls.append((np.copyto, (target, source)))
            return
        self._seated[id(head)] = (guesses, board)
        head.bind(self, guesses, board)

    def boards(self, members: list[Any]) -> np.ndarray:
        """The scores of these members, side by side."""
        key = tuple(map(id, members))
        if key not in self._boards:
            self._boards[key] = np.zeros((len(members), 1, int(self.known[0])))
            for member, board in zip(members, self._boards[key], strict=True):
                self.seat(member, np.zeros(1, dtype=np.int32), board)
        return self._boards[key]

    def call(self, kernel: Kernel, *arguments: Any) -> None:
        """A kernel is called with these very arrays on every trial."""
        self.calls.append((kernel.entry(*arguments), arguments))

    def run(self) -> None:
        """One trial."""
        for entry, arguments in self.calls:
            entry(*arguments)

    def _engine(self, engine: Engine) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if engine.size:
            raise UnfitError
        wanted = self.outs.get(id(engine), {})
        guess = np.zeros(1, dtype=np.int32)
        out = Out(
            wanted.get("own", guess),
            wanted.get("mean", guess if engine.averages else guess[:0]),
            wanted.get("own_scores", NO_SCORES),
            wanted.get("mean_scores", NO_SCORES),
            np.zeros(0, dtype=np.uint8),
        )
        arguments = (
            engine.ground.form(Data(self.votes, self.rows)), self.label, self.known, 0, 1,
            *engine.tools(engine.buffer(NOTHING)), out,
        )  # fmt: skip
        return trials.run.entry(*arguments), arguments


def check_ground(ground: Any) -> None:
    """Votes that are frozen, kernels and other readings of scores need more than the item."""
    short = any(getattr(part, "complement", False) for part in ground.parts)
    raw = all(part.as_ == "raw" for part in ground.parts if isinstance(part, Votes))
    if any(not isinstance(memory, ClassPortraits) for memory in ground.remembering) or short or not raw:
        raise UnfitError
