"""The methods of linmax, and the C reference, on hard votes: whole arrays, and one item at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.c_reference import CReference, as_bytes
from benchmarks.timing import TimedRun, time_call
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
ONE_BY_ONE = {ONE: SINGLE, "linmax default, one by one": "linmax default"}
C_RULES = {"C Winnow": "winnow", "C Perceptron": "perceptron"}


Run = Callable[[int], TimedRun]  # learns a number of rows


def time_run(work: Callable[[], int]) -> TimedRun:
    """Time a function that returns the number of mistakes."""
    mistakes: list[int] = []
    cost = time_call(lambda: mistakes.append(work()))
    return TimedRun(cost, mistakes[0])


def new_session(name: str, k: int) -> Fusion:
    """Return a new session."""
    learner = LEARNERS[name]
    return Fusion(classes=range(k)) if learner is None else Fusion(learner, classes=range(k))


def runs(
    votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int, c: CReference | None
) -> dict[str, Run]:
    """Return all methods of linmax and the C reference by name."""
    runs_by_name: dict[str, Run] = {name: _whole(name, votes, labels, k) for name in LEARNERS}
    runs_by_name |= {name: _one_by_one(of, votes, labels, k) for name, of in ONE_BY_ONE.items()}
    if c is not None:
        runs_by_name |= {
            name: _in_c(c, rule, votes, labels.astype(np.int32), k) for name, rule in C_RULES.items()
        }
    return runs_by_name


def _whole(name: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> Run:
    def run(rows: int) -> TimedRun:
        return time_run(lambda: new_session(name, k).learn(votes[:rows], labels[:rows]).mistakes)

    return run


def _one_by_one(name: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> Run:
    def run(rows: int) -> TimedRun:
        items = [dict(enumerate(row)) for row in votes[:rows].tolist()]
        truth = labels[:rows].tolist()

        def learn() -> int:
            fusion = new_session(name, k)
            for item, y in zip(items, truth, strict=True):
                fusion.learn_one(item, y)
            return fusion.mistakes

        return time_run(learn)

    return run


def _in_c(c: CReference, rule: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> Run:
    eta = math.log(1.2) if rule == "winnow" else 1.0
    codes = as_bytes(votes)

    def run(rows: int) -> TimedRun:
        return time_run(lambda: c.run(rule, codes[:rows], labels[:rows], k, eta))

    return run
