"""Parquet and Arrow files, whose columns have types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from linmax.streams.columns import TableBatch
from linmax.streams.files.source import ByteSource
from linmax.streams.schema import StreamError, short_repr

MAX_HEADER_BYTES, MAX_HEADER_ENTRIES = 1 << 24, 1 << 20  # of a Parquet file
BUFFER_BYTES = 1 << 18  # of each column, read at a time
MAX_DICTIONARY_BYTES = 1 << 16  # of a column that stays dictionary-encoded
ARROW_FILE_PREFIX = 8  # an Arrow file is "ARROW1", two bytes, an Arrow stream and a footer
ERRORS = (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError, OverflowError)


class ParquetReader:
    """A Parquet file, decoded a few pages at a time.

    Parameters
    ----------
    source : ByteSource
        The file, which must be on disk and not compressed as a whole.
    keep_dictionaries : bool
        Whether all columns of text stay dictionary-encoded. Otherwise only those with short dictionaries do.
    """

    format, unit = "Parquet", "row"

    def __init__(self, source: ByteSource, *, keep_dictionaries: bool = False) -> None:
        self.name = source.name
        self.roles: dict[str, Any] = {}
        if not source.seekable:
            obstacle = f"{source.compression} around it" if source.compression else "a pipe"
            raise StreamError(
                f"{self.name}: Parquet is read from its end, which {obstacle} hides; save it to a plain file"
            )
        try:
            self._file = _open_parquet(source, [])
            if dictionaries := _dictionary_columns(self._file, keep_all=keep_dictionaries):
                self._file = _open_parquet(source, dictionaries)
            self.arrow_schema = self._file.schema_arrow
            self.num_rows = int(self._file.metadata.num_rows)
            names = self.arrow_schema.names
        except ERRORS as error:
            raise _damaged(self.name, "Parquet", error) from error
        _check_distinct(self.name, names)

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns with the types that they have in the file."""
        names, start = list(columns), 0
        for groups, rows in self._row_groups(max_rows):
            batches = self._file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False)
            tables = (pa.Table.from_batches([batch]) for batch in _guard(batches, self.name, "Parquet"))
            valid = (_validate(table, self.name, "Parquet") for table in tables)
            for table in _merge_small(valid, rows):
                yield TableBatch(table.select(names), np.arange(start + 1, start + 1 + len(table)))
                start += len(table)
        if start != self.num_rows:
            raise StreamError(
                f"{self.name} has {start} rows and its header says {self.num_rows}; write it again"
            )

    def cell_bytes(self, column: str) -> float:
        """Return the mean size of the cells of a column in the first rows, before compression."""
        if not self._file.metadata.num_row_groups:
            return 0.0
        group = self._file.metadata.row_group(0)
        parts = (group.column(i) for i in range(group.num_columns))
        own = [part for part in parts if part.path_in_schema.partition(".")[0] == column]
        size: int = sum(part.total_uncompressed_size for part in own)
        return size / max(int(group.num_rows), 1)

    def _row_groups(self, max_rows: int) -> Iterator[tuple[list[int], int]]:
        """Yield row groups to read together, and how many of their rows to read at a time.

        A batch that ends where a row group ends takes less time and memory than one across the border.
        """
        metadata = self._file.metadata
        groups, rows = [], 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            rows += max(metadata.row_group(group).num_rows, 0)
            if rows >= max_rows or group == metadata.num_row_groups - 1:
                batches = max(-(-rows // max_rows), 1)
                yield groups, max(-(-rows // batches), 1)
                groups, rows = [], 0


class ArrowReader:
    """An Arrow file or stream, read one record batch at a time, also from a pipe.

    Parameters
    ----------
    source : ByteSource
        The file.
    """

    format, unit = "Arrow", "row"
    num_rows = None

    def __init__(self, source: ByteSource) -> None:
        self.name = source.name
        self.roles: dict[str, Any] = {}
        if source.head.startswith(b"ARROW1"):
            source.read(ARROW_FILE_PREFIX)
        try:
            self._stream = pa.ipc.open_stream(pa.PythonFile(source, mode="r"))
            self.arrow_schema = self._stream.schema
            names = self.arrow_schema.names
        except ERRORS as error:
            raise _damaged(self.name, "Arrow", error) from error
        _check_distinct(self.name, names)

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns with the types that they have in the file."""
        first = 0
        for batch in _guard(self._stream, self.name, "Arrow"):
            table = _validate(pa.Table.from_batches([batch]).select(list(columns)), self.name, "Arrow")
            for start in range(0, len(table), max_rows):
                rows = table.slice(start, max_rows)
                yield TableBatch(rows, np.arange(first + 1, first + 1 + len(rows)))
                first += len(rows)


def validate_array(array: Any) -> None:
    """Check that no offset or code of an Arrow array points outside, and that its text is UTF-8.

    Raises
    ------
    ValueError, pyarrow.ArrowException
        If the array is not valid. Later steps rely on the check.
    """
    if not pa.types.is_dictionary(array.type):
        array.validate(full=True)
        return
    # for codes the full check takes as long as decoding; their maximum is enough
    array.validate()
    array.indices.validate(full=True)
    array.dictionary.validate(full=True)
    indices = array.indices.drop_null() if array.indices.null_count else array.indices
    codes = indices.to_numpy()
    largest = codes.view(f"u{codes.itemsize}").max(initial=0)  # unsigned: negative codes are large ones
    if len(codes) and largest >= len(array.dictionary):
        raise ValueError(f"code {largest} for {len(array.dictionary)} values")


def _open_parquet(source: ByteSource, dictionary_columns: list[str]) -> Any:
    return pyarrow.parquet.ParquetFile(
        pa.PythonFile(source.seekable_file(), mode="r"),
        read_dictionary=dictionary_columns,
        pre_buffer=False,  # it would keep all bytes that were ever read
        buffer_size=BUFFER_BYTES,  # without it, columns of a row group are read as a whole
        thrift_string_size_limit=MAX_HEADER_BYTES,
        thrift_container_size_limit=MAX_HEADER_ENTRIES,
    )


def _dictionary_columns(file: Any, *, keep_all: bool) -> list[str]:
    """Return the text columns with a short dictionary: they stay encoded, which is faster."""
    metadata = file.metadata
    if not metadata.num_row_groups:
        return []
    columns = map(metadata.row_group(0).column, range(metadata.num_columns))
    texts = {field.name for field in file.schema_arrow if pa.types.is_string(field.type)}
    if keep_all:
        return sorted(texts)
    return [
        column.path_in_schema
        for column in columns
        if column.path_in_schema in texts
        and column.dictionary_page_offset is not None
        and 0 < column.data_page_offset - column.dictionary_page_offset < MAX_DICTIONARY_BYTES
    ]


def _merge_small(tables: Iterator[Any], rows: int) -> Iterator[Any]:
    """Merge small tables, such as those of small row groups, into tables of about so many rows."""
    waiting: list[Any] = []
    size = 0
    for table in tables:
        if waiting and size + len(table) > rows:
            yield _merge(waiting)
            waiting, size = [], 0
        waiting.append(table)
        size += len(table)
        if size >= rows:
            yield _merge(waiting)
            waiting, size = [], 0
    if waiting:
        yield _merge(waiting)


def _merge(tables: list[Any]) -> Any:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _guard(batches: Any, name: str, format: str) -> Iterator[Any]:
    """Iterate over the batches of a file; errors become a StreamError."""
    steps = iter(batches)
    while True:
        try:
            batch = next(steps)
        except StopIteration:
            return
        except ERRORS as error:
            raise _damaged(name, format, error) from error
        yield batch


def _validate(table: Any, name: str, format: str) -> Any:
    try:
        for column in table.columns:
            for array in column.chunks:
                validate_array(array)
    except ERRORS as error:
        raise _damaged(name, format, error) from error
    return table


def _damaged(name: str, format: str, error: BaseException) -> StreamError:
    if isinstance(error, StreamError):
        return error
    reason = " ".join(str(error).split()).rstrip(".")[:120]
    return StreamError(f"{name} is not a valid {format} file ({reason}); copy or write it again")


def _check_distinct(name: str, columns: list[str]) -> None:
    repeated = next((column for column, count in Counter(columns).items() if count > 1), None)
    if repeated is not None:
        raise StreamError(f"{name}: two columns {short_repr(repeated)}; rename one")
