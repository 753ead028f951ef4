"""One rule on hard votes compared with C, and `learn_one` and `predict_one` on a dict."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.c_reference import CReference, as_bytes
from benchmarks.row_counts import per_row
from benchmarks.timing import Cost, in_turn, record, spread, time_call
from linmax import Averaged, Fusion, Perceptron, Winnow
from linmax.problems import majority

CLASSES = 5
RULES = {"perceptron": Perceptron(), "winnow": Winnow(1.2)}
LEARNERS: tuple[Any, ...] = (Perceptron(), Winnow(1.2), Averaged(Winnow(1.2)))


def compare_with_c(twin: CReference, experts: int, trials: int, rounds: int) -> list[dict[str, Any]]:
    """Return nanoseconds of CPU per trial, and the ratios to C within a round with their spread.

    C gets bytes; linmax gets the same table as bytes, and as integers of 4 bytes.
    """
    votes, labels = majority(trials, experts=experts, classes=CLASSES, noise=0.05, relevant=10)
    codes, as_read = labels.astype(np.int32), as_bytes(votes)
    tables = {"int8": votes.astype(np.int8), "int32": votes.astype(np.int32)}
    mistakes: dict[str, int] = {}

    def in_c(name: str) -> Cost:
        eta = math.log(getattr(RULES[name], "alpha", math.e))
        return time_call(
            lambda: mistakes.update({f"{name}, C": twin.run(name, as_read, codes, CLASSES, eta)})
        )

    def own(name: str, table: str) -> Cost:
        fusion = Fusion(RULES[name], classes=range(CLASSES))
        return time_call(lambda: mistakes.update({name: fusion.learn(tables[table], codes).mistakes}))

    works: dict[str, Callable[[], Cost]] = {}
    for name in RULES:
        works |= {f"{name}, C": partial(in_c, name)}
        works |= {f"{name}, {table}": partial(own, name, table) for table in tables}
    costs = in_turn(works, rounds)
    rows = []
    for name in RULES:
        theirs = costs[f"{name}, C"]
        row: dict[str, Any] = {"rule": name, "experts": experts, "trials": trials}
        row["c_ns"] = spread([one.cpu for one in per_row(theirs, trials)])
        for table in tables:
            ours = costs[f"{name}, {table}"]
            row[f"{table}_ns"] = spread([one.cpu for one in per_row(ours, trials)])
            row[f"{table}_ratio"] = spread([own.cpu / c.cpu for c, own in zip(theirs, ours, strict=True)])
        rows.append(row | {"mistakes": [mistakes[f"{name}, C"], mistakes[name]]})
    return rows


def one_by_one(items: int, rounds: int) -> list[dict[str, Any]]:
    """Return microseconds per call on a dict of 20 votes."""
    votes, labels = majority(items, noise=0.05)
    stream, truth = [dict(enumerate(row)) for row in votes.tolist()], labels.tolist()

    def learn(fusion: Fusion) -> None:
        for item, label in zip(stream, truth, strict=True):
            fusion.learn_one(item, label)

    def predict(fusion: Fusion) -> None:
        for item in stream:
            fusion.predict_one(item)

    works = {}
    for learner in LEARNERS:
        fusion = Fusion(learner, classes=range(CLASSES))
        for name, call in (("learn_one", learn), ("predict_one", predict)):
            works[f"{learner!r} {name}"] = lambda call=call, fusion=fusion: time_call(lambda: call(fusion))
    rows = []
    for title, costs in in_turn(works, rounds).items():
        learner_name, call_name = title.rsplit(" ", 1)
        found = record([Cost(1e6 * one.wall / items, 1e6 * one.cpu / items) for one in costs])
        rows.append(
            {"learner": learner_name, "call": call_name, "wall_us": found["wall"], "cpu_us": found["cpu"]}
        )
    return rows
