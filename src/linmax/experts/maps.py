"""Feature maps phi(x, p): what an attribute says of a class, given what the class has looked like so far."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from linmax import _registry

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
