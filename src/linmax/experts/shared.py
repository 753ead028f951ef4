"""The source Shared: features of an attribute and the statistics of a class, shared by all classes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from linmax._jit import addresses
from linmax.experts.base import Capacity, Source, SourceMemory, State, TrialData
from linmax.kernels.forms import SharedFeatures, Sharing, StatisticArrays
from linmax.spec import find, name_of, short, show
from linmax.validation import check_array, check_choice

Map = Callable[[float, float], float]

PROBES = [sign * 10.0**power for power in range(-9, 10) for sign in (1.0, -1.0)] + [0.3, 0.5, 0.7, 3.0]
STATISTICS = ("first", "mean")
MAPS_OF_FIRST = ("product",)  # maps of the first instance of a class; all others are of the running mean


@dataclass(frozen=True, repr=False)
class Shared(Source):
    """One sub-expert per attribute, shared by all classes.

    Its vote for class r is phi(x, p), where x is the attribute of the item and p the same attribute in the
    statistics of class r. It abstains for a class without any instance.

    Parameters
    ----------
    map : str or function, default "product"
        The map phi: "product" x p; "ternary" 2 if x = 1 and p >= 0.2, -1 if x = 1 and p <= 0.02, else 0;
        "distance" abs(x - p); "difference" x - p; "plain" x; or a function of (x, p), which is saved by the
        name it is registered under with `linmax.register`.
    sets : dict, optional
        Groups of classes, {name: classes} or a hierarchy of such dicts. Each set has weights of its own.
        Default: all classes share the weights.
    statistic : {"first", "mean"}, optional
        What p is: the first instance of the class, or the running mean of all its instances. Default: "first"
        for "product", "mean" for all others.

    Notes
    -----
    Alone it is the single-vector method of the paper, ``Attributes()`` is the multi-vector method, and
    ``Shared(...) + Attributes()`` the hybrid. Other sums are its general mixing framework.

    The key of a weight is ``(map, attribute)``, or ``(map + " in sets", set, attribute)``.

    References
    ----------
    M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman (2006). Online multiclass learning by interclass
    hypothesis sharing.

    Examples
    --------
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
    sets: Any = field(default=None, kw_only=True)
    statistic: str | None = field(default=None, kw_only=True)

    needs: ClassVar[str] = "rows"
    once_positional: ClassVar[tuple[str, ...]] = ("sets",)

    def __post_init__(self) -> None:
        """Check the map, the sets and the statistic."""
        super().__post_init__()
        check_map(self.map, "Shared")
        if self.statistic is not None:
            check_choice("Shared", "statistic", self.statistic, STATISTICS)
        object.__setattr__(self, "sets", read_sets(self.sets, "Shared"))

    @property
    def label(self) -> str:
        """The name of the map, with the statistic if it is not the default."""
        usual = self.statistic in (None, default_statistic(self.map))
        name = show(self.map).strip("'") + ("" if usual else f" of {self.statistic}")
        return name if self.sets is None else f"{name} in sets"

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per set and attribute."""
        return (1 if self.sets is None else len(self.sets), capacity.attributes)

    def new_memory(self) -> ClassStatistics:
        """Return statistics without instances."""
        return ClassStatistics(self.statistic or default_statistic(self.map))

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the attributes, the sets of each class, and the statistics of classes."""
        phi = find_map(self.map, "Shared")
        zeros = capacity.attributes if reads_zeros(phi) else 0
        return SharedFeatures(
            data.rows, sharing(self.sets, names.classes, capacity.classes), memory.struct(),
            addresses.reach(phi, addresses.FEATURE), capacity.attributes, zeros,
        )  # fmt: skip

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by map and attribute, or by map, set and attribute."""
        label = self.label
        for tau, (name, _) in enumerate(self.sets or ClassSets([("", ())])):
            for a, attribute in enumerate(names.attributes.names):
                yield ((label, name, attribute) if name else (label, attribute)), (tau, a)

    def owner(self, key: Any) -> Any:
        """Return the attribute."""
        return ("attribute", key[-1])


class ClassStatistics(SourceMemory):
    """The sum of the instances of each class, and their number.

    Parameters
    ----------
    statistic : {"first", "mean"}
        Whether only the first instance of a class is taken in, or all.
    """

    def __init__(self, statistic: str) -> None:
        self.first = int(statistic == "first")
        self.total = np.zeros((0, 0))
        self.seen = np.zeros(0, dtype=np.int64)

    def resize(self, capacity: Capacity) -> None:
        """Make the arrays large enough."""
        if self.total.shape != (capacity.attributes, capacity.classes):
            total, seen = self.total, self.seen
            self.total = np.zeros((capacity.attributes, capacity.classes))
            self.seen = np.zeros(capacity.classes, dtype=np.int64)
            self.total[: total.shape[0], : total.shape[1]] = total
            self.seen[: len(seen)] = seen

    def struct(self) -> StatisticArrays:
        """Return the arrays as kernels read them."""
        return StatisticArrays(self.total, self.seen, self.first)

    def state(self, sizes: Capacity) -> State:
        """Return sums and counts."""
        total = np.zeros((sizes.attributes, sizes.classes))
        seen = np.zeros(sizes.classes, dtype=np.int64)
        corner = self.total[: sizes.attributes, : sizes.classes]
        total[: corner.shape[0], : corner.shape[1]] = corner
        seen[: len(self.seen)] = self.seen[: sizes.classes]
        return {"total": total, "seen": seen}

    def restore(self, state: State) -> None:
        """Take over sums and counts; `resize` makes the arrays larger again."""
        self.total, self.seen = state["total"].copy(), state["seen"].copy()

    def validate(self, state: State, names: Any) -> int:
        """Check the shapes, and that counts are counts."""
        check_array(state, "total", (len(names.attributes), len(names.classes)), np.float64)
        check_array(state, "seen", (len(names.classes),), np.int64, 0, 2**62)
        return 0


def find_map(given: Any, owner: str) -> Map:
    """Return the function of a map that is given by name or as a function."""
    if isinstance(given, str):
        found = find(given)
        if found is None or isinstance(found, type) or len(inspect.signature(found).parameters) != 2:
            raise ValueError(
                f"there is no map {given!r}; register a function of (x, p) with @linmax.register({given!r})"
            )
    elif inspect.isfunction(given):
        found = given
        if len(inspect.signature(found).parameters) != 2:
            raise ValueError(
                f"{owner} requires a map of two numbers, x and p (got {inspect.signature(given)})"
            )
    else:
        raise ValueError(f"{owner} requires the name of a map or a plain Python function (got {given!r})")
    return found  # type: ignore[no-any-return]


def check_map(given: Any, owner: str) -> None:
    """Require a map that is finite everywhere, and 0 at (0, 0), for an attribute that no instance has."""
    found = find_map(given, owner)
    try:
        values = {(x, p): float(found(x, p)) for x in (0.0, *PROBES) for p in (0.0, *PROBES)}
    except Exception as error:
        raise ValueError(f"{owner} requires a map of two numbers; the given one fails: {error}") from None
    if values[0.0, 0.0] != 0.0:
        raise ValueError(f"{owner} requires a map that is 0 at (0, 0) (got {values[0.0, 0.0]!r})")
    for place, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{owner} requires a map that is finite everywhere (got {value!r} at {place})")


@cache
def reads_zeros(phi: Map) -> bool:
    """Whether an attribute that is 0 has a feature other than 0, for some p."""
    return any(phi(0.0, p) != 0.0 for p in PROBES)


def default_statistic(given: Any) -> str:
    """Return the statistic that a map uses by default."""
    name = given if isinstance(given, str) else name_of(given)
    return "first" if name in MAPS_OF_FIRST else "mean"


class ClassSets(tuple[tuple[str, tuple[Any, ...]], ...]):
    """Named sets of classes, in order; its repr is the dict that it was made from."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(dict(self))


