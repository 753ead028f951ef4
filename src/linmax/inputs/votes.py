"""Votes as tables, data frames, arrays of scores or triplets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.abstain import Abstentions
from linmax.inputs.classes import first_places
from linmax.inputs.encode import (
    CodedArray,
    Codes,
    all_missing,
    contiguous,
    encode_array,
    encode_column,
    gather,
    take_rows,
    write_columns,
)
from linmax.inputs.names import NameIndex, StagedIndex
from linmax.inputs.numbers import (
    ItemError,
    first_invalid,
    first_non_number,
    limit_numbers,
    score_error,
    to_floats,
)
from linmax.kernels.forms import Dense, Sparse

ITEMS_PER_ROW, FREE_ITEMS = 100, 10**6  # without items=, at most ITEMS_PER_ROW * rows + FREE_ITEMS items


class Triplets(NamedTuple):
    """Sparse votes in long format: one row per vote.

    Parameters
    ----------
    item : array of int
        The row number of the item, from 0 on.
    expert : array or list
        The name of the expert.
    label : array or list
        The class that the expert votes for.
    value : array of float, optional
        The score of that class. Without values an expert has one vote per item, with values one score per
        class.
    items : int, optional
        The number of items. Default: up to the last one in `item`.

    Examples
    --------
    >>> from linmax import Fusion, Triplets
    >>> votes = Triplets(item=[0, 0, 2], expert=["ann", "bob", "ann"], label=["ham", "spam", "ham"], items=4)
    >>> fusion = Fusion()
    >>> fusion.learn(votes, ["ham", "spam", "ham", "ham"]).trials
    4
    >>> fusion.experts
    ['ann', 'bob']
    """

    item: Any
    expert: Any
    label: Any
    value: Any = None
    items: int | None = None


class VoteEntries(NamedTuple):
    """Votes as a list of entries.

    Attributes
    ----------
    row, expert : ndarray of int64
        The trial and the code of the expert.
    label : CodedArray
        The class.
    value : ndarray of float64
        The score, 1 for a hard vote.
    hard : bool
        Whether entries are hard votes, not scores.
    """

    row: NDArray[np.int64]
    expert: NDArray[np.int64]
    label: CodedArray
    value: NDArray[np.float64]
    hard: bool

    def take(self, places: NDArray[Any]) -> "VoteEntries":
        """Return the entries at these places, in this order."""
        label = self.label._replace(codes=self.label.codes[places])
        return VoteEntries(self.row[places], self.expert[places], label, self.value[places], self.hard)


def read_votes(
    source: Any, experts: StagedIndex, classes: NameIndex, abstentions: Abstentions
) -> CodedArray | Dense | VoteEntries:
    """Read a table of votes; columns have the experts in the order of their index."""
    if isinstance(source, Triplets):
        return _clean(_read_triplets(source, experts), experts, abstentions)
    if not isinstance(source, np.ndarray):
        return _read_frame(source, experts, classes, abstentions)
    columns = experts.column_codes(source.shape[1], "votes")
    if len(columns) < source.shape[1]:
        source = np.ascontiguousarray(source[:, : len(columns)])
    if source.ndim == 3:
        return Dense(_read_scores(source, experts, classes))
    if not columns:
        return all_missing((len(source), len(experts)))
    return abstentions.mask(encode_array(source, "votes"))


def merge_columns(
    columns: list[CodedArray], targets: list[int], shape: tuple[int, int], index: NameIndex
) -> CodedArray:
    """Join columns into one matrix: known names get the codes of the index, others the codes after it.

    >>> column = CodedArray(np.array([0, 1]), 0, ["a", "b"], "ab")
    >>> merge_columns([column], [1], (2, 2), NameIndex(["b"])).codes.tolist()
    [[-1, 1], [-1, 0]]
    """
    staged = StagedIndex(index)
    tables = [[-1 if name is None else staged.code(name) for name in coded.names] for coded in columns]
    out = np.empty(shape, np.int32) if len(targets) == shape[1] else np.full(shape, -1, np.int32)
    write_columns(columns, tables, targets, out)
    present = [name for coded in columns for name in coded.present]
    return CodedArray(out, -1, [None, *index.names, *staged.new], present)


def to_sparse(entries: VoteEntries, label: Codes, trials: int) -> Sparse:
    """Convert entries to sparse votes, given the codes of their classes; those with code -1 are dropped."""
    if (label < 0).any():
        valid = np.flatnonzero(label >= 0)
        entries, label = entries.take(valid), label[valid]
    order = np.lexsort((label, entries.expert, entries.row))
    if (np.diff(order) != 1).any():
        entries, label = entries.take(order), label[order]
    return Sparse(
        row_starts(entries.row, trials),
        entries.expert.astype(np.int32),
        label,
        contiguous(entries.value, np.float64),
    )


def row_starts(row: NDArray[np.int64], trials: int) -> NDArray[np.int64]:
    """Return the index pointer of a CSR matrix: where the entries of each trial begin.

    >>> row_starts(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    indptr = np.zeros(trials + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=trials), out=indptr[1:])
    return indptr


