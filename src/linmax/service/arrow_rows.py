"""Batches as Arrow IPC streams: a column per expert, and the columns `id`, `label` and `replaces`.

A stream is read without decompression, its types are checked before its values, and nothing in it is ever
executed.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np

from linmax.service.bulk import Answer, Codes, Request
from linmax.service.class_keys import class_key
from linmax.service.messages import Expert, ItemId, LabelRequest, LearnRequest, PredictRequest, check_name
from linmax.service.panel import Panel
from linmax.service.problems import ServiceError
from linmax.validation import require_extra

MAX_ROWS = 100_000
MAX_COLUMNS = 100_003
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
        reader = arrow.ipc.MessageReader.open_stream(body)
        while True:
            try:
                message = reader.read_next_message()
            except StopIteration:
                break
            if message.type != "schema" and _is_compressed(message.metadata.to_pybytes()):
                raise ServiceError(400, "bad_arrow", "the stream is compressed; write it without compression")
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


def _encode(arrow: Any, column: Any) -> tuple[Codes, list[Any]]:
    """Return a column as codes, ABSENT for null and INVALID for what is no class, and the values."""
    if arrow.types.is_null(column.type):
        return np.full(len(column), ABSENT, np.int32), []
    chunk = column.combine_chunks()
    if not arrow.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_encode()
    if isinstance(chunk, arrow.ChunkedArray):
        chunk = chunk.unify_dictionaries().combine_chunks()
    if len(chunk.dictionary) > MAX_ROWS:
        raise ServiceError(413, "too_large", f"a dictionary may have {MAX_ROWS} values")
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
        self._columns: dict[str, tuple[Codes, list[Any]]] = {}
        for name in table.column_names:
            fault = check_name(name, Expert, "an expert") if name not in own else None
            if fault:
                raise ServiceError(422, "bad_request", fault)
            if name != "id":
                self._columns[name] = _encode(arrow, table.column(name))
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
        self._mapped: tuple[Any, int, int, Any, Any] | None = None
        self._texts: dict[bool, list[bytes]] = {}
        if kind is not LabelRequest:
            for row, text in enumerate(self._all_texts(False)):
                if len(text) > limit:
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
        ids: list[Any] = column.cast(arrow.large_string()).to_numpy().tolist()
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
        state = names, len(names.classes), len(names.experts)
        if self._mapped is None or self._mapped[0] is not state[0] or self._mapped[1:3] != state[1:]:
            fine = np.ones(self._rows, bool)
            fine[list(self._bad)] = False
            columns = {}
            if self.kind is LabelRequest:
                fine &= self._replaces is None or self._replaces[0] < 0
            else:
                for name, (codes, values) in self._columns.items():
                    mapped = _map_values(values, names.classes)[codes]
                    expert = names.experts.get(name)
                    fine &= mapped > NEW if expert >= 0 else mapped == ABSENT
                    if expert >= 0:
                        columns[expert] = mapped
                if self.labels:
                    fine &= _map_values(self._label_values, names.classes)[self._label_codes] >= 0
            self._mapped = *state, fine, columns
        return self._mapped[3], self._mapped[4]

    def texts(self, start: int, stop: int, ordered: bool) -> list[bytes]:
        """Return the votes as JSON."""
        return self._all_texts(ordered)[start:stop]

    def _all_texts(self, ordered: bool) -> list[bytes]:
        if ordered not in self._texts:
            names = sorted(self._columns) if ordered else list(self._columns)
            columns, silent = [], False
            for name in names:
                codes, values = self._columns[name]
                key = encode(name) + b":"
                parts = np.array([*(key + encode(value) for value in values), b""], object)
                columns.append(parts[np.maximum(codes, ABSENT)].tolist())
                silent = silent or bool((codes < 0).any())
            rows: Any = zip(*columns, strict=True) if columns else [()] * self._rows
            join = b",".join
            self._texts[ordered] = [
                b"{" + (join(filter(None, row)) if silent else join(row)) + b"}" for row in rows
            ]
        return self._texts[ordered]


def _map_values(values: list[Any], classes: Any) -> Codes:
    """Return the code of each value among known classes, NEW if it has none; then INVALID and ABSENT."""
    kind = type(classes.names[0]) if len(classes) else None
    found = [classes.codes.get(value, NEW) if type(value) is kind else NEW for value in values]
    return np.array([*found, NEW, ABSENT], np.int32)


class ArrowPart:
    """Some consecutive rows of `ArrowRows`.

    Parameters
    ----------
    whole
        All rows.
    start, stop
        Which of them.
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

    def texts(self, start: int, stop: int, ordered: bool) -> list[bytes]:
        """Return the votes as JSON."""
        return self._whole.texts(self._start + start, self._start + stop, ordered)


def write_answers(answers: list[Answer | ServiceError], kind: type) -> bytes:
    """Return answers as a stream: a row for each, with `code` and `message` where it is an error.

    Parameters
    ----------
    answers
        The answers.
    kind
        The structure of the requests.
    """
    arrow = load_arrow()
    good = [None if isinstance(one, ServiceError) else one for one in answers]
    bad = [one if isinstance(one, ServiceError) else None for one in answers]

    def column(name: str) -> list[Any]:
        return [getattr(one, name, None) for one in good]

    columns = {
        "id": arrow.array(column("id"), arrow.string()),
        "prediction": _class_array(arrow, column("prediction")),
    }
    if kind is PredictRequest:
        columns["probabilities"] = arrow.array(
            [None if one is None else list(one.probabilities.items()) for one in good],  # type: ignore[union-attr]
            arrow.map_(arrow.string(), arrow.float64()),
        )
        columns["version"] = arrow.array(column("version"), arrow.int64())
        columns["stored"] = arrow.array(column("stored"), arrow.bool_())
    else:
        columns["right"] = arrow.array(column("right"), arrow.bool_())
        columns["position"] = arrow.array(column("position"), arrow.int64())
    columns["status"] = arrow.array([one and one.status for one in bad], arrow.int32())
    columns["code"] = arrow.array([one and one.code for one in bad], arrow.string())
    columns["message"] = arrow.array([one and one.message for one in bad], arrow.string())
    sink = arrow.BufferOutputStream()
    table = arrow.table(columns)
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _class_array(arrow: Any, values: list[Any]) -> Any:
    """Return classes as an array; those that do not have one type, as text."""
    try:
        array = arrow.array(values)
    except arrow.ArrowException:
        array = arrow.array([None if value is None else class_key(value) for value in values])
    return array.cast(arrow.string()) if arrow.types.is_null(array.type) else array
