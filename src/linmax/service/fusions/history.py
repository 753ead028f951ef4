"""Mistakes over time: those of the predictions that were answered, and of three baselines on the same items.

A history is a function of the log. It is brought up to date when it is asked for, and whenever a snapshot is
stored, so requests that learn pay nothing for it, and there are few events to read. Its size is bounded: the
counts are kept after every `width` trials, and when there are too many, every other one is dropped and the
width doubles.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

from linmax.inputs.abstain import DEFAULT, Abstentions, read_abstain
from linmax.inputs.batch import plurality
from linmax.inputs.names import NameIndex
from linmax.service.event_log.trials import CodedTrials, LearnedTrial, read_trials
from linmax.service.event_log.writes import Statement
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import PanelClosedError, ServedPanels
from linmax.service.messages.answers import HistoryAnswer, HistoryPoints
from linmax.service.messages.class_keys import class_of, is_class
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import Label

LAST_STORED = "SELECT body FROM histories WHERE fusion = ? AND position <= ? ORDER BY position DESC LIMIT 1"
INSERT = "INSERT OR REPLACE INTO histories VALUES (?, ?, ?, ?)"
THIN = """
DELETE FROM histories WHERE fusion = ? AND trials / ? = ?
AND position > (SELECT horizon FROM fusions WHERE fusions.fusion = histories.fusion)
"""
MAX_POINTS = 1000  # of one history
CHUNK = 2000  # trials that are counted at once
# while nobody waits for a history: trials counted at once by item and with codes, and the least seconds
# between them, which are also so many times the CPU time that the trials took
GENTLE, GENTLE_CODED, PAUSE, TIMES = 100, 1000, 0.01, 20
CELLS = 4_000_000  # of a table of trials and experts that is held in memory
STORE_EVERY = 10_000  # trials after which a history is worth storing
KEEP_EVERY = 100_000  # of the stored histories of so many trials, the last one stays
SHOWN_EXPERTS = 100  # the best ones
CURVES = ("linmax", "plurality", "best_expert", "most_frequent_class")
COLUMNS = ("trials", "position", *CURVES)
Longs = NDArray[np.int64]


class _Stored(msgspec.Struct, array_like=True):
    """A history as it is stored."""

    position: int
    width: int
    frequent: int
    classes: list[Label]
    experts: list[str]
    class_counts: list[int]
    expert_correct: list[int]
    last: list[int]
    last_time: float
    points: list[list[int]]
    times: list[float]


class History:
    """The mistakes of one fusion over time.

    An expert that gives scores votes for the class with its highest score, an abstention is a mistake, and
    ties of the plurality go to the class that was seen first. The best expert is the one with the fewest
    mistakes by then. The most frequent class is that of the labels before the trial.

    Parameters
    ----------
    classes
        The classes that are known in advance.

    Attributes
    ----------
    position : int
        The position of the last event that was read.
    trials : int
        The number of trials.
    width : int
        The number of trials between two points.
    abstain : label, None or DEFAULT
        Which vote abstains in trials that are added item by item, as for `Fusion`.

    Examples
    --------
    >>> history = History([])
    >>> history.add([LearnedTrial(i, float(i), {"ann": "x", "bob": "y"}, "y", "x") for i in range(1, 6)])
    >>> history.trials, history.answer(2).points.linmax, history.answer(2).points.best_expert
    (5, [4, 5], [0, 0])
    """

    def __init__(self, classes: list[Any]) -> None:
        self.position = 0
        self.width = 1
        self.abstain: Any = DEFAULT
        self._classes: dict[Any, int] = {name: code for code, name in enumerate(classes)}
        self._experts: dict[str, int] = {}
        self._frequent = -1
        self._class_counts: Longs = np.zeros(0, np.int64)
        self._expert_correct: Longs = np.zeros(0, np.int64)
        self._last: Longs = np.zeros(len(COLUMNS), np.int64)
        self._last_time = 0.0
        self._points: Longs = np.zeros((0, len(COLUMNS)), np.int64)
        self._times = np.zeros(0)

    @property
    def trials(self) -> int:
        """The number of trials."""
        return int(self._last[0])

    def add(self, trials: list[LearnedTrial]) -> None:
        """Count trials, in their order."""
        rows = max(1, min(CHUNK, CELLS // max(1, len(self._experts))))
        for start in range(0, len(trials), rows):
            self._add(trials[start : start + rows])

    def _add(self, trials: list[LearnedTrial]) -> None:
        votes, labels = self._encode(trials)
        wrong = np.array([not is_class(one.prediction, one.label) for one in trials])
        positions = np.array([one.position for one in trials])
        self._count(votes, labels, wrong, positions, np.array([one.time for one in trials]))

    def add_coded(self, trials: CodedTrials) -> bool:
        """Count trials with votes as codes; False if some of their names are new, or they are too large."""
        if len(trials) * len(self._experts) > CELLS:
            return False
        found = trials.encode(self._experts, self._classes)
        if found is None:
            return False
        votes, labels = found
        self._count(votes, labels.astype(np.int64), trials.wrong, trials.positions, trials.times)
        return True

    def _count(
        self, votes: NDArray[np.int32], labels: Longs, wrong: NDArray[np.bool_], positions: Longs, times: Any
    ) -> None:
        """Count trials, as codes."""
        self._class_counts = _grown(self._class_counts, len(self._classes))
        self._expert_correct = _grown(self._expert_correct, len(self._experts))
        numbers = self.trials + 1 + np.arange(len(labels))
        kept = np.append(np.flatnonzero(numbers % self.width == 0), len(labels) - 1)  # and the last one
        correct = np.cumsum(votes == labels[:, None], axis=0, dtype=np.int64)[kept] + self._expert_correct
        mistakes = {
            "linmax": wrong,
            "plurality": plurality(votes, len(self._classes)) != labels,
            "most_frequent_class": self._frequent_classes(labels.tolist()) != labels,
        }
        counts = {
            name: np.cumsum(wrong)[kept] + self._last[COLUMNS.index(name)] for name, wrong in mistakes.items()
        }
        counts["trials"], counts["position"] = numbers[kept], positions[kept]
        counts["best_expert"] = numbers[kept] - (correct.max(axis=1) if correct.shape[1] else 0)
        table = np.column_stack([counts[name] for name in COLUMNS])
        self._last, self._last_time, self.position = table[-1], float(times[-1]), int(positions[-1])
        self._expert_correct = correct[-1]
        self._points = np.concatenate((self._points, table[:-1]))
        self._times = np.concatenate((self._times, times[kept[:-1]]))
        while len(self._points) > MAX_POINTS:
            self.width *= 2
            kept = self._points[:, 0] % self.width == 0
            self._points, self._times = self._points[kept], self._times[kept]

    def _encode(self, trials: list[LearnedTrial]) -> tuple[NDArray[np.int32], Longs]:
        """Return the class that each expert votes for, -1 if it abstains, and the labels, as codes."""
        labels, columns = [], []
        flat: list[int] = []
        shapes: dict[tuple[str, ...], Longs] = {}
        silent = abstentions(self.abstain)
        known = {**self._classes, None: -1, **dict.fromkeys(silent.names, -1)}
        for trial in trials:
            votes, filled = trial.votes or {}, len(flat)
            try:
                flat += map(known.__getitem__, votes.values())
            except (KeyError, TypeError):  # new classes, or scores
                del flat[filled:]
                kind = type(trial.label)
                for vote in (top_class(one, kind, silent) for one in votes.values()):
                    flat.append(-1 if vote is None else _code(self._classes, vote))
                    known.setdefault(vote, flat[-1])
            labels.append(_code(self._classes, trial.label))
            known.setdefault(trial.label, labels[-1])
            experts = tuple(votes)
            if experts not in shapes:
                shapes[experts] = np.array([_code(self._experts, name) for name in experts], np.int64)
            columns.append(shapes[experts])
        table = np.full((len(trials), len(self._experts)), -1, np.int32)
        table[np.repeat(np.arange(len(trials)), list(map(len, columns))), np.concatenate(columns)] = flat
        return table, np.array(labels, np.int64)

    def _frequent_classes(self, labels: list[int]) -> Longs:
        """Return the most frequent class before each trial, and count the labels."""
        counts, frequent = self._class_counts.tolist(), self._frequent
        found = []
        for label in labels:
            found.append(frequent)
            counts[label] += 1
            if frequent < 0 or counts[label] > counts[frequent]:
                frequent = label
        self._class_counts, self._frequent = np.array(counts, np.int64), frequent
        return np.array(found, np.int64)

    def answer(self, points: int) -> HistoryAnswer:
        """Return at most so many points, evenly spaced, the last of which is the state now."""
        step = self.width
        while self.trials // step + (self.trials % step > 0) > points:
            step *= 2
        kept = self._points[:, 0] % step == 0
        table, times = self._points[kept], self._times[kept]
        if self.trials % step:
            table = np.concatenate((table, self._last[None]))
            times = np.append(times, self._last_time)
        columns = dict(zip(COLUMNS, table.T.tolist(), strict=True))
        order = np.argsort(-self._expert_correct, kind="stable")[:SHOWN_EXPERTS].tolist()
        names = list(self._experts)
        experts = {names[i]: self.trials - int(self._expert_correct[i]) for i in order}
        return HistoryAnswer(
            self.trials, self.position, HistoryPoints(time=times.tolist(), **columns), experts
        )

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads."""
        return msgspec.msgpack.encode(
            _Stored(
                self.position, self.width, self._frequent, list(self._classes), list(self._experts),
                self._class_counts.tolist(), self._expert_correct.tolist(), self._last.tolist(),
                self._last_time, self._points.tolist(), self._times.tolist(),
            )
        )  # fmt: skip

    @classmethod
    def from_bytes(cls, content: bytes) -> History:
        """Return the history that `to_bytes` has stored."""
        stored = msgspec.msgpack.decode(content, type=_Stored)
        history = cls(stored.classes)
        history._experts = {name: code for code, name in enumerate(stored.experts)}
        history.position, history.width, history._frequent = stored.position, stored.width, stored.frequent
        history._class_counts = np.array(stored.class_counts, np.int64)
        history._expert_correct = np.array(stored.expert_correct, np.int64)
        history._last, history._last_time = np.array(stored.last, np.int64), stored.last_time
        history._points = np.array(stored.points, np.int64).reshape(-1, len(COLUMNS))
        history._times = np.array(stored.times)
        return history


