"""Rows and cells that are no data: totals below a table, and single decimals in a column of whole numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.roles.profile import INTEGER, NUMBER, strip_missing
from linmax.panels.table import RawTable
from linmax.streams.schema import short_list, short_repr

SUMMARY_NAMES = frozenset(
    (
        "total", "totals", "grand total", "subtotal", "sum", "average", "avg", "mean", "median", "std",
        "count", "accuracy", "acc", "overall", "summary", "gesamt", "summe", "gesamtsumme", "gesamtergebnis",
        "mittelwert", "durchschnitt", "anzahl", "moyenne", "somme", "suma", "promedio", "totale", "media",
    )
)  # fmt: skip
"""What the first cells of a row below a table say if it sums up the rows above."""
MAX_SUMMARY, MIN_ROWS = 5, 10
"""Rows at the end of a table that may be summaries, and rows that it has at least."""
MAX_STRAY, MAX_STRAY_SHARE, MAX_INTEGERS = 3, 0.02, 20
"""Decimals among whole numbers that are no votes, and different whole numbers that a column has at most."""


def drop_strays(table: RawTable, options: PanelOptions) -> RawTable:
    """Leave out summary rows, and decimals in columns that consist of few whole numbers; notes say which.

    Otherwise the votes of an expert would be numbers with decimals because of a mean below them, and would
    not be read.

    Parameters
    ----------
    table : RawTable
        The table.
    options : PanelOptions
        What the user says: columns of attributes keep their decimals.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> rows = "".join(f"{i},{i % 3},{i % 2}\\n" for i in range(60))
    >>> table = load_table(io.BytesIO(f"id,ann,truth\\n{rows}mean,0.5,0.5\\n".encode()))
    >>> drop_strays(table, PanelOptions()).notes
    ("line 62 ('mean') sums up the rows above and is not read",)
    """
    if not table.complete or table.data.num_rows < MIN_ROWS:
        return table
    table = _drop_summaries(table, options)
    notes = []
    data = table.data
    for i, name in enumerate(data.column_names):
        if name in options.attributes:
            continue
        strays = _find_strays(data.column(i), options.missing)
        if strays is not None:
            column = data.column(i).combine_chunks()
            cells = short_list(map(str, column.filter(strays).to_pylist()), MAX_STRAY)
            data = data.set_column(i, name, pc.if_else(strays, pa.scalar(None, column.type), column))
            notes.append(
                f"{cells} in {short_repr(name)}, a column of whole numbers, is no vote and is not read"
            )
    return replace(table, data=data, notes=(*table.notes, *notes)) if notes else table


def _drop_summaries(table: RawTable, options: PanelOptions) -> RawTable:
    data, dropped = table.data, dict[int, str]()
    first = data.num_rows - MAX_SUMMARY
    for i in range(min(2, data.num_columns)):
        column = data.column(i).combine_chunks()
        if not pa.types.is_string(column.type):
            continue
        for at, cell in enumerate(column.slice(first).to_pylist(), first):
            text = (cell or "").strip().rstrip(":").casefold()
            is_only_one = text in SUMMARY_NAMES and pc.sum(pc.equal(column, cell)).as_py() == 1
            if is_only_one and cell not in options.classes:
                dropped[at] = cell.strip()
    if not dropped:
        return table
    keep = np.ones(data.num_rows, bool)
    keep[list(dropped)] = False
    places = short_list([f"{table.lines[at]} ({dropped[at]!r})" for at in sorted(dropped)], MAX_SUMMARY)
    several = len(dropped) > 1
    note = (
        f"{table.unit}{'s' * several} {places} {'sum' if several else 'sums'} up the rows above and"
        f" {'are' if several else 'is'} not read"
    )
    return replace(
        table, data=data.filter(pa.array(keep)), lines=table.lines[keep], notes=(*table.notes, note)
    )


def _find_strays(column: Any, missing: tuple[str, ...]) -> Any:
    """Return which cells are decimals, if they are few and all others are few whole numbers; else None."""
    array = column.combine_chunks()
    if pa.types.is_string(array.type):
        cells = strip_missing(array, missing)
        values = cells.drop_null().value_counts()
        texts, counts = values.field("values").to_pylist(), values.field("counts").to_pylist()
        if len(texts) > MAX_INTEGERS + MAX_STRAY or not all(map(NUMBER.fullmatch, texts)):
            return None
        stray = [text for text in texts if not INTEGER.fullmatch(text)]
    elif pa.types.is_floating(array.type):
        cells = array
        values = cells.drop_null().value_counts()
        texts, counts = values.field("values").to_pylist(), values.field("counts").to_pylist()
        if len(texts) > MAX_INTEGERS + MAX_STRAY:
            return None
        stray = [value for value in texts if not value.is_integer()]
    else:
        return None
    number = sum(count for text, count in zip(texts, counts, strict=True) if text in stray)
    if not 0 < number <= min(MAX_STRAY, MAX_STRAY_SHARE * sum(counts)) or len(stray) == len(texts):
        return None
    return pc.fill_null(pc.is_in(cells, value_set=pa.array(stray, cells.type)), False)
