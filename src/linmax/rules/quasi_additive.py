"""Quasi-additive algorithms: any link between what was added up and the weights."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax import spec as _registry
from linmax._jit import link_at
from linmax.rules.base import MOVED, Rule, need

LINK = 0  # in p


@_registry.register("identity")
def identity(theta: float) -> float:
    """The Perceptron's link."""
    return theta


@_registry.register("sinh")
def sinh(theta: float) -> float:
    """Balanced Winnow's link, alpha = e, not normalised; cut where it would overflow."""
    return math.sinh(max(-700.0, min(700.0, theta)))


@_registry.register("square")
def square(theta: float) -> float:
    """sgn(theta) theta^2: the p-norm link of p = 3, not normalised."""
    return theta * abs(theta)


@dataclass(frozen=True, repr=False)
class QuasiAdditive(Rule):
    """Add z up, and let a monotone odd link make weights of it.

    theta += z;  w_i = link(theta_i)

    Grove, Littlestone & Schuurmans, COLT 1997; 2003, section 4.4. The link is a registered name ("identity",
    "sinh", "square", or your own with `@linmax.register`) or a function of one number; it is compiled.

    >>> from linmax import Fusion, QuasiAdditive
    >>> from linmax.problems import majority
    >>> Fusion(QuasiAdditive("square")).learn(*majority(1000, noise=0)).mistakes
    173
    """

    link: str | Callable[[float], float] = "sinh"

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "shift"}

    def check(self) -> None:
        """The link exists, is odd and does not fall."""
        if isinstance(self.link, str):
            named = _registry.find(self.link)
            need(
                callable(named) and not isinstance(named, type),
                f"there is no link {self.link!r}; register it with @linmax.register({self.link!r})",
            )
        else:
            need(
                inspect.isfunction(self.link),
                f"QuasiAdditive needs the name of a link or a plain Python function (got {self.link!r})",
            )
        link = self.function()
        points = [0.0, 0.25, 1.0, 2.0, 5.0]
        try:
            values = [float(link(point)) for point in points]
            mirror = [float(link(-point)) for point in points]
        except Exception as error:
            raise ValueError(f"QuasiAdditive needs a link of one number: {error}") from None
        odd = all(math.isclose(x, -y, abs_tol=1e-12) for x, y in zip(mirror, values, strict=True))
        need(odd and sorted(values) == values, "QuasiAdditive needs a link that is odd and never falls")

    def function(self) -> Callable[[float], float]:
        """The link itself."""
        return _registry.find(self.link) if isinstance(self.link, str) else self.link

    def parameters(self) -> tuple[Callable[[float], float]]:
        """The link."""
        return (self.function(),)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += z; w = link(theta)."""
        link = link_at(p[LINK])
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += z
            w[i] = link(theta[i])
        return MOVED
