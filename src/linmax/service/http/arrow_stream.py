"""Arrow IPC streams: reading them, with types that are checked before their values, and writing answers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from linmax.service.messages.answer_runs import LabelAnswers, PredictAnswers, Run
from linmax.service.messages.class_keys import class_key
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import LabelRequest, LearnRequest, NextExpertRequest, PredictRequest
from linmax.validation import require_extra

BYTES_PER_CELL = 4  # at least, with what a stream has beside them
MAX_ROWS = 100_000
MAX_COLUMNS = 100_003
MAX_CELLS = 5_000_000  # empty ones take no space in a stream, but in memory


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
            checked = None
            for field in stream.schema:
                if field.type != checked:
                    _check_type(arrow, field)
                    checked = field.type
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


FIELDS: dict[type, tuple[str, ...]] = {
    PredictRequest: ("id", "prediction", "probabilities", "version", "stored"),
    LabelRequest: ("id", "prediction", "right", "position"),
    LearnRequest: ("id", "prediction", "right", "position"),
    NextExpertRequest: ("id", "expert"),
}  # the fields of answers
FAULTS = ("status", "code", "message")


def write_answers(runs: Sequence[Run], kind: type) -> bytes:
    """Return answers as a stream: a row for each, with `code` and `message` where it is an error.

    Parameters
    ----------
    runs
        The answers.
    kind
        The structure of the requests.
    """
    arrow = load_arrow()
    text, number, truth = arrow.string(), arrow.int64(), arrow.bool_()
    types = {"id": text, "version": number, "position": number, "stored": truth, "right": truth}
    types |= {"status": arrow.int32(), "code": text, "message": text, "expert": text}
    rows = sum(map(len, runs))
    no_errors = all(isinstance(run, LabelAnswers | PredictAnswers) for run in runs)
    columns = {}
    for name in FIELDS[kind] + FAULTS:
        if name == "probabilities":
            columns[name] = _probability_array(arrow, runs)
            continue
        if no_errors and name in FAULTS:
            columns[name] = arrow.nulls(rows, types[name])
            continue
        parts = [_fields(run, name) for run in runs]
        alone = len(parts) == 1 and isinstance(parts[0], list | np.ndarray)
        values = parts[0] if alone else list(chain.from_iterable(parts))
        columns[name] = (
            _class_array(arrow, values) if name == "prediction" else arrow.array(values, types[name])
        )
    sink = arrow.BufferOutputStream()
    table = arrow.table(columns)
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _fields(run: Run, name: str) -> Any:
    """Return a field of each answer; None where an answer, or an error, does not have it."""
    if isinstance(run, LabelAnswers | PredictAnswers):
        return repeat(None, len(run)) if name in FAULTS else run.column(name)
    wanted = name in FAULTS
    return [getattr(one, name) if isinstance(one, ServiceError) is wanted else None for one in run]


def _class_array(arrow: Any, values: Any) -> Any:
    """Return classes as an array; those that do not have one type of Arrow, as text."""
    try:
        array = arrow.array(values)
    except (arrow.ArrowException, OverflowError):  # an integer of more than 64 bits
        array = arrow.array([None if value is None else class_key(value) for value in values])
    return array.cast(arrow.string()) if arrow.types.is_null(array.type) else array


def _probability_array(arrow: Any, runs: Sequence[Run]) -> Any:
    """Return the probabilities of answers as an array of maps; null where there is no answer."""
    keys: list[str] = []
    sizes: list[int] = []
    missing: list[bool] = []
    parts = [np.zeros(0)]
    for run in runs:
        if isinstance(run, PredictAnswers):
            keys += list(run.keys) * len(run)
            sizes += repeat(len(run.keys), len(run))
            missing += repeat(False, len(run))
            parts.append(run.probabilities.ravel())
        else:
            found = list(_fields(run, "probabilities"))
            given = [one or {} for one in found]
            keys += chain.from_iterable(given)
            sizes += map(len, given)
            missing += [one is None for one in found]
            parts.append(np.array(list(chain.from_iterable(map(dict.values, given))), np.float64))
    ends = np.cumsum([0, *sizes], dtype=np.int32)
    offsets = arrow.array(ends, mask=np.array([*missing, False]))
    numbers = arrow.array(np.concatenate(parts))
    return arrow.MapArray.from_arrays(offsets, arrow.array(keys, arrow.string()), numbers)
