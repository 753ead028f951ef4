"""What may be a label: a whole number, a text or true/false; one kind at a time."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

Label = int | str | bool

KINDS = {str: "text", int: "numbers", bool: "true/false"}
CURES = {"votes": "; scores go into an array of shape (items, experts, classes), triplets or dicts"}


def to_label(value: Any, what: str) -> Label | None:
    """Turn a cell into a Python int, str or bool; what is missing (None, NaN, pandas' NA) becomes None.

    Members of an Enum are their values.

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
    """Whether this is pandas' NA or NaT: known by name, for pandas is there only if the caller brings it."""
    return type(value).__name__ in ("NAType", "NaTType")


def label_error(value: Any, what: str) -> ValueError:
    """Say that a value can be no_unknown_classes's label."""
    if isinstance(value, np.generic):
        value = value.item()
    return ValueError(
        f"{what} must be whole numbers, text or true/false (got {value!r}){CURES.get(what, '')}"
    )


def check_one_kind(sources: Iterable[tuple[str, Iterable[Label]]]) -> None:
    """Demand that all names are of one kind.

    >>> check_one_kind([("votes", ["ham", "spam"]), ("labels", [3])])
    Traceback (most recent call last):
    ValueError: votes and labels mix text ('ham') and numbers (3): use one kind
    """
    found: dict[type, tuple[str, Label]] = {}
    for source, names in sources:
        for name in names:
            found.setdefault(type(name), (source, name))
    if len(found) < 2:
        return
    where = " and ".join(dict.fromkeys(source for source, _ in found.values()))
    one, other, *_ = [f"{word} ({found[kind][1]!r})" for kind, word in KINDS.items() if kind in found]
    raise ValueError(f"{where} mix {one} and {other}: use one kind")


def quote_list(names: Iterable[Any], most: int = 8) -> str:
    """Show names in a sentence: all of a few, the first of many.

    >>> quote_list(["ham", "spam"]), quote_list(range(100), most=3)
    ("'ham', 'spam'", '0, 1, 2, ...')
    """
    shown = [repr(name) for name in names]
    return ", ".join(shown if len(shown) <= most else [*shown[:most], "..."])


class NameIndex:
    """Names in the order in which they were first met; a name's code is its position.

    >>> roll = NameIndex(["gpt", "bert"], what="expert")
    >>> roll.add("ann"), roll.add("gpt"), roll.get("bert"), roll.get("bob")
    (2, 0, 1, -1)
    >>> roll.names
    ['gpt', 'bert', 'ann']
    >>> roll.extend(["bob", "ann"])
    Traceback (most recent call last):
    ValueError: expert 'ann' is named twice

    Classes are whole numbers, texts or true/false, all of one kind.

    >>> NameIndex(np.arange(3), what="class").names
    [0, 1, 2]
    """

    def __init__(self, names: Iterable[Hashable] = (), what: str = "name") -> None:
        self.what = what
        self.names: list[Any] = []
        self.codes: dict[Any, int] = {}
        self.extend(names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"NameIndex({self.names!r}, what={self.what!r})"

    def get(self, name: Hashable) -> int:
        """The code of a name; -1 if it is unknown."""
        return self.codes.get(name, -1)

    def add(self, name: Hashable) -> int:
        """The code of a name, which is added if it is unknown."""
        if name not in self.codes:
            self.extend([name])
        return self.codes[name]

    def extend(self, names: Iterable[Hashable]) -> None:
        """Add names that are all unknown; on an error none is added."""
        fresh: dict[Any, int] = {}
        for name in map(self._plain, self._listed(names)):
            if name in self.codes or name in fresh:
                raise ValueError(f"{self.what} {name!r} is named twice")
            fresh[name] = len(self) + len(fresh)
        if self.what == "class":
            check_one_kind([("classes", [*self.names[:1], *fresh])])
        self.names += fresh
        self.codes |= fresh

    def _listed(self, names: Any) -> list[Any]:
        try:
            return list(names)
        except TypeError:
            raise ValueError(f"{self._plural} must be a list of names (got {names!r})") from None

    @property
    def _plural(self) -> str:
        return "classes" if self.what == "class" else f"{self.what}s"

    def _plain(self, name: Hashable) -> Hashable:
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


def _hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


def to_python(name: Hashable) -> Hashable:
    """The same name without numpy.

    >>> to_python(np.int64(3)), to_python(np.str_("ann")), to_python(("day", 1))
    (3, 'ann', ('day', 1))
    """
    return name.item() if isinstance(name, np.generic) else name


@dataclass
class Names:
    """Everyone a learner has met. Values are (column, value) pairs of nominal attributes."""

    classes: NameIndex = field(default_factory=lambda: NameIndex(what="class"))
    experts: NameIndex = field(default_factory=lambda: NameIndex(what="expert"))
    attributes: NameIndex = field(default_factory=lambda: NameIndex(what="attribute"))
    values: NameIndex = field(default_factory=lambda: NameIndex(what="value"))


class StagedIndex:
    """A roll that is only looked at: unknown names get the codes after it, and are remembered as new.

    >>> roll = NameIndex(["gpt"], what="expert")
    >>> peek = StagedIndex(roll)
    >>> peek.code("ann"), peek.code("gpt"), peek.code("ann"), peek.new, len(peek), len(roll)
    (1, 0, 1, ['ann'], 2, 1)
    """

    def __init__(self, roll: NameIndex) -> None:
        self.roll = roll
        self.new: list[Any] = []
        self._codes: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.roll) + len(self.new)

    def find(self, name: Hashable) -> int:
        """The code of a name; -1 if it was never met."""
        code = self.roll.codes.get(name, -1)
        return code if code >= 0 else self._codes.get(name, -1)

    def code(self, name: Hashable) -> int:
        """The code of a name, known or new."""
        code = self.find(name)
        if code < 0:
            code = self._codes[name] = len(self)
            self.new.append(to_python(name))
        return code

    def name(self, code: int) -> Any:
        """The name of a code."""
        return self.roll.names[code] if code < len(self.roll) else self.new[code - len(self.roll)]

    def columns(self, width: int, table: str) -> list[int]:
        """The codes of columns without names: those of the roll in order or, if it is empty, 0, 1, ..."""
        if len(self.roll) and width not in (0, len(self.roll)):
            raise ValueError(
                f"{table} have {width} columns but {len(self.roll)} {self.roll.what}s are known"
                f" ({quote_list(self.roll.names)}); name the columns: pass a data frame or dicts"
            )
        return list(range(width)) if len(self.roll) else [self.code(name) for name in range(width)]
