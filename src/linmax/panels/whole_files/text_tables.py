"""CSV and TSV files read as a whole: doubtful headers, decimal commas, and tables of Markdown."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.whole_files.limits import HEAD_ROWS, Loaded, ReadLimit
from linmax.streams.columns import single_chunk
from linmax.streams.files.source import ByteSource
from linmax.streams.readers.csv import CsvReader
from linmax.streams.schema import UNNAMED, StreamError, short_list, short_repr

DECIMAL = r"^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][-+]?\d+)?\s*$"
"""A number with a decimal comma, and perhaps with points between thousands, or an integer."""
HEADER_ROWS = 1000  # with which the header is compared
SAMPLE_LINES, MIN_LINES, MIN_WORDS = 50, 5, 3
"""Lines in which blanks between columns are looked for, and words of the first one."""
RULE = re.compile(r"\s*:?-+:?\s*")
"""A cell of the line below the header of a Markdown table."""
DRAWN = re.compile(rb"(\s*\+(-+\+)+\s*\r?\n|[^\n]*\|[^\n]*\n\s*-+(\+-+)+\s*\r?\n)")
"""The beginning of a table with lines around its cells, as mysql and psql print it."""


def read_csv(source: ByteSource, format: str, limit: ReadLimit, *, header: bool) -> Loaded:
    """Read a CSV or TSV file as columns of text, with null for empty cells."""
    if DRAWN.match(source.head):
        raise StreamError(
            f"{source.name} is a table with lines drawn around its cells; export it as CSV (psql --csv), or"
            " with tabs (mysql --batch)"
        )
    reader = CsvReader(source, format, header=header, repeated="number")
    names = reader.arrow_schema.names
    if len(names) == 1 and _has_blanks_between(source.head):
        raise StreamError(
            f"the columns of {source.name} are separated by blanks; separate them with commas or tabs (to_csv"
            " in pandas, write.csv in R)"
        )
    tables, lines, rows, complete = [], [], 0, True
    for batch in reader.batches(names, HEAD_ROWS):
        tables.append(batch.table)
        lines.append(batch.lines)
        rows += len(batch.lines)
        if limit.reached(rows, len(names)):
            complete = False
            break
    data = pa.concat_tables(tables) if tables else reader.arrow_schema.empty_table()
    places = np.concatenate(lines) if lines else np.empty(0, np.int64)
    if not complete:
        data, places = data.slice(0, HEAD_ROWS), places[:HEAD_ROWS]
    is_ruled = header and reader.delimiter == b"|" and _is_rule(data)
    if is_ruled:
        data, places = _without_borders(data.slice(1)), places[1:]
    notes = check_header(reader, data, source.name) if header else []
    notes += ["this is a table of Markdown"] * is_ruled
    data = data.combine_chunks()
    if reader.delimiter != b",":
        data, converted = convert_decimal_commas(data)
        if converted:
            notes.append(decimal_note(converted))
    return Loaded(data, places, "line", notes, complete)


def _has_blanks_between(head: bytes) -> bool:
    """Whether lines have several words each, as many as the first one or one more, which is a row name."""
    lines = [blank_separated(line) for line in head.decode(errors="replace").splitlines()[:SAMPLE_LINES]]
    counts = [len(line) for line in lines if line]
    if len(counts) < MIN_LINES or counts[0] < MIN_WORDS:
        return False
    return len(set(counts[1:-1])) == 1 and counts[1] - counts[0] in (0, 1)


def blank_separated(line: str) -> list[str]:
    """Return the words of a line; those in quotes are one.

    Examples
    --------
    >>> blank_separated('"1" "not spam" ham')
    ['"1"', '"not spam"', 'ham']
    """
    return re.findall(r'"[^"]*"|\S+', line)


def _is_rule(data: Any) -> bool:
    """Whether the first row is the line below the header of a Markdown table."""
    if not len(data):
        return False
    cells = [column[0].as_py() for column in data.columns]
    shown = [cell for cell in cells if cell is not None]
    return bool(shown) and all(map(RULE.fullmatch, shown))


def _without_borders(data: Any) -> Any:
    """Return a table without the empty columns outside of the first and the last bar."""
    empty = [
        i
        for i in (0, data.num_columns - 1)
        if data.column_names[i] == UNNAMED.format(i + 1) and data.column(i).null_count == len(data)
    ]
    return data.select([i for i in range(data.num_columns) if i not in empty])


def convert_decimal_commas(data: Any) -> tuple[Any, list[str]]:
    """Write numbers with decimal commas with points, in columns of text that consist of such numbers.

    Cells without a digit, such as NA, may be among them.

    Parameters
    ----------
    data : pyarrow.Table
        Columns of text.

    Returns
    -------
    data : pyarrow.Table
        The same columns.
    converted : list of str
        The columns with decimal commas.

    Examples
    --------
    >>> table = pa.table({"a": ["0,5", "1", "NA"], "b": ["1,2,3", "x", "y"]})
    >>> data, converted = convert_decimal_commas(table)
    >>> converted, data["a"].to_pylist()
    (['a'], ['0.5', '1', 'NA'])
    """
    converted = []
    for i, name in enumerate(data.column_names):
        column = single_chunk(data.column(i))
        sample = column.slice(0, HEADER_ROWS)
        if pc.any(pc.match_substring(sample, ",")).as_py() is not True or not _is_decimal(sample):
            continue
        if not _is_decimal(column):
            continue
        data = data.set_column(i, name, decimal_points(column))
        converted.append(name)
    return data, converted


def decimal_note(converted: list[str]) -> str:
    """Return a note on the columns with decimal commas."""
    return f"decimal commas are read as points in {short_list(converted)}"


def decimal_points(column: Any) -> Any:
    """Return a column of text in which numbers with decimal commas are written with points.

    Parameters
    ----------
    column : pyarrow.Array
        The column.

    Examples
    --------
    >>> decimal_points(pa.array(["1.000,5", "1.5", "a,b"])).to_pylist()
    ['1000.5', '1.5', 'a,b']
    """
    number = pc.match_substring_regex(column, DECIMAL)
    with_points = pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
    comma = pc.and_(number, pc.match_substring(column, ","))
    return pc.if_else(comma, with_points, column)


def _is_decimal(column: Any) -> bool:
    """Return whether at least half of the cells are numbers, and no other cell contains a digit."""
    number = pc.match_substring_regex(column, DECIMAL)
    count = pc.sum(number).as_py() or 0
    if 2 * count < len(column) - column.null_count or not count:
        return False
    others = column.filter(pc.invert(number))
    return pc.any(pc.match_substring_regex(others, r"\d")).as_py() is not True


def check_header(reader: CsvReader, data: Any, file: str) -> list[str]:
    """Return notes on the header; refuse one that is a row of data.

    Parameters
    ----------
    reader : CsvReader
        What has read it, and numbers names that repeat.
    data : pyarrow.Table
        The first rows below it.
    file : str
        Name of the file, for messages.
    """
    head = data.slice(0, HEADER_ROWS)
    repeated = reader.repeated_names
    like_data = 0
    for name in data.column_names[:HEADER_ROWS]:
        if not name.startswith("column "):
            first, _, number = name.rpartition(".")
            written = first if first in repeated and number.isdecimal() else name
            like_data += pc.any(pc.equal(head.column(name), written)).as_py() is True
    is_data = len(data) > 0 and 2 * like_data >= data.num_columns
    if repeated and is_data:
        raise StreamError(
            f"{file}: the first row repeats {short_repr(repeated[0])} and looks like data, not like names of"
            " columns; add a header, or read it with --no-header (header=False)"
        )
    notes = []
    if is_data:
        notes.append(
            f"the first row ({short_list(data.column_names, 3)}) may be data, not names of columns; if so,"
            " read the file with --no-header"
        )
    if repeated:
        notes.append(f"several columns are named {short_list(repeated)}: the second is {repeated[0]}.2")
    return notes
