"""The problem of Schapire's lecture of 2008, a panel of k of N experts, and its three algorithms.

No threshold experts; a tie counts as a mistake, as in the lecture, so mistakes are the moves of rules with
`ties=True`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from linmax import BalancedWinnow, Fusion, Perceptron, Winnow
from linmax.experts import Votes
from linmax.problems import VoteData, panel

SIZE = 3  # k, of whom two are always right
DELTA = 1 / SIZE
BEST = 0.5 * math.log((1 + DELTA) / (1 - DELTA))  # the eta that the lecture calls optimal: 1/2 ln 2
PIECE = 20_000_000  # votes in memory at once


def learner(rule: str, eta: float = BEST) -> Any:
    """Return one of the lecture's three algorithms."""
    alpha = math.exp(eta)
    rules = {
        "Perceptron": Perceptron(ties=True),
        "Winnow": Winnow(alpha, ties=True),
        "BalancedWinnow": BalancedWinnow(alpha, ties=True),
    }
    return rules[rule].on(Votes())


def bound(rule: str, experts: int, size: int = SIZE) -> float:
    """Return the bound of the lecture: N k, 2 k^2 ln N, or 2 k^2 ln 2N."""
    if rule == "Perceptron":
        return experts * size
    return 2 * size**2 * math.log(experts if rule == "Winnow" else 2 * experts)


def potential_decrease(eta: float, delta: float = DELTA) -> float:
    """Return C, the smallest decrease of the potential on a mistake."""
    return eta * delta - math.log(math.cosh(eta))


def trials(experts: int) -> int:
    """Return the number of trials of the reference."""
    return 20_000 if experts < 1000 else 10_000


def chunks(experts: int, total: int, signs: tuple[int, ...] | None, seed: int) -> Iterator[VoteData]:
    """Yield a stream in chunks that fit into memory, each with its own seed."""
    step = min(total, PIECE // experts)
    for number, begin in enumerate(range(0, total, step)):
        length = min(step, total - begin)
        yield panel(length, experts, SIZE, signs=signs, seed=seed + 1_000_003 * number)


def moves(
    rules: tuple[str, ...], experts: int, *, signs: tuple[int, ...] | None = None, seed: int = 0
) -> dict[str, int]:
    """Return the mistakes of all rules on one stream, ties included."""
    fusions = {rule: Fusion(learner(rule), classes=[0, 1]) for rule in rules}
    made = dict.fromkeys(rules, 0)
    for piece in chunks(experts, trials(experts), signs, seed):
        for rule, fusion in fusions.items():
            made[rule] += fusion.learn(*piece).moves
    return made
