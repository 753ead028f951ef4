"""Passive-Aggressive algorithms."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, SLACK, STILL, Rule, check_start
from linmax.validation import is_finite, require

CAP, SOFT = 0, 1  # in p: the largest step (PA-I), 1 / (2C) (PA-II)


@dataclass(frozen=True, repr=False)
class PassiveAggressive(Rule):
    """Make the smallest update that reaches a margin of 1.

    loss = max(0, 1 - w.z);  tau = loss / |z|^2 (PA), min(C, loss / |z|^2) (PA-I), loss / (|z|^2 + 1/(2C))
    (PA-II);  w += tau z

    Parameters
    ----------
    C : float, default 1
        The aggressiveness, C > 0: a limit on the size of one update; typical values are 0.01 to 1.
    kind : {"PA", "PA-I", "PA-II"}, default "PA-I"
        The variant; "PA" does not use C.
    slack : float, default 1
        The margin of the hinge loss, in place of the 1 in the formula.
    start : {"zero", "equal"}, default "zero"
        The weight of an expert before its first update: 0, or 1, so that the first prediction is the
        plurality.
    rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, Online passive-aggressive algorithms, JMLR 2006.

    Examples
    --------
    >>> from linmax import Fusion, PassiveAggressive
    >>> from linmax.problems import majority
    >>> Fusion(PassiveAggressive(0.1)).learn(*majority(1000, noise=0)).mistakes
    132
    """

    C: float = 1.0
    kind: str = field(default="PA-I", kw_only=True)
    slack: float = field(default=1.0, kw_only=True)
    start: str = field(default="zero", kw_only=True)

    claims: ClassVar[frozenset[str]] = frozenset({"permutes", "shift", "bound"})
    once_positional: ClassVar[tuple[str, ...]] = ("kind",)

    def check(self) -> None:
        """Require C > 0, a known kind and slack > 0."""
        require(
            is_finite(self.C) and self.C > 0,
            f"PassiveAggressive requires C > 0 (got {self.C!r}); typical values are 0.01 to 1",
        )
        require(
            self.kind in ("PA", "PA-I", "PA-II"),
            f'PassiveAggressive requires kind "PA", "PA-I" or "PA-II" (got {self.kind!r})',
        )
        require(
            is_finite(self.slack) and self.slack > 0,
            f"PassiveAggressive requires slack > 0 (got {self.slack!r}); 1 is usual",
        )
        check_start("PassiveAggressive", self.start)

    def parameters(self) -> tuple[float, ...]:
        """Return the limits of the step."""
        cap = self.C if self.kind == "PA-I" else 1e300
        return (cap, 0.5 / self.C if self.kind == "PA-II" else 0.0)

    def first(self) -> float:
        """Return 1 if all experts start with equal weights."""
        return 1.0 if self.start == "equal" else 0.0

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w += tau z."""
        loss = s[SLACK] - margin
        if loss <= 0.0:
            return STILL
        zz = 0.0
        for z in value:
            zz += z * z
        tau = min(p[CAP], loss / (zz + p[SOFT]))
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += tau * z
            w[i] = theta[i]
        return MOVED
