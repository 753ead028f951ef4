"""ROMMA, the relaxed on-line maximum margin algorithm."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import (
    MOVED,
    MOVED_AND_SETTLE,
    SCALE,
    SETTLE_AND_ASK_AGAIN,
    STILL,
    Rule,
    is_number,
    need,
)

NORM2, ERASE, MOVES = 2, 3, 4  # in s: |w|^2, whether `settle` is to forget everything, the number of moves
PARALLEL = 1e-12  # D under this part of |z|^2 |w|^2 is rounding, not an angle
OFTEN = 4096.0  # moves after which |w|^2 is added up anew


@dataclass(frozen=True, repr=False)
class Romma(Rule):
    """The shortest w with w . z >= 1 that also keeps what the last w had promised.

    c = (|z|^2 |w|^2 - w.z) / D,  d = |w|^2 (1 - w.z) / D,  D = |z|^2 |w|^2 - (w.z)^2;  w = c w + d z

    From nothing (and when z and w are parallel) w = z / |z|^2; the paper of 2003 prints z / |z| there, which
    breaks w . z = 1. Li & Long, NIPS 1999; Mesterharm, ICML 2003. `w` is kept as a scale times a vector, so a
    move costs what z costs.

    >>> from linmax import Fusion, Romma
    >>> from linmax.problems import majority
    >>> Fusion(Romma()).learn(*majority(1000, noise=0)).mistakes
    123
    """

    aggressive: float | None = field(default=None, kw_only=True)  # e in (0, 1]: also move when w . z < 1 - e

    claims: ClassVar[frozenset[str]] = Rule.claims | {"bound", "shift"}

    def check(self) -> None:
        """`aggressive` is None or in (0, 1]; rivals come one at a time."""
        need(
            self.aggressive is None or (is_number(self.aggressive) and 0 < self.aggressive <= 1),
            f"Romma needs aggressive in (0, 1] or None (got {self.aggressive!r}); None is usual",
        )
        need(
            self.rivals != "softmax", 'Romma takes one rival at a time (got rivals="softmax"); "top" is usual'
        )

    def scalars(self) -> tuple[float, ...]:
        """|w|^2, nothing to forget, no moves yet."""
        return (0.0, 0.0, 0.0)

    def threshold(self) -> float:
        """An aggressive ROMMA moves below 1 - e."""
        if self.aggressive is None:
            return super().threshold()
        return max(math.nextafter(1.0 - self.aggressive, -1.0), self.slack)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w = c w + d z."""
        if margin >= 1.0:
            return STILL  # there already
        zz = 0.0
        for z in value:
            zz += z * z
        ww = s[NORM2]
        both = zz * ww
        D = both - margin * margin
        if ww > 0.0 and (both * PARALLEL >= D or margin >= both):
            s[ERASE] = 1.0
            return SETTLE_AND_ASK_AGAIN
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
        """Put the scale into the vector, or forget the vector."""
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
