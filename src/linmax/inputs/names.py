"""Labels and names: what may be a class, and the indices that map names to codes."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

Label = int | str | bool

LABEL_TYPES = {str: "text", int: "numbers", bool: "true/false"}
HINTS = {"votes": "; scores go into an array of shape (items, experts, classes), triplets or dicts"}


class NameIndex:
    """Names in order of first appearance; the code of a name is its position.

    Parameters
    ----------
    names : iterable of hashable
        The first names.
    what : str
        What is named, in the singular, for error messages. With "class" the names must be integers, texts or
        booleans, all of one kind.

    Attributes
    ----------
    names : list
        The names, by code.
    codes : dict
        The codes, by name.

    Examples
    --------
    >>> index = NameIndex(["gpt", "bert"], what="expert")
    >>> index.add("ann"), index.add("gpt"), index.get("bert"), index.get("bob")
    (2, 0, 1, -1)
    >>> index.names
    ['gpt', 'bert', 'ann']
    >>> index.extend(["bob", "ann"])
    Traceback (most recent call last):
    ValueError: expert 'ann' is named twice
    >>> NameIndex(np.arange(3), what="class").names
    [0, 1, 2]
    """

    def __init__(self, names: Iterable[Hashable] = (), what: str = "name") -> None:
        self.what = what
        self.names: list[Any] = []
        self.codes: dict[Any, int] = {}
        self.expected: tuple[str, list[Any]] = ("classes", [])
        self.extend(names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sample(self) -> tuple[str, list[Any]]:
        """Where the class that shows the kind of all is from, and that class; `expected` before the first."""
        return ("classes", self.names[:1]) if self.names else self.expected

    def __repr__(self) -> str:
        return f"NameIndex({self.names!r}, what={self.what!r})"

    def get(self, name: Hashable) -> int:
        """Return the code of a name; -1 if it is unknown."""
        return self.codes.get(name, -1)

    def add(self, name: Hashable) -> int:
        """Return the code of a name, after adding the name if it is unknown."""
        if name not in self.codes:
            self.extend([name])
        return self.codes[name]

    def extend(self, names: Iterable[Hashable]) -> None:
        """Add names that are all unknown; on an error none is added."""
        new: dict[Any, int] = {}
        for name in map(self._checked, self._as_list(names)):
            if name in self.codes or name in new:
                raise ValueError(f"{self.what} {name!r} is named twice")
            new[name] = len(self.names) + len(new)
        if self.what == "class":
            check_one_kind([("classes", [*self.names[:1], *new])])
        self.names += new
        self.codes |= new

    def append_checked(self, names: list[Any]) -> None:
        """Add names that are unknown, distinct and valid, as those that encoding a batch has found."""
        self.codes.update(zip(names, range(len(self.names), len(self.names) + len(names)), strict=True))
        self.names += names

    def _as_list(self, names: Any) -> list[Any]:
        try:
            return list(names)
        except TypeError:
            raise ValueError(f"{self._plural} must be a list of names (got {names!r})") from None

    @property
    def _plural(self) -> str:
        return "classes" if self.what == "class" else f"{self.what}s"

    def _checked(self, name: Hashable) -> Hashable:
        if self.what != "class":
            if not _hashable(name):
                raise ValueError(
                    f"{self._plural} must be a list of names, such as texts or numbers (got {name!r} in it)"
                )
            return to_python(name)
        label = to_label(name, "classes")
        if label is None:
            raise ValueError(f"classes must be whole numbers, text or true/false (got {name!r})")
        return label


@dataclass
class Names:
    """All names that a session has met.

    Attributes
    ----------
    classes, experts, attributes : NameIndex
        The classes, the experts and the attributes.
    values : NameIndex
        The (column, value) pairs of nominal attributes.
    """

    classes: NameIndex = field(default_factory=lambda: NameIndex(what="class"))
    experts: NameIndex = field(default_factory=lambda: NameIndex(what="expert"))
    attributes: NameIndex = field(default_factory=lambda: NameIndex(what="attribute"))
    values: NameIndex = field(default_factory=lambda: NameIndex(what="value"))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of names of each kind."""
        return len(self.classes), len(self.experts), len(self.attributes), len(self.values)

    def begin_like(self, others: "Names") -> bool:
        """Whether the names of another session are the first of these, in the same order."""
        pairs = [
            (self.classes, others.classes), (self.experts, others.experts),
            (self.attributes, others.attributes), (self.values, others.values),
        ]  # fmt: skip
        return self is others or all(own.names[: len(other)] == other.names for own, other in pairs)


