"""Taking back what was learned: by item, by who taught it, by time, or all that came after an event."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec

from linmax.service.event_log.chunks import BODY
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import (
    AMENDMENT,
    EXCLUDED,
    LABELLED,
    LEARNED,
    NOW,
    RELABELLED,
    SETTER,
    UPLOADED,
    id_hash,
)
from linmax.service.fusions.item_store import IS_COMPACTED, ItemStore
from linmax.service.fusions.replay import LATEST
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import ExcludeRequest

LABEL = f"CAST(CAST({BODY.format('e')} AS TEXT) -> '$.label' AS BLOB)"
# the events that are amended, the label that each then has, and the event that has set it, if that matters:
# ?1 is the fusion
FITS = """
fusion = ?1 AND (?2 IS NULL OR id IN (SELECT value FROM json_each(?2)))
AND (?3 IS NULL OR actor = ?3) AND (?4 IS NULL OR time >= ?4) AND (?5 IS NULL OR time < ?5)
"""
CHOSEN = f"""
SELECT position, NULL AS label, NULL AS setter FROM events WHERE kind IN ({LABELLED}, {LEARNED}) AND {FITS}
UNION
SELECT item, NULL, NULL FROM events WHERE kind = {RELABELLED} AND {FITS}
AND position = {SETTER.format("events.item", NOW)}
"""
LATER = f"""
SELECT position, NULL AS label, NULL AS setter FROM events
WHERE fusion = ?1 AND kind IN ({LABELLED}, {LEARNED}, {UPLOADED}) AND position > ?2
UNION ALL
SELECT e.position,
CASE WHEN a.by IS NULL THEN {LABEL} ELSE a.label END,
{SETTER.format("e.position", "?2")}
FROM (SELECT DISTINCT position FROM amendments WHERE fusion = ?1 AND by > ?2 AND position <= ?2) changed
JOIN events e ON e.position = changed.position
LEFT JOIN amendments a ON a.position = e.position
AND a.by = (SELECT max(by) FROM amendments WHERE position = e.position AND by <= ?2)
"""
# those of them that change something
EFFECTIVE = f"""
SELECT c.position AS position, c.label AS label FROM ({{}}) c JOIN events e ON e.position = c.position
{AMENDMENT.format("c.position")}
WHERE c.label IS NOT CASE WHEN a.by IS NULL THEN {LABEL} ELSE a.label END
OR c.setter <> {SETTER.format("c.position", NOW)}
"""


class Amendments:
    """Excludes events, and rolls fusions back.

    Parameters
    ----------
    store
        The items of all fusions.
    """

    def __init__(self, store: ItemStore) -> None:
        self.store = store
        self.panels = store.panels
        self.database = store.database

    async def exclude(self, panel: ServedPanel, chosen: ExcludeRequest, actor: str) -> dict[str, int]:
        """Take back what was learned from some items.

        Parameters
        ----------
        panel
            The fusion.
        chosen
            The items.
        actor
            Who wants it.

        Returns
        -------
        dict
            The position of the event that says so, and the number of events that are amended.
        """
        ids = None if chosen.ids is None else msgspec.json.encode(chosen.ids).decode()
        values = ids, chosen.actor, chosen.from_time, chosen.until_time

        def check(first: int) -> None:
            check_exclusion(self.database, panel, chosen, first)

        return await self._amend(panel, actor, {"reason": "excluded"}, CHOSEN, values, check)

    async def rollback(self, panel: ServedPanel, position: int, actor: str) -> dict[str, int]:
        """Go back to the state after an event: later labels, relabellings and exclusions do not count.

        Parameters
        ----------
        panel
            The fusion.
        position
            The position of the event.
        actor
            Who wants it.
        """

        def check(_: int) -> None:
            check_rollback(panel, position)

        body = {"reason": "rolled back", "to": position}
        return await self._amend(panel, actor, body, LATER, (position,), check)

    async def _amend(
        self,
        panel: ServedPanel,
        actor: str,
        body: dict[str, Any],
        choice: str,
        values: tuple[Any, ...],
        check: Any,
    ) -> dict[str, int]:
        choice = EFFECTIVE.format(choice)
        async with panel.lock:
            await self.panels.flush()
            self.panels.check_open(panel)
            ((events, first),) = await asyncio.to_thread(
                self.database.rows, f"SELECT count(*), min(position) FROM ({choice})", panel.number, *values
            )
            self.panels.check_open(panel)
            check(panel.horizon + 1 if first is None else first)
            if not events:
                ((latest,),) = self.database.rows(LATEST, panel.number, self.database.last_position())
                return {"position": latest, "events": 0}
            body["events"] = events
            position, event = self.panels.event(panel.number, EXCLUDED, actor, None, None, body)
            sql = f"INSERT INTO amendments SELECT position, ?{len(values) + 2}, ?1, label FROM ({choice})"
            amendment = sql, (panel.number, *values, position)
            future = self.panels.submit(self.panels.amend(panel, [event, amendment], first))
        await future
        self.store.forget(panel)
        return {"position": position, "events": events}


def check_exclusion(database: Database, panel: ServedPanel, chosen: ExcludeRequest, first: int) -> None:
    """Raise a problem if what is to be excluded was compacted.

    Parameters
    ----------
    database
        The log.
    panel
        The fusion.
    chosen
        What is to be excluded.
    first
        The first position of it.
    """
    if first <= panel.horizon:
        _refuse(panel, "what was learned before it cannot be excluded")
    if panel.horizon and chosen.ids is None:
        if chosen.from_time is None or chosen.from_time < panel.horizon_time:
            _refuse(panel, f"pass from, at least {math.ceil(1000 * panel.horizon_time) / 1000:.3f}")
    elif panel.horizon:
        for id_ in chosen.ids or ():
            if database.rows(IS_COMPACTED, panel.number, id_hash(id_)):
                _refuse(panel, f"the item {id_!r} is from before it, and was learned or has expired")


def check_rollback(panel: ServedPanel, position: int) -> None:
    """Raise a problem if the state at a position was compacted.

    Parameters
    ----------
    panel
        The fusion.
    position
        The position.
    """
    if position < panel.horizon:
        _refuse(panel, f"the state at position {position} is not known any more")


def _refuse(panel: ServedPanel, why: str) -> None:
    raise ServiceError(
        409, "compacted", f"the log of {panel.name} was compacted up to position {panel.horizon}: {why}"
    )
