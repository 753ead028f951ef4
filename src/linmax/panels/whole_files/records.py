"""Records: JSON objects, whose nested keys become columns with dots in their names."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from linmax.streams.schema import StreamError, short_list, short_repr

MAX_COLUMNS = 10_000
MAX_DEPTH = 6  # of nested objects that become columns; deeper ones are JSON text
MAX_SPARSE_CELLS, MIN_FILLED = 20_000_000, 0.05
MAX_INT = 2**63
NESTED = frozenset((dict, list))


def records_table(records: Iterable[Any], file: str) -> Any:
    """Return objects as a table.

    Parameters
    ----------
    records : iterable of dict
        The objects. Objects in them are flattened: {"votes": {"ann": 1}} is the column "votes.ann". Lists
        are JSON text.
    file : str
        Name of the file, for messages.

    Returns
    -------
    pyarrow.Table
        Columns of integers, floats, booleans or, if types are mixed, text.

    Examples
    --------
    >>> table = records_table([{"id": 1, "votes": {"ann": "ham"}}, {"id": "x", "tags": [1, 2]}], "a.json")
    >>> table.to_pylist()[1]
    {'id': 'x', 'votes.ann': None, 'tags': '[1, 2]'}
    """
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    rows = filled = 0
    for record in records:
        flat: dict[str, Any] = {}
        if NESTED.isdisjoint(map(type, record.values())):
            flat = record
        else:
            _flatten(record, "", flat, MAX_DEPTH, file)
        for name, value in flat.items():
            if value is None:
                columns.setdefault(name, ([], []))
                continue
            places, values = columns.setdefault(name, ([], []))
            places.append(rows)
            values.append(value)
            filled += 1
        rows += 1
        check_number_of_columns(columns, file, f"record {rows}")
    if rows * len(columns) > MAX_SPARSE_CELLS and filled < MIN_FILLED * rows * len(columns):
        raise StreamError(
            f"{file}: {rows} records with {len(columns)} different keys ({short_list(columns, 3)}), nearly"
            " all of them missing; write one record per vote, with the key as a value"
        )
    arrays = [_column(places, values, rows) for places, values in columns.values()]
    return pa.table(arrays, names=list(columns)) if columns else pa.table({"": pa.nulls(rows)}).select([])


def check_number_of_columns(columns: Collection[str], file: str, place: str) -> None:
    """Refuse objects with too many different keys; the last of them is at a place such as "record 7"."""
    if len(columns) > MAX_COLUMNS:
        raise StreamError(
            f"{file}: over {MAX_COLUMNS} columns ({short_list(columns, 3)}) by {place}; at most"
            f" {MAX_COLUMNS} are read, so write keys that vary as values"
        )


def plain_array(values: list[Any]) -> Any:
    """Return values as an Arrow array of one plain type; values of mixed types become text.

    Examples
    --------
    >>> plain_array([1, 2.5, None]).type, plain_array([True, 1]).to_pylist()
    (DataType(double), ['true', '1'])
    """
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int} and all(value is None or -MAX_INT <= value < MAX_INT for value in values):
        return pa.array(values, pa.int64())
    if kinds and kinds <= {int, float} and float in kinds:
        try:
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        except OverflowError:
            pass
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {str}:
        return pa.array(values, pa.string())
    return pa.array(
        [value if isinstance(value, str | None) else json_text(value) for value in values], pa.string()
    )


def json_text(value: Any) -> str:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False)


def _flatten(record: dict[str, Any], prefix: str, flat: dict[str, Any], depth: int, file: str) -> None:
    for key, value in record.items():
        name = prefix + key
        if isinstance(value, dict) and value and depth:
            _flatten(value, name + ".", flat, depth - 1, file)
            continue
        if name in flat:
            raise StreamError(f"{file}: two values for {short_repr(name)} in a record; rename one")
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], list | dict):
            value = value[0]
        if isinstance(value, list | dict):
            value = json_text(value) if value else None
        flat[name] = value


def _column(places: list[int], values: list[Any], rows: int) -> Any:
    array = plain_array(values)
    if len(places) == rows:
        return array
    at = [None] * rows
    for j, i in enumerate(places):
        at[i] = j  # type: ignore[call-overload]
    return array.take(pa.array(at, pa.int64()))
