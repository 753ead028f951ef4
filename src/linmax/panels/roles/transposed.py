"""Transposed tables: a row per expert and one of labels, and a column per item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.panels.formats.records import plain_array
from linmax.panels.roles.names import is_id_name, truth_strength
from linmax.panels.table import RawTable
from linmax.streams.schema import short_repr

MIN_ROWS, MAX_ROWS = 3, 500
"""Rows of a transposed table: two experts and the labels, or more."""


def swap_transposed(table: RawTable) -> RawTable:
    """Return a table with experts in rows and items in columns with both swapped; others as they are.

    It is transposed if it has more columns than rows, the first column has a different text in each row, one
    of which is the name of a truth, and no column has the name of one.

    Parameters
    ----------
    table : RawTable
        The table.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> text = b"model,t1,t2,t3,t4\\ngpt4,a,b,b,a\\nbert,a,a,b,a\\ntruth,a,b,b,b\\n"
    >>> swap_transposed(load_table(io.BytesIO(text))).data.to_pylist()[1]
    {'item': 't2', 'gpt4': 'b', 'bert': 'a', 'truth': 'b'}
    """
    data = table.data
    if (
        not table.complete
        or not MIN_ROWS <= data.num_rows <= MAX_ROWS
        or data.num_columns <= data.num_rows + 1
    ):
        return table
    if table.hints or not pa.types.is_string(data.schema.types[0]):
        return table
    names = [(name or "").strip() for name in data.column(0).to_pylist()]
    truths = [name for name in names if truth_strength(name) == 2]
    if len(truths) != 1 or len(set(names)) < len(names) or not all(names):
        return table
    if any(truth_strength(name) == 2 for name in data.column_names):
        return table
    items = data.column_names[1:]
    rows = zip(*(column.to_pylist() for column in data.columns[1:]), strict=True)
    columns: dict[str, Any] = {} if any(map(is_id_name, names)) else {"item": pa.array(items, pa.string())}
    columns |= {name: _column(list(cells)) for name, cells in zip(names, rows, strict=True)}
    note = (
        f"the table has a row per expert and a column per item ({short_repr(data.column_names[0])} is"
        f" {short_repr(names[0])}, ...): rows and columns are swapped"
    )
    places = np.arange(2, len(items) + 2)
    return replace(table, data=pa.table(columns), lines=places, unit="row", notes=(*table.notes, note))


def _column(cells: list[Any]) -> Any:
    kinds = {type(cell) for cell in cells} - {type(None)}
    return plain_array(cells if len(kinds) < 2 else [None if cell is None else str(cell) for cell in cells])
