"""Answers to batches as Arrow IPC streams."""

from __future__ import annotations

from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from linmax.service.arrow_rows import load_arrow
from linmax.service.bulk import Answer
from linmax.service.class_keys import class_key
from linmax.service.messages import PredictRequest
from linmax.service.problems import ServiceError


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
    errors = [isinstance(one, ServiceError) for one in answers]
    good: list[Any] = [None if error else one for one, error in zip(answers, errors, strict=True)]
    bad: list[Any] = [one if error else None for one, error in zip(answers, errors, strict=True)]
    text, count, truth = arrow.string(), arrow.int64(), arrow.bool_()
    columns = {
        "id": arrow.array(_fields(good, "id"), text),
        "prediction": _class_array(arrow, _fields(good, "prediction")),
    }
    if kind is PredictRequest:
        columns["probabilities"] = _probability_array(arrow, good)
        columns["version"] = arrow.array(_fields(good, "version"), count)
        columns["stored"] = arrow.array(_fields(good, "stored"), truth)
    else:
        columns["right"] = arrow.array(_fields(good, "right"), truth)
        columns["position"] = arrow.array(_fields(good, "position"), count)
    for name, type_ in (("status", arrow.int32()), ("code", text), ("message", text)):
        columns[name] = (
            arrow.array(_fields(bad, name), type_) if any(errors) else arrow.nulls(len(bad), type_)
        )
    sink = arrow.BufferOutputStream()
    table = arrow.table(columns)
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _fields(answers: list[Any], name: str) -> list[Any]:
    """Return a field of each answer; None where there is no answer."""
    get = attrgetter(name)
    return [None if one is None else get(one) for one in answers]


def _class_array(arrow: Any, values: list[Any]) -> Any:
    """Return classes as an array; those that do not have one type of Arrow, as text."""
    try:
        array = arrow.array(values)
    except (arrow.ArrowException, OverflowError):  # an integer of more than 64 bits
        array = arrow.array([None if value is None else class_key(value) for value in values])
    return array.cast(arrow.string()) if arrow.types.is_null(array.type) else array


def _probability_array(arrow: Any, answers: list[Any]) -> Any:
    """Return the probabilities of answers as an array of maps; null where there is no answer."""
    given = [{} if one is None else one.probabilities for one in answers]
    ends = np.cumsum([0, *map(len, given)], dtype=np.int32)
    offsets = arrow.array(ends, mask=np.array([*(one is None for one in answers), False]))
    keys = arrow.array(list(chain.from_iterable(given)), arrow.string())
    parts = arrow.array(list(chain.from_iterable(map(dict.values, given))), arrow.float64())
    return arrow.MapArray.from_arrays(offsets, keys, parts)
