"""Experts split into one per class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import Data, Room, Source
from linmax.forms import SplitVotes


@dataclass(frozen=True, repr=False)
class Split(Source):
    """Sub-expert (i, c) repeats expert i's vote for class c and is silent on the others.

    1999, section 4.4, adds these beside the originals: `Votes() + Split()`. `classes` limits them to some
    classes.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Split, Votes
    >>> fusion = Fusion(Perceptron().on(Votes() + Split()))
    >>> run = fusion.learn([["a", "b"], ["b", "a"]], ["b", "b"])
    >>> fusion.weights[1, "b"]
    1.0
    """

    classes: tuple[Any, ...] | None = None

    needs: ClassVar[str] = "votes"

    def __post_init__(self) -> None:
        """Classes are a tuple of names, so that a source is a value."""
        if self.classes is None:
            return
        classes: Any = self.classes
        given = [] if isinstance(classes, str | int) else list(classes)
        names = [name.item() if isinstance(name, np.generic) else name for name in given]
        if not names or len({type(name) for name in names}) > 1 or type(names[0]) not in (int, str, bool):
            raise ValueError(f"Split needs a tuple of classes (got {self.classes!r}); None is all of them")
        if len(set(names)) < len(names):
            raise ValueError(f"Split needs each class once (got {self.classes!r})")
        object.__setattr__(self, "classes", tuple(names))

    def __repr__(self) -> str:
        return "Split()" if self.classes is None else super().__repr__()

    def shape(self, room: Room) -> tuple[int, ...]:
        """One weight per expert and class."""
        return (room.experts, room.classes)

    def form(self, data: Data, room: Room, names: Any, memory: Any) -> Any:
        """The votes for the chosen classes."""
        chosen = np.ones(room.classes, dtype=np.uint8)
        if self.classes is not None:
            chosen[:] = 0
            chosen[[c for c in map(names.classes.get, self.classes) if c >= 0]] = 1
        return SplitVotes(data.votes, chosen, room.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by expert and class."""
        for i, expert in enumerate(names.experts.names):
            for c, name in enumerate(names.classes.names):
                if self.classes is None or name in self.classes:
                    yield (expert, name), (i, c)
