"""Items, in memory and as the log has them, and the votes of those that wait for their labels."""

from __future__ import annotations

import asyncio
import hashlib
from bisect import bisect_right
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from linmax.fusion import Fusion
from linmax.service.event_log.chunks import BODY, EventChunk
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import AMENDMENT, AS_STORED, LAST_LABEL, NO_ID
from linmax.service.event_log.vote_codes import Codes, KnownNames
from linmax.service.messages.class_keys import is_class
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import (
    LearnRequest,
    PredictRequest,
    StoredItem,
    content_of,
    encode_content,
)

HAS_ITEM = "SELECT 1 FROM items WHERE fusion = ? AND id = ?"
# two statements, which take less time than one: SQLite prepares a join again for every value
FIND_ITEM = "SELECT position, content, learned FROM items WHERE fusion = ? AND id = ?"
FIND_EVENT = "SELECT time, body FROM events WHERE position = ?"
FIND_ITEMS = """
SELECT i.id, i.position, i.content, i.learned, e.time, e.body
FROM json_each(?2) j CROSS JOIN items i ON i.fusion = ?1 AND i.id = j.value
CROSS JOIN events e ON e.position = i.position
"""
FIND_LABELS = f"""
SELECT l.position, {BODY.format("l")}, a.by, a.by IS NOT NULL AND a.label IS NULL,
{LAST_LABEL.format("l.position")}
FROM json_each(?) j CROSS JOIN events l ON l.position = j.value
{AMENDMENT.format("l.position")}
"""
EXPIRED = -1  # `learned` of an item whose label did not come in time
decode, encode = msgspec.json.decode, msgspec.json.encode
decode_item = msgspec.json.Decoder(StoredItem).decode


class LoggedItem(msgspec.Struct, eq=False, gc=False):
    """An item that has been predicted or learned.

    Attributes
    ----------
    position : int
        The position of the event with its votes.
    content : bytes
        What is known about the content of the request that brought it: `NO_ID`, `AS_STORED` or a checksum.
    time : float
        When that was.
    stored : bytes or EventChunk
        The votes and the prediction, as they are in the log.
    learned : int or None
        The position of the event that taught its label; None if it has none, EXPIRED if it came too late.
    label, right
        The label, as amended, and whether the prediction was right.
    amended : int or None
        The position of the event that has amended the label.
    excluded : bool
        Whether the label does not count.
    written : Future
        Done when the latest event of the item is on disk; None if it was read from there.
    """

    position: int
    content: bytes
    time: float
    stored: bytes | EventChunk
    learned: int | None = None
    label: Any = None
    right: bool = False
    amended: int | None = None
    excluded: bool = False
    written: asyncio.Future[None] | None = None

    @property
    def size(self) -> int:
        """The bytes that it keeps in memory."""
        return self.stored.bytes_per_row if isinstance(self.stored, EventChunk) else len(self.stored)

    def read(self, *, probabilities: bool = True) -> StoredItem:
        """Return the votes and the prediction; without its probabilities, that takes less time."""
        if isinstance(self.stored, EventChunk):
            return self.stored.item(self.position, probabilities=probabilities)
        return decode_item(self.stored)

    @property
    def taught(self) -> bool:
        """Whether it has a label."""
        return self.learned is not None and self.learned != EXPIRED

    @property
    def on_its_way(self) -> bool:
        """Whether its latest event is not on disk yet."""
        return self.written is not None and not self.written.done()

    def check_same(self, request: PredictRequest | LearnRequest) -> None:
        """Raise an error unless a request has the content of the one that has brought the item."""
        given = content_of(request)
        if self.content == AS_STORED:
            stored = self.read()
            label = msgspec.UNSET if stored.label is None else stored.label
            same = given == encode_content(stored.votes, stored.attributes, label)
        else:
            same = self.content == hashlib.blake2b(given, digest_size=16).digest()
        if not same:
            raise ServiceError(
                409,
                "id_in_use",
                f"the id {request.id!r} was used for a request with other content; choose a new id",
            )

    async def wait(self) -> None:
        """Wait until what is known about the item is on disk."""
        if self.written is not None:
            await self.written


