"""Threshold experts: a constant vote per class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from linmax.experts.base import PLAIN, Data, Room, Source
from linmax.forms import Always


@dataclass(frozen=True, repr=False)
class Thresholds(Source):
    """One sub-expert per class, which always votes 1 for it (2003, section 2.2). Part of the default source.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Thresholds
    >>> fusion = Fusion(Perceptron().on(Thresholds()))
    >>> run = fusion.learn(None, ["ham", "spam", "spam", "spam"])
    >>> fusion.weights
    {('threshold', 'ham'): -1.0, ('threshold', 'spam'): 1.0}
    """

    claims: ClassVar[frozenset[str]] = PLAIN

    def shape(self, room: Room) -> tuple[int, ...]:
        """One weight per class."""
        return (room.classes,)

    def form(self, data: Data, room: Room, names: Any, memory: Any) -> Any:
        """Constant votes."""
        return Always(room.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by class."""
        for c, name in enumerate(names.classes.names):
            yield ("threshold", name), (c,)
