"""Streams: files with votes, labels and attributes, read in chunks, so that memory is bounded."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, BinaryIO, Generic, Self, TypeVar

import pyarrow as pa

from linmax.streams.chunk import Chunk
from linmax.streams.columns import ColumnDecoder, TableReader, label_kind
from linmax.streams.files.detect_format import detect_format, refuse_document
from linmax.streams.files.source import ByteSource
from linmax.streams.readers.arrow import ArrowReader, ParquetReader
from linmax.streams.readers.csv import CsvReader
from linmax.streams.readers.json_lines import VOTES_KEY, JsonItemReader, JsonLinesReader, JsonTableReader
from linmax.streams.readers.long_format import LongFormatReader
from linmax.streams.readers.numpy_files import NpyReader, NpzReader
from linmax.streams.readers.svmlight import SvmlightReader
from linmax.streams.readers.wide_format import read_wide
from linmax.streams.schema import (
    ColumnRoles,
    Schema,
    SchemaOptions,
    StreamError,
    assign_roles,
    require_label,
    short_list,
    short_repr,
)

T = TypeVar("T")

TABLE_READERS: dict[str, Callable[[ByteSource], TableReader]] = {
    "CSV": lambda source: CsvReader(source, "CSV"),
    "TSV": lambda source: CsvReader(source, "TSV"),
    "Parquet": ParquetReader,
    "Arrow": ArrowReader,
    "npy": NpyReader,
    "npz": NpzReader,
    "JSON": refuse_document,
    "Excel": refuse_document,
}
MAX_CLASSES = 100_000  # more distinct labels than that are ids
CHUNK_SIZE = 100_000
MAX_CELLS, MIN_ROWS = 1 << 22, 1024  # of a chunk: tables with many columns have fewer rows per chunk
READER_NICENESS = 10  # the thread that reads yields to the one that learns
QUEUE_TIMEOUT = 0.1  # seconds between two checks whether reading was stopped


class Stream:
    """The items of a file, in order, as an iterator of chunks.

    Streams are opened by `open_stream`. A stream can be read once; it is also a context manager that closes
    the file.

    Parameters
    ----------
    source : ByteSource
        The open file.
    schema : Schema
        The columns of the file and their roles.
    chunks : iterator of Chunk
        The items.
    rows_total : int or None
        Number of items of the file, if the format stores it.

    Attributes
    ----------
    schema : Schema
        The columns of the file and their roles.
    rows_read : int
        Number of items read so far.
    rows_total : int or None
        Number of items of the file, if the format stores it.
    """

    def __init__(
        self, source: ByteSource, schema: Schema, chunks: Iterator[Chunk], rows_total: int | None
    ) -> None:
        self.schema, self.rows_total = schema, rows_total
        self.rows_read = 0
        self._source, self._chunks = source, chunks
        self._labels: set[Any] = set()
        self._peeked: Chunk | None = None
        self._error: StreamError | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far."""
        return self._source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the file in bytes; None for a pipe."""
        return self._source.bytes_total

    def peek(self) -> Chunk | None:
        """Return the next chunk without consuming it; None at the end."""
        if self._peeked is None:
            self._peeked = self._next_chunk()
        return self._peeked

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        chunk, self._peeked = self.peek(), None
        if chunk is None:
            self._source.close()
            raise StopIteration
        self.rows_read += chunk.items
        return chunk

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def _next_chunk(self) -> Chunk | None:
        if self._error is not None:  # a generator that has raised ends silently when it is resumed
            raise self._error
        try:
            chunk = next(self._chunks, None)
            if chunk is not None and chunk.raw_labels is not None:
                self._check_number_of_classes(chunk)
        except StreamError as error:
            self._error = error
            self._source.close()
            raise
        return chunk

    def _check_number_of_classes(self, chunk: Chunk) -> None:
        self._labels.update(_new_labels(chunk.raw_labels, self._labels))
        if len(self._labels) > MAX_CLASSES:
            raise StreamError(
                f"{self.schema.file}: by row {chunk.first + chunk.items} {short_repr(self.schema.label)} has"
                f" over {MAX_CLASSES} different values, like an id; name the column of labels with label="
            )


def open_stream(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    label: str | None = None,
    id: str | None = None,
    attributes: Iterable[str] = (),
    experts: Iterable[str] | None = None,
    shape: str | None = None,
    ignore_case: bool = False,
    chunk_size: int = CHUNK_SIZE,
) -> Stream:
    """Open a file with votes, to read it in chunks.

    The format is detected: CSV, TSV, JSONL, Parquet, Arrow, svmlight (with scikit-learn), .npy or .npz;
    text, Arrow and .npy files may be compressed with gzip or zstd. The roles of columns are those that the
    arguments name; `linmax.panels.read_panel` infers them instead. `stream.schema` shows the roles.

    Parameters
    ----------
    path : str, path-like or binary file
        A path, "-" for standard input, or a file open in binary mode.
    label : str, optional
        The column of labels; "" for none. Not needed with `experts`, or if the format has labels (.npz).
    id : str, optional
        The column of ids. In the long shape, the column of items.
    attributes : iterable of str
        The columns of attributes.
    experts : iterable of str, optional
        The columns with votes, by default all columns that have no other role. In the long shape, the columns
        of experts, of votes and perhaps of scores.
    shape : {"wide", "scores", "long"}, optional
        "wide" has one column per expert, "scores" has columns `expert:class`, "long" has one row per vote.
        By default, it is "scores" if columns are named like that, and else "wide".
    ignore_case : bool
        Strip whitespace around votes and labels and ignore their case.
    chunk_size : int
        The largest number of rows in a chunk.

    Returns
    -------
    Stream

    Raises
    ------
    StreamError
        If the file cannot be read. Bad rows raise it later, when their chunk is read.

    Examples
    --------
    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> stream = open_stream(io.BytesIO(b"ann,bob,truth\\nham,spam,spam\\nham,spam,spam\\n"), label="truth")
    >>> print(stream.schema)
    the open file: CSV, wide: 2 experts (ann, bob), label truth
    >>> fusion = Fusion(Winnow(1.2))
    >>> for chunk in stream:
    ...     print(fusion.learn(chunk.votes, chunk.labels))
    Run(trials=2, right=1, mistakes=1, novel=0, ignored=0)
    """
    if not isinstance(chunk_size, int) or isinstance(chunk_size, bool) or chunk_size < 1:
        raise StreamError(f"chunk_size must be an integer >= 1 (got {short_repr(chunk_size)})")
    if shape not in (None, "wide", "scores", "long"):
        raise StreamError(f"shape must be 'wide', 'scores' or 'long' (got {short_repr(shape)})")
    selected = None if experts is None else _column_names("experts", experts)
    options = SchemaOptions(label, id, _column_names("attributes", attributes), selected, shape)
    source = ByteSource(path)
    try:
        format = detect_format(source)
        if format == "svmlight":
            return _open_svmlight(source, options, chunk_size)
        if format == "JSONL":
            return _open_json_lines(source, options, ignore_case, chunk_size)
        return _open_table(source, format, options, ignore_case, chunk_size)
    except BaseException:
        source.close()
        raise


class ReadAhead(Generic[T]):
    """Iterates over chunks while a thread in the background reads the next one.

    Exceptions of the background thread are raised in the loop. Use it as a context manager: leaving the
    block stops the thread.

    Parameters
    ----------
    chunks : iterable
        What to read.

    Attributes
    ----------
    waiting : bool
        Whether the loop waits for the next chunk.

    Examples
    --------
    >>> import io
    >>> from linmax.streams import open_stream
    >>> with ReadAhead(open_stream(io.BytesIO(b"ann,truth\\na,b\\n"), label="truth")) as chunks:
    ...     print(list(chunks))
    [Chunk(first=0, items=1)]
    """

    def __init__(self, chunks: Iterable[T]) -> None:
        self.waiting = False
        self._chunks = chunks
        self._queue: queue.Queue[T | BaseException | None] = queue.Queue(1)
        self._stopped = False
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped = True

    def __iter__(self) -> Iterator[T]:
        while True:
            self.waiting = True
            try:
                chunk = self._queue.get()
            finally:
                self.waiting = False
            if chunk is None:
                return
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk

    def _read(self) -> None:
        with suppress(AttributeError, OSError):  # only Linux has priorities of threads
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), READER_NICENESS)
        try:
            for chunk in self._chunks:
                if not self._put(chunk):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, chunk: T | BaseException | None) -> bool:
        """Put a chunk into the queue; return False if reading was stopped instead."""
        while not self._stopped:
            try:
                self._queue.put(chunk, timeout=QUEUE_TIMEOUT)
                return True
            except queue.Full:
                continue
        return False


def _open_table(
    source: ByteSource, format: str, options: SchemaOptions, ignore_case: bool, chunk_size: int
) -> Stream:
    reader = TABLE_READERS[format](source)
    roles = reader.roles
    options = replace(
        options,
        label=roles.get("label") if options.label is None else options.label,
        id=roles.get("id") if options.id is None else options.id,
        attributes=options.attributes or roles.get("attributes", ()),
    )
    schema = Schema(source.name, format, source.compression, *_table_roles(source.name, reader, options))
    text = format in ("CSV", "TSV")
    decoder = ColumnDecoder(source.name, reader.unit, text=text, ignore_case=ignore_case)
    if schema.shape == "long":
        return Stream(source, schema, LongFormatReader(reader, schema, decoder).chunks(chunk_size), None)
    columns = len(schema.experts) + len(schema.attributes) + 1
    max_rows = min(chunk_size, max(MAX_CELLS // columns, MIN_ROWS))
    return Stream(source, schema, read_wide(reader, schema, decoder, max_rows), reader.num_rows)


def _table_roles(file: str, reader: TableReader, options: SchemaOptions) -> ColumnRoles:
    """Assign roles to typed columns; columns of dates, lists and the like are ignored."""
    types = {name: reader.arrow_schema.field(name).type for name in reader.arrow_schema.names}
    unusable = [name for name, kind in types.items() if not label_kind(kind) and str(kind) != "null"]
    for name in (options.label, *(options.experts or ()), *options.attributes):
        if name and name in unusable:
            raise StreamError(
                f"{file}: column {short_repr(name)} is of type {types[name]}; cast it to numbers or text"
            )
    usable = [name for name in types if name not in unusable or name == options.id]
    roles = assign_roles(list(types) if len(usable) < 2 else usable, options, file)
    experts = tuple(name for name in roles.experts if name not in unusable)
    if roles.shape == "wide":
        _check_one_kind(file, types, [*experts, *([roles.label] if roles.label else [])])
    if not experts and not roles.attributes:
        raise StreamError(
            f"{file} has no column with votes (it has {short_list(types)}); add one per expert, or list"
            " columns in attributes="
        )
    used = {*experts, roles.label, roles.id, *roles.attributes}
    return roles._replace(
        shape=roles.shape if experts else "attributes",
        experts=experts,
        ignored=tuple(name for name in types if name not in used),
    )


def _check_one_kind(file: str, types: dict[str, Any], columns: list[str]) -> None:
    kinds: dict[str, str] = {}
    for name in columns:
        if kind := label_kind(types[name]):
            kinds.setdefault(kind, name)
    if len(kinds) > 1:
        (kind, name), (other_kind, other), *_ = kinds.items()
        raise StreamError(
            f"{file}: {short_repr(name)} holds {kind} and {short_repr(other)} {other_kind}; cast one, or"
            " select the columns with votes with experts="
        )


def _open_json_lines(
    source: ByteSource, options: SchemaOptions, ignore_case: bool, chunk_size: int
) -> Stream:
    reader = JsonLinesReader(source)
    if reader.nested:
        require_label(reader.columns, options, source.name)
        roles = assign_roles(reader.columns, replace(options, experts=(), shape="wide"), source.name)
        keys = dict.fromkeys(key for row in reader.sample for key in row.get(VOTES_KEY) or {})
        other_roles = (roles.label, roles.id, *roles.attributes)
        roles = roles._replace(
            experts=options.experts or tuple(keys),
            ignored=tuple(name for name in reader.columns if name not in (VOTES_KEY, *other_roles)),
        )
    else:
        roles = assign_roles(reader.columns, options, source.name)
    schema = Schema(source.name, "JSONL", source.compression, *roles)
    if schema.shape == "long":
        decoder = ColumnDecoder(source.name, "line", text=False, ignore_case=ignore_case)
        long = LongFormatReader(JsonTableReader(reader, schema), schema, decoder)
        return Stream(source, schema, long.chunks(chunk_size), None)
    rows = ((row.get(VOTES_KEY) or {}) if reader.nested else row for row in reader.sample)
    if any(isinstance(row.get(name), dict) for row in rows for name in schema.experts):
        schema = replace(schema, shape="scores")
    schema = replace(schema, open=options.experts is None)
    return Stream(source, schema, JsonItemReader(reader, schema, ignore_case).chunks(chunk_size), None)


def _open_svmlight(source: ByteSource, options: SchemaOptions, chunk_size: int) -> Stream:
    columns = (options.label, options.id, *options.attributes, *(options.experts or ()), options.shape)
    if given := next((name for name in columns if name), None):
        raise StreamError(
            f"{source.name} is an svmlight file, which has no columns to name; omit {short_repr(given)}"
        )
    schema = Schema(source.name, "svmlight", source.compression, "attributes", (), "label", None)
    return Stream(source, schema, SvmlightReader(source).chunks(chunk_size), None)


def _new_labels(labels: Any, seen: set[Any]) -> Iterable[Any]:
    """Return labels that may be new; the dictionary of an Arrow array is checked before its rows."""
    if not isinstance(labels, pa.Array):
        return labels.tolist()  # type: ignore[no-any-return]
    if seen.issuperset(labels.dictionary.to_pylist()):
        return ()
    return labels.unique().to_pylist()  # type: ignore[no-any-return]


def _column_names(option: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise StreamError(
            f"{option} must be a list of columns (got {short_repr(names)}); write [{short_repr(names)}]"
        )
    columns = tuple(names)
    for name in columns:
        if not isinstance(name, str):
            raise StreamError(f"{option} must be names of columns (got {short_repr(name)})")
    return columns
