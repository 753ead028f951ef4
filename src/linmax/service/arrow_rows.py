"""Batches as Arrow IPC streams: a column per expert, and the columns `id`, `label` and `replaces`.

A stream is read without decompression, its types are checked before its values, and nothing in it is ever
executed.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np

from linmax.service.bulk import Request
from linmax.service.messages import Expert, ItemId, LabelRequest, LearnRequest, PredictRequest, check_name
from linmax.service.panel import Panel
from linmax.service.problems import ServiceError
from linmax.service.vote_codes import Codes, NamesSeen, voted_codes
from linmax.validation import require_extra

MAX_ROWS = 100_000
MAX_COLUMNS = 100_003
FEW_VALUES = 256  # that columns of votes may have in common
MAX_CELLS = 5_000_000  # empty ones take no space in a stream, but in memory
LARGEST_FLOAT = 2.0**53  # up to which every whole number is a float
ABSENT, INVALID, NEW = -1, -2, -3  # codes that are not those of a class
encode = msgspec.json.encode


def load_arrow() -> Any:
    """Return pyarrow with its module for streams."""
    require_extra("pyarrow.ipc", "service", "Arrow batches")
    return require_extra("pyarrow", "service", "Arrow batches")


def read_stream(body: bytes) -> Any:
    """Return the table of a stream; an error is one sentence.

    Parameters
    ----------
    body
        The stream.
    """
    arrow = load_arrow()
    try:
        source = arrow.BufferReader(body)
        reader = arrow.ipc.MessageReader.open_stream(source)
        while True:
            end = source.tell()
            try:
                message = reader.read_next_message()
            except StopIteration:
                break
            if message.type != "schema" and _is_compressed(message.metadata.to_pybytes()):
                raise ServiceError(400, "bad_arrow", "the stream is compressed; write it without compression")
        if source.tell() == end:  # the end of the body, and no marker before it
            raise ServiceError(
                400, "bad_arrow", "the stream is cut: it has no end-of-stream marker; close its writer first"
            )
        if source.tell() < len(body):
            raise ServiceError(
                400, "bad_arrow", "the body goes on after the end of its stream; send one stream at a time"
            )
        with arrow.ipc.open_stream(body) as stream:
            if len(stream.schema) > MAX_COLUMNS:
                raise ServiceError(413, "too_large", f"a batch may have {MAX_COLUMNS} columns")
            for field in stream.schema:
                _check_type(arrow, field)
            batches, rows = [], 0
            for batch in stream:
                rows += batch.num_rows
                if rows > MAX_ROWS:
                    raise ServiceError(413, "too_large", f"a batch may have {MAX_ROWS} rows")
                if rows * len(stream.schema) > MAX_CELLS:
                    raise ServiceError(
                        413, "too_large", f"a batch may have {MAX_CELLS} cells; send fewer rows at a time"
                    )
                batch.validate(full=True)
                batches.append(batch)
        table = arrow.Table.from_batches(batches, stream.schema)
        names = table.column_names
    except ServiceError:
        raise
    except (arrow.ArrowException, OSError, UnicodeDecodeError, struct.error, IndexError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ServiceError(400, "bad_arrow", f"the body is not an Arrow stream: {reason}") from None
    if len(set(names)) < len(names):
        raise ServiceError(422, "bad_request", "two columns of the stream have the same name")
    return table


def _is_compressed(metadata: bytes) -> bool:
    """Whether the buffers of a record or dictionary batch are compressed, by its flatbuffer."""

    def table(at: int) -> tuple[int, int]:
        return at, at - struct.unpack_from("<i", metadata, at)[0]

    def field(place: tuple[int, int], number: int) -> int:
        at, vtable = place
        (size,) = struct.unpack_from("<H", metadata, vtable)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", metadata, vtable + 4 + 2 * number)
        return at + offset if offset else 0

    def follow(at: int) -> tuple[int, int]:
        return table(at + struct.unpack_from("<I", metadata, at)[0])

    message = follow(0)
    kind = metadata[field(message, 1)]
    batch = follow(field(message, 2))
    if kind == 2:  # a dictionary batch has a record batch
        batch = follow(field(batch, 1))
    return field(batch, 3) != 0


def _check_type(arrow: Any, field: Any) -> None:
    types = arrow.types
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    simple = (
        types.is_string, types.is_large_string, types.is_integer, types.is_boolean, types.is_floating,
        types.is_null,
    )  # fmt: skip
    if not any(check(kind) for check in simple):
        raise ServiceError(
            422,
            "bad_request",
            f"the column {field.name[:100]!r} has the type {str(field.type)[:100]}; votes and labels are"
            " text, whole numbers or truth values",
        )


def _encode_columns(arrow: Any, table: Any) -> dict[str, tuple[Codes, list[Any]]]:
    """Return all columns as `_encode` does; those of one type at once, if they have few values."""
    by_type: dict[Any, list[str]] = {}
    for field in table.schema:
        by_type.setdefault(field.type, []).append(field.name)
    found: dict[str, tuple[Codes, list[Any]]] = {}
    for names in by_type.values():
        columns = [table.column(name) for name in names]
        if len(names) > 1 and not arrow.types.is_null(columns[0].type):
            chunks = [chunk for column in columns for chunk in column.chunks]
            joined = _to_dictionary(arrow, arrow.chunked_array(chunks, columns[0].type))
            if len(joined.dictionary) <= FEW_VALUES:
                codes, values = _read_dictionary(arrow, joined)
                rows = codes.reshape(len(names), -1)
                found |= {name: (row, values) for name, row in zip(names, rows, strict=True)}
                continue
        found |= {name: _encode(arrow, column) for name, column in zip(names, columns, strict=True)}
    return {name: found[name] for name in table.column_names}


def _encode(arrow: Any, column: Any) -> tuple[Codes, list[Any]]:
    """Return a column as codes, ABSENT for null and INVALID for what is no class, and the values."""
    if arrow.types.is_null(column.type):
        return np.full(len(column), ABSENT, np.int32), []
    chunk = _to_dictionary(arrow, column)
    if len(chunk.dictionary) > MAX_ROWS:
        raise ServiceError(413, "too_large", f"a dictionary may have {MAX_ROWS} values")
    return _read_dictionary(arrow, chunk)


def _to_dictionary(arrow: Any, column: Any) -> Any:
    """Return a column as one array with a dictionary."""
    chunk = column.combine_chunks()
    if not arrow.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_encode()
    if isinstance(chunk, arrow.ChunkedArray):
        chunk = chunk.unify_dictionaries().combine_chunks()
    return chunk


def _read_dictionary(arrow: Any, chunk: Any) -> tuple[Codes, list[Any]]:
    """Return an array with a dictionary as codes and values."""
    codes = np.asarray(chunk.indices.cast(arrow.int64()).fill_null(ABSENT)).astype(np.int32)
    values: list[Any] = []
    places = np.empty(len(chunk.dictionary) + 1, np.int32)
    places[-1] = ABSENT
    known: dict[tuple[type, Any], int] = {}
    for place, raw in enumerate(chunk.dictionary.to_pylist()):
        value, valid = _to_label(raw)
        if value is None:
            places[place] = ABSENT if valid else INVALID
        else:
            key = type(value), value
            if key not in known:
                known[key] = len(values)
                values.append(value)
            places[place] = known[key]
    return places[codes], values


def _to_label(raw: Any) -> tuple[Any, bool]:
    """Return a value as a class, and whether it is valid; NaN is an abstention, and 1.0 the class 1."""
    if not isinstance(raw, float):
        return raw, True
    if raw != raw:
        return None, True
    if raw.is_integer() and abs(raw) <= LARGEST_FLOAT:
        return int(raw), True
    return None, False


class ArrowRows:
    """The rows of a table.

    Parameters
    ----------
    table
        The table, as from `read_stream`.
    kind
        The structure of the requests.
    limit
        The largest size of an item as JSON, in bytes.
    """

    def __init__(self, table: Any, kind: type, limit: int) -> None:
        arrow = load_arrow()
        self.kind = kind
        self._rows: int = table.num_rows
        self._bad: dict[int, ServiceError] = {}
        own = {"id"} | ({"label"} if kind is not PredictRequest else set())
        own |= {"replaces"} if kind is LabelRequest else set()
        missing = own - {"replaces"} - set(table.column_names)
        if kind is not LabelRequest:
            missing.discard("id")
        if missing:
            raise ServiceError(422, "bad_request", f"the stream has no column {min(missing)!r}")
        if kind is PredictRequest and "label" in table.column_names:  # and no expert knows the truth
            raise ServiceError(
                422, "bad_request", "the column 'label' is for labels and learn; predict without it"
            )
        self._columns: dict[str, tuple[Codes, list[Any]]] = {}
        for name in table.column_names:
            fault = check_name(name, Expert, "an expert") if name not in own else None
            if fault:
                raise ServiceError(422, "bad_request", fault)
        self._columns.update(
            _encode_columns(arrow, table.drop_columns(sorted({"id"} & set(table.column_names))))
        )
        if kind is LabelRequest and self._columns.keys() - own:
            raise ServiceError(
                422, "bad_request", "a stream of labels has the columns id, label and replaces"
            )
        self.ids = self._read_ids(arrow, table, required=kind is LabelRequest)
        self.labels = self._read_labels() if "label" in own else []
        self._replaces = self._columns.pop("replaces", None) if kind is LabelRequest else None
        if self._replaces is not None:
            for row in np.flatnonzero(self._replaces[0] == INVALID).tolist():
                self._fail(row, "the label in replaces is no class")
        for name, (codes, _) in self._columns.items():
            for row in np.flatnonzero(codes == INVALID).tolist():
                self._fail(row, f"the vote of {name[:100]!r} is no class; scores are for JSON")
        self._mapped: tuple[NamesSeen, Any, Any] | None = None
        if kind is not LabelRequest:
            self._parts = [
                [encode(name) + b":" + encode(value) for value in values]
                for name, (_, values) in self._columns.items()
            ]
            largest = sum(max(map(len, parts), default=0) + 1 for parts in self._parts) + 2
            too_large = np.flatnonzero(self._sizes() > limit).tolist() if largest > limit else []
            for row in too_large:
                self._bad[row] = ServiceError(413, "too_large", f"an item may have {limit} bytes")

    def _fail(self, row: int, why: str) -> None:
        self._bad.setdefault(row, ServiceError(422, "bad_request", why))

    def _read_ids(self, arrow: Any, table: Any, required: bool) -> list[Any]:
        if "id" not in table.column_names:
            return [msgspec.UNSET] * self._rows
        column = table.column("id")
        kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
        if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
            raise ServiceError(422, "bad_request", "the column id should be text")
        texts = column.cast(arrow.large_string())  # a dictionary may have a null, too
        ids: list[Any] = texts.to_numpy().tolist()
        sizes = list(map(len, ids)) if texts.null_count == 0 else []
        if sizes and min(sizes) > 0 and max(sizes) <= 200 and "".join(ids).isprintable():
            return ids
        for row, id_ in enumerate(ids):
            if id_ is None:
                ids[row] = msgspec.UNSET
                if required:
                    self._fail(row, "the row has no id")
            elif not 0 < len(id_) <= 200 or not id_.isprintable():
                fault = check_name(id_, ItemId, "an item")
                if fault:
                    self._fail(row, fault)
        return ids

    def _read_labels(self) -> list[Any]:
        codes, values = self._columns.pop("label")
        self._label_codes, self._label_values = codes, values
        for row in np.flatnonzero(codes < 0).tolist():
            self._fail(row, "the row has no label" if codes[row] == ABSENT else "the label is no class")
        return list(map([*values, None, None].__getitem__, codes.tolist()))

    def __len__(self) -> int:
        return self._rows

    def part(self, start: int, stop: int) -> ArrowPart:
        """Return some of the rows."""
        return ArrowPart(self, start, min(stop, self._rows))

    def request(self, row: int) -> Request:
        """Return a row as a request of its own; an error says what is wrong with it."""
        if row in self._bad:
            raise self._bad[row]
        id_ = self.ids[row]
        if self.kind is LabelRequest:
            replaces = msgspec.UNSET
            if self._replaces is not None and self._replaces[0][row] >= 0:
                replaces = self._replaces[1][self._replaces[0][row]]
            return LabelRequest(id_, self.labels[row], replaces)
        votes = {
            name: values[codes[row]] for name, (codes, values) in self._columns.items() if codes[row] >= 0
        }
        if self.kind is LearnRequest:
            return LearnRequest(self.labels[row], votes, id_)
        return PredictRequest(votes, id_)

    def known(self, panel: Panel, start: int) -> int:
        """Return how many rows from one on have no new names and no fault."""
        faults = np.flatnonzero(~self._map(panel)[0][start:])
        return int(faults[0]) if len(faults) else self._rows - start

    def votes(self, panel: Panel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        _, columns = self._map(panel)
        table = np.full((stop - start, len(panel.fusion.names.experts)), ABSENT, np.int32)
        for code, column in columns.items():
            table[:, code] = column[start:stop]
        return table

    def _map(self, panel: Panel) -> tuple[Any, dict[int, Codes]]:
        """Return which rows are known to a fusion, and the codes of its classes by the codes of experts."""
        names = panel.fusion.names
        if self._mapped is None or not self._mapped[0].are_those_of(panel.fusion):
            fine = np.ones(self._rows, bool)
            fine[list(self._bad)] = False
            columns = {}
            if self.kind is LabelRequest:
                fine &= self._replaces is None or self._replaces[0] < 0
            else:
                voted = voted_codes(panel.fusion)
                tables = {id(values): _map_values(values, voted) for _, values in self._columns.values()}
                for name, (codes, values) in self._columns.items():
                    mapped = tables[id(values)][codes]
                    expert = names.experts.get(name)
                    fine &= mapped > NEW if expert >= 0 else mapped == ABSENT
                    if expert >= 0:
                        columns[expert] = mapped
                if self.labels:
                    fine &= _map_values(self._label_values, names.classes.codes)[self._label_codes] >= 0
            self._mapped = NamesSeen(panel.fusion), fine, columns
        return self._mapped[1:]

    def _sizes(self) -> Any:
        """Return the sizes of the votes as JSON, without making it: one text may be in all rows."""
        sizes, votes = np.zeros(self._rows, np.int64), np.zeros(self._rows, np.int64)
        for parts, (codes, _) in zip(self._parts, self._columns.values(), strict=True):
            sizes += np.array([*map(len, parts), 0], np.int64)[np.maximum(codes, ABSENT)]
            votes += codes >= 0
        return sizes + np.maximum(votes - 1, 0) + 2  # commas and brackets

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes of rows that are not too large as JSON."""
        columns, silent = [], False
        for parts, (codes, _) in zip(self._parts, self._columns.values(), strict=True):
            chosen = np.maximum(codes[start:stop], ABSENT)
            columns.append(np.array([*parts, b""], object)[chosen].tolist())
            silent = silent or bool((chosen < 0).any())
        rows: Any = zip(*columns, strict=True) if columns else [()] * (stop - start)
        join = b",".join
        return [b"{%b}" % (join(filter(None, row)) if silent else join(row)) for row in rows]


