"""The base classes: a technique is a learner around a learner, a committee a learner made of learners."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from linmax.spec import Learner, RunOptions, short


@dataclass(frozen=True, repr=False)
class Technique(Learner, abstract=True):
    """A learner around a learner: it decides which hypothesis predicts, and what else is learned from.

    Parameters
    ----------
    inner
        A rule, or another technique around one.
    """

    inner: Learner

    def run_options(self) -> RunOptions:
        """Return what the learner inside asks for."""
        return self.inner.run_options()

    def __post_init__(self) -> None:
        """Raise a ValueError for anything but a rule, or other techniques around one."""
        super().__post_init__()
        if not isinstance(self.inner, Learner):
            raise ValueError(
                f"{self._name()} requires a learner inside, such as Winnow(1.2) (got {short(self.inner)})"
            )
        if not all(map(self.accepts, layers(self.inner))):
            raise ValueError(
                f"{self._name()} requires a rule inside, or a technique around one, and no committee"
                f" (got {short(self.inner)})"
            )
        if any(type(layer) is type(self) for layer in layers(self.inner)):
            raise ValueError(f"{self._name()} is inside itself in {short(self)}; once is enough")

    @staticmethod
    def accepts(layer: Learner) -> bool:
        """Whether a learner may be inside: a rule, or a technique around one.

        Parameters
        ----------
        layer
            The learner.
        """
        return not layer.ensemble


def layers(learner: Learner) -> list[Learner]:
    """Return the techniques of a learner from the outside in, then its rule.

    Parameters
    ----------
    learner
        The learner.
    """
    found = [learner]
    while isinstance(found[-1], Technique):
        found.append(found[-1].inner)
    return found


@dataclass(frozen=True, repr=False)
class Committee(Learner, abstract=True):
    """A learner made of members that learn on their own.

    Parameters
    ----------
    members
        The learners.
    """

    ensemble: ClassVar[bool] = True

    members: tuple[Learner, ...]

    def __post_init__(self) -> None:
        """Raise a ValueError for members that are no learners."""
        super().__post_init__()
        members = self.members
        if isinstance(members, Iterator):
            members = tuple(members)
        if isinstance(members, Learner) or not isinstance(members, list | tuple) or not members:
            raise ValueError(
                f"{self._name()} requires a list of learners, such as [Perceptron(), Winnow(1.2)]"
                f" (got {short(members)})"
            )
        for member in members:
            if not isinstance(member, Learner):
                raise ValueError(
                    f"{self._name()} requires learners as members, such as Winnow(1.2) (got {short(member)})"
                )
        object.__setattr__(self, "members", tuple(members))

    def __str__(self) -> str:
        return f"{self._name()} of {len(self.members)}"

    def on(self, source: Any) -> Self:
        """Return the same committee with every member on another source of sub-experts.

        Parameters
        ----------
        source
            A source of `linmax.experts`, or a sum of them.
        """
        return dataclasses.replace(self, members=tuple(member.on(source) for member in self.members))

    @property
    def rule(self) -> Any:
        """A committee has no rule of its own: AttributeError."""
        raise AttributeError(f"{self!r} has no single rule; ask its members")


def check_multiplier(learner: Any) -> None:
    """Raise a ValueError unless the divisor of weights is above 1."""
    value = learner.multiplier
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1.0 < value <= 1e100:
        raise ValueError(
            f"{learner._name()} requires 1 < multiplier <= 1e100 (got {value!r});"
            " typical values are 1.2 to 1.5"
        )


def check_fraction(learner: Any, parameter: str, typical: float) -> None:
    """Raise a ValueError unless a parameter is between 0 and 1."""
    value = getattr(learner, parameter)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise ValueError(
            f"{learner._name()} requires 0 <= {parameter} <= 1 (got {value!r});"
            f" a typical value is {typical:g}"
        )
