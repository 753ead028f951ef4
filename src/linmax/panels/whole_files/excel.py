"""Workbooks of Excel and LibreOffice, read with python-calamine."""

from __future__ import annotations

import datetime
import re
import shlex
import zipfile
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from linmax.panels.roles.names import truth_strength
from linmax.panels.whole_files.limits import Loaded, ReadLimit
from linmax.panels.whole_files.records import plain_array
from linmax.panels.whole_files.typed_tables import seekable
from linmax.streams.files.source import ByteSource
from linmax.streams.readers.csv import number_repeated
from linmax.streams.schema import UNNAMED, StreamError, short_list, short_repr
from linmax.validation import count_noun, require_extra

MAX_CELLS = 20_000_000
MAX_UNPACKED = 1 << 28
MAX_COLUMNS = 10_000
SCAN_BYTES = 1 << 22
HEADER_SHARE = 0.6  # of the columns have a name in the row that is the header
TITLE_ROWS = 20
MIN_PANEL_ROWS, MIN_PANEL_COLUMNS = 5, 3
"""Of a sheet that may hold votes and labels."""
ROW = re.compile(rb'<row\b[^>]*?\br=["\'](\d+)["\']')
CELL = re.compile(rb'<c\b[^>]*?\br=["\']([A-Z]+)\d')
ODS_CELL = re.compile(rb'<table:table-cell\b[^>]*?number-columns-repeated=["\'](\d{4,})["\'][^>]*>')
ODS_ROW = re.compile(
    rb'<table:table-row\b[^>]*?number-rows-repeated=["\'](\d{4,})["\'][^>]*>(.{0,2000})', re.DOTALL
)


def read_excel(source: ByteSource, limit: ReadLimit, *, header: bool) -> Loaded:
    """Read a sheet of a workbook, the named one or the first that is not empty, below rows of a title."""
    try:
        calamine = require_extra("python_calamine", "excel", f"reading {source.name}")
    except ImportError as error:
        raise StreamError(str(error)) from None
    part = source.part
    source = seekable(source, limit)
    file = source.seekable_file()
    if source.zip_format:
        _check_size(file, source.name)
    try:
        file.seek(0)
        workbook = calamine.CalamineWorkbook.from_filelike(file)
        names = list(workbook.sheet_names)
        if part and part not in names:
            raise StreamError(f"{source.name} has no sheet {short_repr(part)}; it has {short_list(names)}")
        notes: list[str] = []
        sheet: Any = None
        others: list[str] = []
        for name in [part] if part else names:
            candidate = workbook.get_sheet_by_name(name)
            if candidate.height and candidate.width:
                sheet, others = (sheet or candidate), (others if sheet is None else [*others, name])
        if sheet is None:
            raise StreamError(f"{source.name} has no sheet with cells (it has {short_list(names)}); fill one")
        if others:
            panels = [name for name in others if _is_panel(workbook.get_sheet_by_name(name))]
            panels = [] if _is_panel(sheet) else panels
            fits = f"{short_repr(panels[0])} looks more like votes and labels; " if panels else ""
            notes.append(
                f"the sheet {short_repr(sheet.name)} is read; {fits}another one ({short_list(others)}) is"
                f" read with --sheet {shlex.quote((panels or others)[0])}"
            )
        return _read_sheet(sheet, source.name, notes, header=header)
    except StreamError:
        raise
    except Exception as error:  # calamine raises its own errors, and those of its parsers
        raise _unreadable(source, error) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # an error in Rust that calamine does not handle
            raise _unreadable(source, error) from error
        raise