def _map_values(values: list[Any], classes: dict[Any, int]) -> Codes:
    """Return the code of each value among known classes, NEW if it has none; then INVALID and ABSENT."""
    kind = type(next(iter(classes), None))
    found = [classes.get(value, NEW) if type(value) is kind else NEW for value in values]
    return np.array([*found, NEW, ABSENT], np.int32)


class ArrowPart:
    """Some consecutive rows of `ArrowRows`.

    Parameters
    ----------
    whole, start, stop
        All rows, and which of them.
    """

    def __init__(self, whole: ArrowRows, start: int, stop: int) -> None:
        self._whole = whole
        self._start = start
        self._stop = stop
        self.kind = whole.kind
        self.ids = whole.ids[start:stop]
        self.labels = whole.labels[start:stop]

    def __len__(self) -> int:
        return self._stop - self._start

    def request(self, row: int) -> Request:
        """Return a row."""
        return self._whole.request(self._start + row)

    def known(self, panel: Panel, start: int) -> int:
        """Return how many rows from one on are known."""
        return min(self._whole.known(panel, self._start + start), len(self) - start)

    def votes(self, panel: Panel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        return self._whole.votes(panel, self._start + start, self._start + stop)

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes as JSON."""
        return self._whole.texts(self._start + start, self._start + stop)
