"""Quasi-additive algorithms: weights are a link function of the sum of all z."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax._jit.addresses import link_at
from linmax.rules.base import MOVED, Rule
from linmax.spec import find, register
from linmax.validation import require

LINK = 0  # in p


@register("identity")
def identity(theta: float) -> float:
    """Return theta: the link of the Perceptron."""
    return theta


@register("sinh")
def sinh(theta: float) -> float:
    """Return sinh(theta): the link of Balanced Winnow with alpha = e, not normalised, capped at 700."""
    return math.sinh(max(-700.0, min(700.0, theta)))


@register("square")
def square(theta: float) -> float:
    """Return sgn(theta) theta^2: the link of PNorm(3), not normalised."""
    return theta * abs(theta)


@dataclass(frozen=True, repr=False)
class QuasiAdditive(Rule):
    """Add z to theta, and compute weights with a monotone odd link.

    theta += z;  w_i = link(theta_i)

    Parameters
    ----------
    link : str or function, default "sinh"
        A registered name ("identity", "sinh", "square", or one added with `linmax.register`) or a function of
        one number. It must be odd and must not decrease; it is compiled.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Grove, Littlestone & Schuurmans, General convergence results for linear discriminant updates, COLT 1997.

    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003, section 4.4.

    Examples
    --------
    >>> from linmax import Fusion, QuasiAdditive
    >>> from linmax.problems import majority
    >>> Fusion(QuasiAdditive("square")).learn(*majority(1000, noise=0)).mistakes
    173
    """

    link: str | Callable[[float], float] = "sinh"

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "shift"}

    def check(self) -> None:
        """Require a link that exists, is odd and does not decrease."""
        if isinstance(self.link, str):
            named = find(self.link)
            require(
                callable(named) and not isinstance(named, type),
                f"there is no link {self.link!r}; register a function with @linmax.register({self.link!r})",
            )
        else:
            require(
                inspect.isfunction(self.link),
                f"QuasiAdditive requires the name of a link or a plain Python function (got {self.link!r})",
            )
        link = self.function()
        points = [0.0, 0.25, 1.0, 2.0, 5.0]
        try:
            values = [float(link(point)) for point in points]
            mirror = [float(link(-point)) for point in points]
        except Exception as error:
            raise ValueError(
                f"QuasiAdditive requires a link from a number to a number; {self.link!r} fails: {error}"
            ) from None
        odd = all(math.isclose(x, -y, abs_tol=1e-12) for x, y in zip(mirror, values, strict=True))
        require(
            odd and sorted(values) == values,
            f"QuasiAdditive requires a link that is odd and never decreases, as sinh (got {self.link!r})",
        )

    def function(self) -> Callable[[float], float]:
        """Return the link as a function."""
        return find(self.link) if isinstance(self.link, str) else self.link

    def parameters(self) -> tuple[Callable[[float], float]]:
        """Return the link."""
        return (self.function(),)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """theta += z; w = link(theta)."""
        link = link_at(p[LINK])
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += z
            w[i] = link(theta[i])
        return MOVED
