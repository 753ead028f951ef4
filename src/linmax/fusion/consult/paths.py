"""Paths of consultations: what would be known after every answer, for many items whose votes are recorded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linmax.fusion.consult.record import NEVER
from linmax.fusion.consult.settlement import NO_SCORES, ROUNDING_OF_ATTRIBUTES, Settlement
from linmax.inputs import Batch
from linmax.kernels.forms import Dense, Hard
from linmax.kernels.settlement import ABSTAINS, NOT_ASKED, NUMBERS, replay

CHUNK = 1 << 16  # predictions of prefixes at a time
MOST_ADDED = 1 << 22  # numbers that answers add to scores, at a time


class Paths(NamedTuple):
    """What is known before each answer and after all, for many items.

    Parameters
    ----------
    order : ndarray of shape (items, experts)
        The experts in the order in which they are asked; NOT_ASKED for those that are not available.
    distance : ndarray of shape (items, experts + 1)
        The distance of the leader (see `ConsultStep`); infinite if the bound holds, -1 inside of a batch.
    leader : ndarray of shape (items, experts + 1)
        The class that is predicted from the answers so far.
    settled : ndarray of shape (items,)
        After how many answers the prediction is proved to be settled.
    limit : str
        Why no prediction can be; empty if it can.
    """

    order: np.ndarray
    distance: np.ndarray
    leader: np.ndarray
    settled: np.ndarray
    limit: str

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
    fusion: Any,
    votes: np.ndarray,
    available: np.ndarray,
    prices: np.ndarray | None = None,
    batch: int = 1,
    *,
    attributes: Any = None,
    scores: np.ndarray | None = None,
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
    attributes
        The attributes of all items, as for `Fusion.predict`, if the learner reads them.
    scores
        The scores that experts answer with, items by experts by classes, in a range that is that of all of
        them; None: they answer with `votes`.

    Returns
    -------
    Paths or None
        None if nothing is known on what votes add, or if attributes are missing.
    """
    with fusion._lock, fusion._lock.state:
        state: Settlement = fusion._settled_by(None)
        if not state.known or (state.found.of_attributes and attributes is None):
            return None
        items, n = votes.shape
        found = state.found
        paths = Paths(
            np.full((items, n), NOT_ASKED, dtype=np.int64), np.zeros((items, n + 1)),
            np.zeros((items, n + 1), dtype=np.int64), np.zeros(items, dtype=np.int64),
            state.limit,
        )  # fmt: skip
        order, distance, leader = paths.order, paths.distance, paths.leader
        prices = state.ones if prices is None else np.asarray(prices, dtype=np.float64)
        if found.of_attributes or scores is not None:
            _replay_parts(fusion, state, votes, available, prices, batch, attributes, scores, paths)
        else:
            replay(
                found.base, np.zeros((0, 0, 0)), np.zeros((0, 0, 0, 0)), votes.astype(np.int64),
                available.astype(np.uint8), state.place, state.classes, prices, state.silent, found.diagonal,
                found.table, state.rescaled, 0, 0.0, 0.0, state.rounding(len(state.place)), batch,
                np.zeros(n, dtype=np.int64), np.zeros((len(found.base), len(state.place))), np.zeros(n),
                np.zeros(NUMBERS), order, distance, leader,
            )  # fmt: skip
        settled = paths.available
        if state.exact:
            settled = (distance == np.inf).argmax(axis=1)
        elif state.interval is not None and scores is None:
            settled = state.interval.first_settled(votes, available, order, leader)
        if scores is not None and (found.labels_only or not state.exact):
            paths = paths._replace(limit=state.limit or NO_SCORES)
            distance[:], settled = 0.0, paths.available
            leader[:] = predict_codes(fusion, Dense(scores * available[:, :, None]), attributes)[:, None]
        elif not state.exact:
            _predict_prefixes(fusion, votes, attributes, order, distance, leader)
        return paths._replace(settled=_end_of_batch(settled, batch, order))


