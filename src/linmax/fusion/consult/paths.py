"""Paths of consultations: what would be known after every answer, for many items whose votes are recorded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linmax.fusion.consult.record import NEVER
from linmax.fusion.consult.settlement import Settlement
from linmax.inputs import Batch
from linmax.kernels.forms import Hard
from linmax.kernels.settlement import ABSTAINS, NOT_ASKED, NUMBERS, replay

CHUNK = 1 << 16  # predictions of prefixes at a time


class Paths(NamedTuple):
    """What is known before each answer and after all, for many items.

    Parameters
    ----------
    order : ndarray of shape (items, experts)
        The experts in the order in which they are asked; NOT_ASKED for those that are not available.
    distance : ndarray of shape (items, experts + 1)
        The distance of the leader (see `Step`); infinite if the bound holds, -1 inside of a batch.
    leader : ndarray of shape (items, experts + 1)
        The class that is predicted from the answers so far.
    settled : ndarray of shape (items,)
        After how many answers the prediction is proved to be settled.
    """

    order: np.ndarray
    distance: np.ndarray
    leader: np.ndarray
    settled: np.ndarray

    @property
    def final(self) -> np.ndarray:
        """The predictions of the full panel."""
        final: np.ndarray = self.leader[:, -1]
        return final

    @property
    def available(self) -> np.ndarray:
        """How many experts each item has."""
        count: np.ndarray = (self.order != NOT_ASKED).sum(axis=1)
        return count

    def critical(self) -> np.ndarray:
        """Return the critical distance of each item, see `Consultations`."""
        wrong = self.leader != self.final[:, None]
        critical: np.ndarray = np.where(wrong, self.distance, NEVER).max(axis=1)
        return critical

    def stops(self, thresholds: np.ndarray) -> np.ndarray:
        """Return how many experts are asked if an item stops above a distance; infinite: if it is settled."""
        stops = self.distance > thresholds[:, None]
        stops[np.arange(len(stops)), self.settled] = True
        found: np.ndarray = stops.argmax(axis=1)
        return found

    def costs(self, prices: np.ndarray) -> np.ndarray:
        """Return the cost of the first experts of each item, for every number of them."""
        paid = np.where(self.order == NOT_ASKED, 0.0, np.append(prices, 0.0)[self.order])
        return np.concatenate((np.zeros((len(paid), 1)), paid.cumsum(axis=1)), axis=1)

    def predictions(self, stops: np.ndarray) -> np.ndarray:
        """Return the predictions after so many answers."""
        found: np.ndarray = self.leader[np.arange(len(stops)), stops]
        return found


def consultation_paths(
    fusion: Any, votes: np.ndarray, available: np.ndarray, prices: np.ndarray | None = None, batch: int = 1
) -> Paths | None:
    """Return the paths of items with recorded votes, in the present state of a session.

    Parameters
    ----------
    fusion
        The session, which does not change.
    votes
        The code of the class that each expert of the session votes for; -1 abstains. Items by experts.
    available
        Which experts can be asked for each item.
    prices
        The price of each expert; None: all are 1.
    batch
        How many experts are asked at a time.

    Returns
    -------
    Paths or None
        None if nothing is known on what votes add, or if it depends on attributes.
    """
    with fusion._lock, fusion._lock.state:
        state: Settlement = fusion._settled_by(None)
        if not state.known or state.found.of_attributes:
            return None
        items, n = votes.shape
        found = state.found
        order = np.full((items, n), NOT_ASKED, dtype=np.int64)
        distance, leader = np.zeros((items, n + 1)), np.zeros((items, n + 1), dtype=np.int64)
        replay(
            found.base, votes.astype(np.int64), available.astype(np.uint8), state.place, state.classes,
            state.ones if prices is None else np.asarray(prices, dtype=np.float64), state.silent,
            found.diagonal, found.table, state.rescaled, state.rounding(len(state.place)), batch,
            np.zeros(n, dtype=np.int64), np.zeros((len(found.base), len(state.place))), np.zeros(n),
            np.zeros(NUMBERS), order, distance, leader,
        )  # fmt: skip
        settled = (order != NOT_ASKED).sum(axis=1)
        if state.exact:
            settled = (distance == np.inf).argmax(axis=1)
        elif state.interval is not None:
            settled = state.interval.first_settled(votes, available, order, leader)
        if not state.exact:
            _predict_prefixes(fusion, votes, order, distance, leader)
        return Paths(order, distance, leader, _end_of_batch(settled, batch, order))


def _end_of_batch(settled: np.ndarray, batch: int, order: np.ndarray) -> np.ndarray:
    """Return the number of answers when the batch in which items are settled has been asked."""
    found: np.ndarray = np.minimum(-(-settled // batch) * batch, (order != NOT_ASKED).sum(axis=1))
    return found


def _predict_prefixes(
    fusion: Any, votes: np.ndarray, order: np.ndarray, distance: np.ndarray, leader: np.ndarray
) -> None:
    """Replace the leaders of an approximation by predictions; where both differ, the distance is 0."""
    items, n = votes.shape
    rows = max(1, CHUNK // (n + 1))
    for begin in range(0, items, rows):
        part = slice(begin, min(begin + rows, items))
        size = part.stop - part.start
        place = np.full((size, n + 1), n, dtype=np.int64)  # when each expert is asked; the last one is nobody
        at, step = np.nonzero(order[part] != NOT_ASKED)
        place[at, order[part][at, step]] = step
        known = place[:, None, :n] < np.arange(n + 1)[None, :, None]
        answers = np.where(known, votes[part][:, None, :], ABSTAINS).reshape(-1, n)
        batch: Batch = fusion.read([{}])
        batch.trials, batch.votes = len(answers), Hard(np.ascontiguousarray(answers, dtype=np.int32))
        batch.labels = np.full(len(answers), -1, dtype=np.int32)
        batch.known = np.full(len(answers), len(fusion.names.classes), dtype=np.int32)
        codes = fusion.runner.run(batch, learn=False).codes.reshape(size, n + 1)
        distance[part][(codes != leader[part]) & (distance[part] >= 0.0)] = 0.0
        leader[part] = codes
