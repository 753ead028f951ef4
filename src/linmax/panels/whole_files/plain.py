"""Plain columns: typed columns of any kind as text, integers, floats or booleans."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from linmax.streams.columns import is_text, single_chunk, value_type
from linmax.streams.schema import StreamError, short_list

MAX_TEXT_BYTES = 1 << 30  # of one column
FAILURES = (pa.ArrowException, ValueError, OverflowError, NotImplementedError)


def plain_table(table: Any, file: str, notes: list[str]) -> Any:
    """Return a table with columns of type string, int64, float64 and bool only.

    Dictionary-encoded columns and dates become text, structures become columns with dots in their names;
    lists and other types are dropped.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    file : str
        Name of the file, for messages.
    notes : list of str
        Notes on dates and dropped columns are appended to it.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> notes = []
    >>> category = pa.array(["x"]).dictionary_encode()
    >>> table = pa.table({"a": pa.array([1], pa.int8()), "b": category, "c": [[1]]})
    >>> plain_table(table, "a.parquet", notes).schema.types, notes
    ([DataType(int64), DataType(string)], ['columns of lists are dropped: c'])
    """
    table = flatten_structs(table, file)
    columns: dict[str, Any] = {}
    dates, dropped = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        plain = plain_column(single_chunk(column), file, name)
        if plain is None:
            dropped.append(name)
            continue
        if pa.types.is_temporal(value_type(column.type)):
            dates.append(name)
        columns[name] = plain
    if dates:
        notes.append(f"dates and times are read as text: {short_list(dates)}")
    if dropped:
        notes.append(f"columns of lists are dropped: {short_list(dropped)}")
    if not columns:
        raise no_columns(table.schema, file)
    return pa.table(columns)


def flatten_structs(table: Any, file: str) -> Any:
    """Return a table whose structures are columns with dots in their names.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    file : str
        Name of the file, for messages.

    Raises
    ------
    StreamError
        If two columns have the same name then.
    """
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    names = table.column_names
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise StreamError(f"{file}: two columns {repeated!r}; rename one")
    return table


def no_columns(schema: Any, file: str) -> StreamError:
    """Return the error of a file none of whose columns can be read."""
    found = short_list(f"{field.name} of type {field.type}" for field in schema)
    return StreamError(f"{file} has no column of text or numbers (it has {found}); cast one")


def plain_column(array: Any, file: str, name: str) -> Any:
    """Return a column as a plain array, None if its type has no plain form.

    Parameters
    ----------
    array : pyarrow.Array
        The column.
    file, name : str
        The file and the column, for messages.

    Examples
    --------
    >>> plain_column(pa.array([1.5, float("nan")], pa.float32()), "a.parquet", "x").to_pylist()
    [1.5, None]
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        if is_text(kind):
            _check_text_bytes(array, file, name)
        return plain_column(array.dictionary_decode(), file, name)
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if is_text(kind):
        return array.cast(pa.string())
    if pa.types.is_boolean(kind):
        return array
    try:
        if pa.types.is_integer(kind):
            return array.cast(pa.int64())
        if pa.types.is_floating(kind):
            return _without_nan(array.cast(pa.float64()))
        if pa.types.is_decimal(kind):
            return array.cast(pa.float64())
        if pa.types.is_duration(kind):
            return array.cast(pa.int64()).cast(pa.string())
        if pa.types.is_temporal(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return _texts(array)
    except FAILURES:
        try:
            return array.cast(pa.string())
        except FAILURES:
            return None
    return None


def _without_nan(array: Any) -> Any:
    """Return floats with null for NaN, as data frames write missing values."""
    return pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)


def _texts(array: Any) -> Any:
    """Return dates in ISO form, and bytes that are UTF-8, as text."""
    if pa.types.is_timestamp(array.type):
        texts = array.cast(pa.timestamp(array.type.unit)).cast(pa.string())
        midnight = pc.all(pc.match_substring_regex(texts, r" 00:00:00(\.0+)?$")).as_py()
        pattern, with_ = (r" 00:00:00(\.0+)?$", "") if midnight else (r"\.0+$", "")
        texts = pc.replace_substring_regex(texts, pattern, with_)
        return texts if midnight else pc.replace_substring(texts, " ", "T")
    return array.cast(pa.string())


def _check_text_bytes(array: Any, file: str, name: str) -> None:
    lengths = pc.binary_length(array.dictionary.cast(pa.large_string()))
    size = pc.sum(lengths.take(array.indices)).as_py() or 0
    if size > MAX_TEXT_BYTES:
        raise StreamError(
            f"{file}: the texts of {name!r} have {size >> 20} MB, and at most {MAX_TEXT_BYTES >> 20} MB are"
            " read; drop the column"
        )
