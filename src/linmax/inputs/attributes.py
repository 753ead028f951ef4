"""Attributes as rows of numbers (dense or sparse) or as nominal values."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.batch import Nominal
from linmax.inputs.classes import first_places
from linmax.inputs.dicts import DictRows
from linmax.inputs.encode import CodedArray, Codes, contiguous, encode_array, recode
from linmax.inputs.names import StagedIndex, to_label, to_python
from linmax.inputs.numbers import (
    SCALE,
    Numbers,
    first_invalid,
    format_number,
    limit_number,
    limit_numbers,
    to_float,
    to_floats,
    too_large,
)
from linmax.inputs.votes import merge_columns, row_starts
from linmax.kernels.forms import Rows, SparseRows

MAX_COLUMNS = 1 << 25  # of a sparse matrix; every column gets a name, and so many take 5 GB
NOMINAL = "nominal attributes"


def read_rows(source: Any, attributes: StagedIndex) -> Rows | SparseRows:
    """Read attributes as numbers; a nominal cell becomes an attribute (column, value) with value 1."""
    if isinstance(source, DictRows):
        return _read_dicts(source, attributes)
    if hasattr(source, "tocsr"):
        return _read_sparse_matrix(source, attributes)
    columns: dict[Any, Numbers | CodedArray]
    if not isinstance(source, np.ndarray):
        from linmax.inputs import frames  # imports narwhals, which arrays do not need

        columns = frames.read_columns(source, "attributes", _read_series, _left_out(source, attributes))
    elif source.dtype.kind in "biuf":
        return _read_array(source, attributes)
    else:
        left_out = _left_out(source, attributes)
        columns = {j: _read_column(source[:, j]) for j in range(source.shape[1]) if j not in left_out}
        numeric = [column for column in columns.values() if not isinstance(column, CodedArray)]
        if len(numeric) == len(columns):
            return _read_array(np.column_stack(numeric) if numeric else np.empty(source.shape), attributes)
    return _join_columns(columns, source.shape[0], attributes)


def read_nominal(source: Any, values: StagedIndex) -> Nominal:
    """Read a table of nominal attributes: integers, texts or booleans, one kind per column."""
    if isinstance(source, DictRows):
        return Nominal(_read_nominal_dicts(source, values))
    if hasattr(source, "tocsr"):
        raise ValueError(f"{NOMINAL} cannot be a sparse matrix; pass a data frame, an array or dicts")
    columns: dict[Any, CodedArray]
    left_out = _left_out(source, values)
    if isinstance(source, np.ndarray):
        columns = {
            j: encode_array(source[:, j], NOMINAL) for j in range(source.shape[1]) if j not in left_out
        }
    else:
        from linmax.inputs import frames  # imports narwhals, which arrays do not need

        columns = frames.read_columns(source, NOMINAL, frames.encode_series, left_out)
    return Nominal(encode_values(columns, source.shape[0], values))


def encode_values(columns: Mapping[Any, CodedArray], trials: int, values: StagedIndex) -> Codes:
    """Return the code of each cell's (column, value) pair; new pairs are numbered row by row.

    >>> color = CodedArray(np.array([1, 0]), 0, ["red", "blue"], ["red"])
    >>> size = CodedArray(np.array([0, 0]), 0, [3], [3])
    >>> from linmax.inputs.names import NameIndex
    >>> staged = StagedIndex(NameIndex(what="value"))
    >>> encode_values({"color": color, "size": size}, 2, staged).tolist(), staged.new
    ([[0, 1], [2, 1]], [('color', 'blue'), ('size', 3), ('color', 'red')])
    """
    pairs = [
        coded._replace(names=[None if name is None else (to_python(column), name) for name in coded.names])
        for column, coded in columns.items()
    ]
    merged = merge_columns(pairs, list(range(len(pairs))), (trials, len(pairs)), values.index)
    new = {name for name in merged.names if name is not None and values.find(name) < 0}
    first = first_places(merged, new)
    for name in sorted(first, key=lambda name: first[name]):
        values.code(name)
    return recode(merged, [-1 if name is None else values.find(name) for name in merged.names])


def _left_out(source: Any, index: StagedIndex) -> set[Any]:
    """Return the columns of a table that a closed index does not have, and note them there."""
    if not index.closed:
        return set()
    columns = range(source.shape[1]) if isinstance(source, np.ndarray) else source.columns
    unknown = [column for column in columns if index.leaves_out(column)]
    if isinstance(source, np.ndarray) and len(unknown) == len(columns):
        return set()  # attributes have names, and columns stand for them by position
    for column in unknown:
        index.code(column)
    return set(unknown)


def _read_array(array: NDArray[Any], attributes: StagedIndex) -> Rows:
    columns = attributes.column_codes(array.shape[1], "attributes")
    if not columns:
        return Rows(np.zeros((len(array), len(attributes))))
    if len(columns) < array.shape[1]:
        array = np.ascontiguousarray(array[:, : len(columns)])
    return Rows(_limited(to_floats(array), [attributes.name(code) for code in columns]))


def _join_columns(
    columns: dict[Any, Numbers | CodedArray], trials: int, attributes: StagedIndex
) -> Rows | SparseRows:
    numeric = {
        name: column
        for name, column in columns.items()
        if not isinstance(column, CodedArray) and attributes.code(name) >= 0
    }
    nominal = {name: column for name, column in columns.items() if isinstance(column, CodedArray)}
    for name, coded in nominal.items():
        for text in coded.present:
            _check_text(name, text, attributes)
    targets = [attributes.code(name) for name in numeric]
    values = np.empty((trials, len(numeric)))
    for j, column in enumerate(numeric.values()):
        values[:, j] = column
    values = _limited(values, list(numeric))
    if not nominal:
        if targets == list(range(len(attributes))):
            return Rows(values)
        dense = np.zeros((trials, len(attributes)))
        dense[:, targets] = values
        return Rows(dense)
    codes = encode_values(nominal, trials, attributes)
    index = np.concatenate((np.tile(np.array(targets, np.int32), (trials, 1)), codes), axis=1)
    value = np.concatenate((values, (codes >= 0).astype(np.float64)), axis=1)
    order = np.argsort(index, axis=1, kind="stable")
    index, value = np.take_along_axis(index, order, axis=1), np.take_along_axis(value, order, axis=1)
    nonzero = value != 0
    return SparseRows(row_starts(np.nonzero(nonzero)[0], trials), index[nonzero], value[nonzero])


def _read_series(series: Any, what: str) -> Numbers | CodedArray:
    import narwhals as nw

    from linmax.inputs import frames

    if series.dtype.is_numeric():
        return to_floats(series.to_numpy())
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return frames.encode_series(series, NOMINAL)
    return _read_column(frames.to_objects(series))


def _read_column(array: NDArray[Any]) -> Numbers | CodedArray:
    """Read a column: numbers, booleans or objects that are numbers are numeric, all others nominal."""
    types = set(map(type, array.tolist())) if array.dtype.kind == "O" else set()
    if array.dtype.kind in "biufO" and not any(issubclass(kind, str) for kind in types):
        values = _column_floats(array)
        if not np.isnan(values).all():
            return values
    return encode_array(array, NOMINAL)


def _column_floats(array: NDArray[Any]) -> Numbers:
    try:
        return to_floats(array)
    except (TypeError, ValueError):  # some cell is not a number; find it
        return np.array([_attribute(value) for value in array.tolist()], np.float64)


def _attribute(value: Any) -> float:
    try:
        return to_float(value)
    except (TypeError, ValueError):
        raise ValueError(f"attributes must be numbers or text (got {value!r})") from None


def _read_sparse_matrix(matrix: Any, attributes: StagedIndex) -> SparseRows:
    if matrix.ndim != 2:
        raise ValueError(
            f"attributes must have one row per item (got a sparse array of shape {matrix.shape})"
        )
    if matrix.shape[1] > MAX_COLUMNS:
        raise ValueError(
            f"attributes have {matrix.shape[1]:,} columns, more than {MAX_COLUMNS:,};"
            " hash them into fewer, or pass dicts, where only names that occur count"
        )
    known = len(attributes.column_codes(matrix.shape[1], "attributes"))
    _check_sparse_matrix(matrix)
    rows = matrix.tocsr()
    if rows is not matrix:
        _check_sparse_matrix(rows)
    if known < rows.shape[1]:
        rows = rows[:, :known]
    if not rows.has_canonical_format:
        rows = rows.copy()  # sum_duplicates works in place
        rows.sum_duplicates()
    size = int(rows.indptr[-1])  # the arrays may be longer
    given, indices = to_floats(rows.data[:size]), rows.indices[:size]
    value = limit_numbers(given)
    if value is None:
        (i,) = first_invalid(given)
        row = int(np.searchsorted(rows.indptr, i, side="right")) - 1
        raise _attribute_error(given[i], row, attributes.name(int(indices[i])))
    if value.all():
        return SparseRows(contiguous(rows.indptr, np.int64), contiguous(indices, np.int32), value)
    nonzero = np.flatnonzero(value)
    indptr = np.searchsorted(nonzero, rows.indptr).astype(np.int64)
    return SparseRows(indptr, indices[nonzero].astype(np.int32), value[nonzero])


def _check_sparse_matrix(matrix: Any) -> None:
    """Check the index arrays of a sparse matrix; neither scipy nor kernels do, and both would read beyond."""
    if matrix.dtype.kind not in "biufO":
        raise ValueError(f"attributes must be numbers (got a sparse matrix of {matrix.dtype}); cast it")
    rows, columns = matrix.shape
    if matrix.format == "coo":
        _check_indices(matrix.row, rows, "row")
        _check_indices(matrix.col, columns, "column")
    if matrix.format not in ("csr", "csc", "bsr"):
        return
    high, wide = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    (major, minor), name = (rows // high, columns // wide), "column"
    if matrix.format == "csc":
        (major, minor), name = (columns, rows), "row"
    indptr, size = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    valid = len(indptr) == major + 1 and indptr[0] == 0 and indptr[-1] <= size
    if not valid or (np.diff(indptr) < 0).any():
        raise ValueError(
            "attributes are a sparse matrix whose indptr does not ascend from 0 to its"
            f" {size} values in {major} steps; build it again from (value, (row, column))"
        )
    _check_indices(matrix.indices[: int(indptr[-1])], minor, name)


def _check_indices(index: NDArray[Any], size: int, name: str) -> None:
    for end in (index.min(), index.max()) if len(index) else ():
        if not 0 <= end < size:
            raise ValueError(
                f"attributes are a sparse matrix of {size} {name}s with {name} {end}; indices start at 0"
            )


def _read_dicts(dicts: DictRows, attributes: StagedIndex) -> SparseRows:
    row: list[int] = []
    index: list[int] = []
    value: list[float] = []
    closed = attributes.closed
    for t, cells in enumerate(dicts):
        for name, cell in cells.items():
            if isinstance(cell, Enum):
                cell = cell.value
            if cell is None:
                continue
            nominal = isinstance(cell, str) and not (closed and attributes.leaves_out(name))
            if nominal:
                _check_text(name, cell, attributes)
            code = attributes.code((to_python(name), str(cell)) if nominal else name)
            if code < 0:
                continue
            limited = 1.0 if nominal else limit_number(_attribute(cell))
            if limited is None:
                raise _attribute_error(cell if isinstance(cell, int) else _attribute(cell), t, name)
            row.append(t)
            index.append(code)
            value.append(limited)
    rows, codes, values = np.array(row, np.int64), np.array(index, np.int32), np.array(value, np.float64)
    order = np.lexsort((codes, rows))
    order = order[values[order] != 0]
    return SparseRows(row_starts(rows[order], len(dicts)), codes[order], values[order])


def _check_text(name: Any, text: Any, attributes: StagedIndex) -> None:
    """Refuse new text where an attribute has been a number."""
    if attributes.find(name) >= 0 and attributes.find((to_python(name), str(text))) < 0:
        raise ValueError(
            f"the attribute {name!r} has been a number so far (got {text!r}); fix it, or rename the attribute"
        )


def _read_nominal_dicts(dicts: DictRows, values: StagedIndex) -> Codes:
    codes = np.full((len(dicts), max(map(len, dicts), default=0)), -1, np.int32)
    for t, row in enumerate(dicts):
        for j, (column, value) in enumerate(row.items()):
            if values.leaves_out(column):
                values.code(column)
                continue
            name = to_label(value, NOMINAL)
            if name is not None:
                codes[t, j] = values.code((to_python(column), name))
    return codes


def _limited(values: Numbers, names: list[Any]) -> Numbers:
    limited = limit_numbers(values)
    if limited is None:
        row, column = first_invalid(values)
        raise _attribute_error(values[row, column], row, names[column])
    return limited


def _attribute_error(value: Any, row: int, column: Any) -> ValueError:
    hint = f"scale attributes to {SCALE}" if too_large(value) else "fill it in or drop the row"
    return ValueError(f"attributes have {format_number(value)} in row {row}, column {column!r}; {hint}")
