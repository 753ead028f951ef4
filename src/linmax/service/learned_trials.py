"""What a fusion learned, item by item, as the log has it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import msgspec

from linmax.service.chunks import BODY
from linmax.service.database import Database
from linmax.service.messages import Label
from linmax.service.schema import AMENDMENT, LABELLED, LEARNED

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


class Trial(NamedTuple):
    """An item that was learned, with the prediction that was answered, and its label as amended."""

    position: int
    time: float
    votes: dict[str, Any] | None
    label: Any
    prediction: Any
    attributes: dict[str, Any] | None = None


def trials_of(database: Database, number: int, after: int, until: int) -> Generator[Trial]:
    """Yield what a fusion learned between two positions, as amended since: excluded events are left out."""
    for position, time_, body, votes, label in database.iterate(
        EVENTS, number, after, until, LABELLED, LEARNED
    ):
        own = decode_learned(body)
        item = own if votes is None else decode_learned(votes)
        truth = own.label if label is None else decode(label)
        yield Trial(position, time_, item.votes, truth, own.prediction, item.attributes)
