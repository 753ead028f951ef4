"""Schapire's lecture of 2008: a panel of 3 among N experts, Perceptron's Nk against Winnow's 2 k^2 ln N.

No threshold experts, eta = 1/2 ln 2, and a tie counts as a mistake, so mistakes are the moves of rules with
`ties=True`.
"""

from __future__ import annotations

import math
from typing import Any

from linmax import BalancedWinnow, Fusion, Perceptron, Winnow
from linmax.experts import Votes
from linmax.problems import panel

ALPHA = math.sqrt(2.0)  # eta = 1/2 ln 2, the optimum for margin 1/3
SIZES = (10, 100, 1000)


def learners() -> dict[str, Any]:
    """The lecture's three algorithms."""
    rules = (Perceptron(ties=True), Winnow(ALPHA, ties=True), BalancedWinnow(ALPHA, ties=True))
    return {type(rule).__name__: rule.on(Votes()) for rule in rules}


def bound(rule: str, experts: int, size: int = 3) -> float:
    """What the lecture proves."""
    if rule == "Perceptron":
        return experts * size
    return 2 * size**2 * math.log(experts if rule == "Winnow" else 2 * experts)


def run(rule: str, experts: int, *, signs: tuple[int, ...] | None = None, seed: int = 0) -> int:
    """Mistakes, ties included, on one stream."""
    trials = 20_000 if experts < 1000 else 10_000
    votes, labels = panel(trials, experts, 3, signs=signs, seed=seed)
    return Fusion(learners()[rule], classes=[0, 1]).learn(votes, labels).moves
