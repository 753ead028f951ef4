"""CSV and TSV: every cell is text, as it is written."""

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

from linmax.streams.columns import Batch
from linmax.streams.schema import StreamError, short_repr
from linmax.streams.source import Block, Source, blocks

MOST = 10_000  # columns
UNNAMED = "column {}"
NEWLINE, RETURN, QUOTE = b'\n\r"'


class Delimited:
    """A file of rows with cells between commas, semicolons or tabs; the first row names the columns."""

    unit = "line"
    rows = None

    def __init__(self, source: Source, format: str) -> None:
        self.format, self.name = format, source.name
        self.roles: dict[str, Any] = {}
        head = source.head.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0]
        self.delimiter = b"\t" if format == "TSV" else _delimiter(head)
        self._field = re.compile(
            rb"(?:(?<=[\r\n" + re.escape(self.delimiter) + rb'])|\A)"(?:[^"]|"")*(?:"|\Z)'
        )
        self._around = np.frombuffer(self.delimiter + b'\r\n"', np.uint8)
        self._blocks = blocks(source, self.end)
        first = next((block for block in self._blocks if block.data.strip(b"\r\n")), Block(b"", 1))
        names, self._first = self._header(first)
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def end(self, data: bytes) -> int:
        """Where the last whole row ends: at a newline that no quotes are around."""
        if b'"' not in data:
            return data.rfind(b"\n") + 1
        return int(self._ends(data).max(initial=0))

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """The columns as text, None where a cell is empty."""
        yield from self._sliced(self._first, columns, most)
        for block in self._blocks:
            yield from self._sliced(block, columns, most)

    def _sliced(self, block: Block, columns: Sequence[str], most: int) -> Iterator[Batch]:
        if not block.data.strip(b"\r\n"):
            return
        table = self._parsed(block, columns)
        lines = self._lines(block)
        if len(lines) != len(table):  # a lone \r, which ends a row for the one and not for the other
            raise self._lone_return(block)
        for start in range(0, len(table), most):
            yield Batch(table.slice(start, most), lines[start : start + most])

    def _parsed(self, block: Block, columns: Sequence[str]) -> Any:
        names = self.schema.names
        reading = pyarrow.csv.ReadOptions(
            column_names=names, use_threads=False, block_size=max(len(block.data) + 1, 64)
        )
        parsing = pyarrow.csv.ParseOptions(delimiter=self.delimiter.decode(), newlines_in_values=True)
        converting = pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            include_columns=list(columns) or names[:1],
            null_values=[""],
            strings_can_be_null=True,
        )
        try:
            return pyarrow.csv.read_csv(pa.BufferReader(block.data), reading, parsing, converting)
        except pa.ArrowException as error:
            raise self._diagnosis(block) from error

    def _diagnosis(self, block: Block) -> StreamError:
        wide = len(self.schema)
        for line, row in self._rows(block):
            cells = len(_cells(row, self.delimiter))
            if cells != wide:
                sign = short_repr(self.delimiter.decode()).replace("'\\t'", "a tab")
                return StreamError(
                    f"{self.name}, line {line}: {cells} cells where the header has {wide};"
                    f" mend the row (a cell with {sign} in it needs quotes)"
                )
        if b"\r" in block.data.replace(b"\r\n", b""):
            return self._lone_return(block)
        return StreamError(
            f"{self.name}, line {block.line} or later cannot be read as {self.format}; check its quotes"
        )

    def _lone_return(self, block: Block) -> StreamError:
        place = re.search(rb"\r(?!\n)", block.data)
        line = block.line + (block.data.count(b"\n", 0, place.start()) if place else 0)
        return StreamError(
            f"{self.name}, line {line}: a carriage return without a newline; end lines with newlines"
        )

    def _rows(self, block: Block) -> Iterator[tuple[int, bytes]]:
        """Every row that is not blank, with its line."""
        data, start, line = block.data, 0, block.line
        for end in [*self._ends(data).tolist(), len(data)]:
            row = data[start:end]
            if row.strip(b"\r\n"):
                yield line, row
            line += row.count(b"\n")
            start = end

    def _ends(self, data: bytes) -> NDArray[np.int64]:
        """Where rows end: after newlines that no quotes are around."""
        letters = np.frombuffer(data, np.uint8)
        newlines: NDArray[np.int64] = np.flatnonzero(letters == NEWLINE)
        quotes = np.flatnonzero(letters == QUOTE)
        if not len(quotes):
            return newlines + 1
        before, after = letters[quotes - 1], letters[np.minimum(quotes + 1, len(letters) - 1)]
        opens = np.isin(before[::2], self._around) | (quotes[::2] == 0)
        closes = np.isin(after[1::2], self._around) | (quotes[1::2] == len(letters) - 1)
        if opens.all() and closes.all():  # no quotes within a cell: they come in pairs
            before_each: NDArray[np.int64] = np.searchsorted(quotes, newlines)
            newlines = newlines[before_each % 2 == 0]
            return newlines + 1
        spans = np.array([match.span() for match in self._field.finditer(data)], np.int64).reshape(-1, 2)
        which = np.searchsorted(spans[:, 0], newlines) - 1
        inside = (which >= 0) & (newlines < np.append(spans[:, 1], 0)[which])
        return newlines[~inside] + 1

    def _lines(self, block: Block) -> NDArray[np.int64]:
        """The line that each row begins in; blank rows are passed over, as by pyarrow."""
        letters = np.frombuffer(block.data, np.uint8)
        ends = np.append(self._ends(block.data), len(letters))
        starts = np.append(0, ends[:-1])
        there = starts < ends
        starts, ends = starts[there], ends[there]
        blank = (ends - starts == 1) & (letters[starts] == NEWLINE)
        blank |= (ends - starts == 2) & (letters[starts] == RETURN) & (letters[ends - 1] == NEWLINE)
        newlines: NDArray[np.int64] = np.flatnonzero(letters == NEWLINE)
        lines: NDArray[np.int64] = np.searchsorted(newlines, starts[~blank]) + block.line
        return lines

    def _header(self, block: Block) -> tuple[list[str], Block]:
        found = next(self._rows(block), None)
        if found is None:
            raise StreamError(f"{self.name} is empty; it needs a header or at least one row")
        line, row = found
        if b"\r" in row.rstrip(b"\r\n"):
            raise self._lone_return(block)
        names = [name.strip() for name in _cells(row, self.delimiter)]
        if len(names) > MOST:
            raise StreamError(f"{self.name}, line {line}: {len(names)} columns; up to {MOST} are read")
        names = [name or UNNAMED.format(i + 1) for i, name in enumerate(names)]
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise StreamError(
                f"{self.name}, line {line}: two columns {short_repr(twice[0])};"
                " rename one, or add a header if there is none"
            )
        start = block.data.index(row) + len(row)
        rest = block.data[start:]
        return names, Block(rest, block.line + block.data.count(b"\n", 0, start))


def _cells(row: bytes, delimiter: bytes) -> list[str]:
    text = io.StringIO(row.decode(errors="replace").rstrip("\r\n"), newline="")
    try:
        return next(csv.reader(text, delimiter=delimiter.decode()), [""])
    except csv.Error:  # a cell beyond csv's limit
        return row.decode(errors="replace").rstrip("\r\n").split(delimiter.decode())


def _delimiter(head: bytes) -> bytes:
    """A comma, unless the header has none and has semicolons or tabs."""
    return next((sign for sign in (b",", b";", b"\t") if sign in head), b",")
