"""The class that most of them name, under either of the two tie rules of the papers."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
