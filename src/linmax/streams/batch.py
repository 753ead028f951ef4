"""Rows of a file as columns, whatever the format: what readers give and shapes take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Batch(NamedTuple):
    """Some rows: an Arrow table, and the line or row of the file that each came from."""

    table: Any
    lines: NDArray[np.int64]


class Reader(Protocol):
    """A file with columns."""

    format: str
    unit: str  # what rows are counted in: "line" or "row", from 1 on
    schema: Any  # of Arrow: the columns and their types, the same for all rows
    roles: dict[str, Any]  # label, id and attributes, where the format itself names them

    @property
    def rows(self) -> int | None:
        """How many in all, if the format knows."""
        ...

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """These columns, at most so many rows at a time, in the order of the file."""
        ...
