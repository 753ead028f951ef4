"""p-norm algorithms, between the Perceptron (p = 2) and Winnow (p near 2 ln n)."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax._jit import inline
from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, Rule, check_start, is_number, need

P, CAP = 0, 1  # in p: the norm, and how many units a coordinate counts as at most
POWER, UNIT, PEAK, MOVES = (
    2,
    3,
    4,
    5,
)  # in s: sum |theta / unit|^p, the unit, the largest sum so far, the number of moves
LOST = 2.0**-16
HIGH = 1e200
OFTEN = 4096.0


def cap(p: float) -> float:
    """Its p-th power is well above HIGH, where all is rebuilt, and no overflow."""
    return math.pow(10.0, 250.0 / p)


@inline
def link(s: Any, p: Any, theta: float) -> float:
    """sgn(theta) |theta / unit|^(p-1); the unit keeps it small, and the cap until the unit has grown."""
    return math.copysign(math.pow(min(abs(theta) / s[UNIT], p[CAP]), p[P] - 1.0), theta)


@inline
def power(s: Any, p: Any, theta: float) -> float:
    """|theta / unit|^p, the part of one coordinate in |theta|_p^p."""
    return math.pow(min(abs(theta) / s[UNIT], p[CAP]), p[P])


@inline
def norm(s: Any, p: Any) -> Any:
    """|theta|_p."""
    return s[UNIT] * math.pow(s[POWER], 1.0 / p[P])


@inline
def rescale(s: Any, p: Any) -> Any:
    """What `w` must be multiplied by: 1 / |theta|_p^(p-2) in true units."""
    return s[UNIT] * math.pow(s[POWER], (2.0 - p[P]) / p[P]) if s[POWER] > 0.0 else 1.0


@inline
def drifted(s: Any) -> Any:
    """Must the sum be added up anew?"""
    s[PEAK] = max(s[PEAK], s[POWER])
    s[MOVES] += 1.0
    return s[POWER] > HIGH or s[POWER] < LOST * s[PEAK] or s[MOVES] >= OFTEN


@inline
def rebuild(s: Any, p: Any, theta: Any, w: Any) -> None:
    """Take the largest coordinate as the unit; `w` and the sum from `theta`, in order."""
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
    """The quasi-additive algorithm whose link is the gradient of half the squared p-norm.

    theta += z;  w_i = sgn(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2)

    Grove, Littlestone & Schuurmans, COLT 1997. p = 2 is the Perceptron.

    >>> from linmax import Fusion, PNorm
    >>> from linmax.problems import majority
    >>> Fusion(PNorm(3)).learn(*majority(1000, noise=0)).mistakes
    173
    """

    p: float = 2.0  # >= 2
    start: str = field(default="zero", kw_only=True)

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """`p` is at least 2."""
        need(
            is_number(self.p) and 2 <= self.p <= 100,
            f"PNorm needs 2 <= p <= 100 (got {self.p!r}); 2 ln n is like Winnow",
        )
        check_start("PNorm", self.start)

    def parameters(self) -> tuple[float, ...]:
        """The norm, and the cap that goes with it."""
        return (self.p, cap(self.p))

    def scalars(self) -> tuple[float, ...]:
        """An empty sum in units of 1."""
        return (0.0, 1.0, 0.0, 0.0)

    def first(self) -> float:
        """Weight 1 when all start equal."""
        return 1.0 if self.start == "equal" else 0.0

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """A newcomer adds its part to the norm."""
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
        """All anew from theta."""
        rebuild(s, p, theta, w)
        s[SCALE] = rescale(s, p)
