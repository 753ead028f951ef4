"""`label_order`: are the rows of a file sorted by their labels, or do labels depend on those before?

Both make the labels come in runs. What matters is how long the blocks are, and not how surely they are no
coincidence: a runs test rejects chance for every long stream in which neighbours are alike, and such a stream
may be learned in its order. A file that is sorted by label may not.
"""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]

MIN_ROWS_PER_CLASS = 5
"""With fewer rows, blocks of equal labels are a coincidence."""
BLOCKS_PER_CLASS = 2
"""Sorted labels have at most so many blocks per class: two sorted files one after the other have two."""
MAX_DISPLACED = 0.05
"""The largest fraction of the rows that may be displaced in a sorted file."""
MAX_RUNS = 0.2
"""The largest number of runs of a sorted file, as a fraction of those of a shuffled one."""
MIN_BLOCK = 0.02
"""Shorter runs, as a fraction of the rows of their class, are displaced rows and no blocks."""
DEPENDENT_P = 0.001
"""Labels are dependent if a shuffled file would have so few runs with a smaller probability, ..."""
DEPENDENT_RUNS = 0.9
"""... and if they have fewer runs than this fraction of those of a shuffled file."""
LARGEST_BLOCKS = 5
"""Blocks that are reported."""
FEW_RUNS = 0.05
"""If the first rows of a file have fewer changes of the label than this fraction, it may be sorted."""


class Block(NamedTuple):
    """Consecutive rows with the same label.

    Attributes
    ----------
    label : object
        The label.
    begin, rows : int
        The first of its rows among those with a label, from 0, and the number of rows.
    """

    label: Any
    begin: int
    rows: int


class LabelOrder(NamedTuple):
    """The order of the labels of a file.

    Attributes
    ----------
    rows : int
        Rows with a label.
    classes : int
        Different labels.
    runs : int
        Runs of equal labels.
    expected_runs : float
        The mean number of runs if the rows are shuffled.
    largest_blocks : list of Block
        The longest runs, the longest first.
    sorted : bool
        Whether the labels come in a few long blocks, apart from a few displaced rows.
    dependent : bool
        Whether equal labels follow each other clearly more often than in a shuffled file; a sorted file is
        not called dependent.
    p_value : float
        The probability of at most so many runs in a shuffled file.
    last_label_accuracy : float
        How often a label equals the one before; NaN with fewer than two rows.
    """

    rows: int
    classes: int
    runs: int
    expected_runs: float
    largest_blocks: list[Block]
    sorted: bool
    dependent: bool
    p_value: float
    last_label_accuracy: float

    @property
    def may_be_sorted(self) -> bool:
        """Whether a file that begins with these labels may be sorted; they may be its first block only."""
        return self.sorted or self.runs - 1 < FEW_RUNS * self.rows


def label_order(labels: Any) -> LabelOrder:
    """Find out whether labels are sorted or depend on those before; rows without a label are skipped.

    Labels are sorted if they come in blocks, at most two per class on average, with at most 5 % of the rows
    displaced, and if they have far fewer runs than shuffled labels. Neither the length of a file nor a
    p-value plays a part.

    Parameters
    ----------
    labels : array-like
        The labels in the order of the file; None, NaN and empty texts are missing.

    Returns
    -------
    order : LabelOrder
        The runs, and what they mean.

    References
    ----------
    A. M. Mood (1940), "The distribution theory of runs", Annals of Mathematical Statistics 11.

    Examples
    --------
    >>> order = label_order(["a"] * 40 + ["b"] * 40 + ["c"] * 40)
    >>> order.sorted, order.runs, order.expected_runs, order.largest_blocks[0]
    (True, 3, 81.0, Block(label='a', begin=0, rows=40))
    >>> order = label_order(["a", "b", "a", "c", "b", "c"] * 20)
    >>> order.sorted, order.dependent, round(order.last_label_accuracy, 2)
    (False, False, 0.0)
    >>> label_order(["a"] * 40).sorted, label_order(["a"] * 40).may_be_sorted
    (False, True)
    >>> drifting = [name for name in "abacbcacb" for _ in range(8)] * 3
    >>> label_order(drifting)[-4:-2]
    (False, True)
    """
    names, codes = encode_labels(labels)
    n = len(codes)
    if not n:
        return LabelOrder(0, 0, 0, 0.0, [], False, False, 1.0, math.nan)
    starts, lengths = find_runs(codes)
    runs, sizes = len(starts), np.bincount(codes)
    expected, p = runs_test(sizes, runs)
    is_sorted = _is_sorted(codes[starts], lengths, sizes, expected)
    return LabelOrder(
        rows=n,
        classes=len(sizes),
        runs=runs,
        expected_runs=expected,
        largest_blocks=[
            Block(names[int(codes[starts[i]])], int(starts[i]), int(lengths[i]))
            for i in np.argsort(-lengths, kind="stable")[:LARGEST_BLOCKS]
        ],
        sorted=is_sorted,
        dependent=not is_sorted and p < DEPENDENT_P and runs < DEPENDENT_RUNS * expected,
        p_value=p,
        last_label_accuracy=(n - runs) / (n - 1) if n > 1 else math.nan,
    )


