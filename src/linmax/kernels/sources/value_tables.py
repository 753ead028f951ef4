"""Tables of nominal values: for each combination of values, the labels of the last items that had it."""

from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax.kernels.forms.base import attribute_at, n_entries

EMPTY = -1  # in the hash table
FACTOR, BITS = 1_000_003, (1 << 38) - 1  # of the hash; products stay below 2^63


class TableCells(NamedTuple):
    """The combinations of values that occurred, and their labels.

    Parameters
    ----------
    count : ndarray of shape (1,), int64
        The number of combinations.
    table : ndarray of int32
        The hash table: the numbers of combinations; its size is a power of 2, and at most half is used.
    members : ndarray of shape (capacity, order), int32
        The values of each combination, in the order of their columns.
    labels : ndarray of shape (capacity, memory), int32
        The last labels of each.
    seen : ndarray of shape (capacity,), int64
        How many items had it.
    """

    count: np.ndarray  # type: ignore[assignment]
    table: np.ndarray
    members: np.ndarray
    labels: np.ndarray
    seen: np.ndarray


class Combination(NamedTuple):
    """What is used for one item after the other.

    Parameters
    ----------
    column : ndarray of int64
        The column of each attribute; -1 if it is not a nominal value, or if no table has its column.
    rank : ndarray of shape (columns, order), int64
        Binomial coefficients: rank[c, i] = c over i + 1.
    value : ndarray of shape (columns,), int32
        The values of the item, in the order of their columns.
    place : ndarray of shape (order,), int64
        The current combination of them.
    """

    column: np.ndarray
    rank: np.ndarray
    value: np.ndarray
    place: np.ndarray


@inline
def list_values(rows, t, work):
    """List the nominal values of an item in the order of their columns; return their number."""
    count = 0
    for j in range(n_entries(rows, t)):
        a, x = attribute_at(rows, t, j)
        if x != 0.0 and work.column[a] >= 0 and count < len(work.value):
            at = count
            while at > 0 and work.column[work.value[at - 1]] > work.column[a]:
                work.value[at] = work.value[at - 1]
                at -= 1
            work.value[at] = a
            count += 1
    return count


@inline
def next_combination(place, count):
    """Go on to the next combination of so many values; return whether there is one."""
    order = len(place)
    i = order - 1
    while i >= 0 and place[i] == count - order + i:
        i -= 1
    if i < 0:
        return False
    place[i] += 1
    for j in range(i + 1, order):
        place[j] = place[j - 1] + 1
    return True


@inline
def find_slot(cells, value, place):
    """Return where a combination is in the hash table, or where it belongs."""
    mask = len(cells.table) - 1
    code = 0
    for i in range(len(place)):
        code = (code * FACTOR + int(value[place[i]]) + 1) & BITS
    slot = (code ^ (code >> 15)) & mask
    while cells.table[slot] != EMPTY:
        same = True
        for i in range(len(place)):
            same = same and cells.members[cells.table[slot], i] == value[place[i]]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@inline
def frequency(labels, i, known):
    """Return how often the i-th label occurs, if it is the first of its kind; otherwise 0."""
    count = 0
    for j in range(known):
        if labels[j] == labels[i]:
            if j < i:
                return 0
            count += 1
    return count


@inline
def append_favourites(cells, cell, expert, out, at):
    """Append a vote for the most frequent of the last labels, or shares if several tie."""
    labels = cells.labels[cell]
    known = min(cells.seen[cell], len(labels))
    most = 0
    tied = 0
    for i in range(known):
        count = frequency(labels, i, known)
        if count > most:
            most = count
            tied = 0
        tied += 1 * (count == most)
    for i in range(known):
        if frequency(labels, i, known) == most:
            out.expert[at] = expert
            out.label[at] = labels[i]
            out.value[at] = 1.0 / tied
            at += 1
    return at


@inline
def remember(cells, slot, value, place, y, limit):
    """Store the label of a combination; a new one only while there are fewer than `limit`."""
    if cells.table[slot] == EMPTY:
        if cells.count[0] >= limit:
            return
        cells.table[slot] = cells.count[0]
        for i in range(len(place)):
            cells.members[cells.count[0], i] = value[place[i]]
        cells.count[0] += 1
    cell = cells.table[slot]
    cells.labels[cell, cells.seen[cell] % cells.labels.shape[1]] = y
    cells.seen[cell] += 1


def vote_trials(rows, labels, tables, limit, cells, work, out):
    """Write the votes of all trials, and store those with a label.

    The sub-expert of the columns c_0 < c_1 < ... has the number sum of (c_i over i + 1), which depends on no
    other column.
    """
    at = 0
    for t in range(len(labels)):
        count = list_values(rows, t, work)
        more = count >= len(work.place)
        for i in range(len(work.place)):
            work.place[i] = i
        while more:
            expert = 0
            for i in range(len(work.place)):
                expert += work.rank[work.column[work.value[work.place[i]]], i]
            if expert < tables:
                slot = find_slot(cells, work.value, work.place)
                if cells.table[slot] != EMPTY:
                    at = append_favourites(cells, cells.table[slot], expert, out, at)
                if labels[t] >= 0:
                    remember(cells, slot, work.value, work.place, labels[t], limit)
            more = next_combination(work.place, count)
        out.indptr[t + 1] = at


def number_cells(cells, place):
    """Fill the hash table, which is empty, with all combinations."""
    for cell in range(cells.count[0]):
        cells.table[find_slot(cells, cells.members[cell], place)] = cell


vote = CompiledKernel(vote_trials)
number = CompiledKernel(number_cells)
