"""Mistakes of several learners on the same stream, one comparison for each remark."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from experiments.fusion import CLASSES, bank, learn, name, stream, v_combine
from experiments.fusion_remarks.leaders import mean_of_leaders
from experiments.interface import Cell
from linmax import Alma, Averaged, Combine, Perceptron, Voted, Winnow, vr_combine

SIZES = (20, 100, 500)  # hypotheses
RIVALS = (Perceptron(), *map(Winnow, (1.15, 1.25, 1.35, 1.45, 1.6)), Alma(2.5), Alma(4.0))
BASIC = (Perceptron(), Winnow(1.03), Winnow(1.2), Winnow(1.5), Alma(2.0), Alma(6.0))
LONG = 10_000  # trials when there are many classes
Counts = dict[str, int]


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per remark, setting and stream; in quick mode one setting each."""
    voters = ("31", "Perceptron", "Winnow(1.2)", "ALMA(2)", "62")
    settings = {
        "mean of leaders": [{"members": b, "noise": p} for b, p in product("BR", (0.0, 0.05, 0.2, 0.4))],
        "leader": [{"noise": p} for p in (0.0, 0.05, 0.1, 0.2, 0.4)],
        "many classes": [
            {"classes": k, "noise": p, "voters": who}
            for k, p, who in product((2, 5, 20), (0.0, 0.05), voters)
        ],
        "random": [{"B": name(b), "noise": p} for b, p in product(BASIC, (0.0, 0.05, 0.2))],
    }
    if quick:
        small = [("mean of leaders", 0), ("leader", 0), ("many classes", 21), ("random", 0)]
        settings = {remark: settings[remark][at : at + 1] for remark, at in small}
    return [
        {"remark": remark, **setting, "seed": seed}
        for remark, them in settings.items()
        for setting in them
        for seed in range(runs)
    ]


def run(cell: Cell, _: Path) -> Counts:
    """Return the mistakes by learner."""
    return COMPARISONS[cell["remark"]](cell)


def averaging(cell: Cell) -> Counts:
    """Compare the mean of leaders, Combine, and averages of the best algorithms in Table I.

    `members` is B for algorithms as they are, R for recycled ones.
    """
    plain, panel = cell["members"], stream(cell["noise"], cell["seed"])
    members, combine = bank(plain), {"B": v_combine(), "R": vr_combine()}[plain]
    averages = [Averaged(members[bank("B").index(rival)]) for rival in RIVALS]
    means = mean_of_leaders(members, panel, CLASSES)
    counts = {"mean": means.raw, "scaled mean": means.scaled, "leaders": means.leaders}
    counts["average of the last"] = learn(Averaged(members[means.last]), panel).mistakes
    counts["Combine"] = learn(combine, panel).mistakes
    return counts | {name(one): learn(one, panel).mistakes for one in averages}


def leader_alone(cell: Cell) -> Counts:
    """Compare Combine with its leader alone."""
    learners = {
        "VR-Combine": vr_combine(), "VR-Combine, hypotheses=0": vr_combine(hypotheses=0),
        "V-Combine": v_combine(), "V-Combine, hypotheses=0": v_combine(hypotheses=0),
    }  # fmt: skip
    return count_mistakes(learners, cell)


def sizes(cell: Cell, trials: int = LONG) -> Counts:
    """Compare numbers of hypotheses; voters are 31 or 62 algorithms, or one of `BASIC`."""
    learners: dict[str, Any] = {}
    who = cell["voters"]
    basic = {name(one): one for one in BASIC}.get(who)
    for size in SIZES:
        if basic is not None:
            learners[str(size)] = Voted(basic, hypotheses=size)
        else:
            members = {"31": bank("B"), "62": [*bank("B"), *bank("A")]}[who]
            learners[str(size)] = Combine(tuple(members), hypotheses=size)
    if basic is not None:
        learners["average"] = Averaged(basic)
    return count_mistakes(learners, cell, trials=trials, classes=cell["classes"])


def random_hypotheses(cell: Cell) -> Counts:
    """Compare an algorithm with voting over random and over chosen hypotheses."""
    basic = {name(one): one for one in BASIC}[cell["B"]]
    learners = {
        "alone": basic,
        "random": Voted(basic, choose="random", hypotheses=30),
        "chosen": Voted(basic),
        "chosen 30": Voted(basic, hypotheses=30),
    }
    return count_mistakes(learners, cell)


def count_mistakes(learners: dict[str, Any], cell: Cell, **options: int) -> Counts:
    """Return the mistakes of all learners on the same stream."""
    seed, classes = cell["seed"], options.get("classes", CLASSES)
    panel = stream(cell["noise"], seed, **options)
    return {who: learn(one, panel, classes=classes, seed=seed).mistakes for who, one in learners.items()}


COMPARISONS = {
    "mean of leaders": averaging,
    "leader": leader_alone,
    "many classes": sizes,
    "random": random_hypotheses,
}
