"""CodedArray of an array become codes with names: whole numbers by their range, anything else by looking it up."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linmax._jit import Kernel, interpreting
from linmax.inputs.names import Label, check_one_kind, label_error, to_label

Array = NDArray[Any]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

BLOCK = 1 << 16  # cells that are worked on at a time: they stay in the processor's cache
SLOTS = 16  # bits of a hash
RANGE = 1 << 16  # whole numbers below this are their own codes
SHORT = 1 << 12  # so few cells are looked up one by one


class CodedArray(NamedTuple):
    """What each cell says: a code per cell, a name per code (None: it says nothing)."""

    codes: Array  # whole numbers of any type, perhaps the caller's own array: never written to
    low: int  # code c is called names[c - low]; low <= 0
    names: list[Any]  # some may be said nowhere
    present: Sequence[Any]  # names that are said somewhere, at least one of each kind


def cells(array: Array, what: str, missing: Flags | None = None) -> CodedArray:
    """Code the cells of an array of numbers, texts, truth values or objects.

    >>> said = cells(np.array([["ham", None], ["spam", "ham"]], dtype=object), "votes")
    >>> said.codes.tolist(), said.low, said.names
    ([[0, -1], [1, 0]], -1, [None, 'ham', 'spam'])
    """
    kind = array.dtype.kind
    if kind == "O":
        return _objects(array, what)
    if kind == "T":
        return _objects(array.astype(object), what)
    if array.size == 0:
        return silent(array.shape)
    if kind == "f":
        return _floats(array, what, missing)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if kind == "b":
        return _integers(array.view(np.uint8), what, missing, bool)
    if kind in "iu":
        return _integers(array, what, missing, int)
    if kind == "U":
        return _looked_up(array, what)
    raise label_error(array.flat[0], what)


def silent(shape: tuple[int, ...]) -> CodedArray:
    """CodedArray that say nothing."""
    return CodedArray(np.full(shape, -1, np.int32), -1, [None], ())


def blocks(array: Array, size: int = BLOCK) -> Iterator[slice]:
    """Slices of rows with about as many cells as one block.

    >>> list(blocks(np.zeros((5, 4)), size=8))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, size * len(array) // max(array.size, 1))
    for start in range(0, len(array), rows):
        yield slice(start, min(start + rows, len(array)))


def extent(array: Array) -> tuple[int, int]:
    """The least and the largest cell; block by block, so that the second look finds it in the cache.

    >>> extent(np.array([[3, -1], [2, 7]]))
    (-1, 7)
    """
    ends = [(int(array[rows].min()), int(array[rows].max())) for rows in blocks(array)]
    return min(least for least, _ in ends), max(most for _, most in ends)


