"""Compaction: before a horizon, only a snapshot and the hashes of ids stay in the log.

The horizon of a fusion is a position. A snapshot of the state there is stored together with it; then the
events up to it are removed, a few at a time, so that requests do not wait. The votes of items that wait for
their label stay until it has come and is before the horizon, too.
"""

from __future__ import annotations

import asyncio
import logging
import math

from linmax.service.event_log.schema import CREATED, DELETED, LEARNED, PREDICTED
from linmax.service.event_log.stored_items import EXPIRED
from linmax.service.event_log.writes import Statement
from linmax.service.fusions import replay
from linmax.service.fusions.history import Histories
from linmax.service.fusions.item_store import ItemStore
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import PanelClosedError
from linmax.service.messages.errors import ServiceError

logger = logging.getLogger("linmax.service")
CHUNK = 200  # events that are removed in one transaction
NUMBERS = """
WITH RECURSIVE numbers(fusion) AS (
    SELECT min(fusion) FROM events WHERE fusion > 0
    UNION ALL SELECT (SELECT min(e.fusion) FROM events e WHERE e.fusion > numbers.fusion) FROM numbers
    WHERE numbers.fusion IS NOT NULL
)
SELECT n.fusion, f.name, f.horizon FROM numbers n LEFT JOIN fusions f USING (fusion)
WHERE n.fusion IS NOT NULL
"""
# the latest amendment first; the index of `by` has the positions, too
AMENDED = "SELECT position, by FROM amendments WHERE fusion = ? AND position <= ? ORDER BY by DESC"
LAST_TIME = """
SELECT time FROM events WHERE fusion = ? AND position > ? AND position <= ? ORDER BY position DESC LIMIT 1
"""
HAS_NEW = "SELECT 1 FROM events WHERE fusion = ? AND position > ? AND position <= ? LIMIT 1"
MOVE_HORIZON = "UPDATE fusions SET horizon = ?, horizon_time = ? WHERE fusion = ?"
DROP_SNAPSHOTS = "DELETE FROM snapshots WHERE fusion = ? AND position < ?"
CHUNK_END = """
SELECT position FROM events WHERE fusion = ? AND position > ? AND position <= ?
ORDER BY position LIMIT 1 OFFSET ?
"""
# ?1 is the fusion, ?2 and ?3 the positions between which events are removed, ?4 the horizon
DONE_ITEMS = f"""
SELECT i.id FROM events e JOIN items i ON i.fusion = e.fusion AND i.id = e.id AND i.position = e.position
WHERE e.fusion = ?1 AND e.position > ?2 AND e.position <= ?3 AND e.kind IN ({PREDICTED}, {LEARNED})
AND i.learned BETWEEN {EXPIRED} AND ?4
"""
KEEP_HASHES = f"INSERT OR IGNORE INTO compacted_ids SELECT ?1, id_hash(id) FROM ({DONE_ITEMS})"
REMOVE_ITEMS = f"DELETE FROM items WHERE fusion = ?1 AND id IN ({DONE_ITEMS})"
REMOVE_AMENDMENTS = """
DELETE FROM amendments WHERE position > ?2 AND position <= ?3 AND position <= ?4 AND fusion = ?1
"""
REMOVE_MODELS = "DELETE FROM models WHERE fusion = ?1 AND position > ?2 AND position <= ?3 AND position <= ?4"
REMOVE_EVENTS = f"""
DELETE FROM events WHERE fusion = ?1 AND position > ?2 AND position <= ?3 AND position <= ?4
AND kind NOT IN ({CREATED}, {DELETED}) AND NOT EXISTS (
    SELECT 1 FROM items i WHERE i.fusion = events.fusion AND i.id = events.id AND i.position = events.position
)
"""
# of the chunks with these positions, those none of whose events is left
REMOVE_CHUNKS = """
DELETE FROM chunks WHERE fusion = ?1 AND first <= ?3
AND first >= coalesce((SELECT max(first) FROM chunks WHERE fusion = ?1 AND first <= ?2 + 1), 0)
AND last <= ?4
AND NOT EXISTS (SELECT 1 FROM events e WHERE e.position BETWEEN chunks.first AND chunks.last)
"""
REMOVALS = KEEP_HASHES, REMOVE_ITEMS, REMOVE_AMENDMENTS, REMOVE_MODELS, REMOVE_EVENTS, REMOVE_CHUNKS


