"""Read votes, labels and attributes in any of the accepted formats into a batch of arrays."""

from collections.abc import Mapping, Set, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.abstain import DEFAULT, read_abstain
from linmax.inputs.attributes import read_nominal, read_rows
from linmax.inputs.batch import Batch, Newcomers
from linmax.inputs.classes import (
    ON_NEW_CLASS,
    ClassCodes,
    CodedVotes,
    encode_classes,
    no_unknown_classes,
    unknown_class_error,
)
from linmax.inputs.dicts import ClassEncoder, DictRows, read_dicts
from linmax.inputs.encode import CodedArray, all_missing, describe, encode_column, label_list, to_array
from linmax.inputs.names import NameIndex, Names, StagedIndex, check_one_kind
from linmax.inputs.votes import Triplets, VoteEntries, count_items, read_votes, to_sparse
from linmax.kernels.forms import Dense, Hard, Sparse

SHAPES = {
    "votes": "one row per item and one column per expert",
    "attributes": "one row per item and one column per attribute",
}
ARGUMENTS = {"votes": "votes", "rows": "attributes", "nominal": "attributes"}


def read(
    votes: Any,
    labels: Any,
    attributes: Any,
    names: Names,
    *,
    needs: Set[str] = frozenset({"votes"}),
    on_new_class: str = "add",
    abstain: Any = DEFAULT,
    ignore_newcomers: bool = False,
) -> Batch:
    """Read what a learner needs into a batch.

    Nothing is changed: the names are only read, and the batch has the new ones. The votes of a trial without
    a label make no class known.

    Parameters
    ----------
    votes : array, data frame, list of lists, list of dicts, Triplets or None
        The votes: labels in a table with one column per expert, or scores in an array of shape (items,
        experts, classes), dicts or triplets.
    labels : array, series, list or None
        The true classes, one per item. Single labels may be missing (None or NaN), or all (None).
    attributes : array, sparse matrix, data frame, list of lists, list of dicts or None
        The attributes.
    names : Names
        The names known so far.
    needs : set of {"votes", "rows", "nominal"}
        What the learner needs: votes, attributes as rows of numbers, attributes as nominal values.
    on_new_class : {"add", "error", "ignore"}
        What to do with a class that is not known.
    abstain : label or None
        The value that abstains, None if none does. Default: -1 and "".
    ignore_newcomers : bool
        Whether experts and attributes that are not known are left out, as if they were not in the data.

    Returns
    -------
    batch : Batch
        The encoded trials and the new names.

    Examples
    --------
    >>> names = Names()
    >>> batch = read([["ham", "spam"], ["eggs", None]], ["spam", "tea"], None, names)
    >>> batch.votes.codes.tolist(), batch.labels.tolist(), batch.new_classes
    ([[0, 1], [2, -1]], [1, 3], ['ham', 'spam', 'eggs', 'tea'])
    >>> batch.known.tolist()  # tea is novel: it was unknown when its trial was scored
    [2, 3]
    >>> names.classes.extend(batch.new_classes)
    >>> later = read([{0: "tea", 7: {"milk": 0.5}}], None, None, names)
    >>> later.votes.label.tolist(), later.unknown_classes.name(0, 4), later.new_classes, later.new_experts
    ([3, 4], 'milk', [], [0, 7])
    """
    if on_new_class not in ON_NEW_CLASS:
        raise ValueError(f'on_new_class must be "add", "error" or "ignore" (got {on_new_class!r})')
    given = {"votes": votes, "attributes": attributes}
    for need in sorted(needs):
        if given[ARGUMENTS[need]] is None:
            raise ValueError(f"this learner needs {ARGUMENTS[need]}; pass {ARGUMENTS[need]}=")
    tables = {what: _to_table(data, what) for what, data in given.items() if data is not None}
    sizes = {what: _length(table) for what, table in tables.items()}
    classes, experts = names.classes, StagedIndex(names.experts, closed=ignore_newcomers)
    table = tables["votes"] if "votes" in needs else None
    form: Hard | Dense | Sparse | None
    if isinstance(table, DictRows):
        truths = None if labels is None else label_list(labels, "labels")
        trials = _common_length(sizes, truths)
        abstentions = read_abstain(abstain, classes, truths)
        form, encoded = read_dicts(table, truths, experts, abstentions, ClassEncoder(classes, on_new_class))
    else:
        truth = None if labels is None else encode_column(labels, "labels")
        trials = _common_length(sizes, None if truth is None else truth.codes)
        abstentions = read_abstain(abstain, classes, truth)
        coded = None if table is None else read_votes(table, experts, classes, abstentions)
        form, encoded = _encode(coded, truth, trials, classes, on_new_class)

    numbers = StagedIndex(names.attributes, closed=ignore_newcomers)
    values = StagedIndex(names.values, closed=ignore_newcomers)
    rows = read_rows(tables["attributes"], numbers) if "rows" in needs else None
    nominal = read_nominal(tables["attributes"], values) if "nominal" in needs else None
    return Batch(
        trials=trials,
        votes=form,
        rows=rows,
        nominal=nominal,
        labels=encoded.labels,
        known=encoded.known,
        new_classes=encoded.new,
        new_experts=experts.new,
        new_attributes=numbers.new,
        new_values=values.new,
        unknown_classes=encoded.unknown_classes,
        ignored=encoded.ignored,
        classes_seen=max(len(classes) + len(encoded.new), int(encoded.known.max(initial=0))),
        experts_seen=len(experts),
        left_out=_newcomers(experts, numbers, values),
    )