def read_sets(given: Any, owner: str) -> ClassSets | None:
    """Read a dict {name: classes}; in a hierarchy, where values are dicts, each level is a set."""
    if given is None or isinstance(given, ClassSets):
        return given
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            f'{owner} requires sets as a dict such as {{"birds": ("owl", "emu")}} (got {short(given)})'
        )
    found: dict[str, tuple[Any, ...]] = {}
    for name, classes in _levels(given, owner):
        if name in found:
            raise ValueError(f"{owner} has two sets called {name!r}; give each a name of its own")
        if len(set(classes)) < len(classes):
            raise ValueError(
                f"{owner} has a class twice in the set {name!r} (got {short(classes)}); name it once"
            )
        found[name] = classes
    return ClassSets(found.items())


def _levels(given: Mapping[Any, Any], owner: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, members in given.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"{owner} requires text as the names of its sets (got {name!r})")
        if isinstance(members, Mapping) and not members:
            raise ValueError(f"{owner} requires classes in the set {name!r} (got {members!r})")
        yield name, tuple(_classes(name, members, owner))
        if isinstance(members, Mapping):
            yield from _levels(members, owner)


def _classes(name: str, members: Any, owner: str) -> Iterator[Any]:
    if isinstance(members, Mapping):
        for inner, deeper in members.items():
            yield from _classes(inner, deeper, owner)
    elif isinstance(members, list | tuple | set | frozenset | range | np.ndarray) and len(members):
        for label in sorted(members, key=str) if isinstance(members, set | frozenset) else members:
            label = label.item() if isinstance(label, np.generic) else label
            if not isinstance(label, str | int):
                raise ValueError(f"{owner} requires classes in the set {name!r} (got {label!r})")
            yield label
    else:
        raise ValueError(f"{owner} requires the classes of the set {name!r} as a list (got {short(members)})")


def sharing(sets: ClassSets | None, classes: Any, size: int, *, each: bool = False) -> Sharing:
    """Return the sets of each class: those given or, without any, one for all or one for each class."""
    if sets is None:
        own = np.arange(size) if each else np.zeros(size, dtype=np.int64)
        return Sharing(np.arange(size + 1), own)
    member: list[list[int]] = [[] for _ in range(size)]
    for tau, (_, labels) in enumerate(sets):
        for label in labels:
            code = classes.codes.get(label)
            if code is not None and type(classes.names[code]) is type(label):  # True is not 1 here
                member[code].append(tau)
    starts = np.concatenate(([0], np.cumsum([len(those) for those in member]))).astype(np.int64)
    return Sharing(starts, np.array([tau for those in member for tau in those], dtype=np.int64))
