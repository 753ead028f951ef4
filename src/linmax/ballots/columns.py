"""One list of values, or a table of them, as a numpy array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.cells import Cells, cells
from linmax.ballots.names import Label, plain


def column(data: Any, what: str) -> Cells:
    """Code a list, an array or a series with one value per item."""
    if not isinstance(data, list | tuple | np.ndarray):
        from linmax.ballots import frames  # narwhals takes a while to import, and arrays do without it

        series = frames.series(data)
        if series is not None:
            return frames.guarded(series, what, frames.column)
        frame = frames.frame(data, what)
        if frame is not None:
            one = f"its column {frame.columns[0]!r}" if len(frame.columns) == 1 else "one of its columns"
            raise ValueError(f"{what} must be a list, one per item (got a data frame); pass {one}")
    array = to_array(data, what)
    if array.ndim != 1:
        flat = "use .ravel()" if isinstance(data, np.ndarray) else "take each out of its list"
        cure = f"; {flat}" if array.ndim == 2 and array.shape[1] == 1 else ""
        raise ValueError(f"{what} must be a list, one per item (got shape {array.shape}){cure}")
    return cells(array, what)


def column_names(data: Any, what: str) -> list[Label | None]:
    """The values themselves, None where one is missing."""
    if isinstance(data, list | tuple):
        return [plain(value, what) for value in data]
    said = column(data, what)
    return [said.names[code - said.low] for code in said.codes.tolist()]


def to_array(data: Any, what: str) -> NDArray[Any]:
    """A numpy array; lists become objects, so that numpy does not turn numbers into texts."""
    if isinstance(data, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(data), np.array(None), data.data.astype(object))
    if isinstance(data, list | tuple):
        array = np.array(data, dtype=object)
        if array.ndim == 1 and any(map(_is_row, data)):
            raise ValueError(f"{what} must have rows of one length (got {_lengths(data)})")
        return array
    array = np.asarray(data)
    if array.ndim == 0:
        raise ValueError(f"{what} must be an array, a data frame or a list (got {brief(data)})")
    return array


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim > 0)


def _lengths(rows: Any) -> str:
    sizes = sorted({len(row) if _is_row(row) else 1 for row in rows})
    return " and ".join(map(str, sizes[:2]))


def brief(data: Any) -> str:
    """Something that is no table, in a sentence."""
    if isinstance(data, np.generic | np.ndarray) and not data.ndim:
        data = data.item()
    return repr(data) if isinstance(data, str | int | float | None) else f"a {type(data).__name__}"
