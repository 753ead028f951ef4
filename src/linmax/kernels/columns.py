"""The kernel of encoding: columns of codes become columns of a panel's votes, four at a time.

It is the only kernel that does not run trials. It recodes four columns in one pass, because the cells that a
row of the output gets from them are in one cache line.
"""

import numpy as np

from linmax._jit.compilation import CompiledKernel


def write_four_columns(a, b, c, d, lows, sizes, tables, targets, out):
    """Recode four columns of codes with one table each, and write them into four columns of `out`.

    Parameters
    ----------
    a, b, c, d : ndarray of integers
        The codes, one per row.
    lows : ndarray of int64
        The code of the first entry of each table.
    sizes : ndarray of uint64
        How many entries each table has.
    tables : ndarray of int32
        The tables, one per row.
    targets : ndarray of int64
        The column of `out` that each column is written into.
    out : ndarray of int32
        The output, rows by columns.

    Returns
    -------
    int
        The first row with a code that is outside of its table; the number of rows if there is none.
    """
    i, j, k, l = targets[0], targets[1], targets[2], targets[3]  # noqa: E741
    for t in range(len(out)):
        at_i = np.uint64(a[t] - lows[0])  # a negative index becomes a very large one
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


write_four = CompiledKernel(write_four_columns)
