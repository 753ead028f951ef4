"""Statements that write all rows of a batch, which takes less time than a statement for each row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import apsw
import msgspec

from linmax.service.event_log.schema import AS_STORED, LABELLED, LEARNED, NO_ID, SET_LEARNED
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


def insert_items(
    first: int,
    number: int,
    kind: int,
    time: float,
    actor: str,
    ids: Sequence[str],
    given: Sequence[bool],
    bodies: Sequence[bytes] | None,
) -> list[Statement]:
    """Return the statements that write the items of a batch, and the events with their votes.

    Parameters
    ----------
    first
        The position of the first event; the others follow it.
    number, kind, time, actor
        The fusion, the kind of the events, when they happened, and the name of the token.
    ids, given
        The ids of the items, and whether each request came with its id.
    bodies
        The body of each event; None if they are in a chunk.
    """
    content, texts = AS_STORED if any(given) else NO_ID, _to_json(ids)
    statements = [
        _insert_events(first, number, kind, time, actor, texts, bodies, None),
        (INSERT_ITEMS, (number, first, content, kind == LEARNED, texts)),
    ]
    if content == AS_STORED and not all(given):
        made = compress(ids, [not one for one in given])
        statements.append((SET_CONTENT, [(NO_ID, number, id_) for id_ in made]))
    return statements


def insert_labels(
    first: int,
    number: int,
    time: float,
    actor: str,
    ids: Sequence[str],
    items: Sequence[int],
    bodies: Sequence[bytes] | None,
) -> list[Statement]:
    """Return the statements that write the labels of a batch.

    Parameters
    ----------
    first, number, time, actor, ids, bodies
        As for `insert_items`.
    items
        The positions of the events with the votes.
    """
    learned = [(position, number, id_) for position, id_ in enumerate(ids, first)]
    events = _insert_events(first, number, LABELLED, time, actor, _to_json(ids), bodies, items)
    return [events, (SET_LEARNED, learned)]


def _insert_events(
    first: int,
    number: int,
    kind: int,
    time: float,
    actor: str,
    ids: str,
    bodies: Sequence[bytes] | None,
    items: Sequence[int] | None,
) -> Statement:
    more = [apsw.pyobject(one) for one in (bodies, items) if one is not None]
    sql = INSERT_EVENTS[bodies is not None, items is not None]
    return sql, (first, number, kind, time, actor, ids, *more)


def _to_json(ids: Sequence[str]) -> str:
    return msgspec.json.encode(ids).decode()
