"""Data frames and their columns, whoever made them: pandas, polars, Arrow ... (by way of narwhals)."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from linmax.inputs.encode import CodedArray, ValueEncoder, cells, silent

Frame = nw.DataFrame[Any]
Series = nw.Series[Any]
Read = TypeVar("Read")


def frame(data: Any, what: str) -> Frame | None:
    """A data frame as narwhals sees it; None if it is something else."""
    if type(data).__name__ == "RecordBatch" and type(data).__module__.startswith("pyarrow"):
        data = _table(data)
    try:
        found: Any = nw.from_native(data, pass_through=True)
        if isinstance(found, nw.LazyFrame):
            raise ValueError(f"{what} must be a data frame (got a lazy one); call .collect() first")
        if not isinstance(found, nw.DataFrame):
            return None
        twice = [name for name, times in Counter(found.columns).items() if times > 1]
    except DuplicateError:
        names = data.column_names if hasattr(data, "column_names") else list(data.columns)
        twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{what} have two columns {twice[0]!r}; rename one")
    return found  # type: ignore[no-any-return]


def series(data: Any) -> Series | None:
    """A series as narwhals sees it; None if it is something else."""
    if hasattr(data, "dictionary_encode") and not hasattr(data, "chunks"):
        data = _chunked(data)
    found = nw.from_native(data, pass_through=True, allow_series=True)
    return found if isinstance(found, nw.Series) else None


def columns(frame: Frame, what: str, read: Callable[[Series, str], Read]) -> dict[Any, Read]:
    """Read every column."""
    return {series.name: guarded(series, what, read) for series in frame.iter_columns()}


def votes(frame: Frame) -> list[CodedArray]:
    """Code every column; those of Arrow that hold texts do without a series of narwhals."""
    if not frame.implementation.is_pyarrow():
        return [*columns(frame, "votes", column).values()]
    natives = zip(frame.columns, frame.to_native().columns, strict=True)
    return [_vote(frame, name, native) for name, native in natives]


def _vote(frame: Frame, name: Any, native: Any) -> CodedArray:
    if _of_texts(native.type):
        with suppress(Exception):  # it is read again, and what is wrong with it said
            return _coded(native, ValueEncoder("votes"))
    return guarded(frame[name], "votes", column)


def guarded(series: Series, what: str, read: Callable[[Series, str], Read]) -> Read:
    """Read a column; whatever its library says of a type that it cannot convert becomes one sentence."""
    try:
        return read(series, what)
    except (MemoryError, Warning):
        raise
    except Exception as error:
        if type(error) is ValueError:  # a sentence already
            raise
        native = series.to_native()
        kind = getattr(native, "dtype", None) or getattr(native, "type", series.dtype)
        place = f"column {series.name!r}" if series.name else "a column"
        raise ValueError(f"{what} have {place} of type {kind}; cast it to int64, float64 or text") from error


def column(series: Series, what: str) -> CodedArray:
    """Code a column of labels.

    >>> import polars
    >>> column(nw.from_native(polars.Series([5, None, 3]), series_only=True), "labels").names
    [None, None, None, 3, 4, 5, None]
    """
    kind = series.dtype
    if kind.is_integer() or kind == nw.Boolean:
        if not series.null_count():
            return cells(series.to_numpy(), what)
        whole = series.fill_null(False if kind == nw.Boolean else 0)
        return cells(whole.to_numpy(), what, series.is_null().to_numpy())
    if kind in (nw.String, nw.Categorical, nw.Enum):
        return _texts(series, what)
    return cells(objects(series), what)


def objects(series: Series) -> NDArray[Any]:
    """A column as numpy has it, with None where a value is missing unless it is of floats (NaN)."""
    array = series.to_numpy()
    if array.ndim != 1:
        raise TypeError("every value is an array")  # of polars' structs
    if array.dtype.kind == "f" or not series.null_count():
        return array
    array = array.astype(object)
    array[series.is_null().to_numpy()] = None
    return array


def _table(batch: Any) -> Any:
    import pyarrow

    return pyarrow.Table.from_batches([batch])


def _chunked(array: Any) -> Any:
    import pyarrow

    return pyarrow.chunked_array([array])


def _texts(series: Series, what: str) -> CodedArray:
    """Code a column of texts or categories where it lives: texts taken into Python one by one are slow."""
    ledger = ValueEncoder(what)
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, distinct = native.factorize()  # what is missing gets -1
        places = ledger.look_up(list(distinct))
        if len(ledger.names) < len(places):  # a member of an Enum and its value are one name
            codes = np.append(places, np.int32(-1))[codes]
        return CodedArray(codes, -1, [None, *ledger.names], ledger.names)
    if series.implementation.is_pyarrow() and _of_texts(native.type):
        return _coded(native, ledger)
    if series.dtype in (nw.Categorical, nw.Enum):
        kind = getattr(getattr(native, "type", None), "value_type", None)  # Arrow's categories may be numbers
        if kind is None:
            return _texts(series.cast(nw.String), what)
        return column(nw.from_native(native.cast(kind), series_only=True), what)
    distinct = series.drop_nulls().unique().to_list()
    if not distinct:
        return silent((len(series),))
    ledger.look_up(distinct)
    whole = series.fill_null(distinct[0])
    codes = whole.replace_strict(distinct, list(range(len(distinct))), return_dtype=nw.Int32).to_numpy()
    if series.null_count():
        codes = np.where(series.is_null().to_numpy(), -1, codes)
    return CodedArray(codes, -1, [None, *ledger.names], ledger.names)


def _of_texts(kind: Any) -> bool:
    """Whether an Arrow type is of texts, or of a dictionary of texts."""
    import pyarrow

    kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _coded(column: Any, ledger: ValueEncoder) -> CodedArray:
    """Code an Arrow column by the dictionary that it has or gets: it is as long as the distinct texts."""
    column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode("encode")
    places = ledger.look_up(coded.dictionary.to_pylist())
    codes = coded.indices
    if codes.null_count:
        codes = codes.cast("int32").fill_null(-1)
    codes = codes.to_numpy()
    if not np.array_equal(places, np.arange(len(places))):  # something is missing, or there twice
        codes = np.append(places, np.int32(-1))[codes]
    return CodedArray(codes, -1, [None, *ledger.names], ledger.names)
