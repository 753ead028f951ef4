"""Classes: which spellings of votes and labels name the same class, and which votes name none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.profile import MISSING

MIN_LABELS = 50
"""With fewer labelled rows, a vote that is never a label may still be a class."""

TRUE_FALSE = {"true": "1", "false": "0"}


class Unlabelled(NamedTuple):
    """Votes that are never a label.

    Attributes
    ----------
    counts : dict of str to int
        How often each of them occurs.
    """

    counts: dict[str, int]

    @property
    def total(self) -> int:
        """The number of such votes."""
        return sum(self.counts.values())


class ClassNames:
    """The classes of a panel, and how other spellings are mapped to them.

    A vote that differs from a label by whitespace, by case, or as ``1.0``, ``1`` and ``True`` differ, names
    the class of this label, unless two labels differ in just that.

    Parameters
    ----------
    labels : iterable
        The distinct labels: texts, integers or booleans.
    extra : iterable of str
        Further classes, which only votes name.
    missing : tuple of str
        Texts that are read as a missing value.

    Attributes
    ----------
    names : list
        The classes.
    respelled : dict of str to int
        How many votes of each other spelling were mapped to a class.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names = ClassNames(["0", "1"])
    >>> names.find("1.0"), names.find(" 1 "), names.find("True"), names.find("2")
    ('1', '1', '1', None)
    >>> names.encode(pa.array(["True", "NA", "2"])).to_pylist()
    ['1', None, None]
    """

    def __init__(
        self, labels: Iterable[Any], extra: Iterable[str] = (), missing: tuple[str, ...] = MISSING
    ) -> None:
        self.names: list[Any] = list(dict.fromkeys(labels))
        self.missing = frozenset(text.strip() for text in missing)
        self.respelled: dict[str, int] = {}
        self._exact = {_text(name): name for name in self.names}
        for name in extra:
            if name not in self._exact and self._key(name) is None:
                self._exact[name] = self._typed(name)
                self.names.append(self._exact[name])
        self._levels = [self._distinct(key) for key in (_stripped, _folded, _numeric)]

    def _distinct(self, key: Any) -> dict[str, Any]:
        """Return the classes by key, or nothing if two of them have the same key."""
        found = {key(text): name for text, name in self._exact.items()}
        return found if len(found) == len(self._exact) else {}

    def _typed(self, name: str) -> Any:
        is_integer = bool(self.names) and all(type(one) is int for one in self.names)
        return int(name) if is_integer and name.removeprefix("-").isdecimal() else name

    def _key(self, text: str) -> Any:
        return next((name for name in self.names if _text(name) == text), None)

    def find(self, value: Any) -> Any:
        """Return the class that a vote names, or None.

        Parameters
        ----------
        value : object
            A cell.
        """
        text = _text(value)
        if text in self._exact:
            return self._exact[text]
        for level, key in zip(self._levels, (_stripped, _folded, _numeric), strict=True):
            found = level.get(key(text))
            if found is not None:
                return found
        return None

    def is_missing(self, value: Any) -> bool:
        """Whether a cell is empty or means a missing value."""
        return value is None or (isinstance(value, str) and value.strip() in self.missing)

    def share(self, counts: dict[Any, int]) -> float:
        """Return which share of the cells of a column names a class; missing ones do not count.

        Parameters
        ----------
        counts : dict
            How often each value of the column occurs.
        """
        present = {value: count for value, count in counts.items() if not self.is_missing(value)}
        total = sum(present.values())
        named = sum(count for value, count in present.items() if self.find(value) is not None)
        return named / total if total else 0.0

    def unlabelled(self, counts: dict[Any, int]) -> Unlabelled:
        """Return the votes that name no class.

        Parameters
        ----------
        counts : dict
            How often each value occurs.
        """
        return Unlabelled(
            {
                str(value): count
                for value, count in counts.items()
                if not self.is_missing(value) and self.find(value) is None
            }
        )

    def encode(self, column: Any, *, keep: bool = False) -> Any:
        """Return a column with every vote replaced by its class, as an Arrow dictionary array.

        Parameters
        ----------
        column : pyarrow.Array or pyarrow.ChunkedArray
            The votes.
        keep : bool
            Whether votes that name no class are kept as classes of their own; else they are null.
        """
        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        values = [self._class_of(value, keep) for value in array.dictionary.to_pylist()]
        distinct: dict[Any, int] = {}
        for value in values:
            if value is not None:
                distinct.setdefault(value, len(distinct))
        codes = pa.array([None if value is None else distinct[value] for value in values], pa.int32())
        indices = codes.take(array.indices) if len(codes) else array.indices.cast(pa.int32())
        return pa.DictionaryArray.from_arrays(indices, _dictionary(list(distinct)))

    def _class_of(self, value: Any, keep: bool) -> Any:
        if self.is_missing(value):
            return None
        found = self.find(value)
        return (value.strip() if isinstance(value, str) else value) if found is None and keep else found


def _dictionary(names: list[Any]) -> Any:
    if names and all(type(name) is int for name in names):
        return pa.array(names, pa.int64())
    return pa.array([name if isinstance(name, str) else _text(name) for name in names], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _stripped(text: str) -> str:
    return " ".join(text.split())


def _folded(text: str) -> str:
    return _stripped(text).casefold()


def _numeric(text: str) -> str:
    """Return a text in which 1.0, 1 and True are the same."""
    folded = _folded(text)
    folded = TRUE_FALSE.get(folded, folded)
    whole, point, zeros = folded.partition(".")
    return whole if point and not zeros.strip("0") and whole.removeprefix("-").isdecimal() else folded
