"""What a technique is: a learner around a learner."""

from __future__ import annotations

from dataclasses import dataclass

from linmax.learner import Learner


@dataclass(frozen=True, repr=False)
class Technique(Learner, abstract=True):
    """Which hypothesis predicts, and what is learned from besides the current trial."""

    inner: Learner

    def __post_init__(self) -> None:
        """Refuse what is no learner, and the same technique twice: the second would have nothing to add."""
        super().__post_init__()
        if not isinstance(self.inner, Learner):
            raise ValueError(
                f"{self._name()} needs a learner inside, such as Winnow(1.2) (got {self.inner!r})"
            )
        if any(hasattr(layer, "seat") for layer in layers(self.inner)):
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
