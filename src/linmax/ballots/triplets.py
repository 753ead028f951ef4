"""Sparse votes as three or four columns."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.cells import Cells, gather
from linmax.ballots.columns import column
from linmax.ballots.discover import first_places
from linmax.ballots.entries import Entries
from linmax.ballots.limits import floats, odd_score
from linmax.ballots.roll import Peek

SPREAD, FREE = 100, 10**6  # items there may be per row, and anyway, unless their number is given


class Triplets(NamedTuple):
    """Sparse votes: on each ``item``, ``expert`` votes for ``label``, with ``value`` if it is a score.

    Items are row numbers from 0 on, and ``items`` says how many there are (default: up to the last one
    named); experts and labels are names. Without values an expert has one vote per item, with values one per
    class.

    >>> votes = Triplets(item=[0, 0, 2], expert=["ann", "bob", "ann"], label=["ham", "spam", "ham"], items=4)
    >>> votes.value is None  # each is a whole vote
    True
    """

    item: Any
    expert: Any
    label: Any
    value: Any = None
    items: int | None = None


def count(triplets: Triplets) -> int:
    """How many items there are."""
    item = _items(triplets)
    least = int(item.max(initial=-1)) + 1
    if triplets.items is None:
        if least > SPREAD * len(item) + FREE:
            raise ValueError(
                f"triplets name item {least - 1} in {len(item)} rows; number items from 0 on, or pass items="
            )
        return least
    if not isinstance(triplets.items, int | np.integer):
        raise ValueError(f"triplets need a whole number of items (got items={triplets.items!r})")
    if triplets.items < least:
        raise ValueError(f"triplets name item {least - 1}, but items={triplets.items}; items count from 0")
    return int(triplets.items)


def read_triplets(triplets: Triplets, experts: Peek) -> Entries:
    """The votes as entries; experts are numbered as they are met, item by item."""
    item = _items(triplets)
    named, label = column(triplets.expert, "experts"), column(triplets.label, "votes")
    value = np.ones(len(item)) if triplets.value is None else _values(triplets.value)
    sizes = {"item": len(item), "expert": len(named.codes), "label": len(label.codes), "value": len(value)}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"triplets need columns of one length (got {shown})")
    expert = _experts(named, item, experts)
    _refuse_repeats(item, expert, None if triplets.value is None else label, experts)
    return Entries(item, expert, label, value, triplets.value is None)


def _items(triplets: Triplets) -> NDArray[np.int64]:
    item = _array(triplets.item, "item")
    if item.ndim != 1 or (item.size and item.dtype.kind not in "iu"):
        raise ValueError(f"triplets need items that are row numbers (got {item.dtype} of shape {item.shape})")
    odd = [end for end in (item.min(), item.max()) if not 0 <= end < 2**63] if item.size else []
    if odd:
        raise ValueError(f"triplets need items that are row numbers (got {odd[0]})")
    return item.astype(np.int64, copy=False)


def _values(value: Any) -> NDArray[np.float64]:
    array = _array(value, "value")
    if array.ndim != 1 or array.dtype.kind not in "biufO":
        raise ValueError(f"triplets need values that are numbers (got {array.dtype} of shape {array.shape})")
    odd = odd_score(array) if array.dtype.kind == "O" else None
    if odd is not None:
        raise ValueError(f"triplets need values that are numbers (got {array[odd]!r}); use int or float")
    return floats(array)


def _array(data: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(data)
    except (
        Exception
    ) as error:  # whichever its library raises: of rows of several lengths, or a type of its own
        raise ValueError(
            f"triplets need a column of numbers as {name} (got {type(data).__name__});"
            " cast it to a type that numpy has"
        ) from error


def _experts(named: Cells, item: NDArray[np.int64], experts: Peek) -> NDArray[np.int64]:
    order = np.argsort(item, kind="stable")
    in_turn = named._replace(codes=named.codes[order])
    first = first_places(in_turn, {name for name in named.names if experts.find(name) < 0})
    if None in first:
        raise ValueError(f"triplets need an expert in every row (row {order[first[None]]} has none)")
    for name in sorted(first, key=lambda name: first[name]):
        experts.code(name)
    return gather(named, [experts.find(name) for name in named.names], np.int64)


def _refuse_repeats(
    item: NDArray[np.int64], expert: NDArray[np.int64], label: Cells | None, experts: Peek
) -> None:
    key = item * max(len(experts), 1) + expert
    if label is not None:
        key = key * len(label.names) + (label.codes - label.low)
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    if len(again):
        i = int(order[again[0]])
        raise ValueError(f"item {item[i]} has two votes of expert {experts.name(int(expert[i]))!r}; keep one")