def encode_labels(labels: Any) -> tuple[list[Any], Longs]:
    """Return the different labels, and the code of each label that is not missing.

    Parameters
    ----------
    labels : array-like
        The labels; None, NaN and empty texts are missing.

    Returns
    -------
    names : list
        The different labels.
    codes : ndarray of int
        The place of each label in `names`.

    Examples
    --------
    >>> encode_labels(["b", None, "a", "b", ""])
    (['b', 'a'], array([0, 1, 0]))
    """
    if hasattr(labels, "to_pandas"):  # an Arrow array, whose missing values numpy would make NaN
        labels = labels.to_pylist()
    array = np.asarray(labels) if isinstance(labels, np.ndarray) else np.array([*labels, None], object)[:-1]
    if array.dtype.kind in "iub":
        values, codes = np.unique(array, return_inverse=True)
        return values.tolist(), codes.astype(np.int64)
    if array.dtype.kind == "f":
        values, codes = np.unique(array[~np.isnan(array)], return_inverse=True)
        return values.tolist(), codes.astype(np.int64)
    cells = array.tolist()
    names = [one for one in dict.fromkeys(cells) if not _is_missing(one)]
    index = {one: i for i, one in enumerate(names)}
    codes = np.fromiter(map(index.get, cells, repeat(-1)), np.int64, len(cells))
    return names, codes[codes >= 0]


def _is_missing(label: Any) -> bool:
    return label is None or label == "" or bool(label != label)


def find_runs(codes: NDArray[Any]) -> tuple[Longs, Longs]:
    """Return the first position of each run of equal codes, and its length.

    Parameters
    ----------
    codes : ndarray of int
        The codes; there is at least one.

    Examples
    --------
    >>> find_runs(np.array([5, 5, 7, 5]))
    (array([0, 2, 3]), array([2, 1, 1]))
    """
    starts = np.append(0, np.flatnonzero(codes[1:] != codes[:-1]) + 1)
    return starts, np.diff(starts, append=len(codes))


def runs_test(sizes: NDArray[Any], runs: int) -> tuple[float, float]:
    """Return the mean number of runs of shuffled labels, and the probability of at most `runs` of them.

    The probability is that of a normal distribution with the same mean and variance.

    Parameters
    ----------
    sizes : ndarray of int of shape (n_classes,)
        The number of rows of each class.
    runs : int
        The number of runs.

    Returns
    -------
    expected, p_value : float
        The mean and the probability.

    Examples
    --------
    >>> expected, p = runs_test(np.array([50, 50]), 30)
    >>> expected, p < 0.001
    (51.0, True)
    """
    size = sizes.astype(np.float64)
    n, squares, cubes = float(size.sum()), float((size**2).sum()), float((size**3).sum())
    expected = n - squares / n + 1.0
    if n < 2:
        return expected, 1.0
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n * n * (n - 1))
    if variance <= 1e-9 * n:
        return expected, 1.0
    return expected, 0.5 * math.erfc((expected - runs - 0.5) / math.sqrt(2.0 * variance))


def _is_sorted(labels: Longs, lengths: Longs, sizes: Longs, expected: float) -> bool:
    """Return whether runs with these labels and lengths are a few long blocks."""
    k, n = len(sizes), int(sizes.sum())
    if k < 2 or n < MIN_ROWS_PER_CLASS * k or len(labels) - k > MAX_RUNS * (expected - k):
        return False
    long = lengths >= np.maximum(2, MIN_BLOCK * sizes[labels])
    displaced = n - int(lengths[long].sum())
    if displaced > MAX_DISPLACED * n:
        return False
    # a class of which most rows are displaced is not sorted: think of faults that come in bursts
    in_blocks = np.bincount(labels[long], lengths[long], minlength=k)
    if 3 * np.count_nonzero(2 * in_blocks >= sizes) < 2 * k:
        return False
    blocks = 1 + np.count_nonzero(np.diff(labels[long]))  # displaced rows inside a block do not divide it
    return bool(blocks <= BLOCKS_PER_CLASS * k)
