"""The Perceptron."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.rules.base import MOVED, Rule, Step, check_start


@dataclass(frozen=True, repr=False)
class Perceptron(Rule):
    """Add z to the weights.

    w += z

    Parameters
    ----------
    start : {"zero", "equal"}, default "zero"
        The weight of an expert before its first update: 0, or 1, so that the first prediction is the
        plurality.
    slack, rivals, ties, experts
        See `linmax.Rule`.

    References
    ----------
    Rosenblatt, Principles of Neurodynamics, 1962.

    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.problems import majority
    >>> Fusion(Perceptron()).learn(*majority(1000, noise=0)).mistakes
    166
    """

    start: str = field(
        default="zero", kw_only=True
    )  # "equal": every expert begins with weight 1, and the first guess is the plurality

    asks_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z", "bound", "shift"}

    def check(self) -> None:
        """Require a known start."""
        check_start("Perceptron", self.start)

    def first(self) -> float:
        """Return 1 if all experts start with equal weights."""
        return 1.0 if self.start == "equal" else 0.0

    def step(self) -> Step:
        """Return 1."""
        return Step(1.0)

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """w += z."""
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += z
            w[i] = theta[i]
        return MOVED
