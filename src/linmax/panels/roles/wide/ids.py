"""The column of ids of a wide table."""

from __future__ import annotations

from typing import Any

from linmax.panels.roles import names
from linmax.panels.roles.profile import ColumnProfile
from linmax.streams.schema import short_repr
from linmax.validation import DataWarning

MIN_IDS = 20
"""Fewer ids that repeat are groups of items."""
MANY_SAME = 0.5
"""An id that occurs twice is a repetition if at least this share of the ids is unique."""


def choose_id(free: list[ColumnProfile], hints: dict[str, Any]) -> tuple[ColumnProfile, str] | None:
    """Return the column of ids and why it is one; None if there is none.

    Parameters
    ----------
    free : list of ColumnProfile
        The columns that have no role yet.
    hints : dict
        Roles that the format fixes: "id", and "reasons".

    Examples
    --------
    >>> import pyarrow as pa
    >>> from linmax.panels.roles.profile import profile_column
    >>> columns = {"price": [7, 9, 7], "ticket": ["T1", "T2", "T3"]}
    >>> found, reason = choose_id([profile_column(name, pa.array(own)) for name, own in columns.items()], {})
    >>> found.name, reason
    ('ticket', 'its name')
    """
    usable = [one for one in free if one.type in ("text", "integer")]
    hinted = [one for one in usable if one.name == hints.get("id")]
    named = [
        one for one in usable if names.is_id_name(one.name) or names.has_word(one.name, names.ITEM_WORDS)
    ]
    mostly = [one for one in named if one.distinct >= MANY_SAME * one.present]
    unique = [one for one in usable if one.is_unique and one.type == "text"]
    clearly = [one for one in named if names.is_item_id(one.name) and one.distinct > MIN_IDS]
    why = hints.get("reasons", {}).get(hints.get("id"), "as the format says")
    for candidates, reason in (
        (hinted, why),
        (mostly, "its name"),
        (unique, "every value is different"),
        (clearly, "its name"),
    ):
        if candidates:
            return candidates[0], reason
    return None


def repeated_ids(rows: int, name: str, file: str) -> DataWarning:
    """Return a warning on rows that repeat an id of rows before.

    Parameters
    ----------
    rows : int
        How many there are.
    name, file : str
        The column of ids, and the file.
    """
    return DataWarning(
        "repeated-ids", "grave",
        f"{rows:,} rows of {file} repeat an id in {short_repr(name)}, so an item may be predicted after its"
        " label was learned; remove the repetitions, or pass --id '' if it is not an id",
    )  # fmt: skip
