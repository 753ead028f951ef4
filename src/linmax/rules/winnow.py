"""Winnow, the multiplicative rule; on sub-experts it is Committee."""

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax._jit.compilation import inline, separate
from linmax._jit.vectors import assign, get
from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, Rule, Step
from linmax.validation import is_finite, require

# in p: eta, and then alpha ** j for whole numbers -POWERS <= j <= POWERS
ETA, POWER_0 = 0, 513
POWERS = 512
# in s: the sum S of the weights, the exponent that is subtracted, the largest S since it was last recomputed
MASS, SHIFT, PEAK = 2, 3, 4
HIGH = 1e130  # S is recomputed above this, far from overflow
FAR = 600.0  # the largest exponent; one large vote may reach it, and S is recomputed then
LOST = 2.0**-16  # S is recomputed below this part of its peak: cancellation costs at most 16 of 53 bits
PAUSE = 512  # updates until `count_safe_updates` is called again, if there were none


@functools.lru_cache(maxsize=64)
def _with_powers(eta: float) -> tuple[float, ...]:
    """Return eta, and the powers that updates look up: an exponential takes several times longer."""
    return (eta, *(math.exp(min(eta * j, FAR)) for j in range(-POWERS, POWERS + 1)))


@separate
def count_safe_updates(p: Any, s: Any, theta: Any) -> int:
    """Return how many updates by -1, 0 or 1 are possible before an exponent may leave the powers in `p`.

    It is -PAUSE if one is outside of them now.
    """
    if s[SHIFT] != 0.0 or len(p) <= POWER_0 + POWERS:  # a subclass may have none
        return -PAUSE
    largest = 0.0
    for i in range(len(theta)):
        if not abs(theta[i]) < POWERS or theta[i] != math.floor(theta[i]):
            return -PAUSE
        largest = max(largest, abs(theta[i]))
    return POWERS - int(largest)


@inline
def multiply_weight(p: Any, theta: Any, w: Any, i: Any, z: Any) -> Any:
    """theta += z and w = alpha ** theta, for z = -1, 0 or 1; return by how much w has grown.

    If z is 0, nothing changes: w is 0 before the first vote.
    """
    before, exponent = get(w, i), get(theta, i) + z
    power = get(p, POWER_0 + int(exponent))
    after = power if z != 0.0 else before  # without a branch
    assign(theta, i, exponent)
    assign(w, i, after)
    return after - before


@inline
def end_update(s: Any, mass: Any) -> int:
    """Store the sum of the weights after an update; return what `Rule.update` returns."""
    s[MASS] = mass
    if mass > HIGH or mass < LOST * s[PEAK]:
        return MOVED_AND_SETTLE
    s[PEAK] = max(s[PEAK], mass)
    s[SCALE] = 1.0 / mass
    return MOVED


@dataclass(frozen=True, repr=False)
class Winnow(Rule):
    """Multiply the weights of experts that voted for the label, divide those that voted for the rival.

    theta += z;  w = alpha ** theta / (sum over the experts that have voted)

    The first prediction is the plurality. Weights are stored as exponents, so they do not overflow and do not
    depend on the order of the multiplications. Applied to sub-experts, it is the algorithm Committee.

    Parameters
    ----------
    alpha : float, default 1.2
        The factor of an update, alpha > 1; typical values are 1.05 to 1.5. The best bound at margin delta
        has alpha = sqrt((1 + delta) / (1 - delta)), see `for_margin`.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999 ("Committee").

    Littlestone, Mistake bounds and logarithmic linear-threshold learning algorithms, 1989.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> from linmax.problems import majority
    >>> Fusion(Winnow(1.2)).learn(*majority(1000, noise=0)).mistakes
    153
    """

    alpha: float = 1.2

    joins: ClassVar[bool] = True
    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """Require alpha > 1."""
        require(
            is_finite(self.alpha) and self.alpha > 1,
            f"Winnow requires alpha > 1 (got {self.alpha!r}); typical values are 1.05 to 1.5",
        )

    @classmethod
    def from_eta(cls, eta: float, **options: Any) -> "Winnow":
        """Return the rule with the learning rate eta = ln alpha.

        >>> from linmax import Winnow
        >>> Winnow.from_eta(0.25)
        Winnow(1.2840254166877414)
        """
        require(
            is_finite(eta) and 0 < eta < 700,
            f"Winnow.from_eta requires 0 < eta < 700 (got {eta!r}); typical values are 0.01 to 1",
        )
        return cls(math.exp(eta), **options)

    @classmethod
    def for_margin(cls, delta: float, **options: Any) -> "Winnow":
        """Return the rule with the best bound at margin delta: eta = 1/2 ln((1 + delta) / (1 - delta)).

        >>> from linmax import Winnow
        >>> Winnow.for_margin(0.6)
        Winnow(2.0)
        """
        require(
            is_finite(delta) and 0 < delta < 1, f"Winnow.for_margin requires 0 < delta < 1 (got {delta!r})"
        )
        return cls(math.sqrt((1 + delta) / (1 - delta)), **options)

    def parameters(self) -> tuple[float, ...]:
        """Return eta = ln alpha, and powers of alpha."""
        return _with_powers(math.log(self.alpha))

    def scalars(self) -> tuple[float, ...]:
        """Return S, the shift of the exponents, and the peak of S."""
        return (0.0, 0.0, 0.0)

    def step(self) -> Step:
        """Return eta, and that weights are multiplied."""
        return Step(math.log(self.alpha), multiplies=True)

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """Start new experts at alpha ** theta."""
        for i in index:
            w[i] = math.exp(min(p[ETA] * theta[i] - s[SHIFT], FAR))  # capped if all others are tiny
            s[MASS] += w[i]
        s[PEAK] = max(s[PEAK], s[MASS])
        s[SCALE] = 1.0 / s[MASS]

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += z; w = alpha ** theta."""
        eta, shift, mass = p[ETA], s[SHIFT], s[MASS]
        largest = (
            POWERS if shift == 0.0 and len(p) > POWER_0 + POWERS else -1
        )  # a subclass may have no powers
        for j in range(len(index)):
            i = index[j]
            before = w[i]
            exponent = theta[i] + value[j]
            theta[i] = exponent
            if abs(exponent) <= largest and exponent == math.floor(exponent):
                w[i] = p[POWER_0 + int(exponent)]
            else:
                w[i] = math.exp(min(eta * exponent - shift, FAR))
            mass += w[i] - before
        return end_update(s, mass)

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Subtract the largest exponent from all, and recompute S."""
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
