"""One item at a time: all arrays stay where they are, and every kernel is called with no look-up.

A head that can work so puts its kernel on the desk after those of its members. Each is told where to
write its guess and its scores, so that a committee finds what it needs side by side.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from linmax import _jit
from linmax._jit import Kernel, interpreting
from linmax.experts.base import TrialData
from linmax.experts.shared import ClassStatistics
from linmax.experts.votes import Votes
from linmax.inputs.classes import read_abstain
from linmax.inputs.numbers import LARGEST, SMALLEST
from linmax.kernels import trial as trials
from linmax.kernels.forms import Sparse, SparseRows
from linmax.kernels.structs import MISTAKES, TRIALS, Out
from linmax.runtime.instances import TrialSequence
from linmax.runtime.predictor import UnfitError
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.runner import Runner

NO_SCORES = np.zeros((0, 0))
NOTHING = TrialSequence(TrialData(), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), 0)


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

    def _engine(self, engine: RuleRun) -> tuple[Callable[..., Any], tuple[Any, ...]]:
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
            engine.ground.form(TrialData(self.votes, self.rows)), self.label, self.known, 0, 1,
            *engine.tools(engine.buffer(NOTHING)), out,
        )  # fmt: skip
        return trials.run.entry(*arguments), arguments


def check_ground(ground: Any) -> None:
    """Votes that are frozen, kernels and other readings of scores need more than the item."""
    short = any(getattr(part, "complement", False) for part in ground.parts)
    raw = all(part.as_ == "raw" for part in ground.parts if isinstance(part, Votes))
    if any(not isinstance(memory, ClassStatistics) for memory in ground.remembering) or short or not raw:
        raise UnfitError


PREDICT = -1


class SurpriseError(Exception):
    """This item must take the general path."""


class Single:
    """The fast path of a council, for as long as its names and its room stay as they are."""

    def __init__(self, council: Runner, abstain: Any) -> None:
        names = council.names
        silence = read_abstain(abstain, names.classes, None)
        self.version = (council.version, _jit.interpreting())
        self.columns = names.experts.codes
        self.labels: dict[Any, int] = names.classes.codes
        self.codes = dict.fromkeys((None, *silence.names), -1) | names.classes.codes
        for name in silence.contested:  # the general path complains of these
            self.codes.pop(name, None)
        self.whole = type(names.classes.names[0]) is int
        self.panel: tuple[Any, ...] | None = None
        self.attributes = names.attributes.codes
        self.cells = 4 * max(8, len(names.experts)) * max(1, min(len(names.classes), 4))
        self.wide = 4 * max(8, len(names.attributes))
        self.votes = Sparse(
            np.zeros(2, dtype=np.int64),
            np.zeros(self.cells, dtype=np.int32),
            np.zeros(self.cells, dtype=np.int32),
            np.ones(self.cells),
        )
        self.rows = SparseRows(
            np.zeros(2, dtype=np.int64), np.zeros(self.wide, dtype=np.int32), np.zeros(self.wide)
        )
        self.ones = True
        self.desk = Desk(council, self.votes, self.rows)
        self.label, self.guess = self.desk.label, self.desk.guess
        self.counts = None if council.solo else council.counts  # a single engine counts by itself

    def trial(self, votes: Any, attributes: Any, label: Any) -> int:
        """Guess an item and, unless the label is None, learn it; the guess as a code."""
        if votes is not None:
            self._write(votes)
        if attributes is not None:
            self._write_attributes(attributes)
        y = PREDICT if label is None else self._code(label)
        self.label[0] = y
        self.desk.run()
        guess: int = self.guess.item()
        if self.counts is not None and y >= 0:
            self.counts[TRIALS] += 1
            self.counts[MISTAKES] += guess != y
        return guess

    def _code(self, label: Any) -> int:
        if self.whole and type(label) is bool:
            raise SurpriseError
        return self.labels[label]

    def _write(self, votes: dict[Any, Any]) -> None:
        """Labels, experts in the order of the roll; the same panel again costs one look at its names."""
        panel = tuple(votes)
        try:
            labels = list(map(self.codes.__getitem__, votes.values()))
            if self.whole and bool in map(type, votes.values()):
                raise SurpriseError  # True is not 1 here, though it is to a dict
            if panel != self.panel:
                self._seat(panel)
        except (KeyError, TypeError):
            self._write_scores(votes)
            return
        if not self.ones:
            self.votes.value.fill(1.0)
            self.ones = True
        self.votes.label[: len(labels)] = labels

    def _seat(self, panel: tuple[Any, ...]) -> None:
        experts = [self.columns[name] for name in panel]
        if len(experts) > self.cells or any(map(operator.gt, experts, experts[1:])):
            raise TypeError
        self.panel = panel
        self.votes.indptr[1] = len(experts)
        self.votes.expert[: len(experts)] = experts

    def _write_scores(self, votes: dict[Any, Any]) -> None:
        """The same when experts come in another order, or give scores."""
        cells: list[tuple[int, int, float]] = []
        try:
            for name, vote in votes.items():
                expert = self.columns[name]
                if isinstance(vote, dict):
                    cells.extend(
                        (expert, _known(self.codes[label]), _fit(x)) for label, x in vote.items() if x != 0
                    )
                elif self.codes[vote] >= 0:
                    cells.append((expert, self.codes[vote], 1.0))
        except (KeyError, TypeError):
            raise SurpriseError from None
        if len(cells) > self.cells:
            raise SurpriseError
        self.ones = False
        self.panel = None
        cells.sort()
        self.votes.indptr[1] = len(cells)
        for at, (expert, label, x) in enumerate(cells):
            self.votes.expert[at], self.votes.label[at], self.votes.value[at] = expert, label, x

    def _write_attributes(self, attributes: dict[Any, Any]) -> None:
        cells: list[tuple[int, float]] = []
        try:
            for name, value in attributes.items():
                if isinstance(value, str):
                    cells.append((self.attributes[name, value], 1.0))
                elif value != 0:
                    cells.append((self.attributes[name], _fit(value)))
        except (KeyError, TypeError):
            raise SurpriseError from None
        if len(cells) > self.wide:
            raise SurpriseError
        cells.sort()
        self.rows.indptr[1] = len(cells)
        for at, (attribute, value) in enumerate(cells):
            self.rows.index[at], self.rows.value[at] = attribute, value


def _fit(value: Any) -> float:
    """A number that needs no comment; the general path has something to say about all others."""
    if type(value) is not float and type(value) is not int:
        raise SurpriseError
    if not SMALLEST <= abs(value) <= LARGEST:
        raise SurpriseError
    return float(value)


def _known(label: int) -> int:
    if label < 0:
        raise SurpriseError
    return label


class Shortcut:
    """The fast path of a council for items that are dicts of what the learner needs."""

    def __init__(self, council: Runner, needs: Set[str], abstain: Any) -> None:
        self.council, self.abstain = council, abstain
        self.votes = dict if "votes" in needs else type(None)
        self.attributes = dict if "rows" in needs else type(None)
        self.single: Single | None = None
        self.closed = False  # a learner that keeps several items has none

    def trial(self, votes: Any, attributes: Any, label: Any) -> int | None:
        """The guess as a code, or None when the item must take the general path; a label is learned."""
        single = self.single
        if single is None or single.version != (self.council.version, interpreting()):
            single = self._made()
        if single is None or type(votes) is not self.votes or type(attributes) is not self.attributes:
            return None
        try:
            return single.trial(votes, attributes, label)
        except (KeyError, TypeError, SurpriseError):
            return None

    def _made(self) -> Single | None:
        if self.closed or not len(self.council.names.classes):
            return None
        self.council.fit()
        try:
            self.single = Single(self.council, self.abstain)
        except UnfitError:
            self.closed = True
            return None
        return self.single
