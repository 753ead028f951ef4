"""Encode arrays and columns: every cell becomes an integer code, and every code has a name."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linmax._jit.compilation import interpreting
from linmax.inputs.names import Label, check_one_kind, label_error, to_label
from linmax.kernels.columns import write_four

Array = NDArray[Any]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)
Tables = Sequence[Sequence[int]]

BLOCK_SIZE = 1 << 16  # cells per block, so that a block stays in the processor's cache
HASH_BITS = 16
OWN_CODE_LIMIT = 1 << 16  # integers with a smaller absolute value are their own codes
DICT_SIZE = 1 << 12  # arrays with at most this many cells are encoded with a dict instead of a hash table
NUMPY_SIZE = 1 << 16  # outputs with at most this many cells are written by numpy, which needs no loading
COLUMNS_AT_ONCE = 4  # the cells that one row gets from four columns are in one cache line

SCALARS = {str, int, bool, float, type(None)}


class CodedArray(NamedTuple):
    """An array of codes, and the name of each code.

    Attributes
    ----------
    codes : ndarray of integers
        One code per cell. It may be the caller's own array and is never written to.
    low : int
        The name of code c is ``names[c - low]``; low <= 0.
    names : list
        Names by code. None means that the cell is missing. Some names may not occur.
    present : sequence
        Names that do occur, at least one of each type.
    """

    codes: Array
    low: int
    names: list[Any]
    present: Sequence[Any]


class ValueEncoder(dict[Any, int]):
    """Number distinct values in order of first appearance; a missing value gets -1.

    >>> encoder = ValueEncoder("votes")
    >>> encoder.encode(["ham", "spam", None, "ham"]).tolist(), encoder.names
    ([0, 1, -1, 0], ['ham', 'spam'])
    """

    def __init__(self, what: str) -> None:
        super().__init__({None: -1})
        self.what = what
        self.names: list[Label] = []
        self._booleans: list[Label] = []  # samples, kept apart because True == 1 in Python
        self._numbers: list[Label] = []

    def __missing__(self, value: Any) -> int:
        name = to_label(value, self.what)
        if name is None:
            return -1  # not stored: every NaN may be another object
        if name in self:
            code = self[name]
        else:
            code = self[name] = len(self.names)
            self.names.append(name)
        self[value] = code
        return code

    def encode(self, values: Sequence[Any], check: bool = False) -> NDArray[np.int32]:
        """Return the codes of values; with `check`, booleans among numbers are an error."""
        try:
            codes = np.fromiter(map(self.__getitem__, values), np.int32, len(values))
        except TypeError:
            raise next(label_error(v, self.what) for v in values if not isinstance(v, Hashable)) from None
        if check:
            self._check_types(values)
        return codes

    def coded(self, codes: Array) -> CodedArray:
        """Return an array of codes that this encoder gave, with its names."""
        return CodedArray(codes, -1, [None, *self.names], self.names)

    def _check_types(self, values: Sequence[Any]) -> None:
        types = set(map(type, values))
        booleans = {kind for kind in types if issubclass(kind, bool | np.bool_)}
        numbers = {kind for kind in types if issubclass(kind, int | float | np.number)} - booleans
        if booleans and not self._booleans:
            self._booleans = [bool(next(v for v in values if type(v) in booleans))]
        if numbers and not self._numbers:
            self._numbers += [int(v) for v in values if type(v) in numbers and v == v][:1]  # v != v: NaN
        check_one_kind([(self.what, self._booleans), (self.what, self._numbers)])


def encode_array(array: Array, what: str, missing: Flags | None = None) -> CodedArray:
    """Encode an array of numbers, texts, booleans or objects.

    >>> coded = encode_array(np.array([["ham", None], ["spam", "ham"]], dtype=object), "votes")
    >>> coded.codes.tolist(), coded.low, coded.names
    ([[0, -1], [1, 0]], -1, [None, 'ham', 'spam'])
    """
    kind = array.dtype.kind
    if kind == "O":
        return _encode_objects(array, what)
    if kind == "T":
        return _encode_objects(array.astype(object), what)
    if array.size == 0:
        return all_missing(array.shape)
    if kind == "f":
        return _encode_floats(array, what, missing)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if kind == "b":
        return _encode_integers(array.view(np.uint8), what, missing, bool)
    if kind in "iu":
        return _encode_integers(array, what, missing, int)
    if kind == "U":
        return _encode_by_hash(array, what)
    raise label_error(array.flat[0], what)


def encode_column(data: Any, what: str) -> CodedArray:
    """Encode a list, an array or a series with one value per item."""
    if not isinstance(data, list | tuple | np.ndarray):
        from linmax.inputs import frames  # imports narwhals, which arrays do not need

        series = frames.to_series(data)
        if series is not None:
            return frames.read_series(series, what, frames.encode_series)
        frame = frames.to_frame(data, what)
        if frame is not None:
            one = f"its column {frame.columns[0]!r}" if len(frame.columns) == 1 else "one of its columns"
            raise ValueError(f"{what} must be a list, one per item (got a data frame); pass {one}")
    array = to_array(data, what)
    if array.ndim != 1:
        flat = "use .ravel()" if isinstance(data, np.ndarray) else "take each out of its list"
        hint = f"; {flat}" if array.ndim == 2 and array.shape[1] == 1 else ""
        raise ValueError(f"{what} must be a list, one per item (got shape {array.shape}){hint}")
    return encode_array(array, what)


def take_rows(data: Any, rows: NDArray[np.intp]) -> Any:
    """Return some values of a list, an array or a series.

    >>> take_rows(["a", "b", "c"], np.array([0, 2]))
    ['a', 'c']
    """
    if isinstance(data, list | tuple):
        return [data[row] for row in rows.tolist()]
    if not isinstance(data, np.ndarray):
        from linmax.inputs import frames  # imports narwhals, which arrays do not need

        series = frames.to_series(data)
        if series is not None:
            return series[rows].to_native()
    return np.asanyarray(data)[rows]


def label_list(data: Any, what: str) -> list[Label | None]:
    """Convert a list, an array or a series to a list of labels, None where one is missing."""
    if isinstance(data, list | tuple):
        return [to_label(value, what) for value in data]
    coded = encode_column(data, what)
    return [coded.names[code - coded.low] for code in coded.codes.tolist()]


def to_array(data: Any, what: str) -> NDArray[Any]:
    """Convert to a numpy array; lists become objects, so that numpy does not turn numbers into texts."""
    if isinstance(data, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(data), np.array(None), data.data.astype(object))
    if isinstance(data, list | tuple):
        array = np.array(data, dtype=object)
        kinds = set(map(type, data))  # far fewer than cells
        if array.ndim == 1 and not kinds <= SCALARS and any(map(_is_row, data)):
            lengths = sorted({len(row) if _is_row(row) else 1 for row in data})
            shown = " and ".join(map(str, lengths[:2]))
            raise ValueError(f"{what} must have rows of one length (got {shown})")
        return array
    array = np.asarray(data)
    if array.ndim == 0:
        raise ValueError(f"{what} must be an array, a data frame or a list (got {describe(data)})")
    return array


def describe(data: Any) -> str:
    """Format a value that is not a table for a message."""
    if isinstance(data, np.generic | np.ndarray) and not data.ndim:
        data = data.item()
    return repr(data) if isinstance(data, str | int | float | None) else f"a {type(data).__name__}"


def all_missing(shape: tuple[int, ...]) -> CodedArray:
    """Return an array whose cells are all missing."""
    return CodedArray(np.full(shape, -1, np.int32), -1, [None], ())


def row_blocks(array: Array, size: int = BLOCK_SIZE) -> Iterator[slice]:
    """Yield slices of rows with about `size` cells each.

    >>> list(row_blocks(np.zeros((5, 4)), size=8))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, size * len(array) // max(array.size, 1))
    for start in range(0, len(array), rows):
        yield slice(start, min(start + rows, len(array)))