def _code(codes: dict[Any, int], name: Any) -> int:
    """Return the code of a name; a new one gets the next."""
    return codes.setdefault(name, len(codes))


def abstentions(abstain: Any) -> Abstentions:
    """Return the votes of stored items that abstain: those that may be labels were refused when they came."""
    return read_abstain(abstain, NameIndex(what="class"), None)


def top_class(vote: Any, kind: type, silent: Abstentions) -> Any:
    """Return the class that a vote is for: the first with the highest score, where 0 is no vote; or None.

    >>> top_class(0, int, abstentions(0)), top_class({"0": 0.9, "1": 0.1}, int, abstentions(0))
    (None, 0)
    """
    if not isinstance(vote, dict):
        return None if silent.includes(vote) else vote
    scores = {name: score for name, score in vote.items() if score}
    return class_of(max(scores, key=scores.__getitem__), kind) if scores else None


def _grown(counts: Longs, size: int) -> Longs:
    return np.concatenate((counts, np.zeros(size - len(counts), np.int64)))


class Histories:
    """The histories of the fusions in memory.

    Parameters
    ----------
    panels
        The fusions.
    """

    def __init__(self, panels: ServedPanels) -> None:
        self._panels = panels
        self._database = panels.database
        self._kept: WeakKeyDictionary[ServedPanel, tuple[int, History]] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[ServedPanel, asyncio.Lock] = WeakKeyDictionary()
        self._asked = 0  # answers that somebody waits for

    async def answer(self, panel: ServedPanel, points: int) -> HistoryAnswer:
        """Return the history of a fusion with at most so many points."""
        self._asked += 1
        try:
            async with self._locks.setdefault(panel, asyncio.Lock()):
                history = await self._current(panel)
                return await asyncio.to_thread(history.answer, points)
        finally:
            self._asked -= 1

    async def update(self, panel: ServedPanel) -> None:
        """Bring the history of a fusion up to date, so that the next answer has little to read.

        That is done with pauses, so that requests need not wait for the thread that does it.
        """
        async with self._locks.setdefault(panel, asyncio.Lock()):
            with contextlib.suppress(PanelClosedError):
                await self._current(panel, gently=True)

    def store_at(self, panel: ServedPanel, position: int) -> Statement:
        """Return the statement that stores the history up to a position, from the log."""
        history, _ = self._advance(panel, None, position)
        return INSERT, (panel.number, position, history.trials, history.to_bytes())

    async def _current(self, panel: ServedPanel, *, gently: bool = False) -> History:
        """Return the history of all that is on disk.

        Amendments that come meanwhile start it anew, and so does a compaction, which may have removed events
        that were not counted yet.
        """
        while True:
            amendments, horizon = panel.amendments, panel.horizon
            await self._panels.flush()  # those are on disk now
            self._panels.check_open(panel)
            known, kept = self._kept.pop(panel, (amendments, None))
            usable = kept is not None and panel.can_continue(known, kept.position)
            until = self._database.last_position()
            history, statements = await asyncio.to_thread(
                self._advance, panel, kept if usable else None, until, gently
            )
            if (panel.amendments, panel.horizon) == (amendments, horizon):
                break
        self._kept[panel] = amendments, history
        if statements:
            with contextlib.suppress(ServiceError):  # the log has it, too
                await self._panels.submit(statements)
        return history

    def _advance(
        self, panel: ServedPanel, history: History | None, until: int, gently: bool = False
    ) -> tuple[History, list[Statement]]:
        """Read the events after those of a history, or of the stored one; return what is worth storing."""
        if history is None:
            found = self._database.rows(LAST_STORED, panel.number, until)
            history = History.from_bytes(found[0][0]) if found else History(panel.settings.classes or [])
        history.abstain = panel.fusion.abstain  # an uploaded model brings its own
        before = history.trials
        self._read(panel.number, history, until, gently)
        if history.trials // STORE_EVERY == before // STORE_EVERY:
            return history, []
        row = panel.number, until, history.trials, history.to_bytes()
        thin = panel.number, KEEP_EVERY, history.trials // KEEP_EVERY
        return history, [(THIN, thin), (INSERT, row)]

    def _read(self, number: int, history: History, until: int, gently: bool) -> None:
        """Count the events after those of a history.

        Each piece is read in a transaction of its own: while one is open, the log grows that SQLite writes
        before the database, and every commit takes longer.
        """
        while history.position < until:
            gentle = gently and not self._asked
            used = time.thread_time()
            with self._database.consistent():
                sizes = (GENTLE, GENTLE_CODED) if gentle else (CHUNK, CHUNK)
                self._count_next(number, history, until, *sizes)
            if self._panels.closing:
                raise InterruptedError("the server stops")
            if gentle and history.position < until:
                time.sleep(max(PAUSE, TIMES * (time.thread_time() - used)))

    def _count_next(self, number: int, history: History, until: int, *sizes: int) -> None:
        """Count the next events of a history; the last of them, or `until`, is its position then."""
        pieces = read_trials(self._database, number, history.position, until, *sizes)
        with contextlib.closing(pieces):
            trials = next(pieces, None)
        if trials is None:
            history.position = until
            return
        if not isinstance(trials, CodedTrials):
            history.add(trials)
        elif not history.add_coded(trials):
            history.add(trials.by_item(self._database, number))
