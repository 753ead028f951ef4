"""Items by their ids: the latest are in memory, all are in the log."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import compress, repeat
from operator import is_
from typing import Any

import msgspec

from linmax.service.chunks import BODY, Chunk
from linmax.service.class_keys import is_class
from linmax.service.database import Database
from linmax.service.messages import LearnRequest, PredictRequest, StoredItem, content_of, encode_content
from linmax.service.panel import Panel
from linmax.service.panels import Panels
from linmax.service.problems import ServiceError
from linmax.service.schema import AMENDMENT, AS_STORED, LAST_LABEL, NO_ID, SET_LEARNED, id_hash

FIND = f"""
SELECT i.id, i.position, i.content, i.learned, e.time, {BODY.format("e")}, {BODY.format("l")}, a.by,
a.by IS NOT NULL AND a.label IS NULL, {LAST_LABEL.format("i.learned")}
FROM items i JOIN events e ON e.position = i.position
LEFT JOIN events l ON l.position = i.learned
{AMENDMENT.format("i.learned")}
WHERE i.fusion = ? AND i.id
"""
FIND_ITEM = FIND + "= ?"
FIND_ITEMS = FIND + "IN (SELECT value FROM json_each(?))"
HAS_ITEMS = "SELECT i.id FROM json_each(?2) j CROSS JOIN items i ON i.fusion = ?1 AND i.id = j.value"
HAS_ITEM = "SELECT 1 FROM items WHERE fusion = ? AND id = ?"
IS_COMPACTED = "SELECT 1 FROM compacted_ids WHERE fusion = ? AND hash = ?"
ARE_COMPACTED = """
SELECT hash FROM compacted_ids WHERE fusion = ? AND hash IN (SELECT unhex(value) FROM json_each(?))
"""
WAITING_SINCE = """
SELECT i.id FROM items i JOIN events e ON e.position = i.position
WHERE i.fusion = ? AND i.learned IS NULL AND e.time < ? ORDER BY i.position LIMIT ?
"""
COUNT_EXPIRED = "UPDATE fusions SET expired = expired + ? WHERE fusion = ?"
EXPIRED = -1  # `learned` of an item whose label did not come in time
MAX_ITEMS = 50_000  # items in memory
MAX_BYTES = 64 << 20  # of their votes
HOLD = 0.2  # seconds for which a label waits for its prediction
SWEEP = 1000  # items that expire in one transaction
decode, encode = msgspec.json.decode, msgspec.json.encode
decode_item = msgspec.json.Decoder(StoredItem).decode


class Item(msgspec.Struct, eq=False, gc=False):
    """An item that has been predicted or learned.

    Attributes
    ----------
    position : int
        The position of the event with its votes.
    content : bytes
        What is known about the content of the request that brought it: `NO_ID`, `AS_STORED` or a checksum.
    time : float
        When that was.
    stored : bytes or Chunk
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
    stored: bytes | Chunk
    learned: int | None = None
    label: Any = None
    right: bool = False
    amended: int | None = None
    excluded: bool = False
    written: asyncio.Future[None] | None = None

    @property
    def size(self) -> int:
        """The bytes that it keeps in memory."""
        return self.stored.bytes_per_row if isinstance(self.stored, Chunk) else len(self.stored)

    def read(self, *, probabilities: bool = True) -> StoredItem:
        """Return the votes and the prediction; without its probabilities, that takes less time."""
        if isinstance(self.stored, Chunk):
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


class LearnedRun(msgspec.Struct, eq=False):
    """Items that were learned together; all that they have in common is kept once.

    Attributes
    ----------
    rows : dict
        Their places by id.
    given : list
        Whether each id came with the request.
    time : float
        When they were learned.
    chunk : Chunk
        Their content.
    written : Future
        Done when they are on disk.
    """

    rows: dict[str, int]
    given: list[bool]
    time: float
    chunk: Chunk
    written: asyncio.Future[None]

    def item(self, id_: str) -> Item:
        """Return one of the items."""
        row, chunk = self.rows[id_], self.chunk
        position, content = chunk.first + row, AS_STORED if self.given[row] else NO_ID
        label, right = chunk.label(position), chunk.is_right(position)
        return Item(position, content, self.time, chunk, position, label, right, written=self.written)


