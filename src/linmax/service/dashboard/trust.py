"""Trust over time: the share of each expert in what raises the score of the truth."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from linmax.fusion import Fusion
from linmax.fusion.model_file import from_bytes
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import LABELLED, LEARNED
from linmax.service.event_log.trials import LearnedTrial, trials_of
from linmax.service.fusions import replay
from linmax.service.fusions.history import abstentions, top_class
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import ServedPanels
from linmax.service.messages.class_keys import typed_votes

SNAPSHOTS = """
SELECT position, trials FROM snapshots WHERE fusion = ? AND position > ? AND position <= ? ORDER BY position
"""
MODEL = "SELECT model FROM snapshots WHERE fusion = ? AND position = ?"
FIRST_OF_LAST = """
SELECT min(position) FROM (
    SELECT position FROM events WHERE fusion = ? AND position > ? AND position <= ? AND kind IN (?, ?)
    ORDER BY position DESC LIMIT ?
)
"""
SAMPLE = 100  # labelled items on which trust is measured
MAX_SNAPSHOTS = 40
MAX_POINTS, FEW_POINTS = 120, 30
MANY_CELLS, MAX_CELLS = 50_000, 2_000_000  # of a table of weights: then there are few points, or no table
MAX_REPLAY = 25_000  # labels that are learned again to see how trust came about
SHOWN = 30  # experts, those that were trusted most
Encoded = tuple[list[int], list[int], int]
Codes = NDArray[np.int32]


class TrustAnswer(Struct):
    """Trust over time.

    Attributes
    ----------
    trials : list of int
        The number of labels at each point.
    time : list of float
        When the last one of them came, in seconds since 1970.
    experts : dict
        The share of the trust of the experts that were trusted most, at each point; the most trusted first.
    omitted : int
        How many others there are.
    """

    trials: list[int]
    time: list[float]
    experts: dict[str, list[float]]
    omitted: int


class _Point(NamedTuple):
    """The trust after a number of labels, the last of which came at a time."""

    trials: int
    time: float
    shares: dict[str, float]


class TrustSeries:
    """The trust of one fusion over time, derived from its snapshots and from the log after the last one.

    It begins with the model that was uploaded last, if there is one.

    Parameters
    ----------
    database, number, settings
        The log, and the fusion.
    trials
        The number of labels that it has learned.
    """

    def __init__(self, database: Database, number: int, settings: Any, trials: int) -> None:
        self._database = database
        self._number = number
        self._settings = settings
        self._points: list[_Point] = []
        self._recent: deque[Encoded] = deque(maxlen=SAMPLE)
        self._every = max(1, trials // MAX_POINTS)
        self._state = replay.FusionState(replay.new_fusion(settings), 0, 0, 0, 0)
        self._uploaded = 0  # the position of the model that it begins with

    @property
    def position(self) -> int:
        """The position up to which it has read the log."""
        return self._state.position

    def start(self, until: int) -> None:
        """Begin with the snapshots that are stored, or with the first event if there are none."""
        for position, model in self._database.rows(replay.LAST_UPLOAD, self._number, 0, until):
            fusion = from_bytes(model, f"the model that was uploaded at position {position}")
            self._state = replay.FusionState(fusion, position, position, position, 0)
            self._uploaded = position
        found = self._database.rows(SNAPSHOTS, self._number, self._uploaded, until)
        if not found:
            return
        if found[0][1] - self._state.fusion.trials <= MAX_REPLAY:
            self.advance(found[0][0])
        if self._state.fusion.trials != found[0][1]:  # the log was compacted: its first events are missing
            self._state = self._state._replace(position=self._uploaded)
            self._points.clear()
        last = found[-1][0]
        step = max(1, -(-len(found) // MAX_SNAPSHOTS))
        for position, trials in found[::-1][::step][::-1]:
            if position > self._state.position:
                ((model,),) = self._database.rows(MODEL, self._number, position)
                fusion = from_bytes(model, f"the snapshot at position {position}")
                time = self._fill_recent(fusion, position)
                if time is not None:
                    self._points.append(_Point(trials, time, shares(fusion, list(self._recent))))
                if position == last:
                    self._state = replay.FusionState(fusion, position, position, position, 0)

    def _fill_recent(self, fusion: Fusion, position: int) -> float | None:
        """Read the labels before a position; return when the last one came, None if none are left."""
        ((first,),) = self._database.rows(
            FIRST_OF_LAST, self._number, self._uploaded, position, LABELLED, LEARNED, SAMPLE
        )
        self._recent.clear()
        time = None
        if first is not None:
            for one in trials_of(self._database, self._number, first - 1, position):
                self._recent.append(encode(fusion, one))
                time = one.time
        return time

    def advance(self, until: int) -> None:
        """Learn the events up to a position, and measure trust now and then."""
        fusion, time = self._state.fusion, None
        for one in trials_of(self._database, self._number, self._state.position, until):
            try:
                votes = typed_votes(fusion, one.votes, one.label)
                fusion.learn_one(votes, one.label, attributes=one.attributes)
            except ValueError:
                continue  # left out, as `replay.advance` does
            self._recent.append(encode(fusion, one))
            time = one.time
            if fusion.trials % self._every == 0:
                self._measure(fusion, time)
        if time is not None and (not self._points or self._points[-1].trials != fusion.trials):
            self._measure(fusion, time)
        self._state = self._state._replace(position=max(until, self._state.position))

    def _measure(self, fusion: Fusion, time: float) -> None:
        self._points.append(_Point(fusion.trials, time, shares(fusion, list(self._recent))))
        cells = len(fusion.experts) * len(fusion.classes) ** 2
        most = MAX_POINTS if cells <= MANY_CELLS else FEW_POINTS
        if len(self._points) > most:
            self._points = [*self._points[:-1:2], self._points[-1]]
            self._every = max(2 * self._every, fusion.trials // most)

    def answer(self) -> TrustAnswer:
        """Return the trust of the most trusted experts."""
        largest: dict[str, float] = {}
        for point in self._points:
            for name, share in point.shares.items():
                largest[name] = max(share, largest.get(name, 0.0))
        last = self._points[-1].shares if self._points else {}
        order = sorted(largest, key=lambda name: (-last.get(name, 0.0), -largest[name], name))
        return TrustAnswer(
            [point.trials for point in self._points],
            [point.time for point in self._points],
            {
                name: [round(point.shares.get(name, 0.0), 6) for point in self._points]
                for name in order[:SHOWN]
            },
            max(0, len(order) - SHOWN),
        )


def encode(fusion: Fusion, trial: LearnedTrial) -> Encoded:
    """Return the experts that voted on an item and the classes they voted for, as codes, and the label."""
    experts, classes = fusion.names.experts.codes, fusion.names.classes.codes
    silent = abstentions(fusion.abstain)
    pairs = [
        (experts[expert], classes.get(top_class(vote, type(trial.label), silent), -1))
        for expert, vote in (trial.votes or {}).items()
        if expert in experts and vote is not None
    ]
    return [one for one, _ in pairs], [vote for _, vote in pairs], classes[trial.label]


def shares(fusion: Fusion, trials: list[Encoded]) -> dict[str, float]:
    """Return the share of each expert in the trust, measured on labelled items.

    Parameters
    ----------
    fusion
        The session.
    trials
        The items.
    """
    votes = np.full((len(trials), len(fusion.experts)), -1, np.int32)
    for row, (experts, classes, _) in zip(votes, trials, strict=True):
        row[experts] = classes
    truth = np.array([label for _, _, label in trials], np.int32)
    positive = np.maximum(_contributions(fusion, votes, truth), 0.0)
    total = float(positive.sum())
    return {
        str(name): float(value) / total if total else 0.0
        for name, value in zip(fusion.experts, positive.tolist(), strict=False)
    }


def _contributions(fusion: Fusion, votes: Codes, truth: Codes) -> Any:
    """Return how far each expert raises the score of the truth above the mean, as `linmax.evaluate.trust`."""
    from linmax.evaluate.experts import expert_contributions, own_weights, vote_weights

    classes = len(fusion.classes)
    if votes.shape[1] * classes**2 <= MAX_CELLS:
        return np.array(expert_contributions(vote_weights(fusion), votes, truth))
    own = own_weights(fusion)
    if not len(own):
        return np.zeros(0)  # a table of weights per expert and class would take too long
    lead = np.count_nonzero(votes == truth[:, None], axis=0) - np.count_nonzero(votes >= 0, axis=0) / classes
    return own * lead / max(len(votes), 1)


class TrustSeriesStore:
    """The trust of the fusions that somebody looks at.

    Parameters
    ----------
    panels
        The fusions.
    """

    def __init__(self, panels: ServedPanels) -> None:
        self._panels = panels
        self._kept: WeakKeyDictionary[ServedPanel, tuple[int, TrustSeries]] = WeakKeyDictionary()
        self._lock = asyncio.Lock()

    async def answer(self, panel: ServedPanel) -> TrustAnswer:
        """Return the trust of a fusion over time."""
        async with self._lock:
            await self._panels.flush()
            self._panels.check_open(panel)
            state = panel.amendments, panel.horizon
            known, kept = self._kept.pop(panel, (0, None))
            usable = kept is not None and panel.can_continue(known, kept.position)
            found = await asyncio.to_thread(self._update, panel, kept if usable else None)
            if state == (panel.amendments, panel.horizon):
                self._kept[panel] = panel.amendments, found
            return found.answer()

    def _update(self, panel: ServedPanel, history: TrustSeries | None) -> TrustSeries:
        until = self._panels.database.last_position()
        if history is None:
            history = TrustSeries(self._panels.database, panel.number, panel.settings, panel.fusion.trials)
            history.start(until)
        history.advance(until)
        return history
