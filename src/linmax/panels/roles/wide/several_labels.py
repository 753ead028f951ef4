"""Items with several labels each: cells such as ``toxic;insult``, or lists of labels."""

from __future__ import annotations

import ast
from typing import Any

from linmax.streams.schema import short_list, short_repr
from linmax.validation import DataWarning

SEPARATORS = (";", "|", ",", "+", " & ")
MIN_KNOWN = 0.8
"""The share of the parts of cells that are labels by themselves, or stand in several places."""
MAX_FEW = 0.05
"""The largest share of items with several labels beside which a verdict is still given."""


def several_labels(counts: dict[Any, int], column: str) -> DataWarning | None:
    """Return a warning if cells of the labels have several labels each.

    A cell that a sign splits into parts has several labels if its parts are labels by themselves, or come
    first in some cells and later in others. "New York, NY" and "yes, strongly" are single labels.

    Parameters
    ----------
    counts : dict
        How often each value of the column of labels occurs; of that of votes, if there are no labels.
    column : str
        The name of the column.

    Returns
    -------
    DataWarning or None
        A grave one, unless few items have several labels: each combination would be a class of its own.

    Examples
    --------
    >>> several_labels({"toxic": 5, "insult": 4, "toxic;insult": 3}, "label").severity
    'grave'
    >>> several_labels({"yes, strongly": 5, "yes, slightly": 4, "no, strongly": 3}, "label")
    """
    found = _lists(counts)
    for separator in SEPARATORS if not found else ():
        found = found or _separated(counts, separator)
    if not found:
        return None
    items = sum(counts[value] for value in found)
    share = items / max(sum(counts.values()), 1)
    some = short_list(map(short_repr, found), 2)
    parts = next(iter(found.values()))
    return DataWarning(
        "several-labels", "grave" if share > MAX_FEW else "note",
        f"{items:,} cells of {short_repr(column)} have several labels ({some}), and linmax predicts one class"
        " per item, so that each combination counts as a class; write one column of yes and no per label and"
        f" expert (such as {column}_{parts[0]}), and learn each label by itself",
    )  # fmt: skip


def _lists(counts: dict[Any, int]) -> dict[Any, list[str]]:
    """Return the cells that are lists of several values, with their parts."""
    found = {}
    for value in counts:
        text = str(value).strip()
        if text.startswith("[") and text.endswith("]"):
            try:
                parts = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                parts = [part for part in text[1:-1].replace("'", "").split() if part]  # as numpy prints it
            if len(parts) > 1 and not any(isinstance(part, list | dict | float) for part in parts):
                found[value] = list(map(str, parts))
    return found


def _separated(counts: dict[Any, int], separator: str) -> dict[Any, list[str]]:
    """Return the cells with several labels between which a sign stands, with their parts."""
    split = {value: [part.strip() for part in str(value).split(separator)] for value in counts}
    several = {value: parts for value, parts in split.items() if len(parts) > 1 and all(parts)}
    single = {parts[0] for parts in split.values() if len(parts) == 1}
    places: dict[str, set[int]] = {}
    for parts in several.values():
        for i, part in enumerate(parts):
            places.setdefault(part, set()).add(i)
    known = sum(part in single or len(own) > 1 for part, own in places.items())
    return several if several and known >= MIN_KNOWN * len(places) else {}