class ItemStore:
    """The items of all fusions.

    Parameters
    ----------
    panels
        The fusions.
    """

    def __init__(self, panels: Panels) -> None:
        self.panels = panels
        self.database = panels.database
        self.hold = HOLD
        self._recent: OrderedDict[tuple[int, str], Item] = OrderedDict()
        self._bytes = 0
        self._runs: dict[int, list[LearnedRun]] = {}  # on their way to disk, by fusion
        self._awaited: dict[tuple[int, str], asyncio.Event] = {}
        forget_panels = self.database.on_failure

        def forget_all() -> None:
            self._recent.clear()
            self._runs.clear()
            self._bytes = 0
            forget_panels()

        self.database.on_failure = forget_all

    def find(self, panel: Panel, id_: str) -> Item | None:
        """Return an item, or None if there is none; an error if it is not known any more."""
        key = panel.number, id_
        item = self._recent.get(key)
        if item is None:
            for run in self._runs.get(panel.number, ()):
                if id_ in run.rows:
                    item = run.item(id_)
                    self.remember(panel, id_, item)
                    return item
            if id_ in panel.missing:
                return None
            if not self.database.rows(HAS_ITEM, *key):  # a fifth of the time of FIND_ITEM
                check_not_compacted(self.database, panel, id_)
                return None
            item = self._read(panel, *self.database.rows(FIND_ITEM, *key)[0])
        return item

    def _read(
        self, panel: Panel, id_: str, position: int, content: bytes, learned: int | None, time: float,
        body: bytes, label_body: bytes, by: int | None, excluded: int, relabelled: bytes | None,
    ) -> Item:  # fmt: skip
        """Return an item from a row of the log, and keep it in memory."""
        item = Item(position, content, time, body, learned)
        if item.taught:
            taught = decode_item(label_body)
            item.amended, item.excluded = by, bool(excluded)
            item.label = taught.label if relabelled is None else decode(relabelled)
            item.right = is_class(taught.prediction, item.label)
        self.remember(panel, id_, item)
        return item

    def find_all_recent(self, panel: Panel, ids: Iterable[str]) -> Iterator[Item | None]:
        """Yield items, None for those that are not in memory."""
        return map(self._recent.get, zip(repeat(panel.number), ids, strict=False))

    def look_up(self, panel: Panel, ids: Collection[str]) -> set[str]:
        """Read the items with these ids into memory; return the ids that no item has or had."""
        unknown = set(compress(ids, map(is_, self.find_all_recent(panel, ids), repeat(None))))
        for run in self._runs.get(panel.number, ()):
            unknown -= run.rows.keys()
        if not unknown:
            return unknown
        # without an index of the wanted ids, which FIND_ITEMS makes: most of them are new
        wanted = list(filter(unknown.__contains__, ids))  # in their order, which is that of the index
        stored = self.database.rows(HAS_ITEMS, panel.number, encode(wanted).decode())
        if stored:
            text = encode(list({id_ for (id_,) in stored})).decode()
            for row in self.database.rows(FIND_ITEMS, panel.number, text):
                self._read(panel, *row)
                unknown.discard(row[0])
        if panel.horizon and unknown:
            by_hash = {id_hash(id_): id_ for id_ in unknown}
            text = encode([one.hex() for one in by_hash]).decode()
            unknown -= {by_hash[one] for (one,) in self.database.rows(ARE_COMPACTED, panel.number, text)}
        return unknown

    def _is_missing(self, panel: Panel, id_: str) -> bool:
        try:
            return self.find(panel, id_) is None
        except ServiceError:
            return False

    @contextmanager
    def looking_up(self, panel: Panel, ids: list[str]) -> Iterator[None]:
        """Look up the ids of a batch at once; nobody else may store items of the fusion within this block."""
        panel.missing = self.look_up(panel, ids)
        try:
            yield
        finally:
            panel.missing = set()

    async def wait_for(self, panel: Panel, ids: set[str]) -> None:
        """Wait for a short time until items are there, whose labels have overtaken them."""
        missing = self.look_up(panel, ids) if len(ids) > 1 else {i for i in ids if self._is_missing(panel, i)}
        if not missing or self.hold <= 0.0:
            return
        keys = [(panel.number, id_) for id_ in missing]
        events = [self._awaited.setdefault(key, asyncio.Event()) for key in keys]
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await asyncio.wait(waiting, timeout=self.hold)
        finally:
            for task in waiting:
                task.cancel()
            for key, event in zip(keys, events, strict=True):
                if not event.is_set() and self._awaited.get(key) is event:
                    del self._awaited[key]

    def remember(self, panel: Panel, id_: str, item: Item) -> None:
        """Keep an item in memory, instead of the oldest one."""
        key = panel.number, id_
        if key in self._recent:
            self._drop(key)
        self._recent[key] = item
        panel.missing.discard(id_)
        self._bytes += item.size
        if key in self._awaited:
            self._awaited.pop(key).set()
        self._drop_oldest()

    def remember_all(self, panel: Panel, ids: list[str], items: list[Item], size: int) -> None:
        """Keep new items in memory, as `remember` does each of them; their size is known."""
        new = dict(zip(zip(repeat(panel.number), ids, strict=False), items, strict=True))
        if self._awaited or not new.keys().isdisjoint(self._recent.keys()):
            for id_, item in zip(ids, items, strict=True):
                self.remember(panel, id_, item)
            return
        self._recent.update(new)
        panel.missing.difference_update(ids)
        self._bytes += size
        self._drop_oldest()

    def remember_run(self, panel: Panel, run: LearnedRun) -> None:
        """Keep new items in memory that were learned together, until they are on disk."""
        self._runs.setdefault(panel.number, []).append(run)
        panel.missing.difference_update(run.rows)
        if self._awaited:
            for key in zip(repeat(panel.number), run.rows, strict=False):
                if key in self._awaited:
                    self._awaited.pop(key).set()
        run.written.add_done_callback(lambda _: self._forget_run(panel.number, run))

    def _forget_run(self, number: int, run: LearnedRun) -> None:
        runs = self._runs.get(number, [])
        if run in runs:
            runs.remove(run)
        if not runs:
            self._runs.pop(number, None)

    def _drop_oldest(self) -> None:
        while len(self._recent) > MAX_ITEMS or self._bytes > MAX_BYTES:
            oldest, item = next(iter(self._recent.items()))
            if item.on_its_way:
                break
            self._drop(oldest)

    def keep(self, panel: Panel, id_: str, item: Item) -> None:
        """Keep an item in memory that others may have replaced while a request waited for the model."""
        if self._recent.get((panel.number, id_)) is not item:
            self.remember(panel, id_, item)

    def keep_all(self, panel: Panel, ids: list[str], items: list[Item]) -> None:
        """Keep items in memory, as `keep` does each of them."""
        for id_, item, kept in zip(ids, items, list(self.find_all_recent(panel, ids)), strict=True):
            if kept is not item:
                self.remember(panel, id_, item)

    def forget(self, panel: Panel) -> None:
        """Forget the items of a fusion, which were amended in the log."""
        for key, item in list(self._recent.items()):
            if key[0] == panel.number and not item.on_its_way:
                self._drop(key)
        for run in list(self._runs.get(panel.number, ())):
            if run.written.done():
                self._forget_run(panel.number, run)

    def _drop(self, key: tuple[int, str]) -> None:
        self._bytes -= self._recent.pop(key).size

    # --- expiry

    def has_expired(self, panel: Panel, item: Item, now: float | None = None) -> bool:
        """Whether an item has waited too long for its label."""
        if now is None:
            now = self.database.now()
        return item.learned == EXPIRED or (
            item.learned is None and now - item.time > panel.settings.limits.retention
        )

    async def expire_all(self) -> int:
        """Expire the items of all fusions in memory that have waited too long; return how many."""
        total = 0
        for panel in list(self.panels.open_panels.values()):
            while not self.database.failing:
                async with panel.lock:
                    count = await self._expire_some(panel)
                total += count
                if count < SWEEP:
                    break
        return total

    async def _expire_some(self, panel: Panel) -> int:
        await self.panels.flush()
        if self.panels.open_panels.get(panel.name) is not panel:
            return 0
        before = self.database.now() - panel.settings.limits.retention
        ids = [id_ for (id_,) in self.database.rows(WAITING_SINCE, panel.number, before, SWEEP)]
        if ids:
            await self.expire(panel, ids)
        return len(ids)

    def expire(self, panel: Panel, ids: list[str]) -> asyncio.Future[None]:
        """Expire items that wait for a label; the lock of the fusion is held."""
        statements: list[Any] = [(SET_LEARNED, (EXPIRED, panel.number, id_)) for id_ in ids]
        future = self.panels.submit([*statements, (COUNT_EXPIRED, (len(ids), panel.number))])
        for id_ in ids:
            item = self._recent.get((panel.number, id_))
            if item is not None:
                item.learned, item.written = EXPIRED, future
        panel.waiting -= len(ids)
        panel.expired += len(ids)
        return future

    def check_known(self, panel: Panel, id_: str) -> Item:
        """Return an item; an error if there is none."""
        item = self.find(panel, id_)
        if item is None:
            raise ServiceError(404, "unknown_item", f"{panel.name} has no item {id_!r}; predict it first")
        return item


def check_not_compacted(database: Database, panel: Panel, id_: str) -> None:
    """Raise an error if an item was compacted: of those, only the hashes of the ids are known."""
    if panel.horizon and database.rows(IS_COMPACTED, panel.number, id_hash(id_)):
        raise ServiceError(
            410,
            "compacted",
            f"the item {id_!r} was processed before the horizon of the log of {panel.name}; its answer is"
            " not known any more, and nothing was changed",
        )
