"""Balanced Winnow: multiplicative, and free to distrust."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, Rule, check_start, is_number, need

ETA = 0  # in p
MASS, SHIFT, PEAK = 2, 3, 4  # in s: the sum of cosh, the exponent that is subtracted, the largest sum so far
HIGH = 1e130
FAR = 600.0
LOST = 2.0**-16


@dataclass(frozen=True, repr=False)
class BalancedWinnow(Rule):
    """Winnow on every vote and its opposite, so that weights may be negative.

    theta += z;  w = sinh(eta theta) / (sum of cosh(eta theta) over those who have spoken),  eta = ln alpha

    Littlestone 1989; Schapire's lecture of 2008, section 5; Figure 1 of Mesterharm & Hsu 2008.

    >>> from linmax import BalancedWinnow, Fusion
    >>> from linmax.problems import panel
    >>> votes, labels = panel(1000, signs=(1, -1, -1))
    >>> Fusion(BalancedWinnow(1.4)).learn(votes, labels).mistakes
    33
    """

    alpha: float = 1.2  # > 1
    start: str = field(default="zero", kw_only=True)  # "equal": the first guess is the plurality

    joins: ClassVar[bool] = True
    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """`alpha` is above 1."""
        need(
            is_number(self.alpha) and self.alpha > 1,
            f"BalancedWinnow needs alpha > 1 (got {self.alpha!r}); 1.05 to 1.5 is usual",
        )
        check_start("BalancedWinnow", self.start)

    def parameters(self) -> tuple[float, ...]:
        """Eta = ln alpha."""
        return (math.log(self.alpha),)

    def scalars(self) -> tuple[float, ...]:
        """The sum of cosh, the shift of the exponents, and the peak of the sum."""
        return (0.0, 0.0, 0.0)

    def first(self) -> float:
        """Where sinh(eta theta) is 1, when all start equal."""
        return math.asinh(1.0) / math.log(self.alpha) if self.start == "equal" else 0.0

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """A newcomer adds its cosh to the sum."""
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
        s[MASS] = mass
        if mass > HIGH or mass < LOST * s[PEAK]:
            return MOVED_AND_SETTLE
        s[PEAK] = max(s[PEAK], mass)
        s[SCALE] = 1.0 / mass
        return MOVED

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Shift by the largest exponent and add the sum up anew."""
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