def turn(said: CodedArray, table: Sequence[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """A table as long as the names, so that codes index it as they are: negative ones count from its end."""
    start = -said.low
    return np.array([*table[start:], *table[:start]], kind)


def gather(said: CodedArray, table: Sequence[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """For each cell, the entry of its name in a table as long as the names."""
    turned = turn(said, table, kind)
    if said.codes.dtype == np.intp and said.codes.flags.c_contiguous:
        return turned[said.codes]
    out = np.empty(said.codes.shape, kind)
    for rows in blocks(said.codes):
        out[rows] = turned[said.codes[rows].astype(np.intp, copy=False)]  # else numpy does so cell by cell
    return out


def translate(said: CodedArray, table: list[int]) -> Codes:
    """Each cell's entry in a table of codes; an array that already holds them is handed back as it is."""
    if said.low >= -1 and table == list(range(said.low, said.low + len(table))):
        return plainly(said.codes, np.int32)
    return gather(said, table, np.int32)


def plainly(array: Array, kind: type[Scalar]) -> NDArray[Scalar]:
    """The array in rows of one type; copied when it is not so, or when it cannot be written to.

    To a compiled kernel an array that is read-only has another type, and would be compiled for again.
    """
    out = np.ascontiguousarray(array, dtype=kind)
    return out if out.flags.writeable else out.copy()


def _integers(array: Array, what: str, missing: Flags | None, name: Callable[[int], Label]) -> CodedArray:
    if missing is not None and missing.any():
        return _holed(array, what, missing, name)
    least, most = extent(array)
    if most >= RANGE or least <= -RANGE or most - least > max(64, array.size):
        return _looked_up(array, what)
    low = min(least, 0)
    names = [name(c) if c >= least else None for c in range(low, most + 1)]
    names += [None] * (-low - len(names))  # up to -1: negative codes count from the end of a table
    return CodedArray(array, low, names, (name(most), name(least)))


def _holed(array: Array, what: str, missing: Flags, name: Callable[[int], Label]) -> CodedArray:
    if missing.all():
        return silent(array.shape)
    filled = np.where(missing, array.flat[int(np.argmin(missing))], array)
    said = _integers(filled, what, None, name)
    hole = len(said.names) + said.low
    codes = np.where(missing, hole, said.codes.astype(np.int64))
    return said._replace(codes=codes, names=[*said.names, None])


def _floats(array: Array, what: str, missing: Flags | None) -> CodedArray:
    if array.dtype.itemsize < 4:
        array = array.astype(np.float32)  # a half float cannot be compared with 2**63
    hole = np.isnan(array) if missing is None else np.isnan(array) | missing
    whole = np.where(hole, 0, array)
    broken = ~(np.abs(whole) < 2.0**63) | (whole != np.trunc(whole))
    if broken.any():
        raise label_error(array[broken][0], what)
    return _integers(whole.astype(np.int64), what, hole, int)


def _objects(array: Array, what: str) -> CodedArray:
    ledger = ValueEncoder(what)
    codes = np.empty(array.shape, np.int32)
    for rows in blocks(array):
        block = array[rows]
        codes[rows] = ledger.look_up(block.ravel().tolist(), check=True).reshape(block.shape)
    return CodedArray(codes, -1, [None, *ledger.names], ledger.names)


def _looked_up(array: Array, what: str) -> CodedArray:
    """Number the distinct values: a hash finds most cells in a table, the others are looked up one by one."""
    ledger = ValueEncoder(what)
    codes = np.empty(array.shape, np.int32)
    slots = np.full(1 << SLOTS, -1, np.int32)
    seen = np.empty(0, array.dtype)
    for rows in blocks(array):
        block = np.ascontiguousarray(array[rows]).reshape(-1)
        if array.size <= SHORT or not array.dtype.itemsize:
            code = ledger.look_up(block.tolist())
        else:
            slot = _hash(block)
            code = slots[slot]
            strange = (
                np.flatnonzero((code < 0) | (seen[code] != block)) if len(seen) else np.arange(len(block))
            )
            if len(strange):
                code[strange] = ledger.look_up(block[strange].tolist())
                slots[slot[strange]] = code[strange]
                seen = np.array(ledger.names, array.dtype)
        codes[rows] = code.reshape(array[rows].shape)
    return CodedArray(codes, -1, [None, *ledger.names], ledger.names)


def _hash(block: Array) -> NDArray[np.uint64]:
    if block.dtype.kind == "U":
        letters = block.view(np.uint32).reshape(len(block), -1)
        key = letters[:, 0].astype(np.uint64)
        for j in range(1, letters.shape[1]):
            key *= np.uint64(0x100000001B3)
            key += letters[:, j]
    else:
        key = block.astype(np.uint64)
    return (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - SLOTS)


class ValueEncoder(dict[Any, int]):
    """Numbers distinct values in the order in which they are met; what is missing gets -1.

    >>> ledger = ValueEncoder("votes")
    >>> ledger.look_up(["ham", "spam", None, "ham"]).tolist(), ledger.names
    ([0, 1, -1, 0], ['ham', 'spam'])
    """

    def __init__(self, what: str) -> None:
        super().__init__({None: -1})
        self.what = what
        self.names: list[Label] = []
        self._truths: list[Label] = []  # to Python, True is 1: who says which is watched apart
        self._numbers: list[Label] = []

    def __missing__(self, value: Any) -> int:
        name = to_label(value, self.what)
        if name is None:
            return -1  # not kept: every NaN may be another object
        if name in self:
            code = self[name]
        else:
            code = self[name] = len(self.names)
            self.names.append(name)
        self[value] = code
        return code

    def look_up(self, values: Sequence[Any], check: bool = False) -> NDArray[np.int32]:
        """The codes of values; with check, true/false among numbers is an error."""
        try:
            codes = np.fromiter(map(self.__getitem__, values), np.int32, len(values))
        except TypeError:
            raise next(label_error(v, self.what) for v in values if not isinstance(v, Hashable)) from None
        if check:
            self._watch(values)
        return codes

    def _watch(self, values: Sequence[Any]) -> None:
        types = set(map(type, values))
        truths = {kind for kind in types if issubclass(kind, bool | np.bool_)}
        numbers = {kind for kind in types if issubclass(kind, int | float | np.number)} - truths
        if truths and not self._truths:
            self._truths = [bool(next(v for v in values if type(v) in truths))]
        if numbers and not self._numbers:
            self._numbers += [int(v) for v in values if type(v) in numbers and v == v][:1]  # NaN is no number
        check_one_kind([(self.what, self._truths), (self.what, self._numbers)])


FEW = 1 << 16  # cells: so many numpy has laid before machine code is loaded from disk
AT_ONCE = 4  # columns: the cells that a row gets from them lie in one line of the processor's cache

Tables = Sequence[Sequence[int]]


def lay_out(columns: Sequence[CodedArray], tables: Tables, seats: Sequence[int], out: Codes) -> None:
    """Write what each column's cells have in its table, as long as its names, into its seat of `out`.

    >>> out = np.empty((2, 1), np.int32)
    >>> lay_out([CodedArray(np.array([1, -1]), -1, [None, "a", "b"], "b")], [[-1, 4, 5]], [0], out)
    >>> out.tolist()
    [[5], [-1]]
    """
    if out.size <= FEW or interpreting():
        _by_numpy(columns, tables, seats, out)
        return
    small = all(said.codes.dtype == np.int8 for said in columns)
    for start in range(0, len(columns), AT_ONCE):
        four = [*range(start, min(start + AT_ONCE, len(columns)))]
        four += four[-1:] * (AT_ONCE - len(four))  # the last one again, where there are fewer
        sizes = np.array([len(tables[i]) for i in four], np.uint64)
        table = np.zeros((AT_ONCE, int(sizes.max())), np.int32)
        for row, i in zip(table, four, strict=True):
            row[: len(tables[i])] = tables[i]
        lows = np.array([columns[i].low for i in four])
        codes = [_plain(columns[i].codes, small) for i in four]
        stray = _place(*codes, lows, sizes, table, np.array([seats[i] for i in four]), out)
        if stray < len(out):
            raise IndexError(f"a code in row {stray} of {len(out)} has no name")


def _by_numpy(columns: Sequence[CodedArray], tables: Tables, seats: Sequence[int], out: Codes) -> None:
    turned = [turn(said, table, np.int32) for said, table in zip(columns, tables, strict=True)]
    for rows in blocks(out):
        for said, table, seat in zip(columns, turned, seats, strict=True):
            out[rows, seat] = table[said.codes[rows]]


def _plain(codes: Array, small: bool) -> Array:
    plain: Array = np.ascontiguousarray(codes, np.int8 if small else np.int32).view()
    plain.flags.writeable = False  # or the kernel would be compiled anew for arrays that are
    return plain


def place(a, b, c, d, lows, sizes, tables, seats, out):  # type: ignore[no-untyped-def]
    """Look the codes of four columns up; return the first row with a code that its table has not."""
    i, j, k, l = seats[0], seats[1], seats[2], seats[3]  # noqa: E741
    for t in range(len(out)):
        at_i = np.uint64(a[t] - lows[0])  # a negative one becomes a very large one
        at_j = np.uint64(b[t] - lows[1])
        at_k = np.uint64(c[t] - lows[2])
        at_l = np.uint64(d[t] - lows[3])
        if at_i >= sizes[0] or at_j >= sizes[1] or at_k >= sizes[2] or at_l >= sizes[3]:
            return t
        out[t, i] = tables[0, at_i]
        out[t, j] = tables[1, at_j]
        out[t, k] = tables[2, at_k]
        out[t, l] = tables[3, at_l]
    return len(out)


_place = Kernel(place)


def column(data: Any, what: str) -> CodedArray:
    """Code a list, an array or a series with one value per item."""
    if not isinstance(data, list | tuple | np.ndarray):
        from linmax.inputs import frames  # narwhals takes a while to import, and arrays do without it

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
        return [to_label(value, what) for value in data]
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
