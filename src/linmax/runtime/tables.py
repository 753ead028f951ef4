"""Tables that grow: arrays while they are small, blocks of eight numbers from then on."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from linmax._jit.memory import aligned_zeros
from linmax._jit.vectors import WIDTH
from linmax.experts.base import Capacity, State
from linmax.kernels.blocks import BLOCKS, PAGE, PAGES, BlockColumn
from linmax.kernels.forms import Dense, Hard
from linmax.validation import check_array, require

DENSE = 1 << 24  # numbers of a table that is stored as an array; larger ones are stored in blocks
MAX_WEIGHTS = 1 << 28  # in arrays: 2 GiB in each column
MAX_STORED = 1 << 34  # in blocks: 128 MiB of the index
CHUNK_BLOCKS = 1 << 20  # blocks for which there is space before a chunk

Shape = tuple[int, ...]


class BlockTable:
    """Columns with blocks at the same indices.

    Parameters
    ----------
    shapes
        The shapes of the arrays that a column consists of, one after the other. The last axis of each is a
        multiple of eight.
    columns
        The number of columns.
    dtype
        The type of the numbers.
    """

    def __init__(self, shapes: list[Shape], columns: int, dtype: Any) -> None:
        self.shapes = shapes
        self.columns = columns
        self.cells = aligned_zeros(columns * WIDTH, dtype)
        self.used = np.ones(2, dtype=np.int64)
        self.owner = self.pages = np.zeros(0, dtype=np.int64)
        self._store(np.zeros(0, dtype=np.int64))

    def column(self, number: int) -> BlockColumn:
        """Return a column as kernels read it."""
        return BlockColumn(
            self.top, self.pages, self.cells, self.owner, self.used, number * WIDTH, self.columns * WIDTH
        )

    def twin(self) -> Self:
        """Return a copy."""
        twin = copy.copy(self)
        for name in ("top", "pages", "cells", "owner", "used"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    # --- space

    def reserve(self, blocks: int, pages: int) -> bool:
        """Make space for so many more blocks and pages; return whether arrays were replaced.

        Space that is not written to takes no memory.
        """
        used_pages, used = self.used.tolist()
        if not self.lacks(blocks, pages):
            return False
        blocks, pages = used + blocks + used // 4, used_pages + pages + used_pages // 4
        size = self.columns * WIDTH
        self.cells = _longer(self.cells, blocks * size, used * size)
        self.owner = _longer(self.owner, blocks, used)
        self.pages = _longer(self.pages, pages * PAGE, used_pages * PAGE)
        return True

    def lacks(self, blocks: int, pages: int) -> bool:
        """Whether `reserve` would replace arrays."""
        used_pages, used = self.used.tolist()
        return used + min(blocks, self._possible() + 1 - used) > len(self.owner) or (
            used_pages + min(pages, len(self.top) + 1 - used_pages) > len(self.pages) // PAGE
        )

    def _possible(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes) // WIDTH

    # --- contents

    def numbers(self) -> np.ndarray:
        """Return the place of each block: its first index, divided by eight."""
        return self.owner[1 : int(self.used[BLOCKS])]

    def values(self, column: int) -> np.ndarray:
        """Return the numbers of a column, a row per block."""
        cells = self.cells[: int(self.used[BLOCKS]) * self.columns * WIDTH]
        return cells.reshape(-1, self.columns, WIDTH)[1:, column]

    def gather(self, at: np.ndarray, column: int) -> np.ndarray:
        """Return the numbers of a column at some indices."""
        cells = (self._blocks_at(at) * self.columns + column) * WIDTH + (at & (WIDTH - 1))
        return self.cells[cells]  # type: ignore[no-any-return]

    def exist(self, at: np.ndarray) -> np.ndarray:
        """Tell whether there are blocks at some indices."""
        return self._blocks_at(at) > 0

    def _blocks_at(self, at: np.ndarray) -> np.ndarray:
        pages = self.top[at >> 9].astype(np.int64)
        return self.pages[pages * PAGE + ((at >> 3) & (PAGE - 1))].astype(np.int64)  # type: ignore[no-any-return]

    def add(self, numbers: np.ndarray) -> None:
        """Add blocks of zeros at places where there are none."""
        if len(numbers):
            self.reserve(len(numbers), 0)
            self._store(np.concatenate((self.numbers(), numbers)))

    def add_missing(self, places: np.ndarray) -> None:
        """Add blocks of zeros at these places, unless they exist."""
        self.add(np.setdiff1d(places, self.numbers()))

    def fill(self, number: int) -> None:
        """Add all blocks that are missing in one of the arrays."""
        begin = sum(math.prod(shape) for shape in self.shapes[:number]) // WIDTH
        self.add_missing(np.arange(begin, begin + math.prod(self.shapes[number]) // WIDTH))

    def reshape(self, shapes: list[Shape]) -> None:
        """Change the shapes; every block keeps its indices in its array."""
        numbers, _ = renumber(self.numbers(), self.shapes, shapes)
        self.shapes = shapes
        self._store(numbers)

    def _store(self, numbers: np.ndarray) -> None:
        """Index the blocks anew, given the places of all of them."""
        leaves = np.unique(numbers // PAGE)
        self.top = np.zeros(self._possible() // PAGE + 1, dtype=np.int32)
        self.top[leaves] = np.arange(1, len(leaves) + 1)
        self.pages = np.zeros((len(leaves) + 1) * PAGE, dtype=np.int32)
        self.pages[self.top[numbers // PAGE].astype(np.int64) * PAGE + numbers % PAGE] = np.arange(
            1, len(numbers) + 1
        )
        self.owner = np.zeros(len(self.cells) // (self.columns * WIDTH), dtype=np.int64)
        self.owner[1 : len(numbers) + 1] = numbers
        self.used[PAGES], self.used[BLOCKS] = len(leaves) + 1, len(numbers) + 1

    # --- as arrays

    def state(self, shapes: list[Shape], columns: Sequence[int]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the places of all blocks that are not 0 in some columns, ascending, and their numbers.

        Places are those in arrays of the shapes given: equal contents are equal arrays.
        """
        values = [self.values(column) for column in columns]
        full = np.flatnonzero(np.any([array.any(axis=1) for array in values], axis=0))
        places, kept = renumber(self.numbers()[full], self.shapes, shapes)
        order = np.argsort(places)
        blocks = full[kept][order]
        return places[order], [array[blocks] for array in values]

    def restore(
        self, places: np.ndarray, shapes: list[Shape], columns: Sequence[int], values: list[np.ndarray]
    ) -> None:
        """Write what `state` returned for these shapes."""
        numbers, kept = renumber(places, shapes, self.shapes)
        self.add_missing(numbers)
        order = np.argsort(self.numbers())
        blocks = order[np.searchsorted(self.numbers(), numbers, sorter=order)]
        for column, array in zip(columns, values, strict=True):
            self.values(column)[blocks] = array[kept]


