"""p-norm algorithms, between the Perceptron (p = 2) and Winnow (p near 2 ln n)."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax._jit.compilation import inline
from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, Rule, check_start
from linmax.validation import is_finite, require

P, CAP = 0, 1  # in p: the norm, and the largest coordinate in units
# in s: sum |theta / unit|^p, the unit, the largest sum so far, the updates since the sum was recomputed
POWER, UNIT, PEAK, MOVES = 2, 3, 4, 5
LOST = 2.0**-16  # the sum is recomputed below this part of its peak, or cancellation would cost too many bits
HIGH = 1e200  # the sum is recomputed with a larger unit above this
OFTEN = 4096.0  # updates after which the sum is recomputed


def cap(p: float) -> float:
    """Return the largest coordinate in units: its p-th power is above HIGH and does not overflow."""
    return math.pow(10.0, 250.0 / p)


@inline
def link(s: Any, p: Any, theta: float) -> float:
    """Return sgn(theta) |theta / unit|^(p-1), capped."""
    return math.copysign(math.pow(min(abs(theta) / s[UNIT], p[CAP]), p[P] - 1.0), theta)


@inline
def power(s: Any, p: Any, theta: float) -> float:
    """Return |theta / unit|^p, capped: the part of one coordinate in |theta|_p^p."""
    return math.pow(min(abs(theta) / s[UNIT], p[CAP]), p[P])


@inline
def norm(s: Any, p: Any) -> Any:
    """Return |theta|_p."""
    return s[UNIT] * math.pow(s[POWER], 1.0 / p[P])


@inline
def rescale(s: Any, p: Any) -> Any:
    """Return the scale of `w`: 1 / |theta|_p^(p-2), in units of 1."""
    return s[UNIT] * math.pow(s[POWER], (2.0 - p[P]) / p[P]) if s[POWER] > 0.0 else 1.0


@inline
def drifted(s: Any) -> Any:
    """Tell whether the sum must be recomputed."""
    s[PEAK] = max(s[PEAK], s[POWER])
    s[MOVES] += 1.0
    return s[POWER] > HIGH or s[POWER] < LOST * s[PEAK] or s[MOVES] >= OFTEN


@inline
def rebuild(s: Any, p: Any, theta: Any, w: Any) -> None:
    """Make the largest coordinate the unit, and recompute `w` and the sum from `theta`, in order."""
    s[UNIT] = 1.0
    largest = 0.0
    for i in range(len(theta)):
        largest = max(largest, abs(theta[i]))
    if largest > 0.0:
        s[UNIT] = largest
    total = 0.0
    for i in range(len(theta)):
        w[i] = link(s, p, theta[i])
        total += power(s, p, theta[i])
    s[POWER] = total
    s[PEAK] = total
    s[MOVES] = 0.0


@dataclass(frozen=True, repr=False)
class PNorm(Rule):
    """Use the gradient of half the squared p-norm as link.

    theta += z;  w_i = sgn(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2)

    With p = 2 it is the Perceptron, with p near 2 ln n it is close to Winnow.

    Parameters
    ----------
    p : float, default 2
        The norm, 2 <= p <= 100.
    start : {"zero", "equal"}, default "zero"
        The weight of an expert before its first update: 0, or 1, so that the first prediction is the
        plurality.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Grove, Littlestone & Schuurmans, General convergence results for linear discriminant updates, COLT 1997.

    Examples
    --------
    >>> from linmax import Fusion, PNorm
    >>> from linmax.problems import majority
    >>> Fusion(PNorm(3)).learn(*majority(1000, noise=0)).mistakes
    173
    """

    p: float = 2.0
    start: str = field(default="zero", kw_only=True)

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """Require 2 <= p <= 100."""
        require(
            is_finite(self.p) and 2 <= self.p <= 100,
            f"PNorm requires 2 <= p <= 100 (got {self.p!r}); 2 is the Perceptron, 2 ln n is close to Winnow",
        )
        check_start("PNorm", self.start)

    def parameters(self) -> tuple[float, ...]:
        """Return the norm and the cap."""
        return (self.p, cap(self.p))

    def scalars(self) -> tuple[float, ...]:
        """Return an empty sum in units of 1."""
        return (0.0, 1.0, 0.0, 0.0)

    def first(self) -> float:
        """Return 1 if all experts start with equal weights."""
        return 1.0 if self.start == "equal" else 0.0

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """Add the part of new experts to the norm."""
        for i in index:
            w[i] = link(s, p, theta[i])
            s[POWER] += power(s, p, theta[i])
        s[PEAK] = max(s[PEAK], s[POWER])
        s[SCALE] = rescale(s, p)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += z; w = link(theta)."""
        for i, z in zip(index, value):  # noqa: B905
            s[POWER] -= power(s, p, theta[i])
            theta[i] += z
            w[i] = link(s, p, theta[i])
            s[POWER] += power(s, p, theta[i])
        if drifted(s):
            return MOVED_AND_SETTLE
        s[SCALE] = rescale(s, p)
        return MOVED

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Recompute everything from theta."""
        rebuild(s, p, theta, w)
        s[SCALE] = rescale(s, p)
