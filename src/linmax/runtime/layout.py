"""The layout of weights: each array over the weights has one block per source, with spare capacity."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linmax._jit.memory import aligned_zeros
from linmax._jit.vectors import WIDTH
from linmax.experts.base import Capacity, Source

Columns = dict[str, np.ndarray]


class WeightBlock(NamedTuple):
    """The part of every column that belongs to one source.

    Parameters
    ----------
    part
        The source.
    at
        The index of its first weight.
    shape
        The shape of its weights.
    """

    part: Source
    at: int
    shape: tuple[int, ...]

    def is_in(self, column: np.ndarray) -> bool:
        """Whether a column reaches as far as this block."""
        return self.at + math.prod(self.shape) <= len(column)

    def view(self, column: np.ndarray) -> np.ndarray:
        """Return the weights of this source in a column, in their shape."""
        return column[self.at : self.at + math.prod(self.shape)].reshape(self.shape)


class WeightLayout:
    """The blocks of some sources, one after the other.

    Parameters
    ----------
    parts
        The sources.
    sizes
        How many experts, classes, attributes and stored items there are, or can be.

    Attributes
    ----------
    blocks : list of WeightBlock
    size : int
        The number of weights.
    voters : int
        The end of the last source whose sub-experts may start equal: in place, no others are tracked.
    """

    def __init__(self, parts: tuple[Source, ...], sizes: Capacity) -> None:
        self.sizes = sizes
        self.blocks: list[WeightBlock] = []
        self.size = self.voters = 0
        for part in parts:
            shape = part.shape(sizes)
            self.blocks.append(WeightBlock(part, self.size, shape))
            self.size += math.prod(shape)
            if part.starts_equal:
                self.voters = self.size

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each block."""
        return [block.shape for block in self.blocks]

    def empty_columns(
        self,
        start: float,
        averages: bool,
        dtype: Any = np.float64,
        tracked: int | None = None,
        stored: int | None = None,
    ) -> Columns:
        """Return new columns; sub-experts of sources that may start equal begin at `start`.

        Parameters
        ----------
        start
            The first weight of sub-experts that may start equal.
        averages
            Whether there are columns of sums.
        dtype
            The type of weights.
        tracked
            Of how many weights it is known whether they have voted; None: of all.
        stored
            How many weights the columns hold; None: all.
        """
        stored = self.size if stored is None else stored
        tracked = self.size if tracked is None else tracked
        columns = {name: aligned_zeros(stored, dtype) for name in ("theta", "w")}
        columns["first"] = np.zeros(tracked, dtype=dtype)
        columns["spoken"] = np.zeros(tracked, dtype=np.uint8)
        columns |= {name: aligned_zeros(self.size if averages else 0) for name in ("past", "since")}
        for block in self.blocks:
            if block.is_in(columns["spoken"]):
                block.view(columns["first"])[...] = start if block.part.starts_equal else 0.0
                block.view(columns["spoken"])[...] = block.part.always_active
        return columns


def copy_columns(before: Columns, old: WeightLayout, after: Columns, new: WeightLayout) -> None:
    """Copy columns into a larger layout, or into a smaller one."""
    for source, target in zip(old.blocks, new.blocks, strict=True):
        corner = tuple(slice(min(pair)) for pair in zip(source.shape, target.shape, strict=True))
        for name, column in before.items():
            if name != "first" and source.is_in(column) and target.is_in(after[name]):
                target.view(after[name])[corner] = source.view(column)[corner]


def strip_prefix(state: Columns, prefix: str) -> Columns:
    """Return the arrays whose names start with a prefix, by the rest of their names."""
    return {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}


def enlarged(capacity: int, needed: int) -> int:
    """Return a capacity that is large enough: at least 1.5 times the old one, and complete vectors.

    >>> enlarged(0, 3), enlarged(8, 8), enlarged(8, 9), enlarged(8, 700)
    (8, 8, 16, 704)
    """
    if 0 < needed <= capacity:
        return capacity
    return -(-max(needed, capacity + capacity // 2, WIDTH) // WIDTH) * WIDTH
