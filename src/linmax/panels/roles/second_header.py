"""Tables with two rows of names, as pandas writes them for columns with several levels."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.roles.profile import MISSING, NUMBER, strip_missing
from linmax.panels.table import RawTable
from linmax.streams.schema import StreamError, short_list

MIN_ROWS = 10
"""With fewer rows, nothing is known of the first one."""


def check_second_header(table: RawTable) -> None:
    """Raise an error if the first row of a table of texts has names of columns, not values.

    It has if none of its cells is repeated in its column, and a column has numbers below it, or the header
    repeats names.

    Parameters
    ----------
    table : RawTable
        The table.

    Raises
    ------
    StreamError
        The sentence says which line it is, and what to do.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> rows = b"model,gpt4,gpt4,truth\\nfield,label,conf,label\\n" + b"1,bug,0.5,bug\\n" * 10
    >>> try:
    ...     check_second_header(load_table(io.BytesIO(rows)))
    ... except StreamError as error:
    ...     print(str(error).partition(";")[0])
    line 2 of the open file looks like a second row of names (field, label, conf, label)
    """
    data = table.data
    if data.num_rows < MIN_ROWS or not all(pa.types.is_string(kind) for kind in data.schema.types):
        return
    first = [data.column(i)[0].as_py() for i in range(data.num_columns)]
    shown = [cell for cell in first if cell and cell.strip() and cell.strip() not in MISSING]
    if len(shown) < 2 or 2 * len(shown) < len(first) or any(map(NUMBER.fullmatch, shown)):
        return
    above_numbers = 0
    for i, cell in enumerate(first):
        if cell in shown:
            rest = data.column(i).slice(1)
            if pc.any(pc.equal(rest, cell)).as_py():
                return
            above_numbers += _are_numbers(rest)
    names = set(data.column_names)
    repeated = [name for name in names if f"{name}.2" in names]
    if above_numbers or (repeated and len(set(shown)) == len(shown)):
        below = next((cell for cell in first[1:] if cell), first[-1])
        name = data.column_names[1] if data.num_columns > 1 else data.column_names[0]
        raise StreamError(
            f"{table.unit} {int(table.lines[0])} of {table.file} looks like a second row of names"
            f" ({short_list(shown, 4)}); join both rows to one header such as {name}_{below}"
        )


def _are_numbers(column: Any) -> bool:
    array = strip_missing(column.combine_chunks(), MISSING)
    if array.null_count == len(array):
        return False
    return bool(pc.all(pc.match_substring_regex(array, f"^(?:{NUMBER.pattern})$")).as_py())
