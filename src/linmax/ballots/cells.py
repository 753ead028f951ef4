"""Cells of an array become codes with names: whole numbers by their range, anything else by looking it up."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.ledger import Ledger
from linmax.ballots.names import Label, unfit

Array = NDArray[Any]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

BLOCK = 1 << 16  # cells that are worked on at a time: they stay in the processor's cache
SLOTS = 16  # bits of a hash
RANGE = 1 << 16  # whole numbers below this are their own codes
SHORT = 1 << 12  # so few cells are looked up one by one


class Cells(NamedTuple):
    """What each cell says: a code per cell, a name per code (None: it says nothing)."""

    codes: Array  # whole numbers of any type, perhaps the caller's own array: never written to
    low: int  # code c is called names[c - low]; low <= 0
    names: list[Any]  # some may be said nowhere
    present: Sequence[Any]  # names that are said somewhere, at least one of each kind


def cells(array: Array, what: str, missing: Flags | None = None) -> Cells:
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
    raise unfit(array.flat[0], what)


def silent(shape: tuple[int, ...]) -> Cells:
    """Cells that say nothing."""
    return Cells(np.full(shape, -1, np.int32), -1, [None], ())


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


def turn(said: Cells, table: Sequence[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """A table as long as the names, so that codes index it as they are: negative ones count from its end."""
    start = -said.low
    return np.array([*table[start:], *table[:start]], kind)


def gather(said: Cells, table: Sequence[Any], kind: type[Scalar]) -> NDArray[Scalar]:
    """For each cell, the entry of its name in a table as long as the names."""
    turned = turn(said, table, kind)
    if said.codes.dtype == np.intp and said.codes.flags.c_contiguous:
        return turned[said.codes]
    out = np.empty(said.codes.shape, kind)
    for rows in blocks(said.codes):
        out[rows] = turned[said.codes[rows].astype(np.intp, copy=False)]  # else numpy does so cell by cell
    return out


def translate(said: Cells, table: list[int]) -> Codes:
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


def _integers(array: Array, what: str, missing: Flags | None, name: Callable[[int], Label]) -> Cells:
    if missing is not None and missing.any():
        return _holed(array, what, missing, name)
    least, most = extent(array)
    if most >= RANGE or least <= -RANGE or most - least > max(64, array.size):
        return _looked_up(array, what)
    low = min(least, 0)
    names = [name(c) if c >= least else None for c in range(low, most + 1)]
    names += [None] * (-low - len(names))  # up to -1: negative codes count from the end of a table
    return Cells(array, low, names, (name(most), name(least)))


def _holed(array: Array, what: str, missing: Flags, name: Callable[[int], Label]) -> Cells:
    if missing.all():
        return silent(array.shape)
    filled = np.where(missing, array.flat[int(np.argmin(missing))], array)
    said = _integers(filled, what, None, name)
    hole = len(said.names) + said.low
    codes = np.where(missing, hole, said.codes.astype(np.int64))
    return said._replace(codes=codes, names=[*said.names, None])


def _floats(array: Array, what: str, missing: Flags | None) -> Cells:
    if array.dtype.itemsize < 4:
        array = array.astype(np.float32)  # a half float cannot be compared with 2**63
    hole = np.isnan(array) if missing is None else np.isnan(array) | missing
    whole = np.where(hole, 0, array)
    broken = ~(np.abs(whole) < 2.0**63) | (whole != np.trunc(whole))
    if broken.any():
        raise unfit(array[broken][0], what)
    return _integers(whole.astype(np.int64), what, hole, int)


def _objects(array: Array, what: str) -> Cells:
    ledger = Ledger(what)
    codes = np.empty(array.shape, np.int32)
    for rows in blocks(array):
        block = array[rows]
        codes[rows] = ledger.look_up(block.ravel().tolist(), check=True).reshape(block.shape)
    return Cells(codes, -1, [None, *ledger.names], ledger.names)


def _looked_up(array: Array, what: str) -> Cells:
    """Number the distinct values: a hash finds most cells in a table, the others are looked up one by one."""
    ledger = Ledger(what)
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
    return Cells(codes, -1, [None, *ledger.names], ledger.names)


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