def check_places(state: State, name: str, places: str, blocks: int, dtype: Any) -> None:
    """Raise a ValueError if a column in blocks, of which there may be so many, is not one."""
    count = len(state[places])
    check_array(state, places, (count,), np.int64, 0, max(1, blocks))
    require(bool((np.diff(state[places]) > 0).all()), f"{places} does not ascend")
    check_array(state, name, (count, WIDTH), dtype)


def check_size(weights: int, sizes: Capacity, in_blocks: bool = False) -> None:
    """Raise a ValueError if there would be too many weights to keep in memory, in arrays or in blocks."""
    if weights > (MAX_STORED if in_blocks else MAX_WEIGHTS) or (in_blocks and sizes.classes**2 > MAX_WEIGHTS):
        raise ValueError(
            f"{sizes.experts} experts, {sizes.attributes} attributes and {sizes.classes} classes make over"
            f" {MAX_WEIGHTS} weights; is an id column taken for a label?"
        )


def in_eights(shape: Shape) -> Shape:
    """Return the shape of the blocks of an array.

    >>> in_eights((3, 20))
    (3, 3)
    """
    return (*shape[:-1], -(-shape[-1] // WIDTH))


def renumber(numbers: np.ndarray, old: list[Shape], new: list[Shape]) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of blocks in arrays of other shapes, without those that are not in them.

    Returns
    -------
    tuple of ndarray
        The places, and the indices of the blocks that have one.
    """
    places, kept = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=bool)
    at = begin = 0
    for before, after in zip(map(in_eights, old), map(in_eights, new), strict=True):
        size = math.prod(before)
        here = np.flatnonzero((numbers >= at) & (numbers < at + size))
        indices = np.unravel_index(numbers[here] - at, before) if size else ()
        inside = np.ones(len(here), dtype=bool)
        place = np.zeros(len(here), dtype=np.int64)
        for index, length in zip(indices, after, strict=bool(size)):
            inside &= index < length
            place = place * length + index
        places[here], kept[here] = place + begin, inside
        at, begin = at + size, begin + math.prod(after)
    return places[kept], np.flatnonzero(kept)


def blocks_of(arrays: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the blocks of some arrays of the same shape that are not 0 in all: their places, and numbers.

    >>> blocks_of([np.array([[0, 0, 0], [0, 5, 0]])])
    (array([1]), [array([[0, 5, 0, 0, 0, 0, 0, 0]])])
    """
    shape = arrays[0].shape
    numbers: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    values = [[np.zeros((0, WIDTH), dtype=array.dtype)] for array in arrays]
    rows = [array.reshape(math.prod(shape[:-1]), shape[-1]) for array in arrays]
    length = in_eights(shape)[-1]
    step = max(1, (1 << 20) // max(1, shape[-1]))
    for first in range(0, len(rows[0]), step):  # not all at once, which would need a copy of all
        some = [np.pad(row[first : first + step], ((0, 0), (0, length * WIDTH - shape[-1]))) for row in rows]
        eights = [array.reshape(-1, WIDTH) for array in some]
        full = np.flatnonzero(np.any([array.any(axis=1) for array in eights], axis=0))
        numbers.append(first * length + full)
        for into, array in zip(values, eights, strict=True):
            into.append(array[full])
    return np.concatenate(numbers), [np.concatenate(parts) for parts in values]


def write_blocks(numbers: np.ndarray, values: np.ndarray, target: np.ndarray) -> None:
    """Write blocks, given as by `blocks_of`, into an array that is 0."""
    *rest, width = target.shape
    rows, length = target.reshape(math.prod(rest), width), max(1, in_eights(target.shape)[-1])
    for lane in range(WIDTH):
        column = numbers % length * WIDTH + lane
        inside = column < width
        rows[numbers[inside] // length, column[inside]] = values[inside, lane]


def most_votes(votes: Any) -> int:
    """Return the largest number of single votes that a trial may have; an array has space for so many."""
    if isinstance(votes, Hard):
        return int(votes.codes.shape[1])
    if isinstance(votes, Dense):
        return int(votes.values.shape[1] * votes.values.shape[2])
    if isinstance(votes, np.ndarray):
        return len(votes)
    return 0 if votes is None else int(np.diff(votes.indptr).max(initial=0))


def _longer(array: np.ndarray, length: int, used: int) -> np.ndarray:
    if length <= len(array):
        return array
    longer = aligned_zeros(length, array.dtype)
    longer[:used] = array[:used]
    return longer


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
        return math.prod(shape) > DENSE // self.share

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
