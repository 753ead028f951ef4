"""The potential of Winnow, mistake by mistake."""

from __future__ import annotations

import math
from pathlib import Path

from experiments.interface import Cell
from experiments.lecture import SIZE, learner
from linmax import Fusion
from linmax.problems import adversary, panel

EXPERTS = 100
TRIALS = 2000


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per random stream, and one for the adversary."""
    return [*({"stream": "random", "seed": seed} for seed in range(runs)), {"stream": "adversary", "seed": 0}]


def run(cell: Cell, _: Path) -> list[float]:
    """Return the potential at the start and after every mistake."""
    winnow = learner("Winnow")
    if cell["stream"] == "adversary":
        votes, labels = adversary(winnow, TRIALS, experts=EXPERTS, size=SIZE)
    else:
        votes, labels = panel(TRIALS, EXPERTS, SIZE, seed=cell["seed"])
    fusion = Fusion(winnow, classes=[0, 1])
    potential = [math.log(EXPERTS / SIZE)]
    for t in range(len(labels)):
        if fusion.learn(votes[t : t + 1], labels[t : t + 1]).moves:
            weights = fusion.weights
            potential.append(-sum(math.log(SIZE * weights[i]) for i in range(SIZE)) / SIZE)
    return potential
