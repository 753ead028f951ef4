"""Votes one after the other become sparse votes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.classes import Abstentions, first_places
from linmax.inputs.encode import CodedArray, Codes, cells, column, gather, lay_out, plainly, silent
from linmax.inputs.names import NameIndex, StagedIndex
from linmax.inputs.numbers import beyond, floats, odd_score, score_error, within
from linmax.kernels.forms import Dense, Sparse


class VoteEntries(NamedTuple):
    """Votes in the order in which they were given."""

    row: NDArray[np.int64]
    expert: NDArray[np.int64]
    label: CodedArray
    value: NDArray[np.float64]
    hard: bool  # each is a label that was named, not a score

    def take(self, places: NDArray[Any]) -> "VoteEntries":
        """Some of the entries, in the order of places."""
        label = self.label._replace(codes=self.label.codes[places])
        return VoteEntries(self.row[places], self.expert[places], label, self.value[places], self.hard)


def tidy(entries: VoteEntries, experts: StagedIndex, quiet: Abstentions) -> VoteEntries:
    """The entries that say something, by trial and expert; classes of one expert stay in the order given."""
    value = within(entries.value)
    if value is None:
        (i,) = beyond(entries.value)
        name = entries.label.names[int(entries.label.codes[i]) - entries.label.low]
        raise score_error(entries.row[i], experts.name(int(entries.expert[i])), name, entries.value[i])
    # a class that is given a score is meant, whatever its name
    label = quiet.hush(entries.label) if entries.hard else entries.label
    speaks = gather(label, [name is not None for name in label.names], np.bool_) & (value != 0)
    entries = entries._replace(label=label, value=value)
    if not speaks.all():
        entries = entries.take(np.flatnonzero(speaks))
    seat = entries.row * max(len(experts), 1) + entries.expert
    if (np.diff(seat) < 0).any():
        entries = entries.take(np.argsort(seat, kind="stable"))
    return entries


def to_sparse(entries: VoteEntries, label: Codes, trials: int) -> Sparse:
    """Sparse votes, without those whose label is -1."""
    if (label < 0).any():
        heard = np.flatnonzero(label >= 0)
        entries, label = entries.take(heard), label[heard]
    order = np.lexsort((label, entries.expert, entries.row))
    if (np.diff(order) != 1).any():
        entries, label = entries.take(order), label[order]
    return Sparse(
        starts(entries.row, trials),
        entries.expert.astype(np.int32),
        label,
        plainly(entries.value, np.float64),
    )


def starts(row: NDArray[np.int64], trials: int) -> NDArray[np.int64]:
    """Where each trial's entries begin, given the trial of each entry.

    >>> starts(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    indptr = np.zeros(trials + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=trials), out=indptr[1:])
    return indptr


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


def read_triplets(triplets: Triplets, experts: StagedIndex) -> VoteEntries:
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
    return VoteEntries(item, expert, label, value, triplets.value is None)


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


def _experts(named: CodedArray, item: NDArray[np.int64], experts: StagedIndex) -> NDArray[np.int64]:
    order = np.argsort(item, kind="stable")
    in_turn = named._replace(codes=named.codes[order])
    first = first_places(in_turn, {name for name in named.names if experts.find(name) < 0})
    if None in first:
        raise ValueError(f"triplets need an expert in every row (row {order[first[None]]} has none)")
    for name in sorted(first, key=lambda name: first[name]):
        experts.code(name)
    return gather(named, [experts.find(name) for name in named.names], np.int64)


def _refuse_repeats(
    item: NDArray[np.int64], expert: NDArray[np.int64], label: CodedArray | None, experts: StagedIndex
) -> None:
    key = item * max(len(experts), 1) + expert
    if label is not None:
        key = key * len(label.names) + (label.codes - label.low)
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(np.diff(key[order]) == 0)
    if len(again):
        i = int(order[again[0]])
        raise ValueError(f"item {item[i]} has two votes of expert {experts.name(int(expert[i]))!r}; keep one")


def read_votes(
    source: Any, experts: StagedIndex, classes: NameIndex, quiet: Abstentions
) -> CodedArray | Dense | VoteEntries:
    """Read a table of votes; cells and scores have experts in the order of their roll."""
    if isinstance(source, Triplets):
        return tidy(read_triplets(source, experts), experts, quiet)
    if not isinstance(source, np.ndarray):
        return _frame(source, experts, classes, quiet)
    seats = experts.columns(source.shape[1], "votes")
    if source.ndim == 3:
        return Dense(_scores(source, experts, classes))
    if not seats:
        return silent((len(source), len(experts)))
    return quiet.hush(cells(source, "votes"))


def merge(columns: list[CodedArray], seats: list[int], shape: tuple[int, int], roll: NameIndex) -> CodedArray:
    """Put columns side by side: known names get the codes of the roll, others the codes after it.

    >>> merge([CodedArray(np.array([0, 1]), 0, ["a", "b"], "ab")], [1], (2, 2), NameIndex(["b"])).codes.tolist()
    [[-1, 1], [-1, 0]]
    """
    peek = StagedIndex(roll)
    tables = [[-1 if name is None else peek.code(name) for name in said.names] for said in columns]
    out = np.empty(shape, np.int32) if len(seats) == shape[1] else np.full(shape, -1, np.int32)
    lay_out(columns, tables, seats, out)
    return CodedArray(
        out, -1, [None, *roll.names, *peek.new], [name for said in columns for name in said.present]
    )


def _frame(frame: Any, experts: StagedIndex, classes: NameIndex, quiet: Abstentions) -> CodedArray:
    from linmax.inputs import frames

    seats = [experts.code(name) for name in frame.columns]
    columns = [quiet.hush(said) for said in frames.votes(frame)]
    return merge(columns, seats, (frame.shape[0], len(experts)), classes)


def _scores(array: NDArray[Any], experts: StagedIndex, classes: NameIndex) -> NDArray[np.float64]:
    if array.dtype.kind not in "biufO":
        raise ValueError(
            f"votes with three dimensions must be numbers, the scores of classes (got {array.dtype})"
        )
    if 0 < len(classes) < array.shape[2]:  # fewer are fine: a label may have added a class since
        raise ValueError(f"votes score {array.shape[2]} classes but {len(classes)} are known; pass classes=")
    if not array.shape[1]:
        return np.zeros((len(array), len(experts), array.shape[2]))
    odd = odd_score(array) if array.dtype.kind == "O" else None
    if odd is None:
        given = floats(array)
        values = within(given)
        if values is None:
            given = np.where(np.isnan(given), 0.0, given)
            values = within(given)
        if values is not None:
            return values
        odd = beyond(given)
    item, expert, code = odd
    label = classes.names[code] if len(classes) else code
    raise score_error(item, experts.name(expert), label, array[odd])
