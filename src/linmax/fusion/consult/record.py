"""The record of a session's consultations: which items are asked in full, and how early others may stop."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from linmax.kernels.ensembles.voting import uniform
from linmax.kernels.settlement import NOT_ASKED
from linmax.validation import is_finite, require

EXPLORATION = 0.03  # of all items
FIRST = 200  # so many items are asked in full at first; then 1 in t / FIRST until EXPLORATION is reached
BLOCK = 100  # items asked in full between two calibrations
WINDOW = 20  # calibrations use so many times the items that are needed
MOST = 8192  # items that are kept
MOST_CELLS = 1 << 23  # votes that are kept
MOST_WAYS = 16  # calibrations that are kept
NOT_KNOWN = -3  # in saved votes
ARRAY = "consultations.votes"  # the name of the votes in a model file
DRAW = 104_729  # separates these random numbers from others with the same seed
LARGEST = sys.float_info.max  # a file cannot hold infinity
NEVER = -1.0  # the critical distance of an item whose prediction never differs


Refresh = Callable[[list[np.ndarray]], "np.ndarray | None"]


class Way(NamedTuple):
    """A way of asking experts, for which a risk is calibrated.

    Parameters
    ----------
    risk, confidence
        The largest share of changed predictions, and the probability with which it holds.
    batch
        How many experts are asked at a time.
    prices
        The price of each expert; None: all are 1.
    """

    risk: float
    confidence: float
    batch: int = 1
    prices: tuple[float, ...] | None = None


class Threshold(NamedTuple):
    """When a consultation may stop although the prediction is not settled.

    Parameters
    ----------
    distance
        It stops when the distance of the leader is larger; None: only when it is settled.
    note
        Why only then.
    """

    distance: float | None
    note: str


class StopCalibration(NamedTuple):
    """The calibration of a risk for one way of asking.

    Parameters
    ----------
    start, end
        The items asked in full that it is from: start <= t < end.
    distance
        The threshold; None if they are too few.
    """

    start: int
    end: int
    distance: float | None


class Consultations:
    """What a session has learned from consultations, beside its weights.

    For an item that was asked in full, the critical distance is the largest distance (see `ConsultStep`) at
    which the leader was not the final prediction: stopping above it would not have changed the prediction.

    Attributes
    ----------
    count : int
        How many consultations there were.
    in_full : int
        How many of them were asked in full, and chosen before the item was seen.
    critical : list of float
        The critical distances of the latest of them, in the state that the session was in.
    rows : list of ndarray or None
        Their votes by expert, -1 for an abstention and -2 if the expert was not available; None for votes
        that are not all labels of classes that were known.
    alarms : int
        How many alarms of drift were followed.
    since, first : int
        How many consultations there were at the last of them, and items asked in full; only later ones count.
    exploration : float
        The share of items that are asked in full in the long run.
    scored : bool
        Whether an expert has answered with scores although no range was given.
    calibrations : dict
        The calibration of each risk, confidence, batch and list of prices.
    """

    def __init__(self) -> None:
        self.count = 0
        self.in_full = 0
        self.alarms = self.since = self.first = 0
        self.critical: list[float] = []
        self.rows: list[np.ndarray | None] = []
        self.exploration = EXPLORATION
        self.scored = False
        self.calibrations: dict[Way, StopCalibration] = {}

    def draw(self, seed: int) -> bool:
        """Return whether the next item is asked in full, and count it; the same seed draws the same items."""
        return bool(self.draw_many(seed, 1)[0])

    def draw_many(self, seed: int, items: int) -> np.ndarray:
        """Return which of the next items are asked in full, and count them."""
        numbers = np.arange(self.count, self.count + items)
        self.count += items
        chance = uniform(seed, numbers, np.array([DRAW]))
        if self.exploration == 0.0:
            return np.zeros(items, dtype=bool)
        return chance < np.maximum(self.exploration, FIRST / (numbers - self.since + 1))

    def follow(self, alarms: int) -> None:
        """Begin anew if there was an alarm of drift since the last call: earlier items say little now."""
        if alarms > self.alarms:
            self.alarms, self.since, self.first = alarms, self.count, self.in_full
            self.calibrations.clear()

    def record(self, critical: float, row: np.ndarray | None = None) -> None:
        """Add an item that was asked in full."""
        self.in_full += 1
        self.critical.append(min(critical, LARGEST))
        self.rows.append(row)
        most = MOST if row is None else max(1, min(MOST, MOST_CELLS // max(1, len(row))))
        del self.critical[: len(self.critical) - most]
        del self.rows[: len(self.rows) - most]

    # --- calibration

    def threshold(self, way: Way, refresh: Refresh | None = None) -> Threshold:
        """Return when a consultation may stop, for a share of changed predictions of at most `way.risk`.

        Parameters
        ----------
        way
            How experts are asked.
        refresh
            Returns the critical distances of some rows of votes in the present state; None: those at the time
            of each item are used.
        """
        risk, needed, asked = way.risk, items_needed(way.risk, way.confidence), self.in_full - self.first
        kept = MOST if asked < needed else len(self.critical)
        if kept < needed:
            short = f"{needed} items asked in full, and {kept} are kept"
            return Threshold(None, f"risk={risk:g} needs {short}; take a larger risk")
        if asked < needed:
            since = " since the last alarm of drift" if self.first else ""
            note = f"{asked} of the {needed} items that risk={risk:g} needs were asked in full{since}"
            return Threshold(None, note)
        found = self.calibrations.get(way, StopCalibration(self.first, 0, None))
        # the first need not wait for a block
        end = max(self.in_full - self.in_full % BLOCK, self.first + needed)
        if found.end != end:
            found = self._calibrate(way, max(found.start, end - WINDOW * needed), end, refresh)
            self.calibrations.pop(way, None)
            self.calibrations[way] = found
            while len(self.calibrations) > MOST_WAYS:
                del self.calibrations[next(iter(self.calibrations))]
        if found.distance is None:
            since = "were asked in full since too many predictions had changed"
            return Threshold(
                None, f"{end - found.start} of the {needed} items that risk={risk:g} needs {since}"
            )
        checked = np.array(self.critical[len(self.critical) - (self.in_full - end) :])
        changed = int((checked > found.distance).sum())
        if exceeds(changed, len(checked), risk, way.confidence):
            self.calibrations[way] = found._replace(start=end)
            note = f"{changed} of the last {len(checked)} items asked in full show that it is above {risk:g}"
            return Threshold(None, note)
        return Threshold(found.distance, "")

    def _calibrate(self, way: Way, start: int, end: int, refresh: Refresh | None) -> StopCalibration:
        first = self.in_full - len(self.critical)
        start = max(start, first)
        critical, rows = (
            np.array(self.critical[start - first : end - first]),
            self.rows[start - first : end - first],
        )
        at = [i for i, row in enumerate(rows) if row is not None]
        if refresh is not None and at:
            found = refresh([row for row in rows if row is not None])
            if found is not None:
                critical[at] = found
        allowed = changes_allowed(len(critical), way.risk, way.confidence)
        distance = None if allowed < 0 else min(float(np.sort(critical)[::-1][allowed]), LARGEST)
        return StopCalibration(start, end, distance)

    # --- as a part of a model file

    def facts(self) -> dict[str, Any]:
        """Return all but the votes as JSON can hold it."""
        return {
            "count": self.count,
            "in_full": self.in_full,
            "drift": [self.alarms, self.since, self.first],
            "critical": self.critical,
            "exploration": self.exploration,
            "scored": self.scored,
            "calibrations": [[*way, *calibration] for way, calibration in self.calibrations.items()],
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the votes; a row of NOT_KNOWN stands for None."""
        if not self.rows:
            return {}
        wide = max((len(row) for row in self.rows if row is not None), default=0)
        votes = np.full((len(self.rows), wide), NOT_KNOWN, dtype=np.int32)
        for target, row in zip(votes, self.rows, strict=True):
            if row is not None:
                target[:] = NOT_ASKED
                target[: len(row)] = row
        return {ARRAY: votes}

    def restore(self, facts: dict[str, Any], votes: np.ndarray | None, experts: int, classes: int) -> None:
        """Take over what `facts` and `arrays` returned, after validating it."""
        counts, critical = [facts["count"], facts["in_full"]], facts["critical"]
        require(all(type(one) is int and 0 <= one < 2**62 for one in counts), "consultations have no count")
        require(
            isinstance(critical, list)
            and len(critical) <= min(counts[1], MOST)
            and all(type(value) is float and is_finite(value) and value >= NEVER for value in critical),
            "consultations have distances that no run produces",
        )
        require(type(facts["scored"]) is bool, "consultations have no answer on scores")
        if critical:
            require(
                votes is not None
                and votes.dtype == np.int32
                and votes.ndim == 2
                and len(votes) == len(critical)
                and votes.shape[1] <= experts
                and bool((votes >= NOT_KNOWN).all() and (votes < max(classes, 1)).all()),
                "consultations have votes that no run produces",
            )
        drift = facts.get("drift", [0, 0, 0])  # not in files of earlier versions
        require(
            isinstance(drift, list)
            and len(drift) == 3
            and all(
                type(one) is int and 0 <= one <= most
                for one, most in zip(drift, (2**62, *counts), strict=True)
            ),
            "consultations have alarms that no run produces",
        )
        self.count, self.in_full = counts
        self.alarms, self.since, self.first = drift
        self.critical = list(critical)
        # if no row is known, they have no columns
        known = [] if votes is None else [len(row) > 0 and bool((row != NOT_KNOWN).all()) for row in votes]
        self.rows = [votes[t].copy() if known[t] else None for t in range(len(critical))]  # type: ignore[index]
        self.exploration = check_exploration(facts["exploration"])
        self.scored = facts["scored"]
        for risk, confidence, batch, prices, start, end, distance in facts["calibrations"]:
            require(
                all(type(number) is int and 0 <= number <= counts[1] for number in (start, end))
                and (distance is None or (type(distance) is float and is_finite(distance))),
                "consultations have a calibration that no run produces",
            )
            way = Way(
                float(risk),
                float(confidence),
                int(batch),
                None if prices is None else tuple(map(float, prices)),
            )
            self.calibrations[way] = StopCalibration(start, end, distance)


