"""The standard sources for a kind of data: what votes on plain attributes, without any experts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from linmax.experts.attributes import ScaledAttributes
from linmax.experts.base import Source
from linmax.experts.neighbours import Neighbours
from linmax.experts.value_tables import ValueTables

KINDS = ("number", "category", "text")


def standard(schema: Any, *, memory: int = 2000) -> Source:
    """Suggest a source for plain data, by the kinds of its columns.

    =========================== ===============================================================
    columns                     sources
    =========================== ===============================================================
    any                         ``ScaledAttributes(unit=True)``, a linear machine
    a number                    ``Neighbours(memory)``, since classes are rarely linear
    only texts                  ``Neighbours(memory, unit=True)``: long texts resemble any other
    two categories or more      ``ValueTables(1) + ValueTables(2)``, alone and in pairs
    =========================== ===============================================================

    Categories are columns of short texts, of which each value is an attribute. A text is first read as
    n-grams, with `text_ngrams`.

    Parameters
    ----------
    schema : mapping, data frame, Arrow schema or list of dicts
        The kind of each column, ``{"age": "number", "town": "category", "letter": "text"}``; or a table, an
        Arrow schema or example rows to infer them from: numbers are numbers and everything else is a
        category.
    memory : int, default 2000
        How many items `Neighbours` stores.

    Returns
    -------
    Source
        For ``rule.on(...)`` or ``recommended(votes=False, attributes=True, experts=...)``.

    Examples
    --------
    >>> from linmax.experts import standard
    >>> standard({"age": "number", "town": "category", "job": "category"})
    ScaledAttributes(unit=True) + Neighbours(2000) + ValueTables(1) + ValueTables(2)
    >>> standard([{"height": 1.7, "grams": 70_000}])
    ScaledAttributes(unit=True) + Neighbours(2000)
    """
    kinds = list(_kinds(schema).values())
    source: Source = ScaledAttributes(unit=True)
    if "number" in kinds or "text" in kinds:
        source += Neighbours(memory, unit="number" not in kinds)
    if kinds.count("category") >= 2:
        source += ValueTables(1) + ValueTables(2)
    return source


def _kinds(schema: Any) -> dict[Any, str]:
    """Return the kind of each column."""
    if isinstance(schema, Mapping):
        for column, kind in schema.items():
            if kind not in KINDS:
                raise ValueError(
                    f"standard requires {', '.join(map(repr, KINDS))} as the kind of a column"
                    f" (got {kind!r} for {column!r})"
                )
        found = dict(schema)
    elif hasattr(schema, "names") and hasattr(schema, "types"):  # an Arrow schema
        found = {
            name: _kind_of_type(str(kind)) for name, kind in zip(schema.names, schema.types, strict=True)
        }
    elif isinstance(schema, list | tuple):
        found = _kinds_of_rows(schema)
    else:
        found = _kinds_of_frame(schema)
    if not found:
        got = (
            repr(schema)
            if isinstance(schema, Mapping | list | tuple)
            else f"an empty {type(schema).__name__}"
        )
        raise ValueError(f"standard requires at least one column (got {got})")
    return found


def _kinds_of_rows(rows: Iterable[Any]) -> dict[Any, str]:
    found: dict[Any, str] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            raise ValueError(f"standard requires example rows as dicts (got {row!r})")
        for column, value in row.items():
            if value is not None and found.get(column) != "category":
                found[column] = "category" if isinstance(value, str) else "number"
    return found


def _kinds_of_frame(frame: Any) -> dict[Any, str]:
    import narwhals as nw  # slow to import

    try:
        table = nw.from_native(frame)
    except TypeError:
        raise ValueError(
            'standard requires a schema such as {"age": "number"}, a data frame, an Arrow schema or rows'
            f" (got {type(frame).__name__})"
        ) from None
    schema = table.collect_schema()
    return {
        name: "number" if kind.is_numeric() or kind == nw.Boolean else "category"
        for name, kind in schema.items()
    }


def _kind_of_type(name: str) -> str:
    """Return the kind of a column of an Arrow type."""
    return (
        "number"
        if name.startswith(("int", "uint", "float", "double", "half", "decimal", "bool"))
        else "category"
    )
