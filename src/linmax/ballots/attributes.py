"""Attributes as numbers: a row of values per item, or the few that are not 0."""

from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.cells import Cells, cells, plainly
from linmax.ballots.dicts import Dicts
from linmax.ballots.entries import starts
from linmax.ballots.names import is_na
from linmax.ballots.nominal import WHAT, pairs
from linmax.ballots.roll import Peek, simple
from linmax.forms import Rows, SparseRows

Numbers = NDArray[np.float64]


def read_rows(source: Any, attributes: Peek) -> Rows | SparseRows:
    """Read a table of attributes; a nominal cell becomes an attribute (column, value) that is 1."""
    if isinstance(source, Dicts):
        return _dicts(source, attributes)
    if hasattr(source, "tocsr"):
        return _matrix(source, attributes)
    columns: dict[Any, Numbers | Cells]
    if not isinstance(source, np.ndarray):
        columns = {series.name: _series(series) for series in source.iter_columns()}
    elif source.dtype.kind in "biuf":
        return _array(source, attributes)
    else:
        columns = {j: _column(source[:, j]) for j in range(source.shape[1])}
        numeric = [column for column in columns.values() if not isinstance(column, Cells)]
        if len(numeric) == len(columns):
            return _array(np.column_stack(numeric) if numeric else np.empty(source.shape), attributes)
    return _columns(columns, source.shape[0], attributes)


def _array(array: NDArray[Any], attributes: Peek) -> Rows:
    seats = attributes.columns(array.shape[1], "attributes")
    if not seats:
        return Rows(np.zeros((len(array), len(attributes))))
    values = plainly(array, np.float64)
    _demand_finite(values, [attributes.name(code) for code in seats])
    return Rows(values)


def _columns(columns: dict[Any, Numbers | Cells], trials: int, attributes: Peek) -> Rows | SparseRows:
    numeric = {name: column for name, column in columns.items() if not isinstance(column, Cells)}
    nominal = {name: column for name, column in columns.items() if isinstance(column, Cells)}
    seats = [attributes.code(name) for name in numeric]
    values = np.empty((trials, len(numeric)))
    for j, column in enumerate(numeric.values()):
        values[:, j] = column
    _demand_finite(values, list(numeric))
    if not nominal:
        if seats == list(range(len(attributes))):
            return Rows(values)
        whole = np.zeros((trials, len(attributes)))
        whole[:, seats] = values
        return Rows(whole)
    codes = pairs(nominal, trials, attributes)
    index = np.concatenate((np.tile(np.array(seats, np.int32), (trials, 1)), codes), axis=1)
    value = np.concatenate((values, (codes >= 0).astype(np.float64)), axis=1)
    order = np.argsort(index, axis=1, kind="stable")
    index, value = np.take_along_axis(index, order, axis=1), np.take_along_axis(value, order, axis=1)
    there = value != 0
    return SparseRows(starts(np.nonzero(there)[0], trials), index[there], value[there])


def _series(series: Any) -> Numbers | Cells:
    import narwhals as nw

    from linmax.ballots import frames

    if series.dtype.is_numeric():
        return series.to_numpy().astype(np.float64)  # type: ignore[no-any-return]
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return frames.column(series, WHAT)
    return _column(frames.objects(series))


def _column(array: NDArray[Any]) -> Numbers | Cells:
    """A column of truth values, or of objects that are numbers, is numeric; any other is nominal."""
    if array.dtype.kind == "b":
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        kinds = set(map(type, array.tolist()))
        if not any(issubclass(kind, str) for kind in kinds):
            values = _floats(array)
            if not np.isnan(values).all():
                return values
    return cells(array, WHAT)


def _floats(array: NDArray[Any]) -> Numbers:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):  # pandas' NA, or something that is no number
        return np.array([_number(value) for value in array.tolist()], np.float64)


def _number(value: Any) -> float:
    try:
        return nan if is_na(value) else float(value)
    except (TypeError, ValueError):
        raise ValueError(f"attributes must be numbers or text (got {value!r})") from None


def _matrix(matrix: Any, attributes: Peek) -> SparseRows:
    if matrix.ndim != 2:
        raise ValueError(
            f"attributes must have one row per item (got a sparse array of shape {matrix.shape})"
        )
    attributes.columns(matrix.shape[1], "attributes")
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's stays as it is
        rows.sum_duplicates()
    value = plainly(rows.data, np.float64)
    if not np.isfinite(value).all():
        i = int(np.argmin(np.isfinite(value)))
        row = int(np.searchsorted(rows.indptr, i, side="right")) - 1
        raise _not_finite(value[i], row, attributes.name(int(rows.indices[i])))
    if value.all():
        return SparseRows(plainly(rows.indptr, np.int64), plainly(rows.indices, np.int32), value)
    there = np.flatnonzero(value)
    indptr = np.searchsorted(there, rows.indptr).astype(np.int64)
    return SparseRows(indptr, rows.indices[there].astype(np.int32), value[there])


def _dicts(dicts: Dicts, attributes: Peek) -> SparseRows:
    row: list[int] = []
    index: list[int] = []
    value: list[float] = []
    for t, cells_of_row in enumerate(dicts):
        for name, cell in cells_of_row.items():
            if isinstance(cell, str):
                index.append(attributes.code((simple(name), str(cell))))
                value.append(1.0)
            elif cell is not None:
                index.append(attributes.code(name))
                value.append(_number(cell))
                if not isfinite(value[-1]):
                    raise _not_finite(value[-1], t, name)
            else:
                continue
            row.append(t)
    rows, codes, values = np.array(row, np.int64), np.array(index, np.int32), np.array(value, np.float64)
    order = np.lexsort((codes, rows))
    order = order[values[order] != 0]
    return SparseRows(starts(rows[order], len(dicts)), codes[order], values[order])


def _demand_finite(values: Numbers, names: list[Any]) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise _not_finite(values[row, column], row, names[column])


def _not_finite(value: float, row: int, column: Any) -> ValueError:
    return ValueError(f"attributes have {value} in row {row}, column {column!r}; fill it in or drop the row")
