"""Statements that write all rows of a batch, which takes less time than a statement for each row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import apsw
import msgspec

from linmax.service.event_log.schema import AS_STORED, LEARNED, NO_ID, SET_LEARNED
from linmax.service.event_log.writes import Statement

EVENTS = "INSERT INTO events SELECT ?1 + key, ?2, ?3, value, {}, ?4, ?5, {} FROM json_each(?6)"
# by whether they have bodies of their own, and refer to items
INSERT_EVENTS = {
    (False, False): EVENTS.format("NULL", "x''"),
    (True, False): EVENTS.format("NULL", "row_of(?7, key)"),
    (False, True): EVENTS.format("row_of(?7, key)", "x''"),
    (True, True): EVENTS.format("row_of(?8, key)", "row_of(?7, key)"),
}
INSERT_ITEMS = """
INSERT INTO items SELECT ?1, value, ?2 + key, ?3, CASE WHEN ?4 THEN ?2 + key END FROM json_each(?5)
"""
SET_CONTENT = "UPDATE items SET content = ? WHERE fusion = ? AND id = ?"


def insert_events(
    first: int,
    number: int,
    kind: int,
    time: float,
    actor: str,
    ids: Sequence[str],
    bodies: Sequence[bytes] | None,
    items: Sequence[int] | None = None,
) -> Statement:
    """Return the statement that writes the events of a batch.

    Parameters
    ----------
    first
        The position of the first event; the others follow it.
    number, kind, time, actor
        The fusion, the kind of the events, when they happened, and the name of the token.
    ids, bodies
        The item and the body of each event; None if the bodies are in a chunk.
    items
        The positions of the events with the votes; None if these are those events.
    """
    more = [apsw.pyobject(one) for one in (bodies, items) if one is not None]
    sql = INSERT_EVENTS[bodies is not None, items is not None]
    return sql, (first, number, kind, time, actor, _to_json(ids), *more)


def insert_items(
    first: int, number: int, kind: int, ids: Sequence[str], given: Sequence[bool]
) -> list[Statement]:
    """Return the statements that write the items of a batch.

    Parameters
    ----------
    first, number, kind, ids
        As for `insert_events`.
    given
        Whether each request came with its id.
    """
    content = AS_STORED if any(given) else NO_ID
    statements: list[Statement] = [(INSERT_ITEMS, (number, first, content, kind == LEARNED, _to_json(ids)))]
    if content == AS_STORED and not all(given):
        made = compress(ids, [not one for one in given])
        statements.append((SET_CONTENT, [(NO_ID, number, id_) for id_ in made]))
    return statements


def set_learned(first: int, number: int, ids: Sequence[str]) -> Statement:
    """Return the statement that notes the positions of labels, as for `insert_events`."""
    return SET_LEARNED, [(position, number, id_) for position, id_ in enumerate(ids, first)]


def _to_json(ids: Sequence[str]) -> str:
    return msgspec.json.encode(ids).decode()
