"""Votes read as attributes: what an expert says, and what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax.experts.base import Data, Room, Source
from linmax.forms import PerClassVotes


@dataclass(frozen=True, repr=False)
class PerClass(Source):
    """Sub-expert (i, a, c) votes for class c whenever expert i votes for a: a confused expert is informative.

    An expert's vote is taken as k attributes of the linear machine of 1999; weights by expert, what it says,
    what it means.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import PerClass
    >>> fusion = Fusion(Perceptron().on(PerClass()), classes=["yes", "no"])
    >>> run = fusion.learn([["yes"], ["no"]] * 5, ["no", "yes"] * 5)  # it always says the opposite
    >>> fusion.predict([["yes"], ["no"]])
    array(['no', 'yes'], dtype='<U3')
    """

    needs: ClassVar[str] = "votes"

    def shape(self, room: Room) -> tuple[int, ...]:
        """One weight per expert, class said and class meant."""
        return (room.experts, room.classes, room.classes)

    def form(self, data: Data, room: Room, names: Any, memory: Any) -> Any:
        """The votes as attributes."""
        return PerClassVotes(data.votes, room.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by expert, what it says and what it means."""
        for i, expert in enumerate(names.experts.names):
            for a, says in enumerate(names.classes.names):
                for c, means in enumerate(names.classes.names):
                    yield (expert, says, means), (i, a, c)
