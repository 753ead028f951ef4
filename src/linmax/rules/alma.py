"""ALMA(p), the approximate large margin algorithm."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, STILL, Rule
from linmax.rules.pnorm import cap, drifted, link, norm, power, rebuild, rescale
from linmax.validation import is_finite, require

# in p, besides the cap of pnorm: the norm, (1 - alpha) B sqrt(p - 1), the slack without alpha
P, NEAR, PLAIN = 0, 2, 3
# in s, besides those of pnorm: the scale of theta (theta = a v), the counter j
POWER, A, COUNT = 2, 6, 7
C = math.sqrt(2.0)


@dataclass(frozen=True, repr=False)
class Alma(Rule):
    """Apply a p-norm algorithm with decreasing steps, and keep theta in the unit ball.

    eta = C / (sqrt(p-1) sqrt(j));  theta += eta z / |z|_p;  if |theta|_p > 1 divide by it;
    w_i = sgn(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2);  j += 1

    C = sqrt 2, and j counts the updates from 1.

    Parameters
    ----------
    p : float, default 2
        The norm, 2 <= p <= 100; typical values are 2 to 9.
    alpha : float, default 1
        With 1, updates are made on mistakes only. With 0 < alpha < 1, also when the margin of z / |z|_p is at
        most (1 - alpha) B sqrt(p-1) / sqrt(j), where B = sqrt 8 / alpha.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Gentile, A new approximate maximal margin classification algorithm, JMLR 2001.

    Examples
    --------
    >>> from linmax import Alma, Fusion
    >>> from linmax.problems import majority
    >>> Fusion(Alma(2.5)).learn(*majority(1000, noise=0)).mistakes
    156
    """

    p: float = 2.0
    alpha: float = field(default=1.0, kw_only=True)

    fixed_margin: ClassVar[bool] = True
    claims: ClassVar[frozenset[str]] = Rule.claims | {"bound", "shift"}
    once_positional: ClassVar[tuple[str, ...]] = ("alpha",)

    def check(self) -> None:
        """Require 2 <= p <= 100 and 0 < alpha <= 1."""
        require(
            is_finite(self.p) and 2 <= self.p <= 100,
            f"Alma requires 2 <= p <= 100 (got {self.p!r}); typical values are 2 to 9",
        )
        require(
            is_finite(self.alpha) and 0 < self.alpha <= 1,
            f"Alma requires 0 < alpha <= 1 (got {self.alpha!r}); 1 updates on mistakes only",
        )

    def parameters(self) -> tuple[float, ...]:
        """Return the norm and both slacks."""
        near = (1.0 - self.alpha) * math.sqrt(8.0) / self.alpha * math.sqrt(self.p - 1.0)
        return (self.p, cap(self.p), near, max(super().threshold(), 0.0))

    def scalars(self) -> tuple[float, ...]:
        """Return the state of theta = 0 and j = 1."""
        return (0.0, 1.0, 0.0, 0.0, 1.0, 1.0)

    def threshold(self) -> float:
        """Return inf for alpha < 1: the slack depends on |z|_p, so `update` decides."""
        return super().threshold() if self.alpha == 1 else math.inf

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += eta z / |z|_p, scaled back into the unit ball."""
        largest = 0.0
        for z in value:
            largest = max(largest, abs(z))
        total = 0.0
        for z in value:
            total += 1.0 if abs(z) == largest else math.pow(abs(z) / largest, p[P])  # 1 to any power is 1
        length = largest * math.pow(total, 1.0 / p[P])  # |z|_p
        if margin > max(p[PLAIN], p[NEAR] / math.sqrt(s[COUNT]) * length):
            return STILL
        eta = C / (math.sqrt(p[P] - 1.0) * math.sqrt(s[COUNT]))
        step = eta / (length * s[A])
        for i, z in zip(index, value):  # noqa: B905
            s[POWER] -= power(s, p, theta[i])
            theta[i] += step * z
            w[i] = link(s, p, theta[i])
            s[POWER] += power(s, p, theta[i])
        s[COUNT] += 1.0
        if drifted(s) or s[A] < 1e-100:
            return MOVED_AND_SETTLE
        if s[A] * norm(s, p) > 1.0:
            s[A] = 1.0 / norm(s, p)
        s[SCALE] = s[A] * rescale(s, p)
        return MOVED

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Multiply the scale into theta, and recompute the rest from theta."""
        for i in range(len(theta)):
            theta[i] *= s[A]
        s[A] = 1.0
        rebuild(s, p, theta, w)
        if s[A] * norm(s, p) > 1.0:
            s[A] = 1.0 / norm(s, p)
        s[SCALE] = s[A] * rescale(s, p)
