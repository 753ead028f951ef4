"""What was handed in: an array, a data frame, triplets or dicts; and how many items it has."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from linmax.ballots.columns import brief, to_array
from linmax.ballots.dicts import Dicts
from linmax.ballots.triplets import Triplets, count

SHAPES = {
    "votes": "one row per item and one column per expert",
    "attributes": "one row per item and one column per attribute",
}


def table(data: Any, what: str) -> Any:
    """Recognise a table: Triplets, Dicts, a sparse matrix, a narwhals frame or an array."""
    if isinstance(data, Triplets) and what == "votes":
        return data
    if hasattr(data, "tocsr"):  # scipy's sparse matrices and arrays
        if what == "votes":
            raise ValueError(
                "votes cannot be a sparse matrix, whose zeros would be votes for 0; pass Triplets"
            )
        return data
    if isinstance(data, Mapping):
        raise ValueError(f"{what} must be a list of dicts, one per item (got one dict); write [{what}]")
    if isinstance(data, list | tuple):
        dicts = sum(isinstance(row, Mapping) for row in data)
        if dicts and dicts == len(data):
            return Dicts(data)
        if dicts:
            raise ValueError(f"{what} must be dicts for all items or for none (got {dicts} of {len(data)})")
        if not len(data):
            return np.empty((0, 0), np.int32)
    elif not isinstance(data, np.ndarray):
        from linmax.ballots import frames  # narwhals takes a while to import, and arrays do without it

        frame = frames.frame(data, what)
        if frame is not None:
            return frame
        if frames.series(data) is not None:
            raise _flat(what)
    array = to_array(data, what)
    if array.ndim == 1 and isinstance(data, list | tuple):
        raise _bare(data, what)
    if array.ndim == 1:
        raise _flat(what)
    if array.ndim != 2 and (array.ndim, what) != (3, "votes"):
        raise ValueError(f"{what} must have {SHAPES[what]} (got shape {array.shape})")
    return array


def length(source: Any) -> int:
    """How many items a table has."""
    if isinstance(source, Triplets):
        return count(source)
    return len(source) if isinstance(source, Dicts) else int(source.shape[0])


def _bare(items: Any, what: str) -> ValueError:
    """Items are neither dicts nor lists: perhaps one item was meant, or a text was given as an item."""
    one = "expert" if what == "votes" else "attribute"
    cure = f"; write [{what}] for one item" if len(items) > 1 else ""
    got = brief(items[0])
    return ValueError(
        f"{what} of an item must be a dict, or a list in the order of the {one}s (got {got}){cure}"
    )


def _flat(what: str) -> ValueError:
    one = "expert" if what == "votes" else "attribute"
    return ValueError(
        f"{what} must have {SHAPES[what]} (got 1 dimension);"
        f" use {what}[:, None] for one {one} or {what}[None, :] for one item"
    )
