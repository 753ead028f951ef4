"""What rules and techniques have in common: set on a source of experts, nested, printed and parsed."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

from linmax.terms import Term


class Learner(Term, abstract=True):
    """A rule, or a technique around a learner."""

    def on(self, source: Any) -> Self:
        """The same learner on another source of sub-experts.

        >>> from linmax import Averaged, Perceptron
        >>> from linmax.experts import PerClass, Votes
        >>> Averaged(Perceptron()).on(Votes() + PerClass())
        Averaged(Perceptron().on(Votes() + PerClass()))
        """
        inner = getattr(self, "inner", None)
        if inner is not None:
            return dataclasses.replace(self, inner=inner.on(source))  # type: ignore[type-var]
        return dataclasses.replace(self, experts=source)  # type: ignore[type-var]

    @property
    def rule(self) -> Any:
        """The rule inside all techniques."""
        learner: Any = self
        while hasattr(learner, "inner"):
            learner = learner.inner
        return learner