class LearnedRun:
    """Items that were learned together; all that they have in common is kept once.

    Parameters
    ----------
    ids
        Their ids.
    given
        Whether each id came with the request.
    time
        When they were learned.
    chunk
        Their content.
    written
        Done when they are on disk.

    Attributes
    ----------
    first, last : str
        The least and the greatest id.
    """

    def __init__(
        self,
        ids: list[str],
        given: list[bool],
        time: float,
        chunk: EventChunk,
        written: asyncio.Future[None],
    ) -> None:
        self.ids = ids
        self.given = given
        self.time = time
        self.chunk = chunk
        self.written = written
        self.first, self.last = min(ids), max(ids)

    @cached_property
    def rows(self) -> dict[str, int]:
        """The places of the items by id."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    def has(self, id_: str) -> bool:
        """Whether one of the items has this id."""
        return self.first <= id_ <= self.last and id_ in self.rows

    def item(self, id_: str) -> LoggedItem:
        """Return one of the items."""
        row, chunk = self.rows[id_], self.chunk
        position, content = chunk.first + row, AS_STORED if self.given[row] else NO_ID
        label, right = chunk.label(position), chunk.is_right(position)
        return LoggedItem(position, content, self.time, chunk, position, label, right, written=self.written)


def find_item(database: Database, number: int, id_: str) -> LoggedItem | None:
    """Return an item of a fusion from the log; None if there is none."""
    if not database.rows(HAS_ITEM, number, id_):  # most are new, and need no transaction
        return None
    with database.consistent():
        for position, content, learned in database.rows(FIND_ITEM, number, id_):
            ((time, body),) = database.rows(FIND_EVENT, position)
            item = LoggedItem(position, content, time, body, learned)
            _complete(database, [item])
            return item
    return None  # it was compacted meanwhile


def find_items(database: Database, number: int, ids: list[str]) -> dict[str, LoggedItem]:
    """Return those items of a fusion by id that are in the log."""
    with database.consistent():
        found = {
            id_: LoggedItem(position, content, time, body, learned)
            for id_, position, content, learned, time, body in database.rows(
                FIND_ITEMS, number, encode(ids).decode()
            )
        }
        _complete(database, list(found.values()))
    return found


def _complete(database: Database, items: list[LoggedItem]) -> None:
    """Add to items what is in chunks, and their labels."""
    in_chunks = sorted((item for item in items if not item.stored), key=lambda item: item.position)
    positions = [item.position for item in in_chunks]
    start = 0
    while start < len(positions):
        chunk = database.chunk(positions[start])
        stop = bisect_right(positions, chunk.last)
        part = chunk.take(positions[start:stop])
        for item in in_chunks[start:stop]:
            item.stored = part
        start = stop
    taught = {item.learned: item for item in items if item.taught}
    if taught:
        rows = database.rows(FIND_LABELS, encode(list(taught)).decode())
        for position, body, by, excluded, relabelled in rows:
            item, own = taught[position], decode_item(body)
            item.amended, item.excluded = by, bool(excluded)
            item.label = own.label if relabelled is None else decode(relabelled)
            item.right = is_class(own.prediction, item.label)


class Waiting(NamedTuple):
    """Items that wait.

    Attributes
    ----------
    items : list of LoggedItem
        The items.
    votes : ndarray of int32
        Their votes, as from `KnownNames.encode_votes`.
    predictions : list
        Their predictions.
    """

    items: list[LoggedItem]
    votes: Codes
    predictions: list[Any]


def read_waiting(items: list[LoggedItem], fusion: Fusion) -> Waiting:
    """Return items up to the first that has new names, scores or attributes.

    Parameters
    ----------
    items
        The items.
    fusion
        The session that learns them.
    """
    found = _read_chunks(items, fusion)
    if found is not None:
        return found
    names = KnownNames(fusion)
    known = list(
        takewhile(
            lambda one: one.attributes is None and names.have(one.votes), (item.read() for item in items)
        )
    )
    table = names.encode_votes([one.votes or {} for one in known])
    if table is None:
        return Waiting([], np.empty((0, 0), np.int32), [])
    return Waiting(items[: len(known)], table, [one.prediction for one in known])


def _read_chunks(items: list[LoggedItem], fusion: Fusion) -> Waiting | None:
    """Return items that are all in chunks with known names; None if there are others."""
    places: dict[EventChunk, list[int]] = {}
    for place, item in enumerate(items):
        if not isinstance(item.stored, EventChunk):
            return None
        places.setdefault(item.stored, []).append(place)
    positions = np.array([item.position for item in items], np.int64)
    experts, classes = fusion.names.experts.codes, fusion.names.classes.codes
    votes = np.empty((len(items), len(experts)), np.int32)
    predictions = np.empty(len(items), np.int32)
    for chunk, chosen in places.items():
        rows = chunk.rows(positions[chosen])
        codes, predicted = chunk.votes_for(experts, classes, rows), chunk.predictions_for(classes, rows)
        if codes is None or predicted is None:
            return None
        votes[chosen], predictions[chosen] = codes, predicted
    names = [*fusion.names.classes.names, None]
    return Waiting(items, votes, list(map(names.__getitem__, predictions.tolist())))