def critical_distances(
    fusion: Any, prices: np.ndarray | None, batch: int, rows: list[np.ndarray]
) -> np.ndarray | None:
    """Return the critical distances of recorded votes in the present state of a session.

    Each row has the code that each expert voted for. The result is None where there are no paths.
    """
    votes = np.full((len(rows), len(fusion.names.experts)), NOT_ASKED, dtype=np.int64)
    for target, row in zip(votes, rows, strict=True):
        target[: len(row)] = row
    paths = consultation_paths(fusion, np.maximum(votes, ABSTAINS), votes != NOT_ASKED, prices, batch)
    return None if paths is None else paths.critical()


def _replay_parts(
    fusion: Any,
    state: Settlement,
    votes: np.ndarray,
    available: np.ndarray,
    prices: np.ndarray,
    batch: int,
    attributes: Any,
    scores: np.ndarray | None,
    paths: Paths,
) -> None:
    """Replay items whose scores do not start alike, or whose experts answer with scores; some at a time."""
    items, n = votes.shape
    found, k = state.found, len(state.place)
    cases = len(found.base)
    ranged = int(scores is not None and found.raw)
    low, high = (0.0, 0.0) if scores is None else (min(0.0, float(scores.min())), float(scores.max()))
    rows = max(1, MOST_ADDED // max(1, cases * n * k))
    for begin in range(0, items, rows):
        part = slice(begin, min(begin + rows, items))
        at = np.arange(part.start, part.stop)
        bases = np.repeat(found.base[None], len(at), axis=0)
        rounding = state.rounding(k)
        if found.of_attributes:
            bases = state.bases_of(fusion, rows_at(attributes, at), len(at))[:, None]
            rounding += ROUNDING_OF_ATTRIBUTES * (state.size + float(abs(bases).max(initial=0.0)))
        added = state.added_by_votes(votes[part]) if scores is None else state.added_by_scores(scores[part])
        replay(
            np.zeros((cases, k)), np.ascontiguousarray(bases), np.ascontiguousarray(added),
            votes[part].astype(np.int64), available[part].astype(np.uint8), state.place, state.classes,
            prices, state.silent, found.diagonal, found.table, state.rescaled, ranged, low, max(high, 0.0),
            rounding, batch, np.zeros(n, dtype=np.int64), np.zeros((cases, k)), np.zeros(n),
            np.zeros(NUMBERS), paths.order[part], paths.distance[part], paths.leader[part],
        )  # fmt: skip


def rows_at(attributes: Any, at: np.ndarray) -> Any:
    """Return the attributes of some items: of a list, an array or an Arrow table."""
    if isinstance(attributes, list):
        return [attributes[i] for i in at.tolist()]
    return attributes.take(at) if hasattr(attributes, "column_names") else attributes[at]


def _end_of_batch(settled: np.ndarray, batch: int, order: np.ndarray) -> np.ndarray:
    """Return the number of answers when the batch in which items are settled has been asked."""
    found: np.ndarray = np.minimum(-(-settled // batch) * batch, (order != NOT_ASKED).sum(axis=1))
    return found


def _predict_prefixes(
    fusion: Any,
    votes: np.ndarray,
    attributes: Any,
    order: np.ndarray,
    distance: np.ndarray,
    leader: np.ndarray,
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
        rows_of_items = np.repeat(np.arange(part.start, part.stop), n + 1)
        own = None if attributes is None else rows_at(attributes, rows_of_items)
        codes = predict_codes(fusion, hard_votes(answers), own).reshape(size, n + 1)
        distance[part][(codes != leader[part]) & (distance[part] >= 0.0)] = 0.0
        leader[part] = codes


def hard_votes(codes: np.ndarray) -> Hard:
    """Return votes for one class each, as kernels read them."""
    return Hard(np.ascontiguousarray(codes, dtype=np.int32))


def predict_codes(fusion: Any, votes: Hard | Dense, attributes: Any = None) -> np.ndarray:
    """Return the codes of the classes that a session predicts from encoded votes."""
    trials = len(votes[0])
    batch: Batch = fusion.read([{}] * (1 if attributes is None else trials), attributes=attributes)
    batch.trials, batch.votes = trials, votes
    batch.labels = np.full(trials, -1, dtype=np.int32)
    batch.known = np.full(trials, len(fusion.names.classes), dtype=np.int32)
    codes: np.ndarray = fusion.runner.run(batch, learn=False).codes
    return codes