def _read_sheet(sheet: Any, file: str, notes: list[str], *, header: bool) -> Loaded:
    if sheet.width > MAX_COLUMNS or sheet.height * sheet.width > MAX_CELLS:
        raise StreamError(
            f"{file}: sheet {short_repr(sheet.name)} has {sheet.height} rows and {sheet.width} columns; at"
            f" most {MAX_COLUMNS} columns and {MAX_CELLS} cells are read"
        )
    first_row = sheet.start[0] if sheet.start else 0
    rows = ([_cell(value) for value in row] for row in sheet.to_python(skip_empty_area=True))
    names: list[str] = []
    skipped = 0
    kept: list[tuple[int, list[Any]]] = []
    blocks: list[list[Any]] = []
    lines: list[int] = []
    for i, row in enumerate(rows, first_row + 1):
        if all(value is None for value in row):
            continue
        if not names:
            if header and len(kept) < TITLE_ROWS and not _is_header(row):
                kept.append((i, row))
                continue
            names = _column_names(row) if header else [UNNAMED.format(j + 1) for j in range(len(row))]
            skipped = len(kept)
            if header:
                continue
        lines.append(i)
        blocks.append(row)
    if header and not lines and kept:  # no row looks like a header: the first one is it
        names, skipped = _column_names(kept[0][1]), 0
        lines, blocks = [i for i, _ in kept[1:]], [row for _, row in kept[1:]]
    if skipped:
        notes.append(
            f"{count_noun(skipped, 'row')} above the header {'are' if skipped > 1 else 'is'} skipped"
        )
    if not lines:
        raise StreamError(f"{file}: sheet {short_repr(sheet.name)} has no rows below the header; add one")
    columns = [_column(list(values)) for values in zip(*blocks, strict=True)]
    filled = [
        j
        for j, column in enumerate(columns)
        if column.null_count < len(column) or names[j] != UNNAMED.format(j + 1)
    ]
    data = pa.table([columns[j] for j in filled], names=[names[j] for j in filled])
    return Loaded(data, np.array(lines, np.int64), "row", notes)


def _is_panel(sheet: Any) -> bool:
    """Whether a sheet has some rows below names of columns of which one is that of a truth."""
    if sheet.height < MIN_PANEL_ROWS or sheet.width < MIN_PANEL_COLUMNS:
        return False
    rows = [[_cell(value) for value in row] for row in sheet.to_python(nrows=TITLE_ROWS)]
    header = next((row for row in rows if _is_header(row)), [])
    return any(truth_strength(str(cell)) == 2 for cell in header if cell is not None)


def _is_header(row: list[Any]) -> bool:
    return sum(value is not None for value in row) >= HEADER_SHARE * len(row)


def _column_names(row: list[Any]) -> list[str]:
    texts = ["" if value is None else str(_integer(value)).strip() for value in row]
    return number_repeated([text or UNNAMED.format(j + 1) for j, text in enumerate(texts)])


def _cell(value: Any) -> Any:
    """Return a cell as None, text, a number or a truth value; dates are text in ISO form."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time(0)
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return str(value)
    return value


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _column(values: list[Any]) -> Any:
    """Return a column; numbers without a fraction are integers, as workbooks store all numbers as floats."""
    integers = [_integer(value) for value in values]
    kinds = {type(value) for value in integers} - {type(None)}
    return plain_array(integers if kinds <= {int} or str in kinds or bool in kinds else values)


def _check_size(file: BinaryIO, name: str) -> None:
    """Refuse workbooks that unpack to far more cells than their size suggests."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > MAX_UNPACKED:
            raise StreamError(f"{name} unpacks to {size >> 20} MB; at most {MAX_UNPACKED >> 20} MB are read")
        for entry in entries:
            if entry.filename.startswith("xl/worksheets/") and entry.filename.endswith(".xml"):
                rows, columns = _scan_sheet(archive, entry)
            elif entry.filename == "content.xml":
                rows, columns = _scan_ods(archive.read(entry))
            else:
                continue
            if rows * columns > MAX_CELLS:
                raise StreamError(
                    f"{name} has cells as far as row {rows} and column {columns}; delete those far from the"
                    " table, or save it as CSV"
                )


def _scan_sheet(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Return the last row and the last column that a sheet names."""
    rows, letters, rest = 1, {b"A"}, b""
    with archive.open(entry) as file:
        while block := file.read(SCAN_BYTES):
            data = rest + block
            rows = max(rows, *map(int, ROW.findall(data)), 1)
            letters.update(CELL.findall(data))
            rest = data[-256:]
    longest = max(letters, key=lambda text: (len(text), text))[:4]
    column = 0
    for letter in longest:
        column = column * 26 + letter - 64
    return rows, column


def _scan_ods(data: bytes) -> tuple[int, int]:
    columns = max([int(cell[1]) for cell in ODS_CELL.finditer(data) if b"office:value" in cell[0]], default=1)
    rows = 1
    for row in ODS_ROW.finditer(data):
        if b"office:value" in row[2].partition(b"</table:table-row>")[0]:
            rows = max(rows, int(row[1]))
    return rows, columns if rows == 1 else max(columns, 100)


def _unreadable(source: ByteSource, error: BaseException) -> StreamError:
    if type(error).__name__ == "PasswordError" or "EncryptedPackage".encode("utf-16-le") in source.head:
        return StreamError(f"{source.name} is protected by a password; save it without one")
    reason = " ".join(str(error).split()).rstrip(".")[:120]
    return StreamError(f"{source.name} is not a readable workbook ({reason}); save it again, or as CSV")
