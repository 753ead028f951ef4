"""What a technique is: a learner around a learner."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from linmax.spec import Learner, RunOptions


@dataclass(frozen=True, repr=False)
class Technique(Learner, abstract=True):
    """Which hypothesis predicts, and what is learned from besides the current trial."""

    inner: Learner

    def run_options(self) -> RunOptions:
        """What the learner inside asks for."""
        return self.inner.run_options()

    def __post_init__(self) -> None:
        """Refuse what is no learner, and the same technique twice: the second would have nothing to add."""
        super().__post_init__()
        if not isinstance(self.inner, Learner):
            raise ValueError(
                f"{self._name()} needs a learner inside, such as Winnow(1.2) (got {self.inner!r})"
            )
        if any(layer.ensemble for layer in layers(self.inner)):
            raise ValueError(
                f"{self._name()} needs a rule inside, or a technique around one, and no committee"
                f" (got {self.inner!r})"
            )
        if any(type(layer) is type(self) for layer in layers(self.inner)):
            raise ValueError(f"{self._name()} is inside itself in {self!r}; once is enough")


def layers(learner: Learner) -> list[Learner]:
    """The techniques of a learner from the outside in, then its rule."""
    found = [learner]
    while isinstance(found[-1], Technique):
        found.append(found[-1].inner)
    return found


@dataclass(frozen=True, repr=False)
class Committee(Learner, abstract=True):
    """Members that learn on their own, and a way to make one guess of theirs."""

    ensemble: ClassVar[bool] = True

    members: tuple[Learner, ...]

    def __post_init__(self) -> None:
        """Refuse what are no learners."""
        super().__post_init__()
        members = self.members
        if isinstance(members, Iterator):
            members = tuple(members)
        if isinstance(members, Learner) or not isinstance(members, list | tuple) or not members:
            raise ValueError(
                f"{self._name()} needs a list of learners, such as [Perceptron(), Winnow(1.2)]"
                f" (got {members!r})"
            )
        for member in members:
            if not isinstance(member, Learner):
                raise ValueError(
                    f"{self._name()} needs learners as members, such as Winnow(1.2) (got {member!r})"
                )
        object.__setattr__(self, "members", tuple(members))

    def __str__(self) -> str:
        return f"{self._name()} of {len(self.members)}"

    def on(self, source: Any) -> Self:
        """The same committee with every member on another source of sub-experts."""
        return dataclasses.replace(self, members=tuple(member.on(source) for member in self.members))

    @property
    def rule(self) -> Any:
        """A committee has as many rules as members."""
        raise ValueError(f"{self!r} has no single rule; ask its members")


def check_multiplier(learner: Any) -> None:
    """What the weight of who is wrong is divided by is above 1."""
    value = learner.multiplier
    if not isinstance(value, int | float) or isinstance(value, bool) or not 1.0 < value <= 1e100:
        raise ValueError(
            f"{learner._name()} needs 1 < multiplier <= 1e100 (got {value!r}); 1.2 to 1.5 is usual"
        )


def check_part(learner: Any, what: str, usual: float) -> None:
    """A parameter between 0 and 1."""
    value = getattr(learner, what)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{learner._name()} needs 0 <= {what} <= 1 (got {value!r}); {usual:g} is usual")
