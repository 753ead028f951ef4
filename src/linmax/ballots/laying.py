"""Columns of codes, laid side by side into one table with a row per item."""

from collections.abc import Sequence

import numpy as np

from linmax._jit import Kernel, interpreting
from linmax.ballots.cells import Array, Cells, Codes, blocks, turn

FEW = 1 << 16  # cells: so many numpy has laid before machine code is loaded from disk
AT_ONCE = 4  # columns: the cells that a row gets from them lie in one line of the processor's cache

Tables = Sequence[Sequence[int]]


def lay_out(columns: Sequence[Cells], tables: Tables, seats: Sequence[int], out: Codes) -> None:
    """Write what each column's cells have in its table, as long as its names, into its seat of `out`.

    >>> out = np.empty((2, 1), np.int32)
    >>> lay_out([Cells(np.array([1, -1]), -1, [None, "a", "b"], "b")], [[-1, 4, 5]], [0], out)
    >>> out.tolist()
    [[5], [-1]]
    """
    if out.size <= FEW or interpreting():
        _by_numpy(columns, tables, seats, out)
        return
    small = all(said.codes.dtype == np.int8 for said in columns)
    for start in range(0, len(columns), AT_ONCE):
        four = [*range(start, min(start + AT_ONCE, len(columns)))]
        four += four[-1:] * (AT_ONCE - len(four))  # the last one again, where there are fewer
        sizes = np.array([len(tables[i]) for i in four], np.uint64)
        table = np.zeros((AT_ONCE, int(sizes.max())), np.int32)
        for row, i in zip(table, four, strict=True):
            row[: len(tables[i])] = tables[i]
        lows = np.array([columns[i].low for i in four])
        codes = [_plain(columns[i].codes, small) for i in four]
        stray = _place(*codes, lows, sizes, table, np.array([seats[i] for i in four]), out)
        if stray < len(out):
            raise IndexError(f"a code in row {stray} of {len(out)} has no name")


def _by_numpy(columns: Sequence[Cells], tables: Tables, seats: Sequence[int], out: Codes) -> None:
    turned = [turn(said, table, np.int32) for said, table in zip(columns, tables, strict=True)]
    for rows in blocks(out):
        for said, table, seat in zip(columns, turned, seats, strict=True):
            out[rows, seat] = table[said.codes[rows]]


def _plain(codes: Array, small: bool) -> Array:
    plain: Array = np.ascontiguousarray(codes, np.int8 if small else np.int32).view()
    plain.flags.writeable = False  # or the kernel would be compiled anew for arrays that are
    return plain


def place(a, b, c, d, lows, sizes, tables, seats, out):  # type: ignore[no-untyped-def]
    """Look the codes of four columns up; return the first row with a code that its table has not."""
    i, j, k, l = seats[0], seats[1], seats[2], seats[3]  # noqa: E741
    for t in range(len(out)):
        at_i = np.uint64(a[t] - lows[0])  # a negative one becomes a very large one
        at_j = np.uint64(b[t] - lows[1])
        at_k = np.uint64(c[t] - lows[2])
        at_l = np.uint64(d[t] - lows[3])
        if at_i >= sizes[0] or at_j >= sizes[1] or at_k >= sizes[2] or at_l >= sizes[3]:
            return t
        out[t, i] = tables[0, at_i]
        out[t, j] = tables[1, at_j]
        out[t, k] = tables[2, at_k]
        out[t, l] = tables[3, at_l]
    return len(out)


_place = Kernel(place)
