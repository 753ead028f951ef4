"""Classes that are voted for where nothing is learned: they have a code in their own trial only."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.names import Label
from linmax.ballots.roll import Roll

Codes = NDArray[np.int32]


class Strangers(NamedTuple):
    """Who sits where: in trial row[i], code[i] is the class names[which[i]].

    >>> strangers = Strangers(np.array([1]), np.array([2]), np.array([0]), ["eggs"])
    >>> strangers.name(1, 2), strangers.name(0, 2)
    ('eggs', None)
    >>> strangers.fill(np.array(["ham", "?"]), np.array([0, 2]))
    array(['ham', 'eggs'], dtype='<U4')
    """

    row: NDArray[np.int64]  # ascending
    code: NDArray[np.int64]  # ascending by one within a row
    which: NDArray[np.int64]
    names: list[Label]
    everywhere: tuple[
        Label, ...
    ] = ()  # scores came when no class was known: these are 0, 1, ... in every row

    def name(self, row: int, code: int) -> Label | None:
        """The stranger who has this code in this row; None if there is none."""
        if 0 <= code < len(self.everywhere):
            return self.everywhere[code]
        first = int(np.searchsorted(self.row, row))
        if first == len(self.row) or self.row[first] != row or code < self.code[first]:
            return None
        i = first + code - int(self.code[first])
        return self.names[self.which[i]] if i < len(self.row) and self.row[i] == row else None

    def find(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], list[Label]]:
        """For one code per row, its stranger's position in a list of names (-1: none), and the list."""
        found = np.where((codes >= 0) & (codes < len(self.everywhere)), codes, -1).astype(np.int64)
        if len(self.row):
            width = 1 + max(int(self.code.max()), int(codes.max(initial=0)))
            seats = self.row * width + self.code
            asked = np.arange(len(codes)) * width + codes
            at = np.minimum(np.searchsorted(seats, asked), len(seats) - 1)
            found = np.where(
                (codes >= 0) & (seats[at] == asked), len(self.everywhere) + self.which[at], found
            )
        return found, [*self.everywhere, *self.names]

    def fill(self, names: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
        """Names of guesses, one per row, with the strangers' put in; the array given is left as it is."""
        found, strange = self.find(codes)
        rows = np.flatnonzero(found >= 0)
        if not len(rows):
            return names
        theirs = array_of(strange)[found[rows]]
        filled = names.astype(np.promote_types(names.dtype, theirs.dtype))
        filled[rows] = theirs
        return filled


def nobody() -> Strangers:
    """No strangers."""
    none = np.empty(0, np.int64)
    return Strangers(none, none, none, [])


def seat(row: NDArray[np.int64], code: NDArray[Any], known: Codes) -> tuple[NDArray[np.int64], Strangers]:
    """Give the strangers of each row the codes after the known ones, in order of appearance.

    Rows ascend; codes may be any that tell classes apart, and are kept as which. Known is raised.
    """
    _, first, which = np.unique(row * (int(code.max()) + 1) + code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows, classes = row[first[order]], code[first[order]].astype(np.int64)
    opening = np.flatnonzero(np.diff(rows, prepend=-1))
    many = np.diff(opening, append=len(rows))
    seats = known[rows] + np.arange(len(rows)) - np.repeat(opening, many)
    known[rows[opening]] += many.astype(np.int32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return seats[place][which], Strangers(rows, seats, classes, [])


def array_of(names: list[Any]) -> NDArray[Any]:
    """Names as an array of whole numbers, texts or truth values.

    >>> array_of([3, 1]), array_of(["ham", "spam"]).dtype, array_of([2**70]).dtype
    (array([3, 1]), dtype('<U4'), dtype('O'))
    """
    if not names:
        return np.empty(0, object)
    if isinstance(names[0], str) and any(name.endswith("\0") for name in names):
        return np.array(names, object)  # numpy's texts end before it
    kind = {int: np.int64, str: np.str_, bool: np.bool_}[type(names[0])]
    try:
        return np.array(names, kind)
    except OverflowError:  # whole numbers have no limit in Python
        return np.array(names, object)


def to_names(codes: NDArray[Any], classes: Roll, strangers: Strangers | None = None) -> NDArray[Any]:
    """The names of guesses, one code per trial; -1 becomes None.

    >>> to_names(np.array([1, 0]), Roll(["ham", "spam"], what="class"))
    array(['spam', 'ham'], dtype='<U4')
    >>> to_names(np.array([0, -1]), Roll(["ham"], what="class"))
    array(['ham', None], dtype=object)
    """
    codes = np.asarray(codes)
    names = classes.names
    if strangers is not None:
        found, strange = strangers.find(codes)
        codes = np.where(found >= 0, len(names) + found, codes)
        names = [*names, *strange]
    table = array_of(names)
    if (codes < 0).any():
        table = np.concatenate((table.astype(object), np.array([None])))  # -1 is the last
    named: NDArray[Any] = table[codes]
    return named
