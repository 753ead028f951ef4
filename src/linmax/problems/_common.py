"""Long streams are made a block of rows at a time, so that what is made on the way stays small."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

CELLS = 1 << 18  # in one block: 2 MB of float64, which a core's cache still holds


def blocks(start: int, stop: int, width: int) -> Iterator[slice]:
    """Cut the rows from start to stop into slices of about CELLS / width rows, at least one row each.

    >>> list(blocks(0, 5, CELLS // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, CELLS // width)
    for first in range(start, stop, rows):
        yield slice(first, min(first + rows, stop))


class Panel(NamedTuple):
    """Experts and truth as data, one row a trial; unpacks as ``votes, labels``.

    >>> import numpy as np
    >>> votes, labels = Panel(np.array([[2, 0, -1]], dtype=np.int32), np.array([2]))
    >>> votes.shape, labels.tolist()
    ((1, 3), [2])
    """

    votes: NDArray[np.int32]  # (trials, experts), -1 abstains
    labels: NDArray[np.int64]  # (trials,)


Ties = Literal["class", "expert"]


def plurality(named: NDArray[np.int32], classes: int, ties: Ties = "class") -> NDArray[np.int64]:
    """For each row the class named most often; nobody abstains here.

    ``ties="class"`` prefers the smallest class in the tie, ``ties="expert"`` the one whose first supporter
    sits furthest to the left:

    >>> row = np.array([[3, 1, 1, 0, 3]], dtype=np.int32)
    >>> plurality(row, 4, "class").tolist(), plurality(row, 4, "expert").tolist()
    ([1], [3])
    """
    rows = np.arange(len(named))
    cells = named + rows[:, None] * classes
    support = np.bincount(cells.ravel(), minlength=len(named) * classes)
    label: NDArray[np.int64]
    if ties == "class":
        label = support.reshape(-1, classes).argmax(axis=1).astype(np.int64)
    else:
        first = support[cells].argmax(axis=1)  # the lowest expert among those whose class is in the tie
        label = named[rows, first].astype(np.int64)
    return label


class Table(NamedTuple):
    """Attributes and truth as data, one row a trial; unpacks as ``attributes, labels``.

    >>> import numpy as np
    >>> attributes, labels = Table(np.array([[1.0, -1.0, -1.0]]), np.array([2]))
    >>> attributes.shape, labels.tolist()
    ((1, 3), [2])
    """

    attributes: NDArray[np.float64]  # (trials, attributes)
    labels: NDArray[np.int64]  # (trials,)