class StagedIndex:
    """A NameIndex with additions that are not committed: unknown names get the codes after its last one.

    A closed index has no additions: unknown names get the code -1.

    Parameters
    ----------
    index : NameIndex
        The index, which is never changed.
    closed : bool
        Whether unknown names are left out.

    Attributes
    ----------
    new : list
        The names that are not in it, in order of first appearance.
    left_out : dict
        Its keys are the unknown names of a closed index, in order of first appearance.

    Examples
    --------
    >>> index = NameIndex(["gpt"], what="expert")
    >>> staged = StagedIndex(index)
    >>> staged.code("ann"), staged.code("gpt"), staged.code("ann"), staged.new, len(staged), len(index)
    (1, 0, 1, ['ann'], 2, 1)
    >>> closed = StagedIndex(index, closed=True)
    >>> closed.code("ann"), closed.code("gpt"), closed.new, list(closed.left_out), len(closed)
    (-1, 0, [], ['ann'], 1)
    """

    def __init__(self, index: NameIndex, *, closed: bool = False) -> None:
        self.index = index
        self.closed = closed
        self.new: list[Any] = []
        self.left_out: dict[Any, None] = {}
        self._codes: dict[Any, int] = {}
        self._columns: set[Any] | None = None

    def __len__(self) -> int:
        return len(self.index.names) + len(self.new)

    def find(self, name: Hashable) -> int:
        """Return the code of a name; -1 if it is neither in the index nor among the new ones."""
        code = self.index.codes.get(name, -1)
        return code if code >= 0 else self._codes.get(name, -1)

    def code(self, name: Hashable) -> int:
        """Return the code of a name, after adding the name if it is unknown; -1 if the index is closed."""
        code = self.find(name)
        if code < 0 and self.closed:
            self.left_out[to_python(name)] = None
        elif code < 0:
            code = self._codes[name] = len(self.index.names) + len(self.new)
            self.new.append(to_python(name))
        return code

    def name(self, code: int) -> Any:
        """Return the name of a code."""
        return self.index.names[code] if code < len(self.index) else self.new[code - len(self.index)]

    def leaves_out(self, column: Hashable) -> bool:
        """Whether the index is closed and has neither this name nor a pair (name, value)."""
        if not self.closed or column in self.index.codes:
            return False
        if self._columns is None:
            self._columns = {name[0] for name in self.index.names if type(name) is tuple and len(name) == 2}
        return column not in self._columns

    def column_codes(self, width: int, table: str) -> list[int]:
        """Return the codes of unnamed columns: the index in its order or, if it is empty, 0, 1, ...

        In a closed index of names 0, 1, ... further columns are left out.
        """
        known = len(self.index.names)
        if self.closed and width > known and self.index.names == list(range(known)):
            self.left_out.update(dict.fromkeys(range(known, width)))
            return list(range(known))
        if known and width not in (0, known):
            raise ValueError(
                f"{table} have {width} columns but {known} {self.index.what}s are known"
                f" ({quote_list(self.index.names)}); name the columns: pass a data frame or dicts"
            )
        if not known and not self.new:
            self.new = list(range(width))
            self._codes = dict(zip(self.new, self.new, strict=True))
        return list(range(width)) if known or len(self.new) == width else list(map(self.code, range(width)))


def to_label(value: Any, what: str) -> Label | None:
    """Convert a cell to a Python int, str or bool; a missing value (None, NaN, pandas' NA) becomes None.

    A member of an Enum stands for its value.

    >>> to_label(np.int64(3), "labels"), to_label(2.0, "labels"), to_label(float("nan"), "labels")
    (3, 2, None)
    >>> to_label(0.5, "labels")
    Traceback (most recent call last):
    ValueError: labels must be whole numbers, text or true/false (got 0.5)
    """
    if value is None:
        return None
    if isinstance(value, Enum):
        return to_label(value.value, what)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return None
        if float(value).is_integer():
            return int(value)
    elif is_pandas_na(value):
        return None
    raise label_error(value, what)


def is_pandas_na(value: Any) -> bool:
    """Whether a value is pandas' NA or NaT, compared by type name so that pandas is not imported."""
    return type(value).__name__ in ("NAType", "NaTType")


def label_error(value: Any, what: str) -> ValueError:
    """Return the error for a value that cannot be a label."""
    if isinstance(value, np.generic):
        value = value.item()
    return ValueError(
        f"{what} must be whole numbers, text or true/false (got {value!r}){HINTS.get(what, '')}"
    )


def check_one_kind(samples: Iterable[tuple[str, Iterable[Label]]]) -> None:
    """Require that all labels have one type.

    >>> check_one_kind([("votes", ["ham", "spam"]), ("labels", [3])])
    Traceback (most recent call last):
    ValueError: votes and labels mix text ('ham') and numbers (3): use one kind
    """
    found: dict[type, tuple[str, Label]] = {}
    for table, labels in samples:
        for label in labels:
            found.setdefault(type(label), (table, label))
    if len(found) < 2:
        return
    where = " and ".join(dict.fromkeys(table for table, _ in found.values()))
    one, other, *_ = [f"{word} ({found[kind][1]!r})" for kind, word in LABEL_TYPES.items() if kind in found]
    raise ValueError(f"{where} mix {one} and {other}: use one kind")


def quote_list(names: Iterable[Any], most: int = 8) -> str:
    """Format names for a message: all of a few, the first of many.

    >>> quote_list(["ham", "spam"]), quote_list(range(100), most=3)
    ("'ham', 'spam'", '0, 1, 2, ...')
    """
    quoted = [repr(name) for name in names]
    return ", ".join(quoted if len(quoted) <= most else [*quoted[:most], "..."])


def to_python(name: Hashable) -> Hashable:
    """Convert a numpy scalar to a Python object.

    >>> to_python(np.int64(3)), to_python(np.str_("ann")), to_python(("day", 1))
    (3, 'ann', ('day', 1))
    """
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, float) and name != name:  # each NaN would be another name
        raise ValueError("nan cannot be the name of an expert or attribute; use text or a number")
    return name


def _hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True
