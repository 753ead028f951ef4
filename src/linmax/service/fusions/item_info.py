"""What is known about an item, and what each expert added to its prediction."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from linmax.experts.base import expert_of_owner
from linmax.fusion import Fusion
from linmax.service.event_log.chunks import BODY
from linmax.service.event_log.schema import AMENDMENT, LAST_LABEL
from linmax.service.event_log.stored_items import EXPIRED, decode_item
from linmax.service.fusions import replay
from linmax.service.fusions.item_store import check_not_compacted
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import ServedPanels
from linmax.service.messages.answers import ItemInfo
from linmax.service.messages.class_keys import class_key, is_class, typed_votes
from linmax.service.messages.errors import ServiceError

FIND = f"""
SELECT i.position, i.learned, e.time, {BODY.format("e")}, l.time, {BODY.format("l")},
a.by IS NOT NULL AND a.label IS NULL,
{LAST_LABEL.format("i.learned")}
FROM items i JOIN events e ON e.position = i.position
LEFT JOIN events l ON l.position = i.learned
{AMENDMENT.format("i.learned")}
WHERE i.fusion = ? AND i.id = ?
"""
EXPLAIN = ("now", "then")


class ItemReader:
    """Reads items from the log, and explains them; all of it in threads.

    Parameters
    ----------
    panels
        The fusions.
    """

    def __init__(self, panels: ServedPanels) -> None:
        self._panels = panels
        self._database = panels.database
        self._replay = asyncio.Semaphore(1)  # the state of then takes long to derive

    async def describe(self, panel: ServedPanel, id_: str, explain: str | None) -> ItemInfo:
        """Describe an item.

        Parameters
        ----------
        panel
            The fusion.
        id_
            The item.
        explain
            "now" explains it with the present weights, "then" with those that the log gives for the moment
            of its prediction.
        """
        if explain is not None and explain not in EXPLAIN:
            raise ServiceError(422, "bad_request", f"explain should be now or then (got {explain[:100]!r})")
        info = await asyncio.to_thread(self._find, panel, id_)
        if explain == "now":
            info.explanation = await self.explain(panel, info.votes, info.attributes)
        elif explain == "then":
            async with self._replay:
                info.explanation = await asyncio.to_thread(self._explain_then, panel, info)
        return info

    async def explain(
        self, panel: ServedPanel, votes: dict[str, Any] | None, attributes: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Explain an item with the present weights, in a thread: it takes far longer than a prediction."""
        async with panel.lock:
            self._panels.check_open(panel)
            return await asyncio.to_thread(explanation_of, panel.fusion, votes, attributes)

    def _find(self, panel: ServedPanel, id_: str) -> ItemInfo:
        found = self._database.rows(FIND, panel.number, id_)
        if not found:
            check_not_compacted(self._database, panel, id_)
            raise ServiceError(404, "unknown_item", f"{panel.name} has no item {id_!r}; predict it first")
        position, learned, time, body, label_time, label_body, excluded, relabelled = found[0]
        stored = decode_item(body)
        label = right = None
        if learned is not None and learned != EXPIRED:
            label = decode_item(label_body).label if relabelled is None else msgspec.json.decode(relabelled)
            right = is_class(stored.prediction, label)
        return ItemInfo(
            id_, stored.votes, stored.attributes, stored.prediction, stored.probabilities or {}, label, right,
            bool(excluded), time, label_time, position,
            None if learned == EXPIRED else learned, stored.version,
        )  # fmt: skip

    def _explain_then(self, panel: ServedPanel, info: ItemInfo) -> dict[str, Any]:
        if info.position <= panel.horizon:
            raise ServiceError(
                410,
                "compacted",
                f"{info.id!r} was predicted before the horizon of the log of {panel.name}, position"
                f" {panel.horizon}; the weights of then are not known any more",
            )
        state = replay.restore(
            self._database, panel.number, panel.settings, info.position - 1, lambda: not self._panels.closing
        )
        return explanation_of(state.fusion, info.votes, info.attributes)


def explanation_of(
    fusion: Fusion, votes: dict[str, Any] | None, attributes: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the prediction, the score of each class, and what each expert added to it."""
    try:
        votes = typed_votes(fusion, votes)
        found = fusion.explain_one(votes, attributes=attributes, new_experts="vote")
    except ValueError as error:
        raise ServiceError(422, "bad_item", str(error)) from None
    keys = _owner_keys(list(found.contributions))
    added = {key: _by_key(part) for key, part in zip(keys, found.contributions.values(), strict=True)}
    return {"prediction": found.guess, "scores": _by_key(found.scores), "contributions": added}


def _owner_keys(owners: list[Any]) -> list[str]:
    """Return the keys of owners in JSON: experts have their names, and no other owner has one of these.

    >>> _owner_keys(["ann", "threshold"]), _owner_keys([("expert", "threshold"), "threshold"])
    (['ann', 'threshold'], ['threshold', '(threshold)'])
    """
    experts = [expert_of_owner(owner) for owner in owners]
    taken = {name for name in experts if name is not None}
    keys = []
    for owner, expert in zip(owners, experts, strict=True):
        key = str(owner) if expert is None else expert
        while expert is None and key in taken:
            key = f"({key})"
        keys.append(key)
    return keys


def _by_key(scores: dict[Any, float]) -> dict[str, float]:
    return {class_key(name): score for name, score in scores.items()}
