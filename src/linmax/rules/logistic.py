"""Logistic regression on votes, one step per trial."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, Rule, check_start, cycle, is_number, need

ETA, DECAYS = 0, 1  # in p
STEPS = 2  # in s
DECAY = {"constant": 0.0, "sqrt": 1.0, "adagrad": 2.0}


@dataclass(frozen=True, repr=False)
class Logistic(Rule):
    """Follow the gradient of the log-loss of the soft-max of the scores, on every trial.

    z = x^y - sum_j p_j x^j,  p = softmax(s);  w += eta z  (or eta z / sqrt t)

    `decay="adagrad"` gives every weight its own step, eta / sqrt(1 + the sum of its z^2 so far), which
    `theta` then holds (Duchi, Hazan & Singer 2011): experts who speak seldom learn as fast as those who
    always do.

    Not from the papers: 2003 (section 2.4) conjectures that linear combinations of rivals give a family of
    algorithms; these are the shares that make it on-line logistic regression.

    >>> from linmax import Fusion, Logistic
    >>> from linmax.problems import majority
    >>> Fusion(Logistic(0.1)).learn(*majority(1000, noise=0)).mistakes
    86
    """

    eta: float = 0.1  # > 0
    decay: str = field(default="constant", kw_only=True)  # "sqrt": eta / sqrt t; "adagrad": see above
    slack: float = field(default=math.inf, kw_only=True)  # moves on every trial
    rivals: str | cycle = field(default="softmax", kw_only=True)
    start: str = field(default="zero", kw_only=True)

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = frozenset({"permutes"})

    def check(self) -> None:
        """`eta` is positive, `decay` one of two words."""
        need(
            is_number(self.eta) and self.eta > 0,
            f"Logistic needs eta > 0 (got {self.eta!r}); 0.01 to 1 is usual",
        )
        need(
            self.decay in DECAY,
            f'Logistic needs decay="constant", "sqrt" or "adagrad" (got {self.decay!r})',
        )
        need(
            isinstance(self.rivals, str),
            f"Logistic moves on every trial and would cycle for ever (got {self.rivals!r})",
        )
        check_start("Logistic", self.start)

    def parameters(self) -> tuple[float, ...]:
        """The step, and whether it shrinks."""
        return (self.eta, DECAY[self.decay])

    def scalars(self) -> tuple[float, ...]:
        """No steps yet."""
        return (0.0,)

    def first(self) -> float:
        """Weight 1 when all start equal."""
        return 1.0 if self.start == "equal" else 0.0

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w += eta z."""
        s[STEPS] += 1.0
        if p[DECAYS] > 1.0:
            for i, z in zip(index, value):  # noqa: B905
                theta[i] += z * z
                w[i] += p[ETA] * z / math.sqrt(1.0 + theta[i])
            return MOVED
        step = p[ETA] / math.sqrt(s[STEPS]) if p[DECAYS] > 0.0 else p[ETA]
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += step * z
            w[i] = theta[i]
        return MOVED
