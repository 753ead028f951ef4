"""Is a gain real? Two guessers on the same items differ only where one is right and the other is not."""

from __future__ import annotations

import math
from typing import NamedTuple

CONFIDENT = 1.959963984540054  # of a normal distribution, 95 % lie so far from 0 at most


class Gain(NamedTuple):
    """By how much one guesser is right more often than another, with a 95 % interval and a paired test."""

    trials: int
    better: int  # items where only the first was right
    worse: int  # items where only the other was
    gain: float  # the difference of their accuracies
    low: float
    high: float
    p: float  # of McNemar's exact test: how likely so lopsided a split is among equals

    @property
    def verdict(self) -> str:
        """Whether the test tells the two apart: "better", "worse" or "no difference seen"."""
        if self.p >= 0.05 or not self.trials:
            return "no difference seen"
        return "better" if self.better > self.worse else "worse"


def gain(trials: int, better: int, worse: int) -> Gain:
    """Compare two guessers on the same items.

    McNemar's exact test, and the interval of Agresti and Min (2005): Wald's with half an item added to each
    of the four cells. Both take the items for independent draws; of a stream that drifts they tell less.

    >>> found = gain(1000, better=60, worse=30)
    >>> round(found.gain, 3), round(found.low, 3), round(found.high, 3), round(found.p, 4), found.verdict
    (0.03, 0.011, 0.049, 0.0021, 'better')
    >>> gain(0, 0, 0).verdict
    'no difference seen'
    """
    if not trials:
        return Gain(0, 0, 0, 0.0, -1.0, 1.0, 1.0)
    size = trials + 2.0
    up, down = (better + 0.5) / size, (worse + 0.5) / size
    middle = up - down
    reach = CONFIDENT * math.sqrt(max(up + down - middle * middle, 0.0) / size)
    return Gain(
        trials, better, worse, (better - worse) / trials,
        max(middle - reach, -1.0), min(middle + reach, 1.0), mcnemar(better, worse),
    )  # fmt: skip


def mcnemar(better: int, worse: int) -> float:
    """How likely a split at least as lopsided is when both are as likely to be the one that is right.

    >>> round(mcnemar(0, 5), 12), mcnemar(3, 3)
    (0.0625, 1.0)
    """
    few, items = min(better, worse), better + worse
    if few == items - few:
        return 1.0
    # P(X = few), then each term from the one above it, until what is left cannot matter
    term = math.exp(
        math.lgamma(items + 1) - math.lgamma(few + 1) - math.lgamma(items - few + 1) - items * math.log(2.0)
    )
    total = 0.0
    for i in range(few, -1, -1):
        total += term
        term *= i / (items - i + 1)
        if term <= 1e-17 * total:
            break
    return min(1.0, 2.0 * total)
