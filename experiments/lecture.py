"""What the experiments on Schapire's lecture of 2008 share: a panel of k of N experts, and three algorithms.

No threshold experts; a tie counts as a mistake, as in the lecture, so mistakes are the moves of rules with
`ties=True`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from linmax import BalancedWinnow, Fusion, Perceptron, Winnow
from linmax.experts import Votes
from linmax.problems import Panel, panel

SIZE = 3  # k, of whom two are always right
DELTA = 1 / SIZE
BEST = 0.5 * math.log((1 + DELTA) / (1 - DELTA))  # the eta that the lecture calls optimal: 1/2 ln 2
PIECE = 20_000_000  # votes in memory at once


def learner(rule: str, eta: float = BEST) -> Any:
    """One of the lecture's three algorithms."""
    alpha = math.exp(eta)
    rules = {
        "Perceptron": Perceptron(ties=True),
        "Winnow": Winnow(alpha, ties=True),
        "BalancedWinnow": BalancedWinnow(alpha, ties=True),
    }
    return rules[rule].on(Votes())


def bound(rule: str, experts: int, size: int = SIZE) -> float:
    """What the lecture proves: N k, 2 k^2 ln N, and with opposites 2 k^2 ln 2N."""
    if rule == "Perceptron":
        return experts * size
    return 2 * size**2 * math.log(experts if rule == "Winnow" else 2 * experts)


def fall(eta: float, delta: float = DELTA) -> float:
    """C: by how much the potential falls on a mistake, at least."""
    return eta * delta - math.log(math.cosh(eta))


def trials(experts: int) -> int:
    """As many as the reference used."""
    return 20_000 if experts < 1000 else 10_000


def pieces(experts: int, total: int, signs: tuple[int, ...] | None, seed: int) -> Iterator[Panel]:
    """One stream; a large one in pieces, each with a seed of its own, as it would not fit into memory."""
    step = min(total, PIECE // experts)
    for number, begin in enumerate(range(0, total, step)):
        length = min(step, total - begin)
        yield panel(length, experts, SIZE, signs=signs, seed=seed + 1_000_003 * number)


def moves(
    rules: tuple[str, ...], experts: int, *, signs: tuple[int, ...] | None = None, seed: int = 0
) -> dict[str, int]:
    """Mistakes, ties included, of all rules on one stream."""
    fusions = {rule: Fusion(learner(rule), classes=[0, 1]) for rule in rules}
    made = dict.fromkeys(rules, 0)
    for piece in pieces(experts, trials(experts), signs, seed):
        for rule, fusion in fusions.items():
            made[rule] += fusion.learn(*piece).moves
    return made