def min_max(array: Array) -> tuple[int, int]:
    """Return the least and the largest cell; by blocks, so that the second pass finds a block in the cache.

    >>> min_max(np.array([[3, -1], [2, 7]]))
    (-1, 7)
    """
    signed = array.dtype.kind == "i"
    unsigned = array.view(array.dtype.str.replace("i", "u")) if signed else array
    blocks = row_blocks(array, 8 * BLOCK_SIZE // array.itemsize)
    first = array[next(blocks)]
    least, most = int(first.min()), int(first.max())
    for rows in blocks:
        if least != 0 or int(unsigned[rows].max()) > most:  # a negative number without its sign is large
            least, most = min(least, int(array[rows].min())), max(most, int(array[rows].max()))
    return least, most


def index_table(coded: CodedArray, table: Sequence[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """Rotate a table with one entry per name so that codes index it; negative codes count from its end."""
    start = -coded.low
    return np.array([*table[start:], *table[:start]], kind)


def gather(coded: CodedArray, table: Sequence[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """Return for each cell the entry of its name, given a table with one entry per name."""
    entries = index_table(coded, table, kind)
    if coded.codes.dtype == np.intp and coded.codes.flags.c_contiguous:
        return entries[coded.codes]
    out = np.empty(coded.codes.shape, kind)
    for rows in row_blocks(coded.codes):
        out[rows] = entries[coded.codes[rows].astype(np.intp, copy=False)]  # else numpy casts cell by cell
    return out


def recode(coded: CodedArray, table: list[int], *, narrow: bool = False) -> Codes:
    """Replace codes by the entries of a table; without a copy if they already agree with it.

    With `narrow`, a copy is int8 if it can be, which takes a quarter of the memory.

    >>> recode(CodedArray(np.array([0, -1, 1]), -1, [None, "a", "b"], "ab"), [-1, 1, 0], narrow=True)
    array([ 1, -1,  0], dtype=int8)
    """
    if coded.low >= -1 and table == list(range(coded.low, coded.low + len(table))):
        kind: Any = np.int8 if narrow and coded.codes.dtype == np.int8 else np.int32
        return contiguous(coded.codes, kind)
    if narrow and coded.low >= -128 and coded.low + len(table) <= 128 and max(table) < 128:
        return _translate(coded, table)
    return gather(coded, table, np.int32)


def _translate(coded: CodedArray, table: list[int]) -> NDArray[Any]:
    """Replace codes by the entries of a table, where both are in the range of int8."""
    by_byte = np.zeros(256, np.int8)
    by_byte[np.arange(coded.low, coded.low + len(table))] = table  # negative codes count from the end
    out = np.empty(coded.codes.shape, np.int8)
    for rows in row_blocks(out):
        given = coded.codes[rows].astype(np.int8, copy=False)
        translated = given.tobytes().translate(by_byte.tobytes())
        out[rows] = np.frombuffer(translated, np.int8).reshape(out[rows].shape)
    return out


def contiguous(array: Array, kind: type[Scalar]) -> NDArray[Scalar]:
    """Return a C-contiguous, writable array of one type; a copy only if the given one is not.

    A read-only array has another type in numba, for which every kernel would be compiled again.
    """
    out = np.ascontiguousarray(array, dtype=kind)
    return out if out.flags.writeable else out.copy()


def write_columns(columns: Sequence[CodedArray], tables: Tables, targets: Sequence[int], out: Codes) -> None:
    """Recode columns with one table each, and write each into its target column of `out`.

    >>> out = np.empty((2, 1), np.int32)
    >>> write_columns([CodedArray(np.array([1, -1]), -1, [None, "a", "b"], "b")], [[-1, 4, 5]], [0], out)
    >>> out.tolist()
    [[5], [-1]]
    """
    if out.size <= NUMPY_SIZE or interpreting():
        _write_by_numpy(columns, tables, targets, out)
        return
    small = all(coded.codes.dtype == np.int8 for coded in columns)
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        four = [*range(start, min(start + COLUMNS_AT_ONCE, len(columns)))]
        four += four[-1:] * (COLUMNS_AT_ONCE - len(four))  # repeat the last one where there are fewer
        sizes = np.array([len(tables[i]) for i in four], np.uint64)
        table = np.zeros((COLUMNS_AT_ONCE, int(sizes.max())), np.int32)
        for row, i in zip(table, four, strict=True):
            row[: len(tables[i])] = tables[i]
        lows = np.array([columns[i].low for i in four])
        codes = [_kernel_codes(columns[i].codes, small) for i in four]
        invalid = write_four(*codes, lows, sizes, table, np.array([targets[i] for i in four]), out)
        if invalid < len(out):
            raise IndexError(f"a code in row {invalid} of {len(out)} has no name")


def _write_by_numpy(
    columns: Sequence[CodedArray], tables: Tables, targets: Sequence[int], out: Codes
) -> None:
    rotated = [index_table(coded, table, np.int32) for coded, table in zip(columns, tables, strict=True)]
    for rows in row_blocks(out):
        for coded, table, target in zip(columns, rotated, targets, strict=True):
            out[rows, target] = table[coded.codes[rows]]


def _kernel_codes(codes: Array, small: bool) -> Array:
    view: Array = np.ascontiguousarray(codes, np.int8 if small else np.int32).view()
    view.flags.writeable = False  # always read-only, so that the kernel is compiled for one type
    return view


def _encode_integers(
    array: Array, what: str, missing: Flags | None, name: Callable[[int], Label]
) -> CodedArray:
    if missing is not None and missing.any():
        return _encode_with_missing(array, what, missing, name)
    least, most = min_max(array)
    if most >= OWN_CODE_LIMIT or least <= -OWN_CODE_LIMIT or most - least > max(64, array.size):
        return _encode_by_hash(array, what)
    low = min(least, 0)
    names = [name(c) if c >= least else None for c in range(low, most + 1)]
    names += [None] * (-low - len(names))  # up to -1: negative codes count from the end of a table
    return CodedArray(array, low, names, (name(most), name(least)))


def _encode_with_missing(array: Array, what: str, missing: Flags, name: Callable[[int], Label]) -> CodedArray:
    if missing.all():
        return all_missing(array.shape)
    filled = np.where(missing, array.flat[int(np.argmin(missing))], array)
    coded = _encode_integers(filled, what, None, name)
    code = len(coded.names) + coded.low
    codes = np.where(missing, code, coded.codes.astype(np.int64))
    return coded._replace(codes=codes, names=[*coded.names, None])


def _encode_floats(array: Array, what: str, missing: Flags | None) -> CodedArray:
    if array.dtype.itemsize < 4:
        array = array.astype(np.float32)  # a half float cannot be compared with 2**63
    missing = np.isnan(array) if missing is None else np.isnan(array) | missing
    filled = np.where(missing, 0, array)
    fractional = ~(np.abs(filled) < 2.0**63) | (filled != np.trunc(filled))
    if fractional.any():
        raise label_error(array[fractional][0], what)
    return _encode_integers(filled.astype(np.int64), what, missing, int)


def _encode_objects(array: Array, what: str) -> CodedArray:
    encoder = ValueEncoder(what)
    codes = np.empty(array.shape, np.int32)
    for rows in row_blocks(array):
        block = array[rows]
        codes[rows] = encoder.encode(block.ravel().tolist(), check=True).reshape(block.shape)
    return encoder.coded(codes)


def _encode_by_hash(array: Array, what: str) -> CodedArray:
    """Number distinct values: a hash table finds the code of most cells, a dict those of the others."""
    encoder = ValueEncoder(what)
    codes = np.empty(array.shape, np.int32)
    slots = np.full(1 << HASH_BITS, -1, np.int32)
    seen = np.empty(0, array.dtype)
    for rows in row_blocks(array):
        block = np.ascontiguousarray(array[rows]).reshape(-1)
        if array.size <= DICT_SIZE or not array.dtype.itemsize:
            code = encoder.encode(block.tolist())
        else:
            slot = _hash(block)
            code = slots[slot]
            misses = (
                np.flatnonzero((code < 0) | (seen[code] != block)) if len(seen) else np.arange(len(block))
            )
            if len(misses):
                code[misses] = encoder.encode(block[misses].tolist())
                slots[slot[misses]] = code[misses]
                seen = np.array(encoder.names, array.dtype)
        codes[rows] = code.reshape(array[rows].shape)
    return encoder.coded(codes)


def _hash(block: Array) -> NDArray[np.uint64]:
    if block.dtype.kind == "U":
        letters = block.view(np.uint32).reshape(len(block), -1)
        key = letters[:, 0].astype(np.uint64)
        for j in range(1, letters.shape[1]):
            key *= np.uint64(0x100000001B3)
            key += letters[:, j]
    else:
        key = block.astype(np.uint64)
    return (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - HASH_BITS)


def _is_row(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim > 0)
