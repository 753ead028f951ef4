"""Parquet and Arrow: columns with types of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from linmax.streams.columns import Batch
from linmax.streams.schema import StreamError, short_repr
from linmax.streams.source import Source

STRINGS, CONTAINERS = 1 << 24, 1 << 20  # bytes and entries that a Parquet header may have
BUFFER = 1 << 18  # bytes of each column that are read at a time
SHORT = 1 << 16  # bytes of a dictionary of classes, at most
PREFIX = 8  # an Arrow file is an Arrow stream after "ARROW1" and two bytes, and before its footer
FAULTS = (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError, OverflowError)


class Parquet:
    """A Parquet file, decoded a few pages at a time."""

    format, unit = "Parquet", "row"

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.roles: dict[str, Any] = {}
        if not source.seekable:
            how = f"{source.compression} around it" if source.compression else "a pipe"
            raise StreamError(
                f"{self.name}: Parquet is read from its end, which {how} hides; save it to a plain file"
            )
        try:
            self._file = _opened(source, [])
            if repeated := _repeated(self._file):
                self._file = _opened(source, repeated)
            self.schema = self._file.schema_arrow
            self.rows = int(self._file.metadata.num_rows)
            names = self.schema.names
        except FAULTS as error:
            raise _damaged(self.name, "Parquet", error) from error
        _demand_distinct(self.name, names)

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """The columns as the file has them."""
        wanted, at = list(columns), 0
        for groups, rows in self._parts(most):
            batches = self._file.iter_batches(rows, row_groups=groups, columns=wanted, use_threads=False)
            tables = (pa.Table.from_batches([batch]) for batch in _guarded(batches, self.name, "Parquet"))
            for table in _gathered((_sound(one, self.name, "Parquet") for one in tables), rows):
                yield Batch(table.select(wanted), np.arange(at + 1, at + 1 + len(table)))
                at += len(table)
        if at != self.rows:
            raise StreamError(f"{self.name} has {at} rows but promises {self.rows}; write it again")

    def _parts(self, most: int) -> Iterator[tuple[list[int], int]]:
        """Row groups that are read together, small ones with the next, and how many rows of them at a time.

        A batch that ends where a row group ends takes less time and memory than one across the border.
        """
        metadata = self._file.metadata
        groups, rows = [], 0
        for group in range(metadata.num_row_groups):
            groups.append(group)
            rows += max(metadata.row_group(group).num_rows, 0)
            if rows >= most or group == metadata.num_row_groups - 1:
                times = max(-(-rows // most), 1)
                yield groups, max(-(-rows // times), 1)
                groups, rows = [], 0


def _opened(source: Source, dictionaries: list[str]) -> Any:
    return pyarrow.parquet.ParquetFile(
        pa.PythonFile(source.whole(), mode="r"),
        read_dictionary=dictionaries,
        pre_buffer=False,  # which would keep all that was ever read
        buffer_size=BUFFER,  # or columns of a row group would be read as a whole
        thrift_string_size_limit=STRINGS,
        thrift_container_size_limit=CONTAINERS,
    )


def _repeated(file: Any) -> list[str]:
    """Columns whose values stand in a short dictionary: they stay there, and texts are not written out."""
    metadata = file.metadata
    if not metadata.num_row_groups:
        return []
    columns = map(metadata.row_group(0).column, range(metadata.num_columns))
    texts = {field.name for field in file.schema_arrow if pa.types.is_string(field.type)}
    return [
        column.path_in_schema
        for column in columns
        if column.path_in_schema in texts
        and column.dictionary_page_offset is not None
        and 0 < column.data_page_offset - column.dictionary_page_offset < SHORT
    ]


class Arrow:
    """An Arrow file or stream, read batch after batch: a pipe will do."""

    format, unit = "Arrow", "row"
    rows = None

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.roles: dict[str, Any] = {}
        if source.head.startswith(b"ARROW1"):
            source.read(PREFIX)
        try:
            self._stream = pa.ipc.open_stream(pa.PythonFile(source, mode="r"))
            self.schema = self._stream.schema
            names = self.schema.names
        except FAULTS as error:
            raise _damaged(self.name, "Arrow", error) from error
        _demand_distinct(self.name, names)

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """The columns as the file has them."""
        at = 0
        for batch in _guarded(self._stream, self.name, "Arrow"):
            table = _sound(pa.Table.from_batches([batch]).select(list(columns)), self.name, "Arrow")
            for start in range(0, len(table), most):
                part = table.slice(start, most)
                yield Batch(part, np.arange(at + 1, at + 1 + len(part)))
                at += len(part)


def _gathered(tables: Iterator[Any], rows: int) -> Iterator[Any]:
    """Small tables, as of small row groups with dictionaries of their own, become larger ones."""
    held: list[Any] = []
    size = 0
    for table in tables:
        if held and size + len(table) > rows:
            yield _joined(held)
            held, size = [], 0
        held.append(table)
        size += len(table)
        if size >= rows:
            yield _joined(held)
            held, size = [], 0
    if held:
        yield _joined(held)


def _joined(tables: list[Any]) -> Any:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _guarded(batches: Any, name: str, format: str) -> Iterator[Any]:
    steps = iter(batches)
    while True:
        try:
            batch = next(steps)
        except StopIteration:
            return
        except FAULTS as error:
            raise _damaged(name, format, error) from error
        yield batch


def _sound(table: Any, name: str, format: str) -> Any:
    """Refuse offsets and codes that point outside, and text that is none: later steps trust them."""
    try:
        for column in table.columns:
            for array in column.chunks:
                _check(array)
    except FAULTS as error:
        raise _damaged(name, format, error) from error
    return table


def _check(array: Any) -> None:
    if not pa.types.is_dictionary(array.type):
        array.validate(full=True)
        return
    array.validate()  # the full check takes as long as decoding; for codes, a look at the largest will do
    array.indices.validate(full=True)
    array.dictionary.validate(full=True)
    codes = array.indices.drop_null() if array.indices.null_count else array.indices
    codes = codes.to_numpy()
    largest = codes.view(f"u{codes.itemsize}").max(initial=0)  # a negative one is a very large one
    if len(codes) and largest >= len(array.dictionary):
        raise ValueError(f"a code {largest} for {len(array.dictionary)} values")


def _damaged(name: str, format: str, error: BaseException) -> StreamError:
    if isinstance(error, StreamError):
        return error
    why = " ".join(str(error).split()).rstrip(".")[:120]
    return StreamError(f"{name} is damaged or no {format} file ({why}); copy or write it again")


def _demand_distinct(name: str, names: list[str]) -> None:
    twice = [column for column, times in Counter(names).items() if times > 1]
    if twice:
        raise StreamError(f"{name}: two columns {short_repr(twice[0])}; rename one")
