"""What `learn_one` of the default takes, and which part of it takes how long."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

from benchmarks.measuring import here, in_turn
from linmax import Fusion
from linmax.problems import majority
from linmax.runtime.single_item import Desk

EXPERTS, CLASSES = 20, 10


def by_part(items: int, rounds: int) -> list[dict[str, Any]]:
    """Microseconds of CPU for an item, in all and by part; the parts are timed by themselves."""
    votes, labels = majority(items, experts=EXPERTS, classes=CLASSES, noise=0.1)
    stream, truth = [dict(enumerate(row)) for row in votes.tolist()], labels.tolist()
    fusion = Fusion(classes=range(CLASSES))
    for item, label in zip(stream[:100], truth, strict=False):
        fusion.learn_one(item, label)

    def learn() -> None:
        for item, label in zip(stream, truth, strict=True):
            fusion.learn_one(item, label)

    def predict() -> None:
        for item in stream:
            fusion.predict_one(item)

    assert fusion._shortcut.single is not None
    learn()  # the calls below are made on a state that has learned
    calls = named(fusion, fusion._shortcut.single.desk)

    def repeat(entry: Any, arguments: Any) -> None:
        for _ in range(items):
            entry(*arguments)

    works = {"learn_one": partial(here, learn), "predict_one": partial(here, predict)}
    for at, (_, entry, arguments) in enumerate(calls):
        works[str(at)] = partial(here, partial(repeat, entry, arguments))
    costs = in_turn(works, rounds)
    us = {name: 1e6 * median(one.cpu for one in found) / items for name, found in costs.items()}
    parts: dict[str, float] = {}
    for at, (name, _, _) in enumerate(calls):
        parts[name] = parts.get(name, 0.0) + us[str(at)]
    rows = [{"part": name, "us": us[name]} for name in ("learn_one", "predict_one")]
    rows += [{"part": f"of it {name}", "us": took} for name, took in parts.items()]
    rest = us["learn_one"] - sum(parts.values())
    return [*rows, {"part": "of it reading the votes, and Python", "us": rest}]


def named(fusion: Fusion, desk: Desk) -> list[tuple[str, Any, Any]]:
    """The calls of a trial with what each is for: first the runs, then those who make something of them."""
    council = fusion._council
    runs = [f"the run of {run!r}" for run in council.runs]
    heads = ["tempering, counting, stacking and mixing"] * (len(desk.calls) - len(runs))
    return [(name, *call) for name, call in zip(runs + heads, desk.calls, strict=True)]
