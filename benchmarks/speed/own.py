"""linmax and plain C on hard votes: whole arrays, and one item at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measuring import Cost, here
from benchmarks.twin import Twin
from linmax import Averaged, Fusion, Perceptron, Recycled, Winnow

SINGLE = "linmax Winnow"
ONE = "linmax Winnow, one by one"
LEARNERS: dict[str, Any] = {
    SINGLE: Winnow(1.2),
    "linmax Perceptron": Perceptron(),
    "linmax averaged": Averaged(Winnow(1.2)),
    "linmax recycled": Recycled(Winnow(1.2)),
    "linmax default": None,
}
SINGLY = {ONE: SINGLE, "linmax default, one by one": "linmax default"}
IN_C = {"C Winnow": "winnow", "C Perceptron": "perceptron"}


class Taken(NamedTuple):
    """What a run took, and its mistakes."""

    cost: Cost
    mistakes: int


Run = Callable[[int], Taken]  # of the first rows


def taken(work: Callable[[], int]) -> Taken:
    """Run a function in this process; it tells the mistakes."""
    said: list[int] = []
    cost = here(lambda: said.append(work()))
    return Taken(cost, said[0])


def fresh(name: str, k: int) -> Fusion:
    """A session that has learned nothing."""
    learner = LEARNERS[name]
    return Fusion(classes=range(k)) if learner is None else Fusion(learner, classes=range(k))


def runs(votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int, c: Twin | None) -> dict[str, Run]:
    """Everything of ours, by name."""
    made: dict[str, Run] = {name: _whole(name, votes, labels, k) for name in LEARNERS}
    made |= {name: _singly(of, votes, labels, k) for name, of in SINGLY.items()}
    if c is not None:
        made |= {name: _in_c(c, rule, votes, labels.astype(np.int32), k) for name, rule in IN_C.items()}
    return made


def _whole(name: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> Run:
    def run(rows: int) -> Taken:
        return taken(lambda: fresh(name, k).learn(votes[:rows], labels[:rows]).mistakes)

    return run


def _singly(name: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> Run:
    def run(rows: int) -> Taken:
        items = [dict(enumerate(row)) for row in votes[:rows].tolist()]
        truth = labels[:rows].tolist()

        def learn() -> int:
            fusion = fresh(name, k)
            for item, y in zip(items, truth, strict=True):
                fusion.learn_one(item, y)
            return fusion.mistakes

        return taken(learn)

    return run


def _in_c(c: Twin, rule: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> Run:
    eta = math.log(1.2) if rule == "winnow" else 1.0

    def run(rows: int) -> Taken:
        return taken(lambda: c.run(rule, votes[:rows], labels[:rows], k, eta))

    return run
