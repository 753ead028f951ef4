"""The overview: how every fusion does, beside its baselines."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import LEARNED, PREDICTED
from linmax.service.fusions.history import CURVES
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.messages.answers import HistoryAnswer

WINDOW = 500  # labels that the recent figures are about, or as few more as the history has points for
SPARK = 40  # points of a small picture
RATE_EVENTS = 1000  # events from which the items per minute are computed
MINUTE = 60.0
LAST_TIMES = """
SELECT time FROM events WHERE fusion = ? AND kind IN (?, ?) ORDER BY position DESC LIMIT ?
"""


class Share(Struct):
    """The accuracy of a predictor on some items, with a 95 % interval (Wilson's).

    Attributes
    ----------
    mistakes : int
        The wrong predictions.
    accuracy, low, high : float or null
        The share of correct predictions, and the interval; null without items.
    """

    mistakes: int
    accuracy: float | None
    low: float | None
    high: float | None


class OverviewRow(Struct):
    """One fusion in the overview.

    Attributes
    ----------
    name : str
        The fusion.
    trials, waiting, expired : int
        Labels that count, items that wait for one, and those that have stopped to.
    total, window : dict
        The accuracy of linmax and of the baselines by name: so far, and on the last labels.
    window_trials : int
        How many labels the window has.
    per_minute : float
        Items that come per minute, in the last minute.
    alarms : int
        Alarms of drift; at most the latest 64 are known.
    last_alarm : int or null
        The number of labels after which the last one was raised.
    rebuilding : bool
        Whether the state is derived anew.
    spark : list of float
        The share of mistakes over time.
    """

    name: str
    trials: int
    waiting: int
    expired: int
    total: dict[str, Share]
    window: dict[str, Share]
    window_trials: int
    per_minute: float
    alarms: int
    last_alarm: int | None
    rebuilding: bool
    spark: list[float]


class OverviewPage(Struct):
    """A page of the overview.

    Attributes
    ----------
    total : int
        The number of fusions on all pages.
    fusions : list of OverviewRow
        Those of this page.
    unread : list of str
        Fusions of this page that the token may predict with, and not read.
    failed : list of str
        Fusions of this page whose figures cannot be computed; the log of the server says why.
    """

    total: int
    fusions: list[OverviewRow] = []
    unread: list[str] = []
    failed: list[str] = []


def share(trials: int, mistakes: int) -> Share:
    """Return the accuracy of a predictor with its interval.

    >>> found = share(100, 10)
    >>> found.accuracy, round(found.low, 3), round(found.high, 3)
    (0.9, 0.826, 0.945)
    """
    from linmax.evaluate.significance import wilson_interval  # a start of the server does not wait for it

    if not trials:
        return Share(mistakes, None, None, None)
    accuracy = 1.0 - mistakes / trials
    low, high = wilson_interval(accuracy, trials)
    return Share(mistakes, accuracy, float(low), float(high))


def overview_row(panel: ServedPanel, history: HistoryAnswer, per_minute: float) -> OverviewRow:
    """Return the figures of a fusion.

    Parameters
    ----------
    panel
        The fusion.
    history
        Its mistakes over time.
    per_minute
        Its items per minute.
    """
    columns = {name: getattr(history.points, name) for name in CURVES}
    trials = history.points.trials
    total = {name: share(history.trials, counts[-1] if counts else 0) for name, counts in columns.items()}
    start = max((i for i, count in enumerate(trials) if count <= history.trials - WINDOW), default=None)
    before = 0 if start is None else trials[start]
    window = {
        name: share(history.trials - before, counts[-1] - (0 if start is None else counts[start]))
        for name, counts in columns.items()
        if counts
    }
    alarms = panel.fusion.alarms
    return OverviewRow(
        panel.name, history.trials, panel.waiting, panel.expired, total, window, history.trials - before,
        per_minute, len(alarms), alarms[-1].trial if alarms else None, panel.rebuilding,
        error_rates(trials, columns["linmax"], SPARK),
    )  # fmt: skip


def error_rates(trials: list[int], mistakes: list[int], points: int) -> list[float]:
    """Return the share of mistakes in each of at most so many parts of a history.

    >>> error_rates([10, 20, 30, 40], [5, 5, 7, 8], 2)
    [0.25, 0.15]
    """
    count = min(points, len(trials))
    ends = [round((i + 1) * len(trials) / count) - 1 for i in range(count)]
    found, last, wrong = [], 0, 0
    for end in ends:
        found.append((mistakes[end] - wrong) / (trials[end] - last))
        last, wrong = trials[end], mistakes[end]
    return found


def items_per_minute(database: Database, number: int, now: float) -> float:
    """Return the items of a fusion per minute: of the last minute, or of the last thousand if that is less.

    Parameters
    ----------
    database
        The log.
    number
        The number of the fusion.
    now
        The time, as the log counts it.
    """
    rows: list[Any] = database.rows(LAST_TIMES, number, PREDICTED, LEARNED, RATE_EVENTS)
    times = [time for (time,) in rows if time > now - MINUTE]
    if len(times) < RATE_EVENTS:
        return float(len(times))
    return MINUTE * len(times) / max(now - float(times[-1]), 1.0)
