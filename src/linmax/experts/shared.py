"""Hypotheses that classes share: class-dependent feature maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax import _jit
from linmax.experts.base import Data, Room, Source
from linmax.experts.maps import Map, check_map, looks_at_zeros, map_of, statistic_of
from linmax.experts.portraits import ClassPortraits
from linmax.experts.sets import Sets, sets_of, sharing
from linmax.forms import SharedFeatures
from linmax.terms import show


@dataclass(frozen=True, repr=False)
class Shared(Source):
    """A sub-expert per attribute that all classes share, voting phi(x, p) by what each has looked like.

    p is the first instance of a class or the running mean of all, from its first sight on. Maps: "product"
    x p, "ternary" (2 common, -1 rare), "distance" |x - p|, "difference" x - p, "plain" x, or a function of
    (x, p) of your own. `sets` are groups of classes, {name: classes} or a hierarchy of such: each set then
    has its own weights. Fink, Shalev-Shwartz, Singer & Ullman 2006: alone it is their single-vector method,
    `Attributes()` the multi-vector one, the sum of both the hybrid; sums of any are general mixing.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Attributes, Shared
    >>> from linmax.problems import shared
    >>> attributes, labels = shared(2000)
    >>> for source in (Attributes(), Shared("product"), Shared("product") + Attributes()):
    ...     run = Fusion(Perceptron().on(source)).learn(attributes=attributes, labels=labels)
    ...     print(source, run.mistakes)
    Attributes() 748
    Shared('product') 59
    Shared('product') + Attributes() 108
    """

    map: str | Map = "product"
    sets: Any = None
    statistic: str | None = field(default=None, kw_only=True)  # "first" or "mean"; None: as the map asks

    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        """Refuse a map that is none, and sets that are none."""
        super().__post_init__()
        check_map(self.map, "Shared")
        statistic_of(self.statistic, self.map, "Shared")
        object.__setattr__(self, "sets", sets_of(self.sets, "Shared"))

    def __repr__(self) -> str:
        sets = "" if self.sets is None else f", sets={self.sets!r}"
        statistic = "" if self.statistic is None else f", statistic={self.statistic!r}"
        return f"Shared({show(self.map)}{sets}{statistic})"

    @property
    def label(self) -> str:
        """The map, and what p is if that is unusual; with sets their names follow."""
        usual = self.statistic in (None, statistic_of(None, self.map, "Shared"))
        name = show(self.map).strip("'") + ("" if usual else f" of {self.statistic}")
        return name if self.sets is None else f"{name} in sets"

    def shape(self, room: Room) -> tuple[int, ...]:
        """A weight per set and attribute."""
        return (1 if self.sets is None else len(self.sets), room.attributes)

    def new_memory(self) -> ClassPortraits:
        """No class seen yet."""
        return ClassPortraits(statistic_of(self.statistic, self.map, "Shared"))

    def form(self, data: Data, room: Room, names: Any, memory: Any) -> Any:
        """The attributes, the sets of each class, and what classes look like."""
        phi = map_of(self.map, "Shared")
        return SharedFeatures(
            data.rows, sharing(self.sets, names.classes, room.classes), memory.portraits(),
            _jit.reach(phi, _jit.FEATURE), room.attributes, room.attributes if looks_at_zeros(phi) else 0,
        )  # fmt: skip

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by map and attribute, or by map, set and attribute."""
        label = self.label
        for tau, (name, _) in enumerate(self.sets or Sets([("", ())])):
            for a, attribute in enumerate(names.attributes.names):
                yield ((label, name, attribute) if name else (label, attribute)), (tau, a)

    def owner(self, key: Any) -> Any:
        """The attribute, whatever the set."""
        return ("attribute", key[-1])
