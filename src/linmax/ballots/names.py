"""What may be a label: a whole number, a text or true/false; one kind at a time."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

Label = int | str | bool

KINDS = {str: "text", int: "numbers", bool: "true/false"}
CURES = {"votes": "; scores go into an array of shape (items, experts, classes), triplets or dicts"}


def plain(value: Any, what: str) -> Label | None:
    """Turn a cell into a Python int, str or bool; what is missing (None, NaN, pandas' NA) becomes None.

    Members of an Enum are their values.

    >>> plain(np.int64(3), "labels"), plain(2.0, "labels"), plain(float("nan"), "labels")
    (3, 2, None)
    >>> plain(0.5, "labels")
    Traceback (most recent call last):
    ValueError: labels must be whole numbers, text or true/false (got 0.5)
    """
    if value is None:
        return None
    if isinstance(value, Enum):
        return plain(value.value, what)
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
    elif is_na(value):
        return None
    raise unfit(value, what)


def is_na(value: Any) -> bool:
    """Whether this is pandas' NA or NaT: known by name, for pandas is there only if the caller brings it."""
    return type(value).__name__ in ("NAType", "NaTType")


def unfit(value: Any, what: str) -> ValueError:
    """Say that a value can be nobody's label."""
    if isinstance(value, np.generic):
        value = value.item()
    return ValueError(
        f"{what} must be whole numbers, text or true/false (got {value!r}){CURES.get(what, '')}"
    )


def one_kind(sources: Iterable[tuple[str, Iterable[Label]]]) -> None:
    """Demand that all names are of one kind.

    >>> one_kind([("votes", ["ham", "spam"]), ("labels", [3])])
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


def listing(names: Iterable[Any], most: int = 8) -> str:
    """Show names in a sentence: all of a few, the first of many.

    >>> listing(["ham", "spam"]), listing(range(100), most=3)
    ("'ham', 'spam'", '0, 1, 2, ...')
    """
    shown = [repr(name) for name in names]
    return ", ".join(shown if len(shown) <= most else [*shown[:most], "..."])
