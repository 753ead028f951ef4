"""One learner on hard votes against the same loop in C, and one item at a time."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.twin import Twin
from linmax import Averaged, BalancedWinnow, Fusion, Perceptron, Winnow
from linmax.problems import majority

CLASSES = 5
RULES = {"perceptron": Perceptron(), "winnow": Winnow(1.2), "balanced": BalancedWinnow(1.2)}


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def against_c(twin: Twin, experts: int, trials: int, rounds: int) -> list[dict[str, Any]]:
    """Interleaved: C, linmax, C, linmax ...; median nanoseconds per trial, and ratios with their spread."""
    votes, labels = majority(trials, experts=experts, classes=CLASSES, noise=0.05, relevant=10)
    codes = labels.astype(np.int32)
    rows = []
    for name, rule in RULES.items():
        eta = math.log(getattr(rule, "alpha", math.e))

        def fresh(rule: Any = rule) -> int:
            return Fusion(rule, classes=range(CLASSES)).learn(votes, codes).mistakes

        fresh()  # compiles, or loads from disk
        pairs = []
        for _ in range(rounds):
            c = timed(lambda: twin.run(name, votes, codes, CLASSES, eta))  # noqa: B023
            own = timed(fresh)
            pairs.append((c, own))
        ratios = sorted(own[1] / c[1] for c, own in pairs)
        rows.append(
            {
                "rule": name,
                "experts": experts,
                "trials": trials,
                "c_ns": 1e9 * statistics.median(c[1] for c, _ in pairs) / trials,
                "linmax_ns": 1e9 * statistics.median(own[1] for _, own in pairs) / trials,
                "ratio": statistics.median(ratios),
                "ratio_spread": [ratios[0], ratios[-1]],
                "mistakes": [pairs[0][0][2], pairs[0][1][2]],
            }
        )
    return rows


def one_by_one(items: int, rounds: int) -> list[dict[str, Any]]:
    """`learn_one` and `predict_one` on a dict of 20 votes, in microseconds of CPU."""
    votes, labels = majority(items, noise=0.05)
    stream = [dict(enumerate(row)) for row in votes.tolist()]
    truth = labels.tolist()
    rows = []
    for learner in (Perceptron(), Winnow(1.2), Averaged(Winnow(1.2))):
        fusion = Fusion(learner, classes=range(CLASSES))
        for item, label in zip(stream[:100], truth, strict=False):
            fusion.learn_one(item, label)

        def learn(fusion: Fusion = fusion) -> None:
            for item, label in zip(stream, truth, strict=True):
                fusion.learn_one(item, label)

        def predict(fusion: Fusion = fusion) -> None:
            for item in stream:
                fusion.predict_one(item)

        for what, work in (("learn_one", learn), ("predict_one", predict)):
            times = [1e6 * timed(work)[1] / items for _ in range(rounds)]
            rows.append(
                {
                    "learner": repr(learner),
                    "call": what,
                    "us": statistics.median(times),
                    "spread": [min(times), max(times)],
                }
            )
    return rows
