"""CSV and TSV files: every cell is text."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from linmax.streams.columns import TableBatch
from linmax.streams.files.encoding import BOM
from linmax.streams.files.source import HEAD_SIZE, ByteSource, TextBlock, text_blocks
from linmax.streams.schema import UNNAMED, StreamError, short_repr
from linmax.validation import count_noun

MAX_COLUMNS = 10_000
DELIMITERS = (b"\t", b";", b"|", b",")
SAMPLE_LINES = 20  # from which the delimiter is found
SEP_LINE = re.compile(rb'"?sep=([^\r\n"])"?[;,\t|]*\r?\n', re.IGNORECASE)  # written by spreadsheets
QUOTED = re.compile(rb'"(?:[^"]|"")*"')
NUMBERS = re.compile(rb"[-+]?[\d.]+(e[-+]?\d+)?( [-+]?[\d.]+(e[-+]?\d+)?)+\r?", re.IGNORECASE)
DECIMAL_COMMA = re.compile(rb"(?<=\d),(?=\d)")
NEWLINE, RETURN, QUOTE = b'\n\r"'


class CsvReader:
    """A file whose first row names the columns; cells are separated by commas, semicolons, tabs or bars.

    pyarrow parses the cells. Rows are located here as well, because every item of a stream is known by the
    line at which it starts, and pyarrow (26) does not report lines: `invalid_row_handler` numbers rows, not
    lines (blank lines and newlines in quotes are not counted), and only invalid rows get a number.
    `open_csv` also reads bytes that are not UTF-8 and NUL bytes without a place, takes a lone carriage
    return for the end of a row, and fails on rows longer than its block.

    Parameters
    ----------
    source : ByteSource
        The file.
    format : {"CSV", "TSV"}
        "TSV" for tabs; the delimiter of "CSV" is found in the first lines.
    header : bool
        Whether the first row names the columns; otherwise they are named "column 1", "column 2", ...
    repeated : {"refuse", "number"}
        What happens if two columns have the same name: an error, or "name" and "name.2".

    Attributes
    ----------
    repeated_names : list of str
        The names that occur more than once in the header.
    """

    unit = "line"
    num_rows = None

    def __init__(
        self, source: ByteSource, format: str, *, header: bool = True, repeated: str = "refuse"
    ) -> None:
        self.format, self.name = format, source.name
        self.header, self._number_repeated = header, repeated == "number"
        self.repeated_names: list[str] = []
        self.roles: dict[str, Any] = {}
        self.delimiter = find_delimiter(source.head, format)
        before_quote = rb"(?:(?<=[\r\n" + re.escape(self.delimiter) + rb"])|\A)"
        self._quoted_cell = re.compile(before_quote + rb'"(?:[^"]|"")*(?:"|\Z)')
        self._beside_quotes = np.frombuffer(self.delimiter + b'\r\n"', np.uint8)
        self._blocks = text_blocks(source, self._last_row_end)
        first = next((block for block in self._blocks if block.data.strip(b"\r\n")), TextBlock(b"", 1))
        names, self._first_block = self._read_header(first)
        self.arrow_schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns as text, with null for empty cells."""
        yield from self._split(self._first_block, columns, max_rows)
        for block in self._blocks:
            yield from self._split(block, columns, max_rows)

    def _split(self, block: TextBlock, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        if not block.data.strip(b"\r\n"):
            return
        lines = self._row_lines(block)
        table = self._parse(block, lines, columns)
        if len(table) != len(lines):
            raise self._unreadable(block)
        for start in range(0, len(table), max_rows):
            yield TableBatch(table.slice(start, max_rows), lines[start : start + max_rows])

    def _parse(self, block: TextBlock, lines: NDArray[np.int64], columns: Sequence[str]) -> Any:
        names, invalid = self.arrow_schema.names, []

        def handle_invalid(row: Any) -> str:
            invalid.append(row)
            return "error"

        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(block.data),
                pyarrow.csv.ReadOptions(
                    column_names=names, use_threads=False, block_size=max(len(block.data) + 1, 64)
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=self.delimiter.decode(),
                    newlines_in_values=True,
                    invalid_row_handler=handle_invalid,
                ),
                pyarrow.csv.ConvertOptions(
                    column_types={name: pa.string() for name in names},
                    include_columns=list(columns) or names[:1],
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowException as error:
            if not invalid or self._lone_return(block.data) >= 0 or invalid[0].number > len(lines):
                raise self._unreadable(block) from error
            row, sign = invalid[0], short_repr(self.delimiter.decode()).replace("'\\t'", "a tab")
            cells = count_noun(row.actual_columns, "cell")
            if row.expected_columns == 1 and self.header:
                raise StreamError(
                    f"{self.name}, line {lines[row.number - 1]}: {cells} where the first line has 1; remove"
                    " titles and comments above the names of the columns"
                ) from error
            raise StreamError(
                f"{self.name}, line {lines[row.number - 1]}: {cells} where the"
                f" {'header' if self.header else 'first row'} has {row.expected_columns};"
                f" fix the row (a cell that contains {sign} needs quotes)"
            ) from error

    def _unreadable(self, block: TextBlock) -> StreamError:
        place = self._lone_return(block.data)
        if place < 0:
            return StreamError(
                f"{self.name}, line {block.line} or later is not valid {self.format}; check its quotes"
            )
        line = block.line + block.data.count(b"\n", 0, place)
        return StreamError(
            f"{self.name}, line {line}: a carriage return without a newline; end lines with newlines"
        )

    def _lone_return(self, data: bytes) -> int:
        """Return the place of a carriage return outside quotes that no newline follows, or -1."""
        unquoted = self._quoted_cell.sub(lambda cell: b" " * len(cell[0]), data)
        found = re.search(rb"\r(?!\n)", unquoted)
        return found.start() if found else -1

    def _last_row_end(self, data: bytes) -> int:
        if b'"' not in data:
            return data.rfind(b"\n") + 1
        return int(self._row_ends(data).max(initial=0))

    def _row_ends(self, data: bytes) -> NDArray[np.int64]:
        """Return the ends of all rows: the places after newlines that are not in quotes."""
        letters = np.frombuffer(data, np.uint8)
        newlines: NDArray[np.int64] = np.flatnonzero(letters == NEWLINE)
        quotes = np.flatnonzero(letters == QUOTE)
        if not len(quotes):
            return newlines + 1
        before, after = letters[quotes - 1], letters[np.minimum(quotes + 1, len(letters) - 1)]
        opening = np.isin(before[::2], self._beside_quotes) | (quotes[::2] == 0)
        closing = np.isin(after[1::2], self._beside_quotes) | (quotes[1::2] == len(letters) - 1)
        if opening.all() and closing.all():  # all quotes are around cells, in pairs
            quotes_before: NDArray[np.int64] = np.searchsorted(quotes, newlines)
            newlines = newlines[quotes_before % 2 == 0]
            return newlines + 1
        spans = np.array([cell.span() for cell in self._quoted_cell.finditer(data)], np.int64).reshape(-1, 2)
        cell = np.searchsorted(spans[:, 0], newlines) - 1
        quoted = (cell >= 0) & (newlines < np.append(spans[:, 1], 0)[cell])
        return newlines[~quoted] + 1

    def _row_lines(self, block: TextBlock) -> NDArray[np.int64]:
        """Return the line at which each row starts; blank rows are skipped, as pyarrow does."""
        letters = np.frombuffer(block.data, np.uint8)
        ends = np.append(self._row_ends(block.data), len(letters))
        starts = np.append(0, ends[:-1])
        nonempty = starts < ends
        starts, ends = starts[nonempty], ends[nonempty]
        blank = (ends - starts == 1) & (letters[starts] == NEWLINE)
        blank |= (ends - starts == 2) & (letters[starts] == RETURN) & (letters[ends - 1] == NEWLINE)
        newlines: NDArray[np.int64] = np.flatnonzero(letters == NEWLINE)
        lines: NDArray[np.int64] = np.searchsorted(newlines, starts[~blank]) + block.line
        return lines

    def _read_header(self, block: TextBlock) -> tuple[list[str], TextBlock]:
        """Return the names of the columns and the rest of the first block."""
        data = block.data.lstrip(b"\r\n")
        if not data:
            raise StreamError(f"{self.name} is empty; it needs a header or at least one row")
        line = block.line + block.data.count(b"\n", 0, len(block.data) - len(data))
        if separator := SEP_LINE.match(data):
            data, line = data[separator.end() :], line + 1
        end = int(np.append(self._row_ends(data), len(data))[0])
        header = data[:end].decode(errors="replace").rstrip("\r\n")
        if "\r" in header:
            raise self._unreadable(TextBlock(data, line))
        names = [name.strip() for name in self._split_header(header)]
        if len(names) > MAX_COLUMNS:
            raise StreamError(
                f"{self.name}, line {line}: {len(names)} columns; at most {MAX_COLUMNS} are read"
            )
        if not self.header:
            names = [UNNAMED.format(i + 1) for i in range(len(names))]
            return names, TextBlock(data, line)
        names = [name or UNNAMED.format(i + 1) for i, name in enumerate(names)]
        self.repeated_names = [name for name, count in Counter(names).items() if count > 1]
        if self.repeated_names and not self._number_repeated:
            raise StreamError(
                f"{self.name}, line {line}: two columns {short_repr(self.repeated_names[0])};"
                " rename one, or add a header if there is none"
            )
        if self.repeated_names:
            names = number_repeated(names)
        return names, TextBlock(data[end:], line + data.count(b"\n", 0, end))

    def _split_header(self, header: str) -> list[str]:
        sign = self.delimiter.decode()
        try:
            return next(csv.reader(io.StringIO(header, newline=""), delimiter=sign), [""])
        except csv.Error:  # a cell is longer than the csv module allows
            return header.split(sign)


def find_delimiter(head: bytes, format: str = "CSV") -> bytes:
    r"""Find the delimiter of a text from its first lines.

    A first line `sep=;` names it. Otherwise it is a sign of the first line which occurs as often in the next
    lines; commas in numbers such as 0,5 do not count if another sign does. Blanks separate numbers only.

    Parameters
    ----------
    head : bytes
        The first bytes of the file.
    format : {"CSV", "TSV"}
        The format; "TSV" prefers a tab.

    Returns
    -------
    bytes

    Examples
    --------
    >>> find_delimiter(b"a,b\n1,2\n"), find_delimiter(b"sep=|\na,b|c\n"), find_delimiter(b"0,5;0,7\n")
    (b',', b'|', b';')
    """
    text = head.removeprefix(BOM).lstrip(b"\r\n")
    if separator := SEP_LINE.match(text):
        return separator[1]
    lines = QUOTED.sub(b'""', text).split(b"\n")
    if len(head) >= HEAD_SIZE and len(lines) > 1:
        lines.pop()  # it is cut off
    lines = [line for line in lines if line.strip()][:SAMPLE_LINES] or [b""]
    signs = [sign for sign in DELIMITERS if sign in lines[0]]
    if format == "TSV" and (b"\t" in signs or not signs):
        return b"\t"
    if not signs and _is_space_separated(lines):
        return b" "
    if len(signs) < 2:
        return signs[0] if signs else b","
    regular = [sign for sign in signs if len({line.count(sign) for line in lines}) == 1]
    if any(sign != b"," for sign in regular) and not any(b"," in DECIMAL_COMMA.sub(b"", x) for x in lines):
        regular = [sign for sign in regular if sign != b","]
    return max(regular or signs, key=lines[0].count)


def _is_space_separated(lines: list[bytes]) -> bool:
    same = len({line.count(b" ") for line in lines}) == 1
    return same and len(lines) > 1 and all(NUMBERS.fullmatch(line) for line in lines[1:])


def number_repeated(names: Sequence[str]) -> list[str]:
    """Make names distinct: the second column `name` becomes `name.2`.

    Examples
    --------
    >>> number_repeated(["vote", "vote", "vote.2", "vote"])
    ['vote', 'vote.3', 'vote.2', 'vote.4']
    """
    taken, counts, distinct = set(names), Counter[str](), []
    for name in names:
        counts[name] += 1
        new = name
        while counts[name] > 1 and new in taken:
            new = f"{name}.{counts[name]}"
            counts[name] += new in taken
        taken.add(new)
        distinct.append(new)
    return distinct
