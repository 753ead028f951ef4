"""What generated problems share: their results, plurality votes, and blocks of rows."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ties = Literal["class", "expert"]

BLOCK_CELLS = 1 << 18  # 2 MB of float64, so that intermediate arrays stay in a core's cache


class VoteData(NamedTuple):
    """Votes and labels of a generated problem; unpacks as ``votes, labels``.

    Attributes
    ----------
    votes : ndarray of int32, shape (trials, experts)
        The class that each expert votes for; -1 abstains.
    labels : ndarray of int64, shape (trials,)
        The true classes.

    Examples
    --------
    >>> import numpy as np
    >>> votes, labels = VoteData(np.array([[2, 0, -1]], dtype=np.int32), np.array([2]))
    >>> votes.shape, labels.tolist()
    ((1, 3), [2])
    """

    votes: NDArray[np.int32]
    labels: NDArray[np.int64]


class AttributeData(NamedTuple):
    """Attributes and labels of a generated problem; unpacks as ``attributes, labels``.

    Attributes
    ----------
    attributes : ndarray of float64, shape (trials, attributes)
        The attributes.
    labels : ndarray of int64, shape (trials,)
        The true classes.

    Examples
    --------
    >>> import numpy as np
    >>> attributes, labels = AttributeData(np.array([[1.0, -1.0, -1.0]]), np.array([2]))
    >>> attributes.shape, labels.tolist()
    ((1, 3), [2])
    """

    attributes: NDArray[np.float64]
    labels: NDArray[np.int64]


def row_ranges(start: int, stop: int, width: int) -> Iterator[slice]:
    """Cut the rows from start to stop into slices of about BLOCK_CELLS / width rows, at least one row each.

    >>> list(row_ranges(0, 5, BLOCK_CELLS // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, BLOCK_CELLS // width)
    for first in range(start, stop, rows):
        yield slice(first, min(first + rows, stop))


def plurality(votes: NDArray[np.int32], classes: int, ties: Ties = "class") -> NDArray[np.int64]:
    """Return the class with the most votes in each row, where nobody abstains.

    A tie goes to the smallest class (``ties="class"``), or to the class of the first expert whose class is in
    the tie (``ties="expert"``).

    >>> row = np.array([[3, 1, 1, 0, 3]], dtype=np.int32)
    >>> plurality(row, 4, "class").tolist(), plurality(row, 4, "expert").tolist()
    ([1], [3])
    """
    rows = np.arange(len(votes))
    cells = votes + rows[:, None] * classes
    counts = np.bincount(cells.ravel(), minlength=len(votes) * classes)
    label: NDArray[np.int64]
    if ties == "class":
        label = counts.reshape(-1, classes).argmax(axis=1).astype(np.int64)
    else:
        first = counts[cells].argmax(axis=1)  # the first expert whose class has the most votes
        label = votes[rows, first].astype(np.int64)
    return label