def _newcomers(experts: StagedIndex, numbers: StagedIndex, values: StagedIndex) -> Newcomers:
    """Return what closed indices have left out."""
    attributes: dict[bool, list[Any]] = {False: [], True: []}
    for name in numbers.left_out | values.left_out:
        attributes[isinstance(name, tuple) and len(name) == 2].append(name)
    return Newcomers(list(experts.left_out), attributes[False], attributes[True])


def _to_table(data: Any, what: str) -> Any:
    """Return Triplets, DictRows, a sparse matrix, a narwhals frame or an array."""
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
        mappings = [kind for kind in set(map(type, data)) if issubclass(kind, Mapping)]
        dicts = sum(type(row) in mappings for row in data) if mappings else 0
        if dicts and dicts == len(data):
            return DictRows(data)
        if dicts:
            raise ValueError(f"{what} must be dicts for all items or for none (got {dicts} of {len(data)})")
        if not len(data):
            return np.empty((0, 0), np.int32)
    elif not isinstance(data, np.ndarray):
        from linmax.inputs import frames  # imports narwhals, which arrays do not need

        frame = frames.to_frame(data, what)
        if frame is not None:
            return frame
        if frames.to_series(data) is not None:
            raise _dimension_error(what)
    array = to_array(data, what)
    if array.ndim == 1 and isinstance(data, list | tuple):
        raise _item_error(data, what)
    if array.ndim == 1:
        raise _dimension_error(what)
    if array.ndim != 2 and (array.ndim, what) != (3, "votes"):
        raise ValueError(f"{what} must have {SHAPES[what]} (got shape {array.shape})")
    return array


def _length(table: Any) -> int:
    """Return the number of items of a table."""
    if isinstance(table, Triplets):
        return count_items(table)
    return len(table) if isinstance(table, DictRows) else int(table.shape[0])


def _common_length(sizes: dict[str, int], labels: Sized | None) -> int:
    if labels is not None:
        sizes = {**sizes, "labels": len(labels)}
    (first, trials), *others = sizes.items() or [("votes", 0)]
    for what, size in others:
        if size != trials:
            raise ValueError(f"{first} have {trials} items but {what} have {size}; pass one row per item")
    return trials


def _encode(
    coded: CodedArray | Dense | VoteEntries | None,
    truth: CodedArray | None,
    trials: int,
    classes: NameIndex,
    on_new_class: str,
) -> tuple[Hard | Dense | Sparse | None, ClassCodes]:
    if isinstance(coded, Dense):
        return _encode_scores(coded.values, truth, classes, on_new_class)
    if isinstance(coded, VoteEntries):
        votes = CodedVotes(coded.label, coded.row)
    else:
        votes = CodedVotes(all_missing((trials, 0)) if coded is None else coded, None)
    _check_kinds(classes, votes.cells, truth)
    encoded = encode_classes(votes, truth, trials, classes, on_new_class)
    if isinstance(coded, VoteEntries):
        return to_sparse(coded, encoded.votes, trials), encoded
    return None if coded is None else Hard(encoded.votes), encoded


def _encode_scores(
    values: NDArray[np.float64], truth: CodedArray | None, classes: NameIndex, on_new_class: str
) -> tuple[Dense, ClassCodes]:
    """Encode an array of scores: its classes are the known ones or, if there are none, 0, 1, ..."""
    ignored = 0
    scored = classes
    if not len(classes) and values.shape[2]:
        if truth is not None and any(isinstance(name, str | bool) for name in truth.present):
            raise ValueError(f"votes score {values.shape[2]} classes without naming them; pass classes=")
        if on_new_class == "error":
            raise unknown_class_error(0, classes)
        if on_new_class == "ignore":
            ignored = int(np.count_nonzero(values.any(axis=2)))
            values = np.zeros((*values.shape[:2], 0))
        scored = NameIndex(range(values.shape[2]), what="class")
        check_one_kind([classes.sample, ("votes", scored.names)])
    cells = all_missing((len(values), 0))
    _check_kinds(scored, cells, truth)
    encoded = encode_classes(CodedVotes(cells, None), truth, len(values), scored, on_new_class)
    encoded = encoded._replace(ignored=encoded.ignored + ignored)
    if scored is not classes and (encoded.labels >= 0).any():
        encoded = encoded._replace(new=[*scored.names, *encoded.new])
    elif scored is not classes:
        unknown = no_unknown_classes()._replace(in_all_rows=tuple(scored.names))
        encoded = encoded._replace(unknown_classes=unknown)
    return Dense(values), encoded


def _check_kinds(classes: NameIndex, votes: CodedArray, labels: CodedArray | None) -> None:
    samples = [classes.sample, ("votes", votes.present)]
    check_one_kind([*samples, ("labels", [] if labels is None else labels.present)])


def _item_error(items: Any, what: str) -> ValueError:
    """Return the error for items that are neither dicts nor lists."""
    one = "expert" if what == "votes" else "attribute"
    hint = f"; write [{what}] for one item" if len(items) > 1 else ""
    got = describe(items[0])
    return ValueError(
        f"{what} of an item must be a dict, or a list in the order of the {one}s (got {got}){hint}"
    )


def _dimension_error(what: str) -> ValueError:
    one = "expert" if what == "votes" else "attribute"
    return ValueError(
        f"{what} must have {SHAPES[what]} (got 1 dimension);"
        f" use {what}[:, None] for one {one} or {what}[None, :] for one item"
    )
