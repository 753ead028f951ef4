"""Balanced Winnow, the multiplicative rule with weights of both signs."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import SCALE, Rule, check_start
from linmax.rules.winnow import ETA, FAR, MASS, PEAK, SHIFT, end_update  # MASS: here, the sum of cosh
from linmax.validation import is_finite, require


@dataclass(frozen=True, repr=False)
class BalancedWinnow(Rule):
    """Apply Winnow to every vote and its opposite, so that weights may be negative.

    theta += z;  w = sinh(eta theta) / (sum of cosh(eta theta) over the experts that have voted),
    eta = ln alpha

    Parameters
    ----------
    alpha : float, default 1.2
        The factor of an update, alpha > 1; typical values are 1.05 to 1.5.
    start : {"zero", "equal"}, default "zero"
        The weight of an expert before its first update: 0, or 1, so that the first prediction is the
        plurality.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Littlestone, Mistake bounds and logarithmic linear-threshold learning algorithms, 1989.

    Schapire, lecture notes of 2008, section 5; Mesterharm & Hsu 2008, Figure 1.

    Examples
    --------
    >>> from linmax import BalancedWinnow, Fusion
    >>> from linmax.problems import panel
    >>> votes, labels = panel(1000, signs=(1, -1, -1))
    >>> Fusion(BalancedWinnow(1.4)).learn(votes, labels).mistakes
    33
    """

    alpha: float = 1.2
    start: str = field(default="zero", kw_only=True)

    joins: ClassVar[bool] = True
    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """Require alpha > 1."""
        require(
            is_finite(self.alpha) and self.alpha > 1,
            f"BalancedWinnow requires alpha > 1 (got {self.alpha!r}); typical values are 1.05 to 1.5",
        )
        check_start("BalancedWinnow", self.start)

    def parameters(self) -> tuple[float, ...]:
        """Return eta = ln alpha."""
        return (math.log(self.alpha),)

    def scalars(self) -> tuple[float, ...]:
        """Return the sum of cosh, the shift of the exponents, and the largest sum so far."""
        return (0.0, 0.0, 0.0)

    def first(self) -> float:
        """Return the theta with sinh(eta theta) = 1 if all experts start with equal weights."""
        return math.asinh(1.0) / math.log(self.alpha) if self.start == "equal" else 0.0

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """Add the cosh of new experts to the sum."""
        for i in index:
            up = math.exp(p[ETA] * theta[i] - s[SHIFT])
            down = math.exp(-p[ETA] * theta[i] - s[SHIFT])
            w[i] = (up - down) / 2.0
            s[MASS] += (up + down) / 2.0
        s[PEAK] = max(s[PEAK], s[MASS])
        s[SCALE] = 1.0 / s[MASS]

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += z; w = sinh(eta theta)."""
        eta, shift, mass = p[ETA], s[SHIFT], s[MASS]
        one = math.exp(-2.0 * shift)  # cosh^2 = sinh^2 + 1, in shifted units
        for j in range(len(index)):
            i = index[j]
            before = math.sqrt(w[i] * w[i] + one)
            theta[i] += value[j]
            x = eta * theta[i]
            up = math.exp(min(x - shift, FAR))
            down = math.exp(min(-x - shift, FAR))
            w[i] = (up - down) / 2.0
            mass += (up + down) / 2.0 - before
        return end_update(s, mass)

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Subtract the largest exponent from all, and recompute the sum."""
        largest = 0.0
        for i in range(len(theta)):
            if spoken[i] == 1:
                largest = max(largest, abs(theta[i]))
        s[SHIFT] = p[ETA] * largest
        mass = 0.0
        for i in range(len(theta)):
            if spoken[i] == 1:
                up = math.exp(p[ETA] * theta[i] - s[SHIFT])
                down = math.exp(-p[ETA] * theta[i] - s[SHIFT])
                w[i] = (up - down) / 2.0
                mass += (up + down) / 2.0
        s[MASS] = mass
        s[PEAK] = mass
        s[SCALE] = 1.0 / mass