def count_items(triplets: Triplets) -> int:
    """Return the number of items."""
    item = _items(triplets)
    least = int(item.max(initial=-1)) + 1
    if triplets.items is None:
        if least > ITEMS_PER_ROW * len(item) + FREE_ITEMS:
            raise ValueError(
                f"triplets name item {least - 1} in {len(item)} rows; number items from 0 on, or pass items="
            )
        return least
    if not isinstance(triplets.items, int | np.integer):
        raise ValueError(f"triplets need a whole number of items (got items={triplets.items!r})")
    if triplets.items < least:
        raise ValueError(f"triplets name item {least - 1}, but items={triplets.items}; items count from 0")
    return int(triplets.items)


def _read_frame(frame: Any, experts: StagedIndex, classes: NameIndex, abstentions: Abstentions) -> CodedArray:
    from linmax.inputs import frames  # imports narwhals, which arrays do not need

    targets = {name: experts.code(name) for name in frame.columns}
    left_out = {name for name, target in targets.items() if target < 0}
    columns = frames.read_columns(frame, "votes", frames.encode_series, left_out)
    masked = [abstentions.mask(coded) for coded in columns.values()]
    known = [targets[name] for name in columns]
    return merge_columns(masked, known, (frame.shape[0], len(experts)), classes)


def _read_scores(array: NDArray[Any], experts: StagedIndex, classes: NameIndex) -> NDArray[np.float64]:
    if array.dtype.kind not in "biufO":
        raise ValueError(
            f"votes with three dimensions must be numbers, the scores of classes (got {array.dtype})"
        )
    if 0 < len(classes) < array.shape[2]:  # fewer are fine: a label may have added a class since
        raise ValueError(f"votes score {array.shape[2]} classes but {len(classes)} are known; pass classes=")
    if not array.shape[1]:
        return np.zeros((len(array), len(experts), array.shape[2]))
    wrong = first_non_number(array) if array.dtype.kind == "O" else None
    if wrong is None:
        given = to_floats(array)
        values = limit_numbers(given)
        if values is None:
            given = np.where(np.isnan(given), 0.0, given)
            values = limit_numbers(given)
        if values is not None:
            return values
        wrong = first_invalid(given)
    item, expert, code = wrong
    label = classes.names[code] if len(classes) else code
    raise score_error(item, experts.name(expert), label, array[wrong])


def _clean(entries: VoteEntries, experts: StagedIndex, abstentions: Abstentions) -> VoteEntries:
    """Drop abstentions and sort by trial and expert; the classes of one expert stay in the order given."""
    value = limit_numbers(entries.value)
    if value is None:
        (i,) = first_invalid(entries.value)
        name = entries.label.names[int(entries.label.codes[i]) - entries.label.low]
        raise score_error(entries.row[i], experts.name(int(entries.expert[i])), name, entries.value[i])
    # a class with a score does not abstain, whatever its name
    label = abstentions.mask(entries.label) if entries.hard else entries.label
    votes = gather(label, [name is not None for name in label.names], np.bool_) & (value != 0)
    entries = entries._replace(label=label, value=value)
    if not votes.all():
        entries = entries.take(np.flatnonzero(votes))
    key = entries.row * max(len(experts), 1) + entries.expert
    if (np.diff(key) < 0).any():
        entries = entries.take(np.argsort(key, kind="stable"))
    return entries


