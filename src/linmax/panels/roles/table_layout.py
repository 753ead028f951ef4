"""Tables that are not a header above rows of items: transposed, with a second header, or with totals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.roles.names import EXPERT_WORDS, has_word, is_id_name, truth_strength
from linmax.panels.roles.profile import INTEGER, MISSING, NUMBER, profile_column, strip_missing
from linmax.panels.table import RawTable
from linmax.panels.whole_files.records import plain_array
from linmax.streams.schema import StreamError, short_list, short_repr

VOTES_PREFIX = "votes."
MIN_SWAPPED, MAX_SWAPPED = 3, 500
"""Rows of a transposed table: two experts and the labels, or more."""
MAX_BEFORE = 5
"""Columns of it among which is that of the experts; others may be a time or an address."""
MIN_ROWS = 10
"""With fewer rows, nothing is known of the first one and of the last ones."""
SUMMARY_NAMES = frozenset(
    (
        "total", "totals", "grand total", "subtotal", "sum", "average", "avg", "mean", "median", "std",
        "count", "accuracy", "acc", "overall", "summary", "gesamt", "summe", "gesamtsumme", "gesamtergebnis",
        "mittelwert", "durchschnitt", "anzahl", "moyenne", "somme", "suma", "promedio", "totale", "media",
    )
)  # fmt: skip
"""What the first cells of a row below a table say if it sums up the rows above."""
MAX_SUMMARY = 5
"""Rows at the end of a table that may be summaries."""
MAX_STRAY, MAX_STRAY_SHARE, MAX_INTEGERS = 3, 0.02, 20
"""Decimals among whole numbers that are no votes, and different whole numbers that a column has at most."""


def name_voters(table: RawTable) -> RawTable:
    """Return a table whose JSON objects such as ``{"votes": {"ann": ...}}`` are columns of experts.

    They are named without the prefix "votes.", unless another column has that name.

    Parameters
    ----------
    table : RawTable
        The table.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> named = name_voters(load_table(io.BytesIO(b'[{"votes": {"ann": "ham"}, "y": "ham"}]')))
    >>> named.data.column_names, named.hints
    (['ann', 'y'], {'experts': ('ann',)})
    """
    columns = table.data.column_names
    short = [name.removeprefix(VOTES_PREFIX) for name in columns]
    if short == columns:
        return table
    if len(set(short)) < len(short):
        short = columns
    voters = tuple(
        new for name, new in zip(columns, short, strict=True) if name.startswith(VOTES_PREFIX)
    )  # fmt: skip
    hints = {**table.hints, "experts": tuple(dict.fromkeys((*table.hints.get("experts", ()), *voters)))}
    return replace(table, data=table.data.rename_columns(short), hints=hints)


def swap_transposed(table: RawTable) -> RawTable:
    """Return a table with experts in rows and items in columns with both swapped; others as they are.

    It is transposed if it has more columns than rows, no column has the name of a truth, and its first column
    has a different text in each row, of which one is the name of a truth; or a column with the name of
    experts, such as worker, has a different one in each row.

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
        or not MIN_SWAPPED <= data.num_rows <= MAX_SWAPPED
        or data.num_columns <= data.num_rows + 1
    ):
        return table
    corner = _corner(table)
    if table.hints or corner is None or any(truth_strength(name) == 2 for name in data.column_names):
        return table
    names = _texts(data.column(corner))
    items = [name for name in data.column_names if name != corner and not _is_time(data.column(name))]
    rows = zip(*(data.column(name).to_pylist() for name in items), strict=True)
    columns: dict[str, Any] = {} if any(map(is_id_name, names)) else {"item": pa.array(items, pa.string())}
    columns |= {name: _swapped_column(list(cells)) for name, cells in zip(names, rows, strict=True)}
    note = (
        f"the table has a row per expert and a column per item ({short_repr(corner)} is"
        f" {short_repr(names[0])}, ...): rows and columns are swapped"
    )
    places = np.arange(2, len(items) + 2)
    return replace(table, data=pa.table(columns), lines=places, unit="row", notes=(*table.notes, note))


def _corner(table: RawTable) -> str | None:
    """Return the column with the names of the rows; None if there is none."""
    columns: list[str] = table.data.column_names
    named = [one for one in columns[:MAX_BEFORE] if has_word(one, EXPERT_WORDS)]
    for name in dict.fromkeys([columns[0], *named]):
        column = table.data.column(name)
        if pa.types.is_string(column.type):
            texts = _texts(column)
            truths = sum(truth_strength(text) == 2 for text in texts)
            is_named = truths == 1 or (has_word(name, EXPERT_WORDS) and not truths)
            if is_named and all(texts) and len(set(texts)) == len(texts):
                return name
    return None


def _texts(column: Any) -> list[str]:
    return [(text or "").strip() for text in column.to_pylist()]


def _is_time(column: Any) -> bool:
    return profile_column("", column).type == "time"


def _swapped_column(cells: list[Any]) -> Any:
    kinds = {type(cell) for cell in cells} - {type(None)}
    return plain_array(cells if len(kinds) < 2 else [None if cell is None else str(cell) for cell in cells])


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


def drop_strays(table: RawTable, options: PanelOptions) -> RawTable:
    """Leave out summary rows, repeated headers, and decimals among few whole numbers; notes say which.

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
    table = _drop_headers(_drop_summaries(table, options))
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


def _drop_headers(table: RawTable) -> RawTable:
    """Leave out rows that repeat the names of all columns, as joined files have them."""
    data = table.data
    repeated: Any = pa.array(np.ones(data.num_rows, np.bool_))
    for name in data.column_names:
        column = data.column(name).combine_chunks()
        if not pa.types.is_string(column.type) or data.num_columns < 2:
            return table
        same = pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), name), False)
        repeated = pc.and_(repeated, same)
        if not pc.any(repeated).as_py():
            return table
    rows = np.asarray(repeated.to_numpy(zero_copy_only=False), np.bool_)
    places = short_list([str(line) for line in table.lines[rows].tolist()])
    note = f"the names of the columns are repeated in {table.unit} {places}, which is not read"
    return replace(
        table, data=data.filter(pa.array(~rows)), lines=table.lines[~rows], notes=(*table.notes, note)
    )


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
        if not pc.any(pc.match_substring(array, ".")).as_py():
            return None
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
