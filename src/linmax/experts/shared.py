"""Feature maps phi(x, p): what an attribute says of a class, given what the class has looked like so far."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from linmax import _jit
from linmax import spec as _registry
from linmax.experts.base import Capacity, Source, SourceMemory, State, TrialData
from linmax.kernels.forms import Portraits, SharedFeatures, Sharing
from linmax.spec import show
from linmax.validation import check_array

Map = Callable[[float, float], float]

COMMON, RARE = 0.2, 0.02  # Eq. 10
PROBES = [sign * 10.0**power for power in range(-9, 10) for sign in (1.0, -1.0)] + [0.3, 0.5, 0.7, 3.0]


@_registry.register("plain")
def plain(x: float, p: float) -> float:
    """x itself, whatever the class: for sets of classes."""
    return x


@_registry.register("product")
def product(x: float, p: float) -> float:
    """x p (Eq. 4)."""
    return x * p


@_registry.register("ternary")
def ternary(x: float, p: float) -> float:
    """2 for what is common in the class, -1 for what is rare in it (Eq. 10)."""
    if x != 1.0:
        return 0.0
    return 2.0 if p >= COMMON else -1.0 if p <= RARE else 0.0


@_registry.register("distance")
def distance(x: float, p: float) -> float:
    """|x - p|."""
    return abs(x - p)


@_registry.register("difference")
def difference(x: float, p: float) -> float:
    """x - p: what Eq. 11 compares."""
    return x - p


FIRST = ("product",)  # maps of the first instance of a class; all others are of the running mean
STATISTICS = ("first", "mean")


def map_of(given: Any, who: str) -> Map:
    """The function of a map that is given by name, or as it is."""
    if isinstance(given, str):
        found = _registry.find(given)
        if found is None or isinstance(found, type) or len(inspect.signature(found).parameters) != 2:
            raise ValueError(
                f"there is no map {given!r}; register a function of (x, p) with @linmax.register({given!r})"
            )
    elif inspect.isfunction(given):
        found = given
        if len(inspect.signature(found).parameters) != 2:
            raise ValueError(f"{who} needs a map of two numbers, x and p (got {inspect.signature(given)})")
    else:
        raise ValueError(f"{who} needs the name of a map or a plain Python function (got {given!r})")
    return found  # type: ignore[no-any-return]


def check_map(given: Any, who: str) -> None:
    """Refuse what is no map: one is finite, and says nothing of what nobody has seen."""
    found = map_of(given, who)
    try:
        values = {(x, p): float(found(x, p)) for x in (0.0, *PROBES) for p in (0.0, *PROBES)}
    except Exception as error:
        raise ValueError(f"{who} needs a map of two numbers: {error}") from None
    if values[0.0, 0.0] != 0.0:
        raise ValueError(
            f"{who} needs a map that is 0 where nobody has seen anything (got {values[0.0, 0.0]!r} at (0, 0))"
        )
    for place, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{who} needs a map that is finite everywhere (got {value!r} at {place})")


@cache
def looks_at_zeros(phi: Map) -> bool:
    """Has an attribute that is 0 a feature, for some p?"""
    return any(phi(0.0, p) != 0.0 for p in PROBES)


def statistic_of(given: str | None, name: Any, who: str) -> str:
    """What p is: what was asked for, or what goes with the map."""
    if given is None:
        return "first" if (name if isinstance(name, str) else _registry.name_of(name)) in FIRST else "mean"
    if given not in STATISTICS:
        raise ValueError(f'{who} needs statistic "first" or "mean" (got {given!r})')
    return given


class ClassSets(tuple[tuple[str, tuple[Any, ...]], ...]):
    """Named sets of classes, in order; printed as the dict they are given as."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(dict(self))


def sets_of(given: Any, who: str) -> ClassSets | None:
    """ClassSets from a dict {name: classes}; in a hierarchy, where values are dicts, each level is a set."""
    if given is None or isinstance(given, ClassSets):
        return given
    if not isinstance(given, Mapping) or not given:
        raise ValueError(f'{who} needs sets as a dict such as {{"birds": ("owl", "emu")}} (got {given!r})')
    found: dict[str, tuple[Any, ...]] = {}
    for name, classes in _levels(given, who):
        if name in found:
            raise ValueError(f"{who} has two sets called {name!r}; give each a name of its own")
        if len(set(classes)) < len(classes):
            raise ValueError(f"{who} has a class twice in the set {name!r} (got {classes!r})")
        found[name] = classes
    return ClassSets(found.items())


