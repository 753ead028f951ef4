"""Passive-Aggressive algorithms."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, STILL, Rule, check_start, is_number, need

CAP, SOFT, HINGE = 0, 1, 2  # in p: the largest step (PA-I), 1 / (2C) (PA-II), the margin the hinge asks for


@dataclass(frozen=True, repr=False)
class PassiveAggressive(Rule):
    """Move just far enough for a margin of 1.

    loss = max(0, 1 - w.z);  tau = loss / |z|^2 (PA), min(C, loss / |z|^2) (PA-I), loss / (|z|^2 + 1/(2C))
    (PA-II);  w += tau z

    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, JMLR 2006. `slack` is the margin the hinge asks for.

    >>> from linmax import Fusion, PassiveAggressive
    >>> from linmax.problems import majority
    >>> Fusion(PassiveAggressive(0.1)).learn(*majority(1000, noise=0)).mistakes
    132
    """

    C: float = 1.0  # > 0; how much one item may move the weights
    kind: str = "PA-I"  # "PA", "PA-I" or "PA-II"
    slack: float = field(default=1.0, kw_only=True)
    start: str = field(default="zero", kw_only=True)

    claims: ClassVar[frozenset[str]] = frozenset({"permutes", "shift", "bound"})

    def check(self) -> None:
        """`C` is positive, `kind` one of three, and the hinge asks for something."""
        need(
            is_number(self.C) and self.C > 0,
            f"PassiveAggressive needs C > 0 (got {self.C!r}); 0.01 to 1 is usual",
        )
        need(
            self.kind in ("PA", "PA-I", "PA-II"),
            f'PassiveAggressive needs kind "PA", "PA-I" or "PA-II" (got {self.kind!r})',
        )
        need(
            is_number(self.slack) and self.slack > 0,
            f"PassiveAggressive needs slack > 0 (got {self.slack!r}); 1 is usual",
        )
        check_start("PassiveAggressive", self.start)

    def parameters(self) -> tuple[float, ...]:
        """The step's limits and the margin."""
        cap = self.C if self.kind == "PA-I" else 1e300
        return (cap, 0.5 / self.C if self.kind == "PA-II" else 0.0, self.slack)

    def first(self) -> float:
        """Weight 1 when all start equal."""
        return 1.0 if self.start == "equal" else 0.0

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w += tau z."""
        loss = p[HINGE] - margin
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
