"""Mistakes of Winnow by eta, on random streams and against an adversary."""

from __future__ import annotations

from pathlib import Path

from experiments.interface import Cell
from experiments.lecture import BEST, SIZE, learner
from linmax import Fusion
from linmax.problems import adversary, panel

EXPERTS = 1000
TRIALS = 10_000
ETAS = tuple(round(0.05 * step, 2) for step in range(1, 14))  # the last for which there is a bound is .7
SMALL = (0.1, 0.35, 0.6)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per eta and stream, and one per eta against the adversary."""
    etas = SMALL if quick else (*ETAS, round(BEST, 6))
    streams = [{"eta": eta, "stream": "random", "seed": seed} for eta in etas for seed in range(runs)]
    return streams + [{"eta": eta, "stream": "adversary", "seed": 0} for eta in etas]


def run(cell: Cell, _: Path) -> int:
    """Return the mistakes, ties included."""
    winnow = learner("Winnow", cell["eta"])
    if cell["stream"] == "adversary":
        return len(adversary(winnow, 5000, experts=EXPERTS, size=SIZE).labels)
    return Fusion(winnow, classes=[0, 1]).learn(*panel(TRIALS, EXPERTS, SIZE, seed=cell["seed"])).moves
