"""The accuracy of all algorithms on one target of one calendar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.interface import Cell
from experiments.sub_experts_table_1.calendar_file import read
from linmax import Fusion, Perceptron, Romma, WeightedMajority, Winnow
from linmax.experts import Pairs, Thresholds
from linmax.problems import calendar
from linmax.problems.calendar import TARGETS, Calendar

REAL = "calendar/user2.tsv"
MEETINGS = 553
BASIC: dict[str, Any] = {
    "Perceptron": Perceptron(),
    "Romma": Romma(),
    **{f"Winnow {alpha:g}": Winnow(alpha) for alpha in (1.5, 2.0, 3.0, 5.0, 10.0)},
}
WHO = ("combined", *BASIC)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per generated calendar, and one for the real files, which may be missing."""
    made = [
        {"of": "stand-in", "target": target, "meetings": 150 if quick else MEETINGS, "seed": seed}
        for target in TARGETS
        for seed in range(runs)
    ]
    return made + [{"of": "real", "target": target} for target in TARGETS]


def learners() -> dict[str, Any]:
    """Return the seven algorithms, and Weighted Majority over them."""
    source = Pairs() + Thresholds()
    basic = {name: rule.on(source) for name, rule in BASIC.items()}
    return {"combined": WeightedMajority(tuple(basic.values()), multiplier=1.5), **basic}


def run(cell: Cell, data: Path) -> dict[str, float]:
    """Return the accuracy over all meetings; a novel label counts as not predicted."""
    if cell["of"] == "real":
        path = data / REAL
        return accuracies(read(path), cell["target"]) if path.is_file() else {}
    return accuracies(calendar(cell["meetings"], seed=cell["seed"]), cell["target"])


def accuracies(meetings: Calendar, target: str) -> dict[str, float]:
    """Return the accuracy of all algorithms in one pass."""
    attributes, labels = meetings.task(target)
    return {
        name: Fusion(one).learn(attributes=attributes, labels=labels).right / len(labels)
        for name, one in learners().items()
    }
