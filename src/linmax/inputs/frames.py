"""Data frames and series of pandas, polars, pyarrow and others, read through narwhals."""

from collections import Counter
from collections.abc import Callable, Container
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from linmax.inputs.encode import CodedArray, ValueEncoder, all_missing, encode_array

Frame = nw.DataFrame[Any]
Series = nw.Series[Any]
Result = TypeVar("Result")

FEW_VALUES = 64  # so many unused values of a dictionary are not worth a search


def to_frame(data: Any, what: str) -> Frame | None:
    """Return a data frame as a narwhals frame; None if the data is something else."""
    if type(data).__name__ == "RecordBatch" and type(data).__module__.startswith("pyarrow"):
        data = _arrow_table(data)
    try:
        found: Any = nw.from_native(data, pass_through=True)
        if isinstance(found, nw.LazyFrame):
            raise ValueError(f"{what} must be a data frame (got a lazy one); call .collect() first")
        if not isinstance(found, nw.DataFrame):
            return None
        repeated = [name for name, times in Counter(found.columns).items() if times > 1]
    except DuplicateError:
        names = data.column_names if hasattr(data, "column_names") else list(data.columns)
        repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"{what} have two columns {repeated[0]!r}; rename one")
    return found  # type: ignore[no-any-return]


def to_series(data: Any) -> Series | None:
    """Return a series as a narwhals series; None if the data is something else."""
    if hasattr(data, "dictionary_encode") and not hasattr(data, "chunks"):
        data = _arrow_chunked_array(data)
    found = nw.from_native(data, pass_through=True, allow_series=True)
    return found if isinstance(found, nw.Series) else None


def read_columns(
    frame: Frame, what: str, read: Callable[[Series, str], Result], left_out: Container[Any] = ()
) -> dict[Any, Result]:
    """Apply a reader to every column that is not left out."""
    return {
        name: read_series(frame.get_column(name), what, read)
        for name in frame.columns
        if name not in left_out
    }


def read_series(series: Series, what: str, read: Callable[[Series, str], Result]) -> Result:
    """Apply a reader; an error of the series' library becomes a ValueError that names the column."""
    try:
        return read(series, what)
    except (MemoryError, Warning):
        raise
    except Exception as error:
        if type(error) is ValueError:  # raised by linmax, with a message for the user
            raise
        native = series.to_native()
        kind = getattr(native, "dtype", None) or getattr(native, "type", series.dtype)
        place = f"column {series.name!r}" if series.name else "a column"
        raise ValueError(f"{what} have {place} of type {kind}; cast it to int64, float64 or text") from error


def encode_series(series: Series, what: str) -> CodedArray:
    """Encode a series of labels.

    >>> import polars
    >>> encode_series(nw.from_native(polars.Series([5, None, 3]), series_only=True), "labels").names
    [None, None, None, 3, 4, 5, None]
    """
    kind = series.dtype
    if kind.is_integer() or kind == nw.Boolean:
        if not series.null_count():
            return encode_array(series.to_numpy(), what)
        filled = series.fill_null(False if kind == nw.Boolean else 0)
        return encode_array(filled.to_numpy(), what, series.is_null().to_numpy())
    if kind in (nw.String, nw.Categorical, nw.Enum):
        return _encode_text(series, what)
    return encode_array(to_objects(series), what)


def to_objects(series: Series) -> NDArray[Any]:
    """Convert a series to a numpy array with None for missing values (NaN in a series of floats)."""
    array = series.to_numpy()
    if array.ndim != 1:
        raise TypeError("every value is an array")  # polars' structs
    if array.dtype.kind == "f" or not series.null_count():
        return array
    array = array.astype(object)
    array[series.is_null().to_numpy()] = None
    return array


def _encode_text(series: Series, what: str) -> CodedArray:
    """Encode texts or categories by a dictionary, which is as long as the number of distinct values."""
    codes, distinct = _dictionary(series)
    encoder = ValueEncoder(what)
    labels = encoder.encode(distinct)
    if len(encoder.names) < len(labels):  # a missing value, or two values of one label
        codes = np.append(labels, np.int32(-1))[codes]
    return encoder.coded(codes)


def _dictionary(series: Series) -> tuple[NDArray[Any], list[Any]]:
    """Return a code per cell (-1: missing) and the value of each code."""
    if series.implementation.is_pandas_like():
        # columns of objects take 25 % longer through Arrow, and may hold what Arrow cannot
        codes, distinct = series.to_native().factorize()
        return codes, list(distinct)
    if _has_pyarrow():
        array: Any = series.to_native() if series.implementation.is_pyarrow() else series.to_arrow()
        if hasattr(array, "chunks"):
            array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
        coded = array if hasattr(array, "dictionary") else array.dictionary_encode("encode")
        indices = coded.indices.cast("int32").fill_null(-1) if coded.indices.null_count else coded.indices
        return _compact(indices.to_numpy(), coded.dictionary)
    # polars without pyarrow
    text = series if series.dtype == nw.String else series.cast(nw.String)
    distinct = text.drop_nulls().unique().to_list()
    if not distinct:
        return all_missing((len(series),)).codes, []
    codes = text.fill_null(distinct[0]).replace_strict(
        distinct, list(range(len(distinct))), return_dtype=nw.Int32
    )
    return np.where(series.is_null().to_numpy(), -1, codes.to_numpy()), distinct


def _compact(codes: NDArray[Any], dictionary: Any) -> tuple[NDArray[Any], list[Any]]:
    """Return codes and their values, without the values that a slice of a long column does not have."""
    if len(dictionary) <= len(codes) + FEW_VALUES:
        return codes, dictionary.to_pylist()
    used, compact = np.unique(codes, return_inverse=True)
    missing = int(len(used) > 0 and used[0] < 0)
    return (compact - missing).astype(np.int32), dictionary.take(used[missing:]).to_pylist()


@cache
def _has_pyarrow() -> bool:
    return find_spec("pyarrow") is not None


def _arrow_table(batch: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches([batch])


def _arrow_chunked_array(array: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array([array])
