"""Columns of numbers of which only blocks of eight are stored, made when they are first written to.

A column is an array, or a `BlockColumn`: kernels read and write both with the functions of this file. A
column of blocks has as many indices as the array would have, and 0 wherever nothing has been written. The way
from an index to its block takes two steps, as in the page tables of an operating system:

    page  = top[i >> 9]                       it leads to 64 blocks; 0: none of them exists
    block = pages[64 page + (i >> 3) % 64]    0: it does not exist

Block 0 and page 0 stay empty, so that what does not exist is read without a branch. Kernels allocate nothing:
`runtime/tables.py` makes space before a chunk.
"""

from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import inline, overridable, separate
from linmax._jit.vectors import WIDTH, assign, get, increase, prefetch, put, take

PAGE = 64  # blocks
PAGES, BLOCKS = 0, 1  # in `used`


@overridable
def number_at(column, i):
    """Return number i of a column; i is not negative."""
    return get(column, i)


@overridable
def set_number(column, i, x):
    """Write number i of a column."""
    assign(column, i, x)


@overridable
def eight_at(column, i):
    """Return the eight numbers from i on as a vector; i is a multiple of eight in a column of blocks."""
    return take(column, i)


@overridable
def set_eight(column, i, vector):
    """Write the eight numbers from i on."""
    put(column, i, vector)


@overridable
def add_number(column, i, x):
    """Add x to number i of a column."""
    increase(column, i, x)


@overridable
def eight_or_first(column, i):
    """Return the eight numbers from i on; those of the first block if their block does not exist."""
    return take(column, i)


@overridable
def number_or_first(column, i):
    """Return number i; the first number if its block does not exist."""
    return get(column, i)


@overridable
def prefetch_eight(column, i):
    """Let the machine fetch the numbers from i on, which are needed soon."""
    prefetch(column, i)


@overridable
def exists(column, i):
    """Tell whether index i has a block; in an array, all have."""
    return True


@overridable
def copy_first(column, i):
    """Make the block of index i if it does not exist, with the numbers of the first block."""


@overridable
def n_eights(column):
    """Return how many blocks exist."""
    return len(column) // WIDTH


@overridable
def place_of_eight(column, number):
    """Return the first index of one of the blocks that exist."""
    return number * WIDTH


class BlockColumn(NamedTuple):
    """A column that is stored in blocks; several columns with blocks at the same indices share the arrays.

    Parameters
    ----------
    top, pages : ndarray of int32
        Where the blocks are.
    cells : ndarray of float32 or float64
        The blocks, each with eight numbers of every column.
    owner : ndarray of int64
        The first index of each block, divided by eight.
    used : ndarray of shape (2,), int64
        How many pages and blocks there are, the empty ones included.
    part, size : int
        The place of this column in a block, and the size of a block.
    """

    top: np.ndarray
    pages: np.ndarray
    cells: np.ndarray
    owner: np.ndarray
    used: np.ndarray
    part: int
    size: int

    @property
    def dtype(self):
        return self.cells.dtype

    def prefetch_eight(self, i):
        prefetch(self.cells, find_block(self, i) * self.size + self.part)

    def number_at(self, i):
        return get(self.cells, find_block(self, i) * self.size + self.part + (i & (WIDTH - 1)))

    def set_number(self, i, x):
        assign(self.cells, make_block(self, i) * self.size + self.part + (i & (WIDTH - 1)), x)

    def eight_at(self, i):
        return take(self.cells, find_block(self, i) * self.size + self.part)

    def set_eight(self, i, vector):
        put(self.cells, make_block(self, i) * self.size + self.part, vector)

    def add_number(self, i, x):
        increase(self.cells, make_block(self, i) * self.size + self.part + (i & (WIDTH - 1)), x)

    def eight_or_first(self, i):
        block = find_block(self, i)
        return take(self.cells, (block if block > 0 else 1) * self.size + self.part)

    def number_or_first(self, i):
        block = find_block(self, i)
        return get(self.cells, (block if block > 0 else 1) * self.size + self.part + (i & (WIDTH - 1)))

    def exists(self, i):
        return find_block(self, i) > 0

    def copy_first(self, i):
        if find_block(self, i) == 0:
            put(
                self.cells,
                new_block(self, i) * self.size + self.part,
                take(self.cells, self.size + self.part),
            )

    def n_eights(self):
        return self.used[BLOCKS] - 1

    def place_of_eight(self, number):
        return self.owner[number + 1] * WIDTH


@inline
def find_block(column, i):
    """Return the number of the block of index i; 0 if it does not exist."""
    page = int(get(column.top, i >> 9))
    return int(get(column.pages, page * PAGE + ((i >> 3) & (PAGE - 1))))


@inline
def make_block(column, i):
    """Return the number of the block of index i, after making it if it does not exist."""
    block = find_block(column, i)
    return block if block > 0 else new_block(column, i)


@separate
def new_block(column, i):
    """Make a block of zeros for index i, and the page that leads to it."""
    used = column.used
    page = int(column.top[i >> 9])
    if page == 0:
        page = int(used[PAGES])
        used[PAGES] += 1
        column.top[i >> 9] = page
    block = int(used[BLOCKS])
    used[BLOCKS] += 1
    column.pages[page * PAGE + ((i >> 3) & (PAGE - 1))] = block
    column.owner[block] = i >> 3
    return block
