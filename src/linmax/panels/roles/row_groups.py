"""Rows that belong together: combinations of values, and columns that are constant within groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ALWAYS, MOSTLY, OFTEN = 1.0, 0.98, 0.8
"""Shares of rows in which a column has the same value as in other rows of a group."""
Codes = NDArray[np.int64]


class RowGroups:
    """The rows of a table, grouped by the values of columns.

    Parameters
    ----------
    data : pyarrow.Table
        The rows.

    Examples
    --------
    >>> columns = {"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "gold": [0, 0, 1, 1]}
    >>> rows = RowGroups(pa.table(columns))
    >>> rows.distinct("task", "worker"), rows.is_constant_within("gold", "task")
    (4, True)
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self._codes: dict[str, Codes] = {}
        self._combinations: dict[tuple[str, ...], int] = {}

    def distinct(self, *columns: str) -> int:
        """Return how many different combinations of values some columns have."""
        if columns not in self._combinations:
            code: Codes = np.zeros(self.data.num_rows, np.int64)
            for i, name in enumerate(columns):
                if i == 2:  # the product of three may not fit
                    code = np.unique(code, return_inverse=True)[1].astype(np.int64)
                own = self.codes(name)
                code = code * (int(own.max(initial=0)) + 1) + own
            self._combinations[columns] = int(pc.count_distinct(pa.array(code)).as_py())
        return self._combinations[columns]

    def codes(self, name: str) -> Codes:
        """Return an integer for each distinct value of a column; missing values have one, too."""
        if name not in self._codes:
            column = self.data.column(name).combine_chunks()
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode("encode")
            self._codes[name] = np.asarray(column.indices.to_numpy(zero_copy_only=False), np.int64)
        return self._codes[name]

    def is_constant_within(self, name: str, key: str, share: float = MOSTLY) -> bool:
        """Whether a column has one value per value of another one; missing values do not count.

        Parameters
        ----------
        name, key : str
            The columns.
        share : float
            The share of rows in which it must have the same value as in the last row of the group.
        """
        values, keys = self.codes(name), self.codes(key)
        column = self.data.column(name)
        valid = column.is_valid()
        if pa.types.is_string(column.type):
            valid = pc.and_kleene(valid, pc.not_equal(column, ""))
        present = np.asarray(pc.fill_null(valid, False).to_numpy(), bool)
        values, keys = values[present], keys[present]
        first = np.full(int(keys.max(initial=0)) + 1, -1, np.int64)
        first[keys] = values
        return bool((first[keys] == values).mean() >= share) if len(values) else False
