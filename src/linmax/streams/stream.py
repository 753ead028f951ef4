"""The reader of a format whose rows have columns."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO, Generic, Self, TypeVar

import pyarrow as pa

from linmax.streams import wide_format
from linmax.streams.arrow import Arrow, Parquet
from linmax.streams.chunk import Chunk
from linmax.streams.columns import Columns, Reader, kind_of
from linmax.streams.csv import Delimited
from linmax.streams.json_lines import BOX, JsonColumns, Jsonl, Objects, boxed
from linmax.streams.long_format import Long
from linmax.streams.numpy_files import Npy, Npz
from linmax.streams.schema import Schema, SchemaOptions, StreamError, found, no_column, short_list, short_repr
from linmax.streams.source import Source, format_of
from linmax.streams.svmlight import Svmlight

READERS: dict[str, Callable[[Source], Reader]] = {
    "CSV": lambda source: Delimited(source, "CSV"),
    "TSV": lambda source: Delimited(source, "TSV"),
    "Parquet": Parquet,
    "Arrow": Arrow,
    "npy": Npy,
    "npz": Npz,
}


def reader_of(source: Source, format: str) -> Reader:
    """Open a file that has columns."""
    return READERS[format](source)


Read = TypeVar("Read")

BEHIND = 10  # of priority: reading is ahead of the learning, and does not take its time from it
PATIENCE = 0.1  # seconds after which a full queue is tried again, unless nobody wants more


class ReadAhead(Generic[Read]):
    """Pieces as they come, the next one read in the background; what reading raises is raised here.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> with ReadAhead(open_stream(io.BytesIO(b"ann,truth\\na,b\\n"))) as chunks:
    ...     print(list(chunks))
    [Chunk(first=0, items=1)]
    """

    def __init__(self, chunks: Iterable[Read]) -> None:
        self.waiting = False  # for the file: nothing else is being done
        self._pieces = chunks
        self._queue: queue.Queue[Read | BaseException | None] = queue.Queue(1)
        self._wanted = True
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._wanted = False

    def __iter__(self) -> Iterator[Read]:
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
        with suppress(
            AttributeError, OSError
        ):  # where threads have priorities, those who wait for it come first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BEHIND)
        try:
            for chunk in self._pieces:
                if not self._put(chunk):
                    return
            self._put(None)
        except BaseException as error:
            self._put(error)

    def _put(self, chunk: Read | BaseException | None) -> bool:
        while self._wanted:
            try:
                self._queue.put(chunk, timeout=PATIENCE)
                return True
            except queue.Full:
                continue
        return False


CLASSES = 100_000  # so many different labels are no classes
PIECE = 100_000
CELLS, FEWEST = 1 << 22, 1024  # of a chunk: the more columns, the fewer rows, but not fewer than these


class Stream:
    """The items of a file in order, in chunks; each stream is read once.

    `rows` says how many have been read, `size` how many there are if the format knows (else None), `done`
    and `total` count bytes of the file.
    """

    def __init__(self, source: Source, layout: Schema, chunks: Iterator[Chunk], size: int | None) -> None:
        self.schema, self.rows_total = layout, size
        self.rows_read = 0
        self._source, self._pieces = source, chunks
        self._labels: set[Any] = set()
        self._ahead: Chunk | None = None
        self._failed: StreamError | None = None

    @property
    def bytes_read(self) -> int:
        """Bytes of the file that have been read."""
        return self._source.at

    @property
    def bytes_total(self) -> int | None:
        """Bytes of the file; None for a pipe."""
        return self._source.total

    def peek(self) -> Chunk | None:
        """The next chunk, which the stream will still yield; None at the end."""
        if self._ahead is None:
            self._ahead = self._next()
        return self._ahead

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        chunk, self._ahead = self.peek(), None
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

    def _next(self) -> Chunk | None:
        if self._failed is not None:  # a generator that has failed would end here as if the file did
            raise self._failed
        try:
            chunk = next(self._pieces, None)
            if chunk is not None and chunk.raw_labels is not None:
                self._watch(chunk)
        except StreamError as error:
            self._failed = error
            self._source.close()
            raise
        return chunk

    def _watch(self, chunk: Chunk) -> None:
        self._labels.update(_distinct(chunk.raw_labels, self._labels))
        if len(self._labels) > CLASSES:
            raise StreamError(
                f"{self.schema.file}: by row {chunk.first + chunk.items} {short_repr(self.schema.label)} has over"
                f" {CLASSES} different values, like an id; name the column of labels with label="
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
    chunk_size: int = PIECE,
) -> Stream:
    """Open a panel in a file (or "-", or an open file) to read it in chunks of at most `chunk_size` rows.

    What is not said is found out from the names of the columns and shown by `stream.schema`: the label (a
    column truth, label, gold or target; "" for none), the id, and the shape: "wide" with a column per expert,
    "scores" with columns expert:class, "long" with a row per vote. `experts` names the columns that vote, all
    others by default; `fold` takes blanks around votes and labels away, and capitals.

    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> stream = open_stream(io.BytesIO(b"ann,bob,truth\\nham,spam,spam\\nham,spam,spam\\n"))
    >>> print(stream.schema)
    the open file: CSV, wide: 2 experts (ann, bob), label truth
    >>> fusion = Fusion(Winnow(1.2))
    >>> for chunk in stream:
    ...     print(fusion.learn(chunk.votes, chunk.labels))
    Run(trials=2, right=1, mistakes=1, novel=0, ignored=0)
    """
    if not isinstance(chunk_size, int) or isinstance(chunk_size, bool) or chunk_size < 1:
        raise StreamError(
            f"chunk_size must be a whole number of rows, 1 or more (got {short_repr(chunk_size)})"
        )
    chosen = None if experts is None else _names("experts", experts)
    wishes = SchemaOptions(label, id, _names("attributes", attributes), chosen, shape)
    source = Source(path)
    try:
        return _opened(source, wishes, ignore_case, chunk_size)
    except BaseException:
        source.close()
        raise


def _distinct(labels: Any, seen: set[Any]) -> Iterable[Any]:
    """The different labels; none where all that stand in the dictionary were seen before."""
    if not isinstance(labels, pa.Array):
        return labels.tolist()  # type: ignore[no-any-return]
    if seen.issuperset(labels.dictionary.to_pylist()):
        return ()
    return labels.unique().to_pylist()  # type: ignore[no-any-return]


def _opened(source: Source, wishes: SchemaOptions, ignore_case: bool, chunk: int) -> Stream:
    format = format_of(source)
    if format == "svmlight":
        return _svmlight(source, wishes, chunk)
    if format == "JSONL":
        return _jsonl(source, wishes, ignore_case, chunk)
    reader = reader_of(source, format)
    roles = reader.roles
    wishes = SchemaOptions(
        wishes.label if wishes.label is not None else roles.get("label"),
        wishes.id if wishes.id is not None else roles.get("id"),
        wishes.attributes or roles.get("attributes", ()),
        wishes.experts,
        wishes.shape,
    )
    layout, text = _layout(source, reader, wishes), format in ("CSV", "TSV")
    columns = Columns(source.name, reader.unit, text=text, ignore_case=ignore_case)
    if layout.shape == "long":
        return Stream(source, layout, Long(reader, layout, columns).chunks(chunk), None)
    width = len(layout.experts) + len(layout.attributes) + 1
    most = min(chunk, max(CELLS // width, FEWEST))
    return Stream(source, layout, wide_format.chunks(reader, layout, columns, most), reader.rows)


def _layout(source: Source, reader: Reader, wishes: SchemaOptions) -> Schema:
    types = {name: reader.schema.field(name).type for name in reader.schema.names}
    odd = [name for name, kind in types.items() if not kind_of(kind) and str(kind) != "null"]
    for name in (wishes.label, *(wishes.experts or ()), *wishes.attributes):
        if name and name in odd:
            raise StreamError(
                f"{source.name}: column {short_repr(name)} is of type {types[name]}; cast it to numbers or text"
            )
    usable = [name for name in types if name not in odd or name == wishes.id]
    shape, voters, roles, _ = found(list(types) if len(usable) < 2 else usable, wishes, source.name)
    voters = tuple(name for name in voters if name not in odd)
    if shape == "wide":
        _demand_one_kind(source.name, types, [*voters, *([roles.label] if roles.label else [])])
    used = {*voters, roles.label, roles.id, *roles.attributes}
    left = tuple(name for name in types if name not in used)
    if not voters and not roles.attributes:
        raise StreamError(
            f"{source.name} has no column that votes (it has {short_list(types)}); add one per expert, or name"
            " attributes="
        )
    shape = shape if voters else "attributes"
    return Schema(
        source.name, reader.format, source.compression, shape, voters, roles.label, roles.id,
        roles.attributes, left,
    )  # fmt: skip


def _demand_one_kind(file: str, types: dict[str, Any], names: list[str]) -> None:
    kinds: dict[str, str] = {}
    for name in names:
        kind = kind_of(types[name])
        if kind:
            kinds.setdefault(kind, name)
    if len(kinds) > 1:
        (one, first), (other, second), *_ = kinds.items()
        raise StreamError(
            f"{file}: {short_repr(first)} holds {one} and {short_repr(second)} {other}; cast one, or name those"
            " that vote with experts="
        )


def _jsonl(source: Source, wishes: SchemaOptions, ignore_case: bool, chunk: int) -> Stream:
    reader = Jsonl(source)
    if boxed(reader):
        for name in wishes.attributes:
            if name not in reader.columns:
                raise no_column(source.name, name, reader.columns)
        keys = [key for row in reader.sample for key in (row.get(BOX) or {})]
        _, _, roles, left = found(
            [*reader.columns], SchemaOptions(wishes.label, wishes.id, wishes.attributes), source.name
        )
        voters = wishes.experts or tuple(dict.fromkeys(keys))
        shape = "wide"
        left = [
            name for name in reader.columns if name not in (BOX, roles.label, roles.id, *roles.attributes)
        ]
    else:
        shape, voters, roles, left = found(reader.columns, wishes, source.name)
    if shape == "long":
        layout = Schema(
            source.name, "JSONL", source.compression, shape, voters, roles.label, roles.id, roles.attributes,
            tuple(left),
        )  # fmt: skip
        columns = Columns(source.name, "line", text=False, ignore_case=ignore_case)
        return Stream(source, layout, Long(JsonColumns(reader, layout), layout, columns).chunks(chunk), None)
    rows = ((row.get(BOX) or {}) if boxed(reader) else row for row in reader.sample)
    if any(isinstance(row.get(name), dict) for row in rows for name in voters):
        shape = "scores"
    layout = Schema(
        source.name, "JSONL", source.compression, shape, voters, roles.label, roles.id, roles.attributes,
        tuple(left), open=wishes.experts is None,
    )  # fmt: skip
    objects = Objects(reader, layout, ignore_case, wishes.experts is not None)
    return Stream(source, layout, objects.chunks(chunk), None)


def _svmlight(source: Source, wishes: SchemaOptions, chunk: int) -> Stream:
    asked = [name for name in (wishes.label, wishes.id, *wishes.attributes, *(wishes.experts or ())) if name]
    if asked or wishes.shape:
        raise StreamError(
            f"{source.name} is svmlight, which has no columns to name; leave out"
            f" {short_repr(asked[0] if asked else wishes.shape)}"
        )
    layout = Schema(source.name, "svmlight", source.compression, "attributes", (), "label", None)
    return Stream(source, layout, Svmlight(source).chunks(chunk), None)


def _names(what: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise StreamError(
            f"{what} must be a list of columns (got {short_repr(names)}); write [{short_repr(names)}]"
        )
    out = tuple(names)
    wrong = next((name for name in out if not isinstance(name, str)), None)
    if wrong is not None:
        raise StreamError(f"{what} must be names of columns (got {short_repr(wrong)})")
    return out
