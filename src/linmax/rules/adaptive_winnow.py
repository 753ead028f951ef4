"""Winnow with a multiplier that decreases with every update, so that no multiplier must be chosen."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax.rules.base import Rule
from linmax.rules.winnow import FAR, MASS, SHIFT, Winnow, end_update
from linmax.validation import is_finite, require

RATE = 1  # in p; p[0], the eta of Winnow, is 1: theta holds whole exponents
COUNT = 5  # in s, besides those of Winnow: the number of the next update


@dataclass(frozen=True, repr=False)
class AdaptiveWinnow(Rule):
    """Apply Winnow with the multiplier exp(rate / sqrt(j)) on the j-th update.

    theta += rate / sqrt(j) z;  w = exp(theta) / (sum over the experts that have voted);  j += 1

    It needs neither the margin nor a multiplier: the schedule is that of ALMA. On data for which a large
    multiplier is best, or with much noise, it makes more mistakes than `Winnow` with the best one.

    Parameters
    ----------
    rate : float, default 0.9
        The exponent of the first multiplier, 0 < rate <= 10. The default was chosen on generated problems and
        panels. After M mistakes of n experts the bound is smallest near sqrt(2 ln n / (1 + ln M)).
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999, section 5 (the plan).

    Gentile, A new approximate maximal margin classification algorithm, JMLR 2001 (the schedule).

    Examples
    --------
    >>> from linmax import AdaptiveWinnow, Fusion
    >>> from linmax.problems import majority
    >>> Fusion(AdaptiveWinnow()).learn(*majority(1000, noise=0)).mistakes
    108
    """

    rate: float = 0.9

    joins: ClassVar[bool] = True
    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"bound", "shift"}

    def check(self) -> None:
        """Require 0 < rate <= 10."""
        require(
            is_finite(self.rate) and 0 < self.rate <= 10,
            f"AdaptiveWinnow requires 0 < rate <= 10 (got {self.rate!r}); typical values are 0.5 to 1.5",
        )

    def parameters(self) -> tuple[float, ...]:
        """Return the eta of Winnow, which is 1, and the rate."""
        return (1.0, self.rate)

    def scalars(self) -> tuple[float, ...]:
        """Return S, the shift of the exponents, the peak of S, and the number of the first update."""
        return (0.0, 0.0, 0.0, 1.0)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += rate / sqrt(j) z; w = exp(theta)."""
        eta, shift, mass = p[RATE] / math.sqrt(s[COUNT]), s[SHIFT], s[MASS]
        for j in range(len(index)):
            i = index[j]
            before = w[i]
            theta[i] += eta * value[j]
            w[i] = math.exp(min(theta[i] - shift, FAR))
            mass += w[i] - before
        s[COUNT] += 1.0
        return end_update(s, mass)

    join = staticmethod(Winnow.join)
    settle = staticmethod(Winnow.settle)
