"""Voted: guess with the sum of scores of hypotheses saved along the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linmax.learner import Learner
from linmax.techniques.base import Technique
from linmax.techniques.combine import Combine, check_voting
from linmax.techniques.head import Head


@dataclass(frozen=True, repr=False)
class Voted(Technique):
    """Vote with good hypotheses of the past and the current one: `Combine` with a single member.

    Mesterharm & Hsu 2008, section V.B (V-B). See `Combine` for the parameters.

    >>> from linmax import Fusion, Voted, Winnow
    >>> from linmax.problems import majority
    >>> votes, labels = majority(2000, noise=0.1)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Winnow(1.1), Voted(Winnow(1.1)))]
    [504, 399]
    """

    inner: Learner
    hypotheses: int = field(default=20, kw_only=True)
    window: int = field(default=100, kw_only=True)
    recent: int = field(default=100, kw_only=True)
    patience: int = field(default=100, kw_only=True)
    choose: str = field(default="best", kw_only=True)

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        super().__post_init__()
        check_voting(self)

    def seat(self, council: Any) -> Head:
        """The head over one run."""
        one = Combine(
            (self.inner,), hypotheses=self.hypotheses, window=self.window, recent=self.recent,
            patience=self.patience, choose=self.choose,
        )  # fmt: skip
        head = one.seat(council)
        head.learner = self
        return head
