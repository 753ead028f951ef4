"""Lists of items: by the beginning of the id, the surest mistakes, and those whose label would help most."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from linmax.service.dashboard.recent import Labelled, Range, last_labelled
from linmax.service.event_log.chunks import BODY
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import AMENDMENT
from linmax.service.event_log.stored_items import EXPIRED, decode_item
from linmax.service.messages.class_keys import is_class
from linmax.service.messages.requests import Label

MOST = 20  # items of a list
LOOKED_AT = 1000  # items among which they are chosen
COLUMNS = f"""
SELECT i.id, e.time, {BODY.format("e")}, i.learned, {BODY.format("l")}, a.label,
a.position IS NOT NULL AND a.label IS NULL
FROM items i JOIN events e ON e.position = i.position
LEFT JOIN events l ON l.position = i.learned
{AMENDMENT.format("i.learned")}
"""
BY_ID = COLUMNS + "WHERE i.fusion = ? AND i.id >= ? AND i.id < ? ORDER BY i.id LIMIT ?"
WAITING = COLUMNS + "WHERE i.fusion = ? AND i.learned IS NULL ORDER BY i.position DESC LIMIT ?"


class ListedItem(Struct):
    """An item in a list.

    Attributes
    ----------
    id : str
        The item.
    time : float
        When it came.
    prediction, label : class or null
        The prediction, and the label if it has come and counts.
    probability, second : float or null
        The probability of the prediction, and the highest one of the other classes.
    """

    id: str
    time: float
    prediction: Label | None
    label: Label | None
    probability: float | None
    second: float | None


def find_items(database: Database, number: int, start: str) -> list[ListedItem]:
    """Return the first items whose ids begin with a text.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    start
        The text.
    """
    end = start + "\U0010ffff"
    return [_row(*row) for row in database.rows(BY_ID, number, start, end, MOST)]


def uncertain_items(database: Database, number: int) -> list[ListedItem]:
    """Return, of the last items that wait for a label, those whose two likeliest classes are the closest.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    """
    rows = [_row(*row) for row in database.rows(WAITING, number, LOOKED_AT)]
    return sorted(rows, key=lambda row: (row.probability or 0.0) - (row.second or 0.0))[:MOST]


def surest_mistakes(database: Database, number: int) -> list[ListedItem]:
    """Return, of the last labelled items, the mistakes with the highest probabilities.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    """
    labelled = last_labelled(database, number, Range(LOOKED_AT))
    wrong = [one for one in labelled if not is_class(one.prediction, one.label)]
    wrong.sort(key=lambda one: (-(one.probability or 0.0), -one.position))
    return [_mistake(one) for one in wrong[:MOST]]


def _mistake(one: Labelled) -> ListedItem:
    return ListedItem(one.id, one.time, one.prediction, one.label, one.probability, None)


def _row(
    id_: str, time: float, body: bytes, learned: int | None, label_body: Any, amended: Any, excluded: int
) -> ListedItem:
    stored = decode_item(body)
    likeliest = sorted((stored.probabilities or {}).values(), reverse=True)[:2]
    label = None
    if learned is not None and learned != EXPIRED and not excluded:
        label = decode_item(label_body).label if amended is None else msgspec.json.decode(amended)
    first, second = (*likeliest, None, None)[:2]
    return ListedItem(id_, time, stored.prediction, label, first, second)
