"""Sets of classes that share a hypothesis: the indicator functions tau of 2006."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from linmax.forms import Sharing


class Sets(tuple[tuple[str, tuple[Any, ...]], ...]):
    """Named sets of classes, in order; printed as the dict they are given as."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(dict(self))


def sets_of(given: Any, who: str) -> Sets | None:
    """Sets from a dict {name: classes}; in a hierarchy, where values are dicts, each level is a set."""
    if given is None or isinstance(given, Sets):
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
    return Sets(found.items())


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


def sharing(sets: Sets | None, classes: Any, room: int, *, each: bool = False) -> Sharing:
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