def items_needed(risk: float, confidence: float) -> int:
    """Return how many items without a change prove, at this confidence, that at most `risk` of all change.

    >>> items_needed(0.01, 0.95)
    299
    """
    return math.ceil(math.log(1.0 - confidence) / math.log1p(-risk))


@cache
def changes_allowed(items: int, risk: float, confidence: float) -> int:
    """Return how many of some items may change if at most `risk` of all do; -1 if the items are too few.

    The largest number that is improbable, by the binomial distribution, if more than `risk` of all changed.

    >>> changes_allowed(299, 0.01, 0.95), changes_allowed(298, 0.01, 0.95), changes_allowed(3000, 0.01, 0.95)
    (0, -1, 20)
    """
    from scipy.special import bdtr

    if items == 0:
        return -1
    likely = bdtr(np.arange(items + 1), items, risk) > 1.0 - confidence
    return int(np.argmax(likely)) - 1


def exceeds(changed: int, items: int, risk: float, confidence: float) -> bool:
    """Return whether so many changes show, at this confidence, that more than `risk` of all items change.

    >>> exceeds(3, 100, 0.01, 0.95), exceeds(4, 100, 0.01, 0.95)
    (False, True)
    """
    from scipy.special import bdtrc

    return changed > 0 and float(bdtrc(changed - 1, items, risk)) < 1.0 - confidence


def check_exploration(rate: Any) -> float:
    """Return the rate of exploration; raise a ValueError unless it is between 0 and 1."""
    require(
        isinstance(rate, int | float) and not isinstance(rate, bool) and 0.0 <= rate <= 1.0,
        f"exploration must be between 0 and 1 (got {rate!r}); 0.03 is usual",
    )
    return float(rate)
