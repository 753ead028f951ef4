"""What would happen: the prediction of an item that is not stored, and what an amendment would take back."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from linmax.fusion import Fusion
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import NOW, SETTER, UPLOADED
from linmax.service.fusions.amendments import CHOSEN, EFFECTIVE, LATER, check_exclusion, check_rollback
from linmax.service.fusions.item_info import explanation_of
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.messages.class_keys import class_key, typed_votes
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import Attributes, ExcludeRequest, Request, Votes

# by who has set the label
REMOVED = f"""
SELECT e.actor, sum(e.kind <> {UPLOADED}), sum(e.kind = {UPLOADED}), min(e.time), max(e.time), min(c.position)
FROM ({{chosen}}) c JOIN events e ON e.position = {SETTER.format("c.position", NOW)}
GROUP BY e.actor ORDER BY count(*) DESC
"""
SNAPSHOTS = """
SELECT s.position, s.trials, s.digest, length(s.model), e.time
FROM snapshots s LEFT JOIN events e ON e.position = s.position
WHERE s.fusion = ? ORDER BY s.position DESC LIMIT 100
"""


class TryRequest(Request):
    """An item to predict and explain, which is not stored."""

    votes: Votes
    attributes: Attributes | None = None


class LearnerRequest(Request):
    """A text that may be a learner."""

    learner: Annotated[str, Meta(max_length=10_000)]


class PreviewRequest(ExcludeRequest):
    """What would be taken back: the fields of excluding, or the position of rolling back."""

    position: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class Removal(Struct):
    """What would change: how many events, labels by whom and uploaded models, and when they came."""

    events: int
    actors: dict[str, int]
    models: int
    first: float | None
    last: float | None


def try_item(fusion: Fusion, votes: dict[str, Any], attributes: dict[str, Any] | None) -> dict[str, Any]:
    """Return the prediction of an item, why, and whom to ask next.

    Parameters
    ----------
    fusion
        The session; it learns nothing.
    votes, attributes
        The item.

    Examples
    --------
    >>> fusion = Fusion("Winnow(1.2)", classes=["ham", "spam"], experts=["ann", "bob"])
    >>> found = try_item(fusion, {"ann": "spam"}, None)
    >>> found["prediction"], found["next_expert"]
    ('spam', 'bob')
    """
    explanation = explanation_of(fusion, votes, attributes)
    typed = typed_votes(fusion, votes) or {}
    probabilities = fusion.predict_proba_one(typed, attributes=attributes, new_experts="vote")
    try:
        expert, reason = fusion.next_expert(typed, attributes=attributes), None
    except ValueError as error:
        expert, reason = None, str(error)
    return {
        "prediction": explanation["prediction"],
        "probabilities": {class_key(name): part for name, part in probabilities.items()},
        "contributions": explanation["contributions"],
        "next_expert": expert,
        "no_next_expert": reason,
    }


def preview_removal(database: Database, panel: ServedPanel, wanted: PreviewRequest) -> Removal:
    """Return what excluding events, or rolling back, would take back; what was compacted is refused.

    Parameters
    ----------
    database, panel
        The log, and the fusion.
    wanted
        The events.
    """
    if wanted == PreviewRequest():
        raise ServiceError(422, "no_choice", "say what to exclude: ids, actor, from or until, or a position")
    values: tuple[Any, ...]
    if wanted.position is not None:
        chosen, values = LATER, (wanted.position,)
    else:
        ids = msgspec.json.encode(wanted.ids).decode() if wanted.ids is not None else None
        chosen, values = CHOSEN, (ids, wanted.actor, wanted.from_time, wanted.until_time)
    rows = database.rows(REMOVED.format(chosen=EFFECTIVE.format(chosen)), panel.number, *values)
    if wanted.position is not None:
        check_rollback(panel, wanted.position)
    else:
        check_exclusion(database, panel, wanted, min((row[5] for row in rows), default=panel.horizon + 1))
    models = sum(row[2] for row in rows)
    return Removal(
        sum(row[1] for row in rows) + models,
        {row[0]: row[1] for row in rows if row[1]},
        models,
        min((row[3] for row in rows), default=None),
        max((row[4] for row in rows), default=None),
    )


def list_snapshots(database: Database, number: int) -> list[dict[str, Any]]:
    """Return the stored states of a fusion, the latest first.

    Parameters
    ----------
    database, number
        The log, and the number of the fusion.
    """
    names = ("position", "trials", "digest", "bytes", "time")
    return [dict(zip(names, row, strict=True)) for row in database.rows(SNAPSHOTS, number)]
