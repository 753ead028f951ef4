"""What `learn_one` of the default takes, and which part of it takes how long."""

from __future__ import annotations

import statistics
import time
from typing import Any

from linmax import Fusion
from linmax.problems import majority
from linmax.techniques.desk import Desk

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

    rows = [{"part": "learn_one", "us": timed(learn, items, rounds)}]
    rows += [{"part": "predict_one", "us": timed(predict, items, rounds)}]
    assert fusion._single is not None
    parts: dict[str, float] = {}
    for name, entry, arguments in named(fusion, fusion._single.desk):

        def call(entry: Any = entry, arguments: Any = arguments) -> None:
            for _ in range(items):
                entry(*arguments)

        parts[name] = parts.get(name, 0.0) + timed(call, items, rounds)
    rows += [{"part": f"of it {name}", "us": us} for name, us in parts.items()]
    rest = rows[0]["us"] - sum(parts.values())
    return [*rows, {"part": "of it reading the votes, and Python", "us": rest}]


def named(fusion: Fusion, desk: Desk) -> list[tuple[str, Any, Any]]:
    """The calls of a trial with what each is for: first the runs, then those who make something of them."""
    council = fusion._council
    runs = [f"the run of {run!r}" for run in council.runs]
    heads = ["tempering, counting, stacking and mixing"] * (len(desk.calls) - len(runs))
    return [(name, *call) for name, call in zip(runs + heads, desk.calls, strict=True)]


def timed(work: Any, items: int, rounds: int) -> float:
    """Median microseconds of CPU per item."""
    times = []
    for _ in range(rounds):
        before = time.process_time()
        work()
        times.append(1e6 * (time.process_time() - before) / items)
    return statistics.median(times)
