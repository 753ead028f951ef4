"""Logistic regression on votes, learned on-line."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, Cycle, Rule, Step, check_start
from linmax.validation import is_finite, require

ETA, DECAYS, INITIAL = 0, 1, 2  # in p
STEPS = 2  # in s
DECAY = {"constant": 0.0, "sqrt": 1.0, "adagrad": 2.0}


@dataclass(frozen=True, repr=False)
class Logistic(Rule):
    """Follow the gradient of the log-loss of the softmax of the scores, on every trial.

    z = x^y - sum_j p_j x^j,  p = softmax(s);  w += eta z  (or eta z / sqrt t)

    It is logistic regression, learned on-line. The papers do not contain it; ICML 2003, section 2.4,
    conjectures that linear combinations of rivals give a family of algorithms.

    Parameters
    ----------
    eta : float, default 0.1
        The step, eta > 0; typical values are 0.01 to 1.
    decay : {"constant", "sqrt", "adagrad"}, default "constant"
        "sqrt" divides the step by sqrt(t) at update t. "adagrad" gives every weight its own step, eta /
        sqrt(initial + the sum of its z^2 so far), so that experts who vote rarely learn as fast as those who
        always vote; `theta` then holds that sum, which begins at 1 with start="equal".
    initial : float, default 1
        With decay="adagrad", what the sum begins with; smaller for attributes whose values are far below 1,
        such as rows of length 1.
    slack : float, default inf
        Update when the margin is at most this; inf updates on every trial.
    rivals : str, default "softmax"
        "softmax", "top" or "violators", see `linmax.Rule`; rivals in turn (`Cycle`) would never end.
    start : {"zero", "equal"}, default "zero"
        The weight of an expert before its first update: 0, or 1, so that the first prediction is the
        plurality.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Duchi, Hazan & Singer, Adaptive subgradient methods for online learning, JMLR 2011 (AdaGrad).

    Examples
    --------
    >>> from linmax import Fusion, Logistic
    >>> from linmax.problems import majority
    >>> Fusion(Logistic(0.1)).learn(*majority(1000, noise=0)).mistakes
    86
    """

    eta: float = 0.1
    decay: str = field(default="constant", kw_only=True)
    initial: float = field(default=1.0, kw_only=True)
    slack: float = field(default=math.inf, kw_only=True)
    rivals: str | Cycle = field(default="softmax", kw_only=True)
    start: str = field(default="zero", kw_only=True)

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = frozenset({"permutes"})

    def check(self) -> None:
        """Require eta > 0, a known decay, and rivals that are not cycled."""
        require(
            is_finite(self.eta) and self.eta > 0,
            f"Logistic requires eta > 0 (got {self.eta!r}); typical values are 0.01 to 1",
        )
        require(
            self.decay in DECAY,
            f'Logistic requires decay="constant", "sqrt" or "adagrad" (got {self.decay!r})',
        )
        require(
            is_finite(self.initial) and self.initial > 0,
            f"Logistic requires initial > 0 (got {self.initial!r}); 1 is usual for votes",
        )
        require(
            isinstance(self.rivals, str),
            f'Logistic requires rivals "top", "violators" or "softmax" (got {self.rivals!r});'
            " a cycle would never end",
        )
        check_start("Logistic", self.start)

    def parameters(self) -> tuple[float, ...]:
        """Return the step, how it decays, and what the sums of squares begin with."""
        return (self.eta, DECAY[self.decay], self.initial)

    def scalars(self) -> tuple[float, ...]:
        """Return the number of steps so far."""
        return (0.0,)

    def first(self) -> float:
        """Return 1 if all experts start with equal weights."""
        return 1.0 if self.start == "equal" else 0.0

    def step(self) -> Step | None:
        """Return eta, unless it decays with time."""
        return None if self.decay == "sqrt" else Step(self.eta, self.decay == "adagrad", self.initial)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w += eta z."""
        s[STEPS] += 1.0
        if p[DECAYS] > 1.0:
            for i, z in zip(index, value):  # noqa: B905
                theta[i] += z * z
                w[i] += p[ETA] * z / math.sqrt(p[INITIAL] + theta[i])
            return MOVED
        step = p[ETA] / math.sqrt(s[STEPS]) if p[DECAYS] > 0.0 else p[ETA]
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += step * z
            w[i] = theta[i]
        return MOVED
