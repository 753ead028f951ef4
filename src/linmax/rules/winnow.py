"""Winnow, the multiplicative rule; on sub-experts it is Committee."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, Rule, is_number, need

ETA = 0  # in p
MASS, SHIFT, PEAK = (
    2,
    3,
    4,
)  # in s: S, the exponent that is subtracted, the largest S since it was last added up
HIGH = 1e130  # far from overflow
FAR = 600.0  # the exponent of a weight that one large vote threw beyond HIGH, until all is settled
LOST = 2.0**-16  # S may fall to this part of its peak before cancellation could cost more than 16 of 53 bits


@dataclass(frozen=True, repr=False)
class Winnow(Rule):
    """Multiply the weights of those who voted for the truth, divide those of who misled.

    theta += z;  w = alpha ** theta / (sum over those who have spoken)

    Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999 ("Committee");
    Littlestone 1989. The first guess is the plurality. Weights live in the exponent, so they neither overflow
    nor depend on the order of the multiplications.

    >>> from linmax import Fusion, Winnow
    >>> from linmax.problems import majority
    >>> Fusion(Winnow(1.2)).learn(*majority(1000, noise=0)).mistakes
    153
    """

    alpha: float = 1.2  # > 1; sqrt((1 + delta) / (1 - delta)) is what the bound asks for

    joins: ClassVar[bool] = True
    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """`alpha` is above 1."""
        need(
            is_number(self.alpha) and self.alpha > 1,
            f"Winnow needs alpha > 1 (got {self.alpha!r}); 1.05 to 1.5 is usual",
        )

    @classmethod
    def from_eta(cls, eta: float, **options: Any) -> "Winnow":
        """The same rule by its learning rate, eta = ln alpha.

        >>> from linmax import Winnow
        >>> Winnow.from_eta(0.25)
        Winnow(1.2840254166877414)
        """
        need(
            is_number(eta) and 0 < eta < 700,
            f"Winnow.from_eta needs 0 < eta < 700 (got {eta!r}); 0.01 to 1 is usual",
        )
        return cls(math.exp(eta), **options)

    @classmethod
    def for_margin(cls, delta: float, **options: Any) -> "Winnow":
        """The alpha with the best bound at margin delta: eta = 1/2 ln((1 + delta) / (1 - delta)).

        >>> from linmax import Winnow
        >>> Winnow.for_margin(0.6)
        Winnow(2.0)
        """
        need(is_number(delta) and 0 < delta < 1, f"Winnow.for_margin needs 0 < delta < 1 (got {delta!r})")
        return cls(math.sqrt((1 + delta) / (1 - delta)), **options)

    def parameters(self) -> tuple[float, ...]:
        """Eta = ln alpha."""
        return (math.log(self.alpha),)

    def scalars(self) -> tuple[float, ...]:
        """S, the shift of the exponents, and the peak of S."""
        return (0.0, 0.0, 0.0)

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """A newcomer begins at alpha ** 0."""
        for i in index:
            w[i] = math.exp(
                min(p[ETA] * theta[i] - s[SHIFT], FAR)
            )  # when all others fell: they are nothing to it
            s[MASS] += w[i]
        s[PEAK] = max(s[PEAK], s[MASS])
        s[SCALE] = 1.0 / s[MASS]

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += z; w = alpha ** theta."""
        eta, shift, mass = p[ETA], s[SHIFT], s[MASS]
        for j in range(len(index)):
            i = index[j]
            before = w[i]
            theta[i] += value[j]
            w[i] = math.exp(min(eta * theta[i] - shift, FAR))
            mass += w[i] - before
        s[MASS] = mass
        if mass > HIGH or mass < LOST * s[PEAK]:
            return MOVED_AND_SETTLE
        s[PEAK] = max(s[PEAK], mass)
        s[SCALE] = 1.0 / mass
        return MOVED

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Shift by the largest exponent and add S up anew."""
        largest = -math.inf
        for i in range(len(theta)):
            if spoken[i] == 1:
                largest = max(largest, theta[i])
        s[SHIFT] = p[ETA] * largest
        mass = 0.0
        for i in range(len(theta)):
            if spoken[i] == 1:
                w[i] = math.exp(p[ETA] * theta[i] - s[SHIFT])
                mass += w[i]
        s[MASS] = mass
        s[PEAK] = mass
        s[SCALE] = 1.0 / mass