def _read_triplets(triplets: Triplets, experts: StagedIndex) -> VoteEntries:
    """Convert triplets to entries; new experts are numbered in order of appearance, item by item."""
    names = encode_column(triplets.expert, "experts")
    if experts.closed:
        triplets, names = _without_newcomers(triplets, names, experts)
    item, label = _items(triplets), encode_column(triplets.label, "votes")
    value = np.ones(len(item)) if triplets.value is None else _values(triplets.value)
    sizes = {"item": len(item), "expert": len(names.codes), "label": len(label.codes), "value": len(value)}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"triplets need columns of one length (got {shown})")
    expert = _expert_codes(names, item, experts)
    _check_unique(item, expert, None if triplets.value is None else label, experts)
    return VoteEntries(item, expert, label, value, triplets.value is None)


def _without_newcomers(
    triplets: Triplets, names: CodedArray, experts: StagedIndex
) -> tuple[Triplets, CodedArray]:
    """Return the rows of known experts, and the names in them; the others are noted in the closed index."""
    columns = [triplets.item, triplets.label, *([] if triplets.value is None else [triplets.value])]
    unknown = first_places(names, {name for name in names.names if experts.find(name) < 0} - {None})
    if not unknown or any(not hasattr(c, "__len__") or len(c) != len(names.codes) for c in columns):
        return triplets, names  # columns of several lengths have an error elsewhere
    for name in sorted(unknown, key=lambda name: unknown[name]):
        experts.code(name)
    rows = np.flatnonzero(gather(names, [name not in unknown for name in names.names], np.bool_))
    item, label, *value = [take_rows(column, rows) for column in columns]
    return (
        Triplets(item, triplets.expert, label, value[0] if value else None, triplets.items),
        names._replace(codes=names.codes[rows]),
    )


def _items(triplets: Triplets) -> NDArray[np.int64]:
    item = _numpy_column(triplets.item, "item")
    if item.ndim != 1 or (item.size and item.dtype.kind not in "iu"):
        raise ValueError(f"triplets need items that are row numbers (got {item.dtype} of shape {item.shape})")
    wrong = [end for end in (item.min(), item.max()) if not 0 <= end < 2**63] if item.size else []
    if wrong:
        raise ValueError(f"triplets need items that are row numbers (got {wrong[0]})")
    return item.astype(np.int64, copy=False)


def _values(value: Any) -> NDArray[np.float64]:
    array = _numpy_column(value, "value")
    if array.ndim != 1 or array.dtype.kind not in "biufO":
        raise ValueError(f"triplets need values that are numbers (got {array.dtype} of shape {array.shape})")
    wrong = first_non_number(array) if array.dtype.kind == "O" else None
    if wrong is not None:
        raise ValueError(f"triplets need values that are numbers (got {array[wrong]!r}); use int or float")
    return to_floats(array)


def _numpy_column(data: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(data)
    except Exception as error:  # of any library: rows of several lengths, or a type of its own
        raise ValueError(
            f"triplets need a column of numbers as {name} (got {type(data).__name__});"
            " cast it to a type that numpy has"
        ) from error


def _expert_codes(names: CodedArray, item: NDArray[np.int64], experts: StagedIndex) -> NDArray[np.int64]:
    order = np.argsort(item, kind="stable")
    by_item = names._replace(codes=names.codes[order])
    first = first_places(by_item, {name for name in names.names if experts.find(name) < 0})
    if None in first:
        raise ValueError(f"triplets need an expert in every row (row {order[first[None]]} has none)")
    for name in sorted(first, key=lambda name: first[name]):
        experts.code(name)
    return gather(names, [experts.find(name) for name in names.names], np.int64)


def _check_unique(
    item: NDArray[np.int64], expert: NDArray[np.int64], label: CodedArray | None, experts: StagedIndex
) -> None:
    key = item * max(len(experts), 1) + expert
    if label is not None:
        key = key * len(label.names) + (label.codes - label.low)
    order = np.argsort(key, kind="stable")
    repeated = np.flatnonzero(np.diff(key[order]) == 0)
    if len(repeated):
        i = int(order[repeated[0]])
        raise ItemError(int(item[i]), f"expert {experts.name(int(expert[i]))!r} has two votes; keep one")
