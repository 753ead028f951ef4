"""What a fusion learned, read from whole chunks where that is possible, which is faster than by item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.service.chunks import COLUMNS, FIND_CHUNK, Chunk, read_chunk
from linmax.service.database import Database
from linmax.service.learned_trials import Trial, trials_of
from linmax.service.schema import LABELLED, LEARNED
from linmax.service.vote_codes import Codes

SHORTEST = 100  # events of a chunk that is worth it; shorter ones are read by item, many at once
MOST_SOURCES = 20  # chunks of predictions that are read for a chunk of labels
CHUNKS = f"""
SELECT first, last FROM chunks
WHERE fusion = ? AND first > ? AND last <= ? AND labels IS NOT NULL AND last - first >= {SHORTEST - 1}
ORDER BY first
"""
READ = f"SELECT {COLUMNS} FROM chunks WHERE first = ?"
IS_AMENDED = "SELECT 1 FROM amendments WHERE position BETWEEN ? AND ? LIMIT 1"
EVENTS = f"""
SELECT count(*), count(item), min(time), max(time) FROM events
WHERE position BETWEEN ? AND ? AND fusion = ? AND kind IN ({LABELLED}, {LEARNED}) AND length(body) = 0
"""
ITEMS = "SELECT item FROM events WHERE position BETWEEN ? AND ? ORDER BY position"


class CodedTrials(NamedTuple):
    """The trials of a chunk, none of which was amended.

    Attributes
    ----------
    chunk : Chunk
        Their labels and predictions.
    time : float
        When they were learned.
    sources : list of tuple
        Chunks with the votes; of each of them the rows, and which trials these are.
    """

    chunk: Chunk
    time: float
    sources: list[tuple[Chunk, Any, Any]]

    def __len__(self) -> int:
        return len(self.chunk.predictions)

    def by_item(self, database: Database, number: int) -> list[Trial]:
        """Return the same trials with their names, for a fusion that has no codes for some of them."""
        return list(trials_of(database, number, self.chunk.first - 1, self.chunk.last))

    def encode(self, experts: Mapping[str, int], classes: Mapping[Any, int]) -> tuple[Codes, Codes] | None:
        """Return votes and labels as codes, -1 for an abstention; None if a name has no code.

        Parameters
        ----------
        experts, classes
            The codes of names.
        """
        labels = self.chunk.labels_for(classes)
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
    database: Database, number: int, after: int, until: int, size: Callable[[], int]
) -> Iterator[CodedTrials | list[Trial]]:
    """Yield what `trials_of` does, in pieces; `Database.consistent` holds meanwhile.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    after, until
        Positions in the log.
    size
        Returns the most trials of the next list.
    """
    for first, last in database.rows(CHUNKS, number, after, until):
        found = _read_coded(database, number, first, last)
        if found is not None:
            if after < first - 1:
                yield from _batched(trials_of(database, number, after, first - 1), size)
            yield found
            after = last
    if after < until:
        yield from _batched(trials_of(database, number, after, until), size)


def _batched(trials: Iterator[Trial], size: Callable[[], int]) -> Iterator[list[Trial]]:
    while found := list(islice(trials, size())):
        yield found


def _read_coded(database: Database, number: int, first: int, last: int) -> CodedTrials | None:
    """Return the trials of a chunk; None if they are to be read one by one."""
    if database.rows(IS_AMENDED, first, last):
        return None
    ((events, items, begin, end),) = database.rows(EVENTS, first, last, number)
    if events != last - first + 1 or begin != end or items not in (0, events):
        return None
    chunk = read_chunk(*database.rows(READ, first)[0])
    if not items:
        places = np.arange(events)
        return CodedTrials(chunk, begin, [(chunk, slice(None), places)])
    positions = np.array([item for (item,) in database.rows(ITEMS, first, last)], np.int64)
    sources = _find_sources(database, positions)
    return None if sources is None else CodedTrials(chunk, begin, sources)


def _find_sources(database: Database, positions: NDArray[np.int64]) -> list[tuple[Chunk, Any, Any]] | None:
    """Return the chunks with the votes of items; None if some are not in chunks, or in too many."""
    sources: list[tuple[Chunk, Any, Any]] = []
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
