"""What a fusion learned, as the log has it: item by item, or with the votes as codes where possible."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from itertools import islice, takewhile
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from linmax.service.event_log.chunks import BODY, COLUMNS, FIND_CHUNK, EventChunk, codes_of, read_chunk
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import AMENDMENT, LABELLED, LEARNED
from linmax.service.event_log.vote_codes import Codes
from linmax.service.messages.class_keys import is_class
from linmax.service.messages.requests import Label

EVENTS = f"""
SELECT e.position, e.time, {BODY.format("e")}, {BODY.format("v")}, a.label
FROM events e
LEFT JOIN events v ON v.position = e.item
{AMENDMENT.format("e.position")}
WHERE e.fusion = ? AND e.position > ? AND e.position <= ? AND e.kind IN (?, ?)
AND (a.position IS NULL OR a.label IS NOT NULL)
ORDER BY e.position
"""
decode = msgspec.json.decode


class _Learned(msgspec.Struct):
    """What is read of the body of an event; its probabilities are not, which saves time."""

    votes: dict[str, Any] | None = None
    attributes: dict[str, Any] | None = None
    label: Label | None = None
    prediction: Label | None = None


decode_learned = msgspec.json.Decoder(_Learned).decode


class LearnedTrial(NamedTuple):
    """An item that was learned, with the prediction that was answered, and its label as amended."""

    position: int
    time: float
    votes: dict[str, Any] | None
    label: Any
    prediction: Any
    attributes: dict[str, Any] | None = None


def trials_of(database: Database, number: int, after: int, until: int) -> Generator[LearnedTrial]:
    """Yield what a fusion learned between two positions, as amended since: excluded events are left out."""
    for position, time_, body, votes, label in database.iterate(
        EVENTS, number, after, until, LABELLED, LEARNED
    ):
        own = decode_learned(body)
        item = own if votes is None else decode_learned(votes)
        truth = own.label if label is None else decode(label)
        yield LearnedTrial(position, time_, item.votes, truth, own.prediction, item.attributes)


SHORTEST = 100  # events of a chunk that is worth it; shorter ones are read by item, many at once
MOST_SOURCES = 20  # chunks of predictions that are read for a chunk of labels
CHUNKS = f"""
SELECT first, last FROM chunks
WHERE fusion = ? AND first > ? AND last <= ? AND labels IS NOT NULL AND last - first >= {SHORTEST - 1}
ORDER BY first
"""
READ = f"SELECT {COLUMNS} FROM chunks WHERE first = ?"
IS_AMENDED = "SELECT 1 FROM amendments WHERE position BETWEEN ? AND ? LIMIT 1"
CODED_EVENTS = f"""
SELECT count(*), count(item), min(time), max(time) FROM events
WHERE position BETWEEN ? AND ? AND fusion = ? AND kind IN ({LABELLED}, {LEARNED}) AND length(body) = 0
"""
ITEMS = "SELECT item FROM events WHERE position BETWEEN ? AND ? ORDER BY position"
# the next events that learn, and whether each is a label of its own for votes in a chunk
SINGLE_LABELS = f"""
SELECT e.position, e.time, e.body, e.item, e.kind = {LABELLED} AND length(e.body) > 0 AND length(v.body) = 0
AND NOT EXISTS (SELECT 1 FROM amendments a WHERE a.position = e.position)
FROM events e LEFT JOIN events v ON v.position = e.item
WHERE e.fusion = ? AND e.position > ? AND e.position <= ? AND e.kind IN ({LABELLED}, {LEARNED})
ORDER BY e.position LIMIT ?
"""


class CodedTrials(NamedTuple):
    """Consecutive trials of a fusion, none of which was amended, with their votes in chunks.

    Attributes
    ----------
    positions, times : ndarray
        The positions of the events that taught them, and when that was.
    labels : EventChunk or list
        The chunk with all labels, or the labels.
    wrong : ndarray of bool
        Which predictions were mistakes.
    sources : list of tuple
        Chunks with the votes; of each of them the rows, and which trials these are.
    """

    positions: NDArray[np.int64]
    times: NDArray[np.float64]
    labels: EventChunk | list[Any]
    wrong: NDArray[np.bool_]
    sources: list[tuple[EventChunk, Any, Any]]

    def __len__(self) -> int:
        return len(self.positions)

    def by_item(self, database: Database, number: int) -> list[LearnedTrial]:
        """Return the same trials with their names, for a fusion that has no codes for some of them."""
        return list(trials_of(database, number, int(self.positions[0]) - 1, int(self.positions[-1])))

    def encode(self, experts: Mapping[str, int], classes: Mapping[Any, int]) -> tuple[Codes, Codes] | None:
        """Return votes and labels as codes, -1 for an abstention; None if a name has no code.

        Parameters
        ----------
        experts, classes
            The codes of names.
        """
        given = self.labels
        labels = given.labels_for(classes) if isinstance(given, EventChunk) else codes_of(given, classes)
        if labels is None:
            return None
        if len(self.sources) == 1 and len(self.sources[0][2]) == len(labels):
            votes = self.sources[0][0].votes_for(experts, classes, self.sources[0][1])
            return None if votes is None else (votes, labels)
        table = np.empty((len(labels), len(experts)), np.int32)
        for source, rows, places in self.sources:
            votes = source.votes_for(experts, classes, rows)
            if votes is None:
                return None
            table[places] = votes
        return table, labels


def read_trials(
    database: Database, number: int, after: int, until: int, size: int, coded: int
) -> Generator[CodedTrials | list[LearnedTrial]]:
    """Yield what `trials_of` does, in pieces; `Database.consistent` holds meanwhile.

    A piece is read when it is asked for.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    after, until
        Positions in the log.
    size, coded
        The most trials of a list, and the most labels of their own that are read together with codes.
    """
    for first, last in database.iterate(CHUNKS, number, after, until):
        found = _read_coded(database, number, first, last)
        if found is not None:
            if after < first - 1:
                yield from _read_between(database, number, after, first - 1, size, coded)
            yield found
            after = last
    if after < until:
        yield from _read_between(database, number, after, until, size, coded)


def _read_between(
    database: Database, number: int, after: int, until: int, size: int, coded: int
) -> Generator[CodedTrials | list[LearnedTrial]]:
    """Yield what was learned between long chunks, with codes where the next trials have them."""
    while True:
        labels = _read_labels(database, number, after, until, coded)
        if labels is not None:
            yield labels
            after = int(labels.positions[-1])
            continue
        with contextlib.closing(trials_of(database, number, after, until)) as trials:
            listed = list(islice(trials, size))
        if not listed:
            return
        yield listed
        after = listed[-1].position


def _read_labels(database: Database, number: int, after: int, until: int, size: int) -> CodedTrials | None:
    """Return the next trials as far as each has a label of its own and votes in a chunk.

    None if the next one has not; only that one is looked at then.
    """
    if not any(fits for *_, fits in database.rows(SINGLE_LABELS, number, after, until, 1)):
        return None
    found = list(takewhile(lambda row: row[-1], database.rows(SINGLE_LABELS, number, after, until, size)))
    positions, times, bodies, items, _ = zip(*found, strict=True)
    sources = _find_sources(database, np.array(items, np.int64))
    if sources is None:
        return None
    learned = list(map(decode_learned, bodies))
    labels = [one.label for one in learned]
    wrong = np.array([not is_class(one.prediction, one.label) for one in learned])
    return CodedTrials(np.array(positions, np.int64), np.array(times), labels, wrong, sources)


def _read_coded(database: Database, number: int, first: int, last: int) -> CodedTrials | None:
    """Return the trials of a chunk; None if they are to be read one by one."""
    if database.rows(IS_AMENDED, first, last):
        return None
    ((events, items, begin, end),) = database.rows(CODED_EVENTS, first, last, number)
    if events != last - first + 1 or begin != end or items not in (0, events):
        return None
    chunk = read_chunk(*database.rows(READ, first)[0])
    sources: list[tuple[EventChunk, Any, Any]] | None = [(chunk, slice(None), np.arange(events))]
    if items:
        positions = np.array([item for (item,) in database.rows(ITEMS, first, last)], np.int64)
        sources = _find_sources(database, positions)
    if sources is None:
        return None
    wrong: Any = chunk.predictions != chunk.labels
    return CodedTrials(np.arange(first, last + 1), np.full(events, begin), chunk, wrong, sources)


def _find_sources(
    database: Database, positions: NDArray[np.int64]
) -> list[tuple[EventChunk, Any, Any]] | None:
    """Return the chunks with the votes of items; None if some are not in chunks, or in too many."""
    sources: list[tuple[EventChunk, Any, Any]] = []
    rest = positions
    while len(rest):
        row = database.rows(FIND_CHUNK, int(rest.min()))
        if not row or row[0][1] < rest.min() or len(sources) == MOST_SOURCES:
            return None
        chunk = read_chunk(*row[0])
        places = np.flatnonzero((positions >= chunk.first) & (positions <= chunk.last))
        sources.append((chunk, positions[places] - chunk.first, places))
        rest = rest[rest > chunk.last]
    return sources
