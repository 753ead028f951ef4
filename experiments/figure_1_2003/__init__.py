"""2003, Figure 1: Perceptron, ROMMA and Winnow on three majority problems, a different winner on each.

Ties go to the smallest class: under the printed rule (the lowest relevant expert in the tie) the third
setting is trivial, its target being expert 1. Threshold experts are always there. Winnow's multiplier is the
best in hindsight on a grid, as in the paper.
"""

from __future__ import annotations

from typing import Any

from linmax import Fusion, Perceptron, Romma, Winnow
from linmax.problems import majority

GRID = (1.001, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
SETTINGS: dict[str, dict[str, Any]] = {
    "5 of 300, k=3, q=.5": {"relevant": 5, "experts": 300, "classes": 3, "speak": 0.5},
    "10 of 100, k=5, q=.05": {"relevant": 10, "experts": 100, "classes": 5, "speak": 0.05},
    "2 of 100, k=20, q=.001": {"relevant": 2, "experts": 100, "classes": 20, "speak": 0.001},
}


def learners() -> list[Any]:
    """The paper's three algorithms, Winnow with every multiplier of the grid."""
    return [Perceptron(), Romma(), *map(Winnow, GRID)]


def run(setting: str, learner: Any, *, trials: int = 100_000, ties: str = "class", seed: int = 0) -> int:
    """Mistakes of one learner on one stream."""
    options = SETTINGS[setting]
    votes, labels = majority(trials, ties=ties, seed=seed, **options)
    return Fusion(learner, classes=range(options["classes"])).learn(votes, labels).mistakes