def _levels(given: Mapping[Any, Any], who: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, below in given.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"{who} needs names for its sets (got {name!r})")
        if isinstance(below, Mapping) and not below:
            raise ValueError(f"{who} needs classes in the set {name!r} (got {below!r})")
        yield name, tuple(_classes(name, below, who))
        if isinstance(below, Mapping):
            yield from _levels(below, who)


def _classes(name: str, below: Any, who: str) -> Iterator[Any]:
    if isinstance(below, Mapping):
        for inner, deeper in below.items():
            yield from _classes(inner, deeper, who)
    elif isinstance(below, list | tuple | set | frozenset | range | np.ndarray) and len(below):
        for label in sorted(below, key=str) if isinstance(below, set | frozenset) else below:
            label = label.item() if isinstance(label, np.generic) else label
            if not isinstance(label, str | int):
                raise ValueError(f"{who} needs classes in the set {name!r} (got {label!r})")
            yield label
    else:
        raise ValueError(f"{who} needs the classes of the set {name!r} as a list (got {below!r})")


def sharing(sets: ClassSets | None, classes: Any, room: int, *, each: bool = False) -> Sharing:
    """Which sets every class is in: those given; without any, one for all, or one for each class."""
    if sets is None:
        own = np.arange(room) if each else np.zeros(room, dtype=np.int64)
        return Sharing(np.arange(room + 1), own)
    member: list[list[int]] = [[] for _ in range(room)]
    for tau, (_, labels) in enumerate(sets):
        for label in labels:
            code = classes.codes.get(label)
            if code is not None and type(classes.names[code]) is type(label):  # True is not 1 here
                member[code].append(tau)
    starts = np.concatenate(([0], np.cumsum([len(those) for those in member]))).astype(np.int64)
    return Sharing(starts, np.array([tau for those in member for tau in those], dtype=np.int64))


class ClassStatistics(SourceMemory):
    """What every class has looked like: sums of instances, and how many there were."""

    def __init__(self, statistic: str) -> None:
        self.first = int(statistic == "first")
        self.total = np.zeros((0, 0))
        self.seen = np.zeros(0, dtype=np.int64)

    def resize(self, room: Capacity) -> None:
        """Room for every attribute and class."""
        if self.total.shape != (room.attributes, room.classes):
            total, seen = self.total, self.seen
            self.total = np.zeros((room.attributes, room.classes))
            self.seen = np.zeros(room.classes, dtype=np.int64)
            self.total[: total.shape[0], : total.shape[1]] = total
            self.seen[: len(seen)] = seen

    def portraits(self) -> Portraits:
        """As kernels see them."""
        return Portraits(self.total, self.seen, self.first)

    def state(self, sizes: Capacity) -> State:
        """Sums and counts."""
        whole = np.zeros((sizes.attributes, sizes.classes))
        seen = np.zeros(sizes.classes, dtype=np.int64)
        corner = self.total[: sizes.attributes, : sizes.classes]
        whole[: corner.shape[0], : corner.shape[1]] = corner
        seen[: len(self.seen)] = self.seen[: sizes.classes]
        return {"total": whole, "seen": seen}

    def restore(self, state: State) -> None:
        """Take them up; `resize` makes room again."""
        self.total, self.seen = state["total"].copy(), state["seen"].copy()

    def validate(self, state: State, names: Any) -> int:
        """Shapes, and counts that are counts."""
        check_array(state, "total", (len(names.attributes), len(names.classes)), np.float64)
        check_array(state, "seen", (len(names.classes),), np.int64, 0, 2**62)
        return 0


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

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """A weight per set and attribute."""
        return (1 if self.sets is None else len(self.sets), room.attributes)

    def new_memory(self) -> ClassStatistics:
        """No class seen yet."""
        return ClassStatistics(statistic_of(self.statistic, self.map, "Shared"))

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """The attributes, the sets of each class, and what classes look like."""
        phi = map_of(self.map, "Shared")
        return SharedFeatures(
            data.rows, sharing(self.sets, names.classes, room.classes), memory.portraits(),
            _jit.reach(phi, _jit.FEATURE), room.attributes, room.attributes if looks_at_zeros(phi) else 0,
        )  # fmt: skip

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by map and attribute, or by map, set and attribute."""
        label = self.label
        for tau, (name, _) in enumerate(self.sets or ClassSets([("", ())])):
            for a, attribute in enumerate(names.attributes.names):
                yield ((label, name, attribute) if name else (label, attribute)), (tau, a)

    def owner(self, key: Any) -> Any:
        """The attribute, whatever the set."""
        return ("attribute", key[-1])
