"""Attributes as numbers: a row of values per item, or the few that are not 0."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.batch import Nominal
from linmax.inputs.classes import first_places
from linmax.inputs.dicts import DictRows
from linmax.inputs.encode import CodedArray, Codes, cells, plainly, translate
from linmax.inputs.names import StagedIndex, to_label, to_python
from linmax.inputs.numbers import SCALE, beyond, fitting, floats, huge, number, shown, within
from linmax.inputs.votes import merge, starts
from linmax.kernels.forms import Rows, SparseRows

Numbers = NDArray[np.float64]


def read_rows(source: Any, attributes: StagedIndex) -> Rows | SparseRows:
    """Read a table of attributes; a nominal cell becomes an attribute (column, value) that is 1."""
    if isinstance(source, DictRows):
        return _dicts(source, attributes)
    if hasattr(source, "tocsr"):
        return _matrix(source, attributes)
    columns: dict[Any, Numbers | CodedArray]
    if not isinstance(source, np.ndarray):
        from linmax.inputs import frames

        columns = frames.columns(source, "attributes", _series)
    elif source.dtype.kind in "biuf":
        return _array(source, attributes)
    else:
        columns = {j: _column(source[:, j]) for j in range(source.shape[1])}
        numeric = [column for column in columns.values() if not isinstance(column, CodedArray)]
        if len(numeric) == len(columns):
            return _array(np.column_stack(numeric) if numeric else np.empty(source.shape), attributes)
    return _columns(columns, source.shape[0], attributes)


def _array(array: NDArray[Any], attributes: StagedIndex) -> Rows:
    seats = attributes.columns(array.shape[1], "attributes")
    if not seats:
        return Rows(np.zeros((len(array), len(attributes))))
    return Rows(_bounded(floats(array), [attributes.name(code) for code in seats]))


def _columns(
    columns: dict[Any, Numbers | CodedArray], trials: int, attributes: StagedIndex
) -> Rows | SparseRows:
    numeric = {name: column for name, column in columns.items() if not isinstance(column, CodedArray)}
    nominal = {name: column for name, column in columns.items() if isinstance(column, CodedArray)}
    seats = [attributes.code(name) for name in numeric]
    values = np.empty((trials, len(numeric)))
    for j, column in enumerate(numeric.values()):
        values[:, j] = column
    values = _bounded(values, list(numeric))
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


def _series(series: Any, what: str) -> Numbers | CodedArray:
    import narwhals as nw

    from linmax.inputs import frames

    if series.dtype.is_numeric():
        return floats(series.to_numpy())
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return frames.column(series, WHAT)
    return _column(frames.objects(series))


def _column(array: NDArray[Any]) -> Numbers | CodedArray:
    """A column of numbers, truth values or objects that are numbers is numeric; any other is nominal."""
    kinds = set(map(type, array.tolist())) if array.dtype.kind == "O" else set()
    if array.dtype.kind in "biufO" and not any(issubclass(kind, str) for kind in kinds):
        values = _floats(array)
        if not np.isnan(values).all():
            return values
    return cells(array, WHAT)


def _floats(array: NDArray[Any]) -> Numbers:
    try:
        return floats(array)
    except (TypeError, ValueError):  # something is no number
        return np.array([_number(value) for value in array.tolist()], np.float64)


def _number(value: Any) -> float:
    try:
        return number(value)
    except (TypeError, ValueError):
        raise ValueError(f"attributes must be numbers or text (got {value!r})") from None


def _matrix(matrix: Any, attributes: StagedIndex) -> SparseRows:
    if matrix.ndim != 2:
        raise ValueError(
            f"attributes must have one row per item (got a sparse array of shape {matrix.shape})"
        )
    attributes.columns(matrix.shape[1], "attributes")
    _demand_sound(matrix)
    rows = matrix.tocsr()
    if rows is not matrix:
        _demand_sound(rows)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's stays as it is
        rows.sum_duplicates()
    size = int(rows.indptr[-1])  # there may be more, which do not count
    given, indices = floats(rows.data[:size]), rows.indices[:size]
    value = within(given)
    if value is None:
        (i,) = beyond(given)
        row = int(np.searchsorted(rows.indptr, i, side="right")) - 1
        raise _unfit(given[i], row, attributes.name(int(indices[i])))
    if value.all():
        return SparseRows(plainly(rows.indptr, np.int64), plainly(indices, np.int32), value)
    there = np.flatnonzero(value)
    indptr = np.searchsorted(there, rows.indptr).astype(np.int64)
    return SparseRows(indptr, indices[there].astype(np.int32), value[there])


def _demand_sound(matrix: Any) -> None:
    """Refuse a sparse matrix made by hand that points outside of itself: kernels, and scipy, trust it."""
    if matrix.dtype.kind not in "biufO":
        raise ValueError(f"attributes must be numbers (got a sparse matrix of {matrix.dtype}); cast it")
    rows, columns = matrix.shape
    if matrix.format == "coo":
        _demand_inside(matrix.row, rows, "row")
        _demand_inside(matrix.col, columns, "column")
    if matrix.format not in ("csr", "csc", "bsr"):
        return
    high, wide = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    (major, minor), name = (rows // high, columns // wide), "column"
    if matrix.format == "csc":
        (major, minor), name = (columns, rows), "row"
    indptr, size = matrix.indptr, min(len(matrix.indices), len(matrix.data))
    sound = len(indptr) == major + 1 and indptr[0] == 0 and indptr[-1] <= size
    if not sound or (np.diff(indptr) < 0).any():
        raise ValueError(
            "attributes are a sparse matrix whose indptr does not ascend from 0 to its"
            f" {size} values in {major} steps; build it anew, as from (value, (row, column))"
        )
    _demand_inside(matrix.indices[: int(indptr[-1])], minor, name)


def _demand_inside(index: NDArray[Any], size: int, name: str) -> None:
    for end in (index.min(), index.max()) if len(index) else ():
        if not 0 <= end < size:
            raise ValueError(
                f"attributes are a sparse matrix with {name} {end} outside its {size}; count from 0"
            )


def _dicts(dicts: DictRows, attributes: StagedIndex) -> SparseRows:
    row: list[int] = []
    index: list[int] = []
    value: list[float] = []
    for t, cells_of_row in enumerate(dicts):
        for name, cell in cells_of_row.items():
            if isinstance(cell, Enum):
                cell = cell.value
            if isinstance(cell, str):
                index.append(attributes.code((to_python(name), str(cell))))
                value.append(1.0)
            elif cell is not None:
                fits = fitting(_number(cell))
                if fits is None:
                    raise _unfit(cell if isinstance(cell, int) else _number(cell), t, name)
                index.append(attributes.code(name))
                value.append(fits)
            else:
                continue
            row.append(t)
    rows, codes, values = np.array(row, np.int64), np.array(index, np.int32), np.array(value, np.float64)
    order = np.lexsort((codes, rows))
    order = order[values[order] != 0]
    return SparseRows(starts(rows[order], len(dicts)), codes[order], values[order])


def _bounded(values: Numbers, names: list[Any]) -> Numbers:
    fits = within(values)
    if fits is None:
        row, column = beyond(values)
        raise _unfit(values[row, column], row, names[column])
    return fits


def _unfit(value: Any, row: int, column: Any) -> ValueError:
    cure = f"scale attributes to {SCALE}" if huge(value) else "fill it in or drop the row"
    return ValueError(f"attributes have {shown(value)} in row {row}, column {column!r}; {cure}")


WHAT = "nominal attributes"


def read_nominal(source: Any, values: StagedIndex) -> Nominal:
    """Read a table of nominal attributes: whole numbers, texts or true/false, a column each."""
    if isinstance(source, DictRows):
        return Nominal(_nominal_dicts(source, values))
    if hasattr(source, "tocsr"):
        raise ValueError(f"{WHAT} cannot be a sparse matrix; pass a data frame, an array or dicts")
    columns: dict[Any, CodedArray]
    if isinstance(source, np.ndarray):
        columns = {j: cells(source[:, j], WHAT) for j in range(source.shape[1])}
    else:
        from linmax.inputs import frames

        columns = frames.columns(source, WHAT, frames.column)
    return Nominal(pairs(columns, source.shape[0], values))


def pairs(columns: Mapping[Any, CodedArray], trials: int, peek: StagedIndex) -> Codes:
    """A code per cell for its (column, value) pair; new pairs are numbered as they are met, row by row.

    >>> color = CodedArray(np.array([1, 0]), 0, ["red", "blue"], ["red"])
    >>> size = CodedArray(np.array([0, 0]), 0, [3], [3])
    >>> from linmax.inputs.names import NameIndex
    >>> peek = StagedIndex(NameIndex(what="value"))
    >>> pairs({"color": color, "size": size}, 2, peek).tolist(), peek.new
    ([[0, 1], [2, 1]], [('color', 'blue'), ('size', 3), ('color', 'red')])
    """
    named = [
        said._replace(names=[None if name is None else (to_python(column), name) for name in said.names])
        for column, said in columns.items()
    ]
    said = merge(named, list(range(len(named))), (trials, len(named)), peek.roll)
    first = first_places(said, {name for name in said.names if name is not None and peek.find(name) < 0})
    for name in sorted(first, key=lambda name: first[name]):
        peek.code(name)
    return translate(said, [-1 if name is None else peek.find(name) for name in said.names])


def _nominal_dicts(dicts: DictRows, values: StagedIndex) -> Codes:
    codes = np.full((len(dicts), max(map(len, dicts), default=0)), -1, np.int32)
    for t, row in enumerate(dicts):
        for j, (column, value) in enumerate(row.items()):
            name = to_label(value, WHAT)
            if name is not None:
                codes[t, j] = values.code((to_python(column), name))
    return codes
