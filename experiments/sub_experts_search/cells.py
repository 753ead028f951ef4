"""Mistakes and time of committees that search their parameters, and of others, on one stream."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.committee_multiplier.cells import GENERATED, GRID, Problems, stream, streams
from experiments.interface import Cell
from experiments.sub_experts_search.parameters import neighbours, searched_mistakes
from linmax import (
    Alma,
    Averaged,
    Combine,
    Fusion,
    Perceptron,
    Recycled,
    WeightedMajority,
    Winnow,
    WinnowSearch,
    recommended,
    vr_combine,
)
from linmax.kernels.ensembles.mixtures import SPOKEN
from linmax.rules.base import SLACK

FIRST_SEED = 200  # all choices were made on the seeds 0 to 2 and 100 to 103
MOST_TRIALS, MOST_ITEMS = 5000, 2000
UNSEEN: Problems = {  # no choice was made on them
    "7 of 50, p=0.03": {"trials": 5000, "relevant": 7, "experts": 50, "classes": 4, "noise": 0.03},
    "3 of 200, p=0.01": {"trials": 5000, "relevant": 3, "experts": 200, "classes": 10, "noise": 0.01},
    "15 of 40, p=0.1": {"trials": 5000, "relevant": 15, "experts": 40, "classes": 2, "noise": 0.1},
    "1 of 500, p=0.05": {"trials": 5000, "relevant": 1, "experts": 500, "classes": 3, "noise": 0.05},
    "9 of 100, sparse": {"trials": 5000, "relevant": 9, "experts": 100, "classes": 6, "speak": 0.1},
}
PROBLEMS = GENERATED | UNSEEN
RULES = (
    Winnow(1.05),
    Winnow(1.2),
    Winnow(1.6),
    Perceptron(),
    Winnow(1.1, slack=0.1),
    Perceptron(slack=5.0),
)
RECYCLED = tuple(map(Recycled, RULES))
BANK = (*RECYCLED, *map(Averaged, RECYCLED))
MULTIPLIER = 1.1
WITH_ALMA = tuple(
    map(
        Recycled,
        (
            Winnow(1.1),
            Winnow(1.6),
            Perceptron(),
            Alma(4.0, alpha=0.9),
            Winnow(1.1, slack=0.1),
            Perceptron(slack=5.0),
        ),
    )
)


def rates(count: int, ratio: float) -> list[Winnow]:
    """Return a grid of Winnow rules from eta = 2 downwards."""
    return [Winnow.from_eta(2.0 * ratio**-i) for i in range(count)]


LEARNERS: dict[str, Callable[[], Any]] = {
    "vr_combine": vr_combine,
    "recommended": recommended,
    "WinnowSearch": WinnowSearch,
    "grid of 8": lambda: WeightedMajority(rates(8, 3.0), multiplier=1.2),
    "grid of 12": lambda: WeightedMajority(rates(12, 2.0), multiplier=1.2),
    "bank of 12": lambda: WeightedMajority(BANK, multiplier=MULTIPLIER),
    "bank of 12, Combine": lambda: Combine(BANK),
    "bank with ALMA": lambda: WeightedMajority(
        (*WITH_ALMA, *map(Averaged, WITH_ALMA)), multiplier=MULTIPLIER
    ),
}


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream; in quick mode short streams, and no panels."""
    return streams(FIRST_SEED, runs, 300 if quick else MOST_TRIALS, quick, PROBLEMS)


def run(cell: Cell, data: Path) -> dict[str, Any]:
    """Return the mistakes and the CPU time per trial by learner; empty if a panel is missing."""
    items = stream(cell, data, MOST_ITEMS, PROBLEMS)
    if items is None:
        return {}
    votes, labels, k = items
    found: dict[str, Any] = {"alphas": {}, "mistakes": {}, "microseconds": {}}
    for alpha in GRID:
        fusion = Fusion(Winnow(alpha), classes=range(k))
        found["alphas"][repr(alpha)] = fusion.learn(votes, labels).mistakes
    for name, make in LEARNERS.items():
        Fusion(make(), classes=range(k)).learn(votes[:20], labels[:20])  # compiles
        fusion = Fusion(make(), classes=range(k))
        start = time.process_time()
        found["mistakes"][name] = fusion.learn(votes, labels).mistakes
        found["microseconds"][name] = 1e6 * (time.process_time() - start) / len(labels)
    for name, change in (
        ("copies from zero", forget),
        ("copies with the weight of the best", inherit),
    ):
        found["mistakes"][name] = driven(WinnowSearch(), votes, labels, k, 16, change)
    bank = WeightedMajority(BANK, multiplier=MULTIPLIER)
    found["mistakes"]["searched bank"] = driven(bank, votes, labels, k, 64, search_bank)
    found["mistakes"]["searched bank with ALMA"] = searched_mistakes(
        WITH_ALMA, votes, labels, k, multiplier=MULTIPLIER
    )
    return found


# --- what was tried and not kept: sessions that are changed between blocks of trials


def driven(learner: Any, votes: Any, labels: Any, k: int, first: int, change: Callable[[Any], None]) -> int:
    """Return the mistakes of a learner that `change` changes after first, 2 first, 4 first, ... trials."""
    fusion, begin, end = Fusion(learner, classes=range(k)), 0, first
    while begin < len(labels):
        fusion.learn(votes[begin:end], labels[begin:end])
        if end <= len(labels):
            change(fusion.runner)
            fusion.runner.version += 1
        begin, end = end, 2 * end
    return fusion.mistakes


def latest(runner: Any) -> tuple[Any, int]:
    """Return the predictor of a search, and the member that was copied into a slot just now."""
    head = runner.predictor
    return head, int(np.flatnonzero((head.spoken == 0) & head.used)[0])


def forget(runner: Any) -> None:
    """Let the copy start without a hypothesis."""
    head, member = latest(runner)
    run = head.members[member].run
    run.columns["theta"][:] = 0.0
    rule = run.rule
    rule.settle(
        np.array(rule.parameters()), run.s, run.columns["theta"], run.columns["w"], run.columns["spoken"]
    )


def inherit(runner: Any) -> None:
    """Let the copy start with the weight of the member that it copies."""
    head, member = latest(runner)
    head.logs[member], head.spoken[member] = head.logs[head.spoken == SPOKEN].max(), SPOKEN


def search_bank(runner: Any) -> None:
    """Replace the rule with the least weight by a neighbour of the best, which starts as its copy."""
    head, count = runner.predictor, len(RULES)
    runs = [member.run for member in head.members[:count]]
    weights = np.logaddexp(head.logs[:count], head.logs[count:])
    best, worst = int(weights.argmax()), int(weights.argmin())
    there = {run.rule for run in runs}
    births = sum(run.rule not in RULES for run in runs)
    choice = [rule for rule in neighbours(runs[best].rule) if rule not in there]
    if best == worst or not choice:
        return
    rule = choice[births % len(choice)]
    child = runs[best].twin()
    if isinstance(rule, Winnow):
        child.columns["theta"] *= math.log(child.rule.alpha) / math.log(rule.alpha)
    child.rule, child.s[SLACK] = rule, rule.threshold()
    for runs_of in (runner.rule_runs, runner.whole_runs):
        runs_of[runs_of.index(runs[worst])] = child
    others = [m for m in range(2 * count) if m % count != worst]
    mean = np.logaddexp.reduce(head.logs[others]) - math.log(len(others))
    for member in (worst, count + worst):
        head.members[member].run = child
        head.logs[member] = mean
