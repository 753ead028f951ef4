"""ROMMA, the relaxed on-line maximum margin algorithm."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, MOVED_AND_SETTLE, SCALE, SETTLE_AND_REPEAT, STILL, Rule
from linmax.validation import is_finite, require

NORM2, ERASE, MOVES = 2, 3, 4  # in s: |w|^2, whether `settle` sets w to 0, updates since |w|^2 was recomputed
PARALLEL = 1e-12  # D under this part of |z|^2 |w|^2 is rounding, not an angle
OFTEN = 4096.0  # updates after which |w|^2 is recomputed


@dataclass(frozen=True, repr=False)
class Romma(Rule):
    """Find the shortest w with w . z >= 1 that also satisfies the constraint of the previous w.

    c = (|z|^2 |w|^2 - w.z) / D,  d = |w|^2 (1 - w.z) / D,  D = |z|^2 |w|^2 - (w.z)^2;  w = c w + d z

    If w is 0, or parallel to z, then w = z / |z|^2 (ICML 2003 prints z / |z|, which violates w . z = 1). `w`
    is stored as a scale times a vector, so the cost of an update does not depend on the number of experts.

    Parameters
    ----------
    aggressive : float, optional
        e in (0, 1]: also update when w . z < 1 - e. Default: update on mistakes only.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Li & Long, The relaxed online maximum margin algorithm, NIPS 1999.

    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003.

    Examples
    --------
    >>> from linmax import Fusion, Romma
    >>> from linmax.problems import majority
    >>> Fusion(Romma()).learn(*majority(1000, noise=0)).mistakes
    123
    """

    aggressive: float | None = field(default=None, kw_only=True)

    fixed_margin: ClassVar[bool] = True
    claims: ClassVar[frozenset[str]] = Rule.claims | {"bound", "shift"}

    def check(self) -> None:
        """Require aggressive in (0, 1] or None, and one rival at a time."""
        require(
            self.aggressive is None or (is_finite(self.aggressive) and 0 < self.aggressive <= 1),
            f"Romma requires aggressive in (0, 1] or None (got {self.aggressive!r}); None is usual",
        )
        require(
            self.rivals != "softmax",
            'Romma requires one rival at a time (got rivals="softmax"); "top" is usual',
        )

    def scalars(self) -> tuple[float, ...]:
        """Return |w|^2 = 0, no reset, no updates."""
        return (0.0, 0.0, 0.0)

    def threshold(self) -> float:
        """Return a margin just below 1 - e if the rule is aggressive."""
        if self.aggressive is None:
            return super().threshold()
        return max(math.nextafter(1.0 - self.aggressive, -1.0), self.slack)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w = c w + d z."""
        if margin >= 1.0:
            return STILL  # the constraint holds
        zz = 0.0
        for z in value:
            zz += z * z
        ww = s[NORM2]
        both = zz * ww
        D = both - margin * margin
        if ww > 0.0 and (both * PARALLEL >= D or margin >= both):
            s[ERASE] = 1.0
            return SETTLE_AND_REPEAT
        if ww == 0.0:
            c = 1.0
            d = 1.0 / zz
        else:
            c = (both - margin) / D
            d = ww * (1.0 - margin) / D
        s[SCALE] *= c
        step = d / s[SCALE]
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += step * z
            w[i] = theta[i]
        s[NORM2] = c * c * ww + 2.0 * c * d * margin + d * d * zz
        s[MOVES] += 1.0
        if s[SCALE] < 1e-100 or s[SCALE] > 1e100 or s[MOVES] >= OFTEN:
            return MOVED_AND_SETTLE
        return MOVED

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Multiply the scale into the vector, or set the vector to 0."""
        factor = s[SCALE] * (1.0 - s[ERASE])
        total = 0.0
        for i in range(len(theta)):
            theta[i] *= factor
            w[i] = theta[i]
            total += theta[i] * theta[i]
        s[NORM2] = total
        s[SCALE] = 1.0
        s[ERASE] = 0.0
        s[MOVES] = 0.0
