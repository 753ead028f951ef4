"""What is kept per sub-expert, in columns: laid out part by part, with room to grow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linmax.experts.base import Room, Source

Columns = dict[str, np.ndarray]


class Place(NamedTuple):
    """Where the weights of a source start, and the shape they have."""

    part: Source
    at: int
    shape: tuple[int, ...]

    def of(self, column: np.ndarray) -> np.ndarray:
        """The source's part of a column."""
        return column[self.at : self.at + math.prod(self.shape)].reshape(self.shape)


def layout(parts: tuple[Source, ...], room: Room) -> Iterator[Place]:
    """The places of the sources, one after the other."""
    at = 0
    for part in parts:
        shape = part.shape(room)
        yield Place(part, at, shape)
        at += math.prod(shape)


def size_of(parts: tuple[Source, ...], room: Room) -> int:
    """The number of sub-experts when there are so many of each."""
    return sum(math.prod(part.shape(room)) for part in parts)


def blank(parts: tuple[Source, ...], room: Room, first: float, averages: bool) -> Columns:
    """Fresh columns; `first` is where the sub-experts of sources that may start equal begin."""
    n = size_of(parts, room)
    columns = {name: np.zeros(n) for name in ("theta", "w", "first")}
    columns["spoken"] = np.zeros(n, dtype=np.uint8)
    columns |= {name: np.zeros(n if averages else 0) for name in ("past", "since")}
    for place in layout(parts, room):
        place.of(columns["first"])[...] = first if place.part.equal else 0.0
        place.of(columns["spoken"])[...] = place.part.there
    return columns


def copy_columns(before: Columns, old: Iterator[Place], after: Columns, new: Iterator[Place]) -> None:
    """Copy into a larger layout, or a smaller one."""
    for here, there in zip(old, new, strict=True):
        corner = tuple(slice(min(pair)) for pair in zip(here.shape, there.shape, strict=True))
        for name, column in before.items():
            if name != "first" and len(column) and len(after[name]):
                there.of(after[name])[corner] = here.of(column)[corner]


def part_of(state: Columns, start: str) -> Columns:
    """The arrays whose names begin so, by the rest of their names."""
    return {name[len(start) :]: array for name, array in state.items() if name.startswith(start)}


def doubled(have: int, want: int) -> int:
    """Room for at least so many, by doubling."""
    have = max(have, 4)
    while have < want:
        have *= 2
    return have
