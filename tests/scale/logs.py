"""Messages of a log, and what a session learns from them one by one: the oracle of `linmax.scale.follow`."""

from __future__ import annotations

import random
from typing import Any

from linmax import Fusion
from tests.service.api import LEARNER

Trial = tuple[dict[str, Any], Any]


def stream(items: int, seed: int = 0, delay: int = 5) -> tuple[list[Any], list[Trial]]:
    """Messages of items, and their trials in the order in which they are learned.

    Of every ten items two have their label, and the label of the others comes later; or some messages
    earlier, or never.
    """
    chance = random.Random(seed)
    placed: list[tuple[float, dict[str, Any]]] = []
    for number in range(items):
        votes = {name: chance.choice("xyz") for name in ("ann", "bob", "eve") if chance.random() < 0.9}
        item = {"id": f"{seed}-{number}", "votes": votes}
        label = {"label": chance.choice("xyz")}
        if chance.random() < 0.2:
            placed.append((number, item | label))
        else:
            placed.append((number, item))
            if chance.random() < 0.95:
                placed.append((number + chance.uniform(-delay / 2, delay), {"id": item["id"]} | label))
    messages = [message for _, message in sorted(placed, key=lambda pair: pair[0])]
    return messages, trials_of(messages)


def trials_of(messages: list[Any]) -> list[Trial]:
    """The trials of messages: one is complete as soon as both votes and label are there."""
    seen: dict[str, dict[str, Any]] = {}
    trials = []
    for message in messages:
        known = seen.setdefault(message["id"], {})
        if not known.keys() >= {"votes", "label"}:
            known |= message
            if known.keys() >= {"votes", "label"}:
                trials.append((known["votes"], known["label"]))
    return trials


def learned(trials: list[Trial], learner: str | None = LEARNER) -> Fusion:
    """A session that has learned trials one by one."""
    fusion = Fusion(learner)
    for votes, label in trials:
        fusion.learn_one(votes, label)
    return fusion
