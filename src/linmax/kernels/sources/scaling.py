"""Attributes on a common scale: columns standardised on-line, with the statistics of the items so far.

A column that is not 0 in more than half of the items is centred and divided by its standard deviation. Any
other column is divided by the root mean square of its values other than 0, so that zeros stay zeros: words
and indicators stay as they are. The statistics include the item itself, of which only the label is unknown.

They are those of the values other than 0 (Welford's algorithm), from which those with the zeros follow
without loss of precision; columns that an item does not list are not touched.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax.kernels.forms.base import attribute_at, n_entries

NARROW = 1e-30  # a column is constant if its variance is smaller, relative to its squared mean


class ScaledRows(NamedTuple):
    """Standardised attributes as CSR arrays; index 0 is the constant 1, and a + 1 is attribute a.

    Parameters
    ----------
    indptr : ndarray of shape (trials + 1,), int64
        Where the entries of each trial begin.
    index : ndarray, int32
        The column.
    value : ndarray
        The value, never 0.
    unit : ndarray
        The value divided by the length of the row.
    """

    indptr: np.ndarray
    index: np.ndarray  # type: ignore[assignment]
    value: np.ndarray
    unit: np.ndarray


class ColumnStatistics(NamedTuple):
    """What is known about each column.

    Parameters
    ----------
    items : ndarray of shape (1,), int64
        The number of labelled items.
    nonzeros : ndarray of shape (columns,), int64
        How many values were not 0.
    mean, squares : ndarray of shape (columns,)
        The mean of these values, and the sum of their squared differences from it.
    frequent : ndarray of shape (columns + 1,), int32
        The columns that are not 0 in more than half of the items, in order, after their number.
    next : ndarray of shape (columns + 1,), int32
        The same with the current item.
    """

    items: np.ndarray
    nonzeros: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    frequent: np.ndarray
    next: np.ndarray


@inline
def scale_value(statistics, a, x, items, learns):
    """Return a value on the scale of its column, and whether that is frequent; count it if it is learned."""
    count = statistics.nonzeros[a]
    mean = statistics.mean[a]
    squares = statistics.squares[a]
    if x != 0.0:
        count += 1
        difference = x - mean
        mean += difference / count
        squares += difference * (x - mean)
        if learns:
            statistics.nonzeros[a] = count
            statistics.mean[a] = mean
            statistics.squares[a] = squares
    if 2 * count <= items:
        if x == 0.0:
            return 0.0, False
        return x / math.sqrt(squares / count + mean * mean), False
    part = count / items
    variance = (squares + count * (mean * mean) * (1.0 - part)) / items
    if variance <= NARROW * (mean * mean):
        return 0.0, True
    return (x - part * mean) / math.sqrt(variance), True


@inline
def scale_trial(rows, t, learns, statistics, out, at):
    """Write the entries of one trial from `at` on; return where they end."""
    items = statistics.items[0] + 1
    first = at
    out.index[at] = 0
    out.value[at] = 1.0
    at += 1
    length = 1.0
    entries = n_entries(rows, t)
    many = statistics.frequent[0]
    i = 0
    j = 0
    found = 0
    while i < many or j < entries:
        a = len(statistics.nonzeros)
        x = 0.0
        if j < entries:
            a, x = attribute_at(rows, t, j)
        if i < many and statistics.frequent[1 + i] <= a:
            if statistics.frequent[1 + i] < a:
                a = statistics.frequent[1 + i]
                x = 0.0
                j -= 1
            i += 1
        j += 1
        z, frequent = scale_value(statistics, a, x, items, learns)
        if frequent:
            found += 1
            statistics.next[found] = a
        out.index[at] = a + 1
        out.value[at] = z
        at += 1 * (z != 0.0)
        length += z * z
    if learns:
        statistics.items[0] = items
        statistics.frequent[0] = found
        for i in range(1, found + 1):
            statistics.frequent[i] = statistics.next[i]
    each = 1.0 / math.sqrt(length)
    for i in range(first, at):
        out.unit[i] = out.value[i] * each
    return at


def scale_trials(rows, labels, statistics, out, reached, begin, end):
    """Scale the trials begin <= t < end; stop, and write into `reached` where, if there is no space left."""
    at = out.indptr[begin]
    for t in range(begin, end):
        needed = 2 + n_entries(rows, t) + statistics.frequent[0]
        if at + needed > len(out.index):
            reached[0] = t
            return
        at = scale_trial(rows, t, labels[t] >= 0, statistics, out, at)
        out.indptr[t + 1] = at
    reached[0] = end


scale = CompiledKernel(scale_trials)
