"""The layout of weights: each array over the weights has one block per source, with spare capacity."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linmax.experts.base import Capacity, Source

Columns = dict[str, np.ndarray]


class Block(NamedTuple):
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
    blocks : list of Block
    size : int
        The number of weights.
    """

    def __init__(self, parts: tuple[Source, ...], sizes: Capacity) -> None:
        self.sizes = sizes
        self.blocks: list[Block] = []
        self.size = 0
        for part in parts:
            shape = part.shape(sizes)
            self.blocks.append(Block(part, self.size, shape))
            self.size += math.prod(shape)

    def empty_columns(self, start: float, averages: bool, dtype: Any = np.float64) -> Columns:
        """Return new columns; sub-experts of sources that may start equal begin at `start`."""
        columns = {name: np.zeros(self.size, dtype=dtype) for name in ("theta", "w", "first")}
        columns["spoken"] = np.zeros(self.size, dtype=np.uint8)
        columns |= {name: np.zeros(self.size if averages else 0) for name in ("past", "since")}
        for block in self.blocks:
            block.view(columns["first"])[...] = start if block.part.starts_equal else 0.0
            block.view(columns["spoken"])[...] = block.part.always_active
        return columns


def copy_columns(before: Columns, old: WeightLayout, after: Columns, new: WeightLayout) -> None:
    """Copy columns into a larger layout, or into a smaller one."""
    for source, target in zip(old.blocks, new.blocks, strict=True):
        corner = tuple(slice(min(pair)) for pair in zip(source.shape, target.shape, strict=True))
        for name, column in before.items():
            if name != "first" and len(column) and len(after[name]):
                target.view(after[name])[corner] = source.view(column)[corner]


def strip_prefix(state: Columns, prefix: str) -> Columns:
    """Return the arrays whose names start with a prefix, by the rest of their names."""
    return {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}


def doubled(capacity: int, needed: int) -> int:
    """Double a capacity until it is large enough."""
    capacity = max(capacity, 8)
    while capacity < needed:
        capacity *= 2
    return capacity
