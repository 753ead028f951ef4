"""Nearest neighbours: the labels of the stored items that are closest to an item, as votes.

Items are compared as sparse rows: the current one is written into an array of all columns, so that a distance
takes time in proportion to the entries of the stored item.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline

FAR = 1e300  # more than any distance


class StoredItems(NamedTuple):
    """Labelled items, oldest first; all but the latest are forgotten.

    Parameters
    ----------
    count : ndarray of shape (1,), int64
        The number of items.
    starts : ndarray of shape (capacity + 1,), int64
        Where the entries of each item begin.
    index : ndarray, int32
        The column of each entry.
    value : ndarray
        Its value.
    squares : ndarray of shape (capacity,)
        The sum of the squared values of each item.
    labels : ndarray of shape (capacity,), int32
        The labels.
    """

    count: np.ndarray  # type: ignore[assignment]
    starts: np.ndarray
    index: np.ndarray  # type: ignore[assignment]
    value: np.ndarray
    squares: np.ndarray
    labels: np.ndarray


class Search(NamedTuple):
    """What a search uses for one item after the other.

    Parameters
    ----------
    row : ndarray of shape (columns,)
        The item itself; 0 between two items.
    distance : ndarray of shape (most neighbours,)
        The squared distances of the nearest neighbours, in order.
    label : ndarray of shape (most neighbours,), int32
        Their labels.
    nearest : ndarray of shape (classes,)
        The squared distance of the nearest neighbour of each class.
    share : ndarray of shape (classes,)
        What one sub-expert votes.
    """

    row: np.ndarray
    distance: np.ndarray
    label: np.ndarray
    nearest: np.ndarray
    share: np.ndarray


@inline
def inner_product(begin, end, index, value, row):
    """Return the inner product of some entries and a row, in four sums, which can be added side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = begin + (end - begin) // 4 * 4
    for j in range(begin, whole, 4):
        a += value[j] * row[index[j]]
        b += value[j + 1] * row[index[j + 1]]
        c += value[j + 2] * row[index[j + 2]]
        d += value[j + 3] * row[index[j + 3]]
    for j in range(whole, end):
        a += value[j] * row[index[j]]
    return (a + b) + (c + d)


@inline
def search(items, memory, square, work):
    """Find the nearest neighbours among the latest items, the later first if they tie; return how many."""
    found = 0
    most = len(work.distance)
    work.nearest[:] = FAR
    count = items.count[0]
    for i in range(count - 1, max(count - memory, 0) - 1, -1):
        product = inner_product(items.starts[i], items.starts[i + 1], items.index, items.value, work.row)
        distance = max(square + items.squares[i] - 2.0 * product, 0.0)
        y = items.labels[i]
        if distance < work.nearest[y]:
            work.nearest[y] = distance
        if found < most or distance < work.distance[found - 1]:
            if found < most:
                found += 1
            place = found - 1
            while place > 0 and work.distance[place - 1] > distance:
                work.distance[place] = work.distance[place - 1]
                work.label[place] = work.label[place - 1]
                place -= 1
            work.distance[place] = distance
            work.label[place] = y
    return found


@inline
def append_votes(share, expert, out, at):
    """Append the votes of a sub-expert, which are cleared; return where they end."""
    for c in range(len(share)):
        if share[c] != 0.0:
            out.expert[at] = expert
            out.label[at] = c
            out.value[at] = share[c]
            at += 1
            share[c] = 0.0
    return at


def vote_trials(rows, labels, items, memory, sizes, work, out):
    """Write the votes of all trials, and store those with a label.

    Sub-expert i votes for the classes of the nearest sizes[i] neighbours, in equal shares. The last one votes
    for every class: the distance of the nearest neighbour of all, divided by that of the nearest of the
    class.
    """
    at = 0
    for t in range(len(labels)):
        begin, end = rows.indptr[t], rows.indptr[t + 1]
        for j in range(begin, end):
            work.row[rows.index[j]] = rows.value[j]
        square = inner_product(begin, end, rows.index, rows.value, work.row)
        found = search(items, memory, square, work)
        if found > 0:
            for i in range(len(sizes)):
                size = min(sizes[i], found)
                for j in range(size):
                    work.share[work.label[j]] += 1.0 / size
                at = append_votes(work.share, i, out, at)
            for c in range(len(work.nearest)):
                if work.nearest[c] <= work.distance[0]:
                    work.share[c] = 1.0
                elif work.nearest[c] < FAR:
                    work.share[c] = math.sqrt(work.distance[0] / work.nearest[c])
            at = append_votes(work.share, len(sizes), out, at)
        out.indptr[t + 1] = at
        count = items.count[0]
        last = items.starts[count]
        for j in range(begin, end):
            work.row[rows.index[j]] = 0.0
            if labels[t] >= 0:
                items.index[last] = rows.index[j]
                items.value[last] = rows.value[j]
                last += 1
        if labels[t] >= 0:
            items.starts[count + 1] = last
            items.squares[count] = square
            items.labels[count] = labels[t]
            items.count[0] = count + 1


vote = CompiledKernel(vote_trials)
