"""Items by their ids: the latest are in memory, all are in the log."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import compress, repeat
from operator import is_
from typing import Any

import msgspec

from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import SET_LEARNED, id_hash
from linmax.service.event_log.stored_items import EXPIRED, LearnedRun, LoggedItem, find_item, find_items
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import ServedPanels
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import DOT_SEGMENTS

# new ids often come after all others, or after those that came before
HAS_BETWEEN = "SELECT 1 FROM items WHERE fusion = ? AND id BETWEEN ? AND ? LIMIT 1"
IS_COMPACTED = "SELECT 1 FROM compacted_ids WHERE fusion = ? AND hash = ?"
ARE_COMPACTED = """
SELECT hash FROM compacted_ids WHERE fusion = ? AND hash IN (SELECT unhex(value) FROM json_each(?))
"""
WAITING_SINCE = """
SELECT i.id FROM items i JOIN events e ON e.position = i.position
WHERE i.fusion = ? AND i.learned IS NULL AND e.time < ? ORDER BY i.position LIMIT ?
"""
COUNT_EXPIRED = "UPDATE fusions SET expired = expired + ? WHERE fusion = ?"
MAX_ITEMS = 50_000  # items in memory
MAX_BYTES = 64 << 20  # of their votes
LABEL_WAIT = 0.2  # seconds for which a label waits for its prediction
SWEEP = 1000  # items that expire in one transaction
encode = msgspec.json.encode


class ItemStore:
    """The items of all fusions.

    Parameters
    ----------
    panels
        The fusions.
    label_wait
        For how many seconds a label waits for its prediction.
    """

    def __init__(self, panels: ServedPanels, label_wait: float) -> None:
        self.panels = panels
        self.database = panels.database
        self.label_wait = label_wait
        self._recent: OrderedDict[tuple[int, str], LoggedItem] = OrderedDict()
        self._last: dict[int, str] = {}  # no item in `_recent` has a greater id, by fusion
        self._bytes = 0
        self._runs: dict[int, list[LearnedRun]] = {}  # on their way to disk, by fusion
        self._awaited: dict[tuple[int, str], asyncio.Event] = {}
        forget_panels = self.database.on_failure

        def forget_all() -> None:
            self._recent.clear()
            self._last.clear()
            self._runs.clear()
            self._bytes = 0
            forget_panels()

        self.database.on_failure = forget_all

    def find(self, panel: ServedPanel, id_: str) -> LoggedItem | None:
        """Return an item, or None if there is none; an error if it is not known any more."""
        key = panel.number, id_
        item = self._recent.get(key)
        if item is None:
            for run in self._runs.get(panel.number, ()):
                if run.has(id_):
                    item = run.item(id_)
                    self.remember(panel, id_, item)
                    return item
            if id_ in panel.missing:
                return None
            item = None if id_ > panel.last_id else find_item(self.database, *key)
            if item is None:
                check_not_compacted(self.database, panel, id_)
                return None
            self.remember(panel, id_, item)
        return item

    def find_or_new(self, panel: ServedPanel, id_: str) -> LoggedItem | None:
        """Return an item, or None if there is none; an error if no new one may have this id."""
        item = self.find(panel, id_)
        if item is None and id_ in DOT_SEGMENTS:
            raise ServiceError(
                422,
                "bad_request",
                f"an item cannot have the id {id_!r}, which no URL can end with; choose another id",
            )
        return item

    def find_all_recent(self, panel: ServedPanel, ids: Iterable[str]) -> Iterator[LoggedItem | None]:
        """Yield items, None for those that are not in memory."""
        return map(self._recent.get, zip(repeat(panel.number), ids, strict=False))

    def look_up(self, panel: ServedPanel, ids: Collection[str]) -> set[str]:
        """Read the items with these ids into memory; return the ids that no item has or had."""
        if not ids:
            return set()
        first, last = min(ids), max(ids)
        if first > panel.last_id and not panel.horizon:
            return set(ids)
        if first > self._last.get(panel.number, ""):
            unknown = set(ids)
        else:
            unknown = set(compress(ids, map(is_, self.find_all_recent(panel, ids), repeat(None))))
        for run in self._runs.get(panel.number, ()):
            if run.first <= last and first <= run.last:
                unknown -= run.rows.keys()
        if unknown and self._may_have(panel, first, last):
            wanted = list(filter(unknown.__contains__, ids))  # in their order, which is that of the index
            found = find_items(self.database, panel.number, wanted)
            if found:
                items = list(found.values())
                self.remember_all(panel, list(found), items, sum(item.size for item in items))
                unknown -= found.keys()
        if panel.horizon and unknown:
            by_hash = {id_hash(id_): id_ for id_ in unknown}
            text = encode([one.hex() for one in by_hash]).decode()
            unknown -= {by_hash[one] for (one,) in self.database.rows(ARE_COMPACTED, panel.number, text)}
        return unknown

    def _may_have(self, panel: ServedPanel, first: str, last: str) -> bool:
        """Whether the log has an item with an id between two ids, or one of these."""
        return first <= panel.last_id and bool(self.database.rows(HAS_BETWEEN, panel.number, first, last))

    def _is_missing(self, panel: ServedPanel, id_: str) -> bool:
        try:
            return self.find(panel, id_) is None
        except ServiceError:
            return False

    @contextmanager
    def looking_up(self, panel: ServedPanel, ids: list[str]) -> Iterator[None]:
        """Look up the ids of a batch at once; nobody else may store items of the fusion within this block."""
        panel.missing = self.look_up(panel, ids)
        try:
            yield
        finally:
            panel.missing = set()

    def remembers(self, panel: ServedPanel, id_: str) -> bool:
        """Tell whether an item is in memory, as those are that came lately."""
        return (panel.number, id_) in self._recent

    async def wait_for(self, panel: ServedPanel, ids: set[str], came: float | None = None) -> None:
        """Wait for a short time until items are there, whose labels have overtaken them.

        `came` is when the labels have come, by `time.monotonic`; None: now.
        """
        timeout = self.label_wait if came is None else came + self.label_wait - time.monotonic()
        if timeout <= 0.0:
            return
        missing = self.look_up(panel, ids) if len(ids) > 1 else {i for i in ids if self._is_missing(panel, i)}
        if not missing:
            return
        keys = [(panel.number, id_) for id_ in missing]
        events = [self._awaited.setdefault(key, asyncio.Event()) for key in keys]
        waiting = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await asyncio.wait(waiting, timeout=timeout)
        finally:
            for task in waiting:
                task.cancel()
            for key, event in zip(keys, events, strict=True):
                if not event.is_set() and self._awaited.get(key) is event:
                    del self._awaited[key]

    def remember(self, panel: ServedPanel, id_: str, item: LoggedItem) -> None:
        """Keep an item in memory, instead of the oldest one."""
        key = panel.number, id_
        self._extend(panel, id_)
        if key in self._recent:
            self._drop(key)
        self._recent[key] = item
        panel.missing.discard(id_)
        self._bytes += item.size
        if key in self._awaited:
            self._awaited.pop(key).set()
        self._drop_oldest()

    def remember_all(self, panel: ServedPanel, ids: list[str], items: list[LoggedItem], size: int) -> None:
        """Keep new items in memory, as `remember` does each of them; their size is known."""
        new = dict(zip(zip(repeat(panel.number), ids, strict=False), items, strict=True))
        if self._awaited or not new.keys().isdisjoint(self._recent.keys()):
            for id_, item in zip(ids, items, strict=True):
                self.remember(panel, id_, item)
            return
        self._recent.update(new)
        self._extend(panel, max(ids))
        panel.missing.difference_update(ids)
        self._bytes += size
        self._drop_oldest()

    def _extend(self, panel: ServedPanel, id_: str) -> None:
        """Note that an item with this id is in memory, or will be."""
        panel.last_id = max(panel.last_id, id_)
        self._last[panel.number] = max(self._last.get(panel.number, ""), id_)

    def remember_run(self, panel: ServedPanel, run: LearnedRun) -> None:
        """Keep new items in memory that were learned together, until they are on disk."""
        self._runs.setdefault(panel.number, []).append(run)
        panel.last_id = max(panel.last_id, run.last)
        panel.missing.difference_update(run.ids)
        if self._awaited:
            for key in zip(repeat(panel.number), run.ids, strict=False):
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

    def keep(self, panel: ServedPanel, id_: str, item: LoggedItem) -> None:
        """Keep an item in memory that others may have replaced while a request waited for the model."""
        if self._recent.get((panel.number, id_)) is not item:
            self.remember(panel, id_, item)

    def keep_all(self, panel: ServedPanel, ids: list[str], items: list[LoggedItem]) -> None:
        """Keep items in memory, as `keep` does each of them."""
        for id_, item, kept in zip(ids, items, list(self.find_all_recent(panel, ids)), strict=True):
            if kept is not item:
                self.remember(panel, id_, item)

    def forget(self, panel: ServedPanel) -> None:
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

    def has_expired(self, panel: ServedPanel, item: LoggedItem, now: float | None = None) -> bool:
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

    async def _expire_some(self, panel: ServedPanel) -> int:
        await self.panels.flush()
        if self.panels.open_panels.get(panel.name) is not panel:
            return 0
        before = self.database.now() - panel.settings.limits.retention
        ids = [id_ for (id_,) in self.database.rows(WAITING_SINCE, panel.number, before, SWEEP)]
        if ids:
            await self.expire(panel, ids)
        return len(ids)

    def expire(self, panel: ServedPanel, ids: list[str]) -> asyncio.Future[None]:
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

    def check_known(self, panel: ServedPanel, id_: str) -> LoggedItem:
        """Return an item; an error if there is none."""
        item = self.find(panel, id_)
        if item is None:
            raise ServiceError(404, "unknown_item", f"{panel.name} has no item {id_!r}; predict it first")
        return item


def check_not_compacted(database: Database, panel: ServedPanel, id_: str) -> None:
    """Raise an error if an item was compacted: of those, only the hashes of the ids are known."""
    if panel.horizon and database.rows(IS_COMPACTED, panel.number, id_hash(id_)):
        raise ServiceError(
            410,
            "compacted",
            f"the item {id_!r} is from before the horizon of the log of {panel.name}, and was learned or has"
            " expired; its answer is not known any more, and nothing was changed",
        )