class Compaction:
    """Moves the horizon of all fusions forward.

    Parameters
    ----------
    store
        The items of all fusions.
    histories
        Their histories.
    """

    def __init__(self, store: ItemStore, histories: Histories) -> None:
        self.store = store
        self.histories = histories
        self.panels = store.panels
        self.database = store.database

    async def run(self, time: float) -> int:
        """Compact what happened before a time; return the number of fusions whose horizon was moved.

        Parameters
        ----------
        time
            In seconds since 1970.
        """
        until = await asyncio.to_thread(self.database.last_before, time)
        # the position of the very last event must stay known, since a new event gets the next one
        until = max(0, min(until, await asyncio.to_thread(self.database.last_position) - 1))
        moved = 0
        for number, name, horizon in await asyncio.to_thread(self.database.rows, NUMBERS):
            if self.panels.closing:
                break
            try:
                moved += await self._compact(number, name, horizon, until, time)
            except (PanelClosedError, ServiceError):
                continue  # the next run looks at it again
            except Exception:
                logger.exception(
                    "the log of %s cannot be compacted, and is tried again later", name or number
                )
        return moved

    async def _compact(self, number: int, name: str | None, horizon: int, until: int, time: float) -> bool:
        """Compact the log of one fusion; tell whether its horizon was moved. A deleted one has no name."""
        moved = False
        if name is None:
            horizon = until
        elif await asyncio.to_thread(self.database.rows, HAS_NEW, number, horizon, until):
            before, horizon = horizon, await self._move_horizon(await self.panels.open(name), until, time)
            moved = horizon > before
        await self._remove(number, horizon)
        return moved

    async def _move_horizon(self, panel: ServedPanel, until: int, time: float) -> int:
        """Store the state at a position and make that the horizon; return the horizon of the fusion.

        Events that were amended after that position stay, so that a rollback can take the amendment back.
        """
        amendments = panel.amendments
        until, time = await asyncio.to_thread(self._find_horizon, panel, until, time)
        if until <= panel.horizon:
            return panel.horizon
        state = await asyncio.to_thread(
            replay.restore, self.database, panel.number, panel.settings, until,
            lambda: not self.panels.closing,
        )  # fmt: skip
        row = await asyncio.to_thread(replay.snapshot_row, state.fusion, panel.number, state.version)
        history = await asyncio.to_thread(self.histories.store_at, panel, until)
        async with panel.lock:
            self.panels.check_open(panel)
            if panel.rebuilding or panel.amendments != amendments:
                return panel.horizon  # the state may lack an amendment; the next run has it
            panel.horizon, panel.horizon_time = until, time
            await self.panels.submit(
                [
                    (replay.INSERT_SNAPSHOT, row),
                    (DROP_SNAPSHOTS, (panel.number, state.version)),
                    history,
                    (MOVE_HORIZON, (until, time, panel.number)),
                ]
            )
            self.store.forget(panel)
        return until

    def _find_horizon(self, panel: ServedPanel, until: int, time: float) -> tuple[int, float]:
        """Return the last position up to another one that no amendment crosses, and its time.

        An amendment crosses the positions from that of the event that it amends to its own, excluded. The
        events of the fusion up to the horizon are from before its time.
        """
        wanted = until
        for position, by in self.database.iterate(AMENDED, panel.number, until):
            if by <= until:
                break
            until = min(until, position - 1)
        if until < wanted:
            found = self.database.rows(LAST_TIME, panel.number, panel.horizon, until)
            time = max([panel.horizon_time, *(math.nextafter(last, math.inf) for (last,) in found)])
        return until, time

    async def _remove(self, number: int, horizon: int) -> None:
        low = 0
        while low < horizon:
            found = await asyncio.to_thread(self.database.rows, CHUNK_END, number, low, horizon, CHUNK - 1)
            high = found[0][0] if found else horizon
            values = number, low, high, horizon
            statements: list[Statement] = [(sql, values) for sql in REMOVALS]
            await self.panels.submit(statements)
            low = high
