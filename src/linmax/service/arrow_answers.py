"""Answers to batches as Arrow IPC streams."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np

from linmax.service.answer_runs import LabelAnswers, PredictAnswers, Run
from linmax.service.arrow_stream import load_arrow
from linmax.service.class_keys import class_key
from linmax.service.messages import PredictRequest
from linmax.service.problems import ServiceError

GOOD = {
    True: ("id", "prediction", "probabilities", "version", "stored"),
    False: ("id", "prediction", "right", "position"),
}  # the fields of answers, by whether they are predictions
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
    text, count, truth = arrow.string(), arrow.int64(), arrow.bool_()
    types = {"id": text, "version": count, "position": count, "stored": truth, "right": truth}
    types |= {"status": arrow.int32(), "code": text, "message": text}
    columns = {}
    for name in GOOD[kind is PredictRequest] + FAULTS:
        if name == "probabilities":
            columns[name] = _probability_array(arrow, runs)
            continue
        values = list(chain.from_iterable(_fields(run, name) for run in runs))
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


def _class_array(arrow: Any, values: list[Any]) -> Any:
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
