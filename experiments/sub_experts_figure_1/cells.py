"""Cumulative mistakes of the three algorithms on one stream of the majority problem of 2003."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.curves import thin
from experiments.interface import Cell
from linmax import Fusion, Perceptron, Romma, Winnow
from linmax.problems import majority

GRID = (1.001, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
SETTINGS: dict[str, dict[str, Any]] = {
    "5 of 300, k=3, q=.5": {"relevant": 5, "experts": 300, "classes": 3, "speak": 0.5},
    "10 of 100, k=5, q=.05": {"relevant": 10, "experts": 100, "classes": 5, "speak": 0.05},
    "2 of 100, k=20, q=.001": {"relevant": 2, "experts": 100, "classes": 20, "speak": 0.001},
}
TIES = ("class", "expert")
TRIALS = 100_000
POINTS = 100


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream and tie rule; in quick mode a fifth of the trials."""
    return [
        {"setting": setting, "ties": ties, "seed": seed, "trials": TRIALS // 5 if quick else TRIALS}
        for setting in SETTINGS
        for ties in TIES
        for seed in range(runs)
    ]


def learners() -> list[Any]:
    """Return the paper's three algorithms, Winnow with every multiplier, with threshold experts."""
    return [Perceptron(), Romma(), *map(Winnow, GRID)]


def run(cell: Cell, _: Path) -> dict[str, list[float]]:
    """Return the thinned curve of each algorithm."""
    options = SETTINGS[cell["setting"]]
    panel = majority(cell["trials"], ties=cell["ties"], seed=cell["seed"], **options)
    known = range(options["classes"])
    return {repr(one): thin(Fusion(one, classes=known).learn(*panel).curve, POINTS) for one in learners()}
