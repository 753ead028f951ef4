"""Tables that grow: arrays while they are small, blocks from then on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linmax._memory import aligned_zeros
from linmax.experts.base import State
from linmax.runtime import block_table
from linmax.runtime.block_table import BlockTable, Shape, blocks_of, write_blocks


class GrowingTable:
    """Columns of one shape that grow: arrays while they are small, blocks from then on.

    Parameters
    ----------
    axes
        The number of axes.
    columns
        The number of columns.
    share
        Blocks are used for more than DENSE / share numbers.
    """

    def __init__(self, axes: int, columns: int, share: int = 1) -> None:
        self.shape: Shape = (0,) * axes
        self.share = share
        self.arrays = [np.zeros(self.shape) for _ in range(columns)]
        self.blocks: BlockTable | None = None

    def is_large(self, shape: Shape) -> bool:
        """Whether arrays of a shape would be stored in blocks."""
        return math.prod(shape) > block_table.DENSE // self.share

    def resize(self, shape: Shape) -> None:
        """Change the shape; what is stored keeps its indices."""
        old, self.shape = self.shape, shape
        if self.blocks is not None:
            self.blocks.reshape([shape])
        elif self.is_large(shape):
            columns = len(self.arrays)
            places, values = blocks_of(self.arrays)
            self.blocks, self.arrays = BlockTable([shape], columns, np.float64), []
            self.blocks.restore(places, [old], range(columns), values)
        else:
            self.arrays = [_corner(array, shape) for array in self.arrays]

    def column(self, number: int) -> Any:
        """Return a column as kernels read it."""
        return self.arrays[number].reshape(-1) if self.blocks is None else self.blocks.column(number)

    def gather(self, at: np.ndarray, column: int) -> np.ndarray:
        """Return the numbers of a column at some indices."""
        return self.column(column)[at] if self.blocks is None else self.blocks.gather(at, column)

    def state(self, name: str, shape: Shape, column: int) -> State:
        """Return a column in a shape: an array, or the places of blocks and eight numbers for each."""
        if self.blocks is None:
            return {name: _corner(self.arrays[column], shape)}
        places, (values,) = self.blocks.state([shape], (column,))
        if self.is_large(shape):
            return {name: values, f"{name}.places": places}
        array = np.zeros(shape)
        write_blocks(places, values, array)
        return {name: array}

    def restore(self, state: State, name: str, shape: Shape, column: int) -> None:
        """Take over a column that `state` returned, or an array of the shape."""
        places, values = state.get(f"{name}.places"), state[name]
        if self.blocks is None:
            if places is not None:
                values = np.zeros(shape)
                write_blocks(places, state[name], values)
            self.arrays[column] = _corner(values, self.shape)
            return
        if places is None:
            places, (values,) = blocks_of([values])
        self.blocks.restore(places, [shape], (column,), [values])


def _corner(array: np.ndarray, shape: Shape) -> np.ndarray:
    """Return an array of another shape, with what both have in common."""
    result = aligned_zeros(shape)
    common = tuple(slice(min(pair)) for pair in zip(array.shape, shape, strict=True))
    result[common] = array[common]
    return result
