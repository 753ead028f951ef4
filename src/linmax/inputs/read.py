"""What was handed in: an array, a data frame, triplets or dicts; and how many items it has."""

from collections.abc import Mapping, Set, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.attributes import read_nominal, read_rows
from linmax.inputs.batch import Batch
from linmax.inputs.classes import (
    DEFAULT,
    NEW_CLASS,
    ClassCodes,
    VoteCells,
    discover,
    no_unknown_classes,
    read_abstain,
    unknown_class_error,
)
from linmax.inputs.dicts import ClassEncoder, DictRows, read_dicts
from linmax.inputs.encode import CodedArray, brief, column, column_names, silent, to_array
from linmax.inputs.names import NameIndex, Names, StagedIndex, check_one_kind
from linmax.inputs.votes import Triplets, VoteEntries, count, read_votes, to_sparse
from linmax.kernels.forms import Dense, Hard, Sparse

SHAPES = {
    "votes": "one row per item and one column per expert",
    "attributes": "one row per item and one column per attribute",
}


def table(data: Any, what: str) -> Any:
    """Recognise a table: Triplets, DictRows, a sparse matrix, a narwhals frame or an array."""
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
            return DictRows(data)
        if dicts:
            raise ValueError(f"{what} must be dicts for all items or for none (got {dicts} of {len(data)})")
        if not len(data):
            return np.empty((0, 0), np.int32)
    elif not isinstance(data, np.ndarray):
        from linmax.inputs import frames  # narwhals takes a while to import, and arrays do without it

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
    return len(source) if isinstance(source, DictRows) else int(source.shape[0])


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


NEEDS = {"votes": "votes", "rows": "attributes", "nominal": "attributes"}


def read(
    votes: Any,
    labels: Any,
    attributes: Any,
    rolls: Names,
    *,
    needs: Set[str] = frozenset({"votes"}),
    on_new_class: str = "add",
    abstain: Any = DEFAULT,
) -> Batch:
    """Read what a learner needs ("votes", "rows" of numbers, "nominal" attributes) into plain arrays.

    Nothing is changed: the rolls are only looked at, and the batch says who is new. Labels may be missing,
    one by one or (None) all together; what is said in such a trial makes no class known.

    >>> rolls = Names()
    >>> batch = read([["ham", "spam"], ["eggs", None]], ["spam", "tea"], None, rolls)
    >>> batch.votes.codes.tolist(), batch.labels.tolist(), batch.new_classes
    ([[0, 1], [2, -1]], [1, 3], ['ham', 'spam', 'eggs', 'tea'])
    >>> batch.known.tolist()  # tea is novel: it was unknown when its trial was scored
    [2, 3]
    >>> rolls.classes.extend(batch.new_classes)
    >>> later = read([{0: "tea", 7: {"milk": 0.5}}], None, None, rolls)
    >>> later.votes.label.tolist(), later.unknown_classes.name(0, 4), later.new_classes, later.new_experts
    ([3, 4], 'milk', [], [0, 7])
    """
    if on_new_class not in NEW_CLASS:
        raise ValueError(f'on_new_class must be "add", "error" or "ignore" (got {on_new_class!r})')
    given = {"votes": votes, "attributes": attributes}
    for need in sorted(needs):
        if given[NEEDS[need]] is None:
            raise ValueError(f"this learner needs {NEEDS[need]}; pass {NEEDS[need]}=")
    sources = {what: table(data, what) for what, data in given.items() if data is not None}
    sizes = {what: length(source) for what, source in sources.items()}
    classes, experts = rolls.classes, StagedIndex(rolls.experts)
    ballot = sources["votes"] if "votes" in needs else None
    form: Hard | Dense | Sparse | None
    if isinstance(ballot, DictRows):
        names = None if labels is None else column_names(labels, "labels")
        trials = _agreed(sizes, names)
        silence = read_abstain(abstain, classes, names)
        form, found = read_dicts(ballot, names, experts, silence, ClassEncoder(classes, on_new_class))
    else:
        truth = None if labels is None else column(labels, "labels")
        trials = _agreed(sizes, None if truth is None else truth.codes)
        silence = read_abstain(abstain, classes, truth)
        cast = None if ballot is None else read_votes(ballot, experts, classes, silence)
        form, found = _decide(cast, truth, trials, classes, on_new_class)

    numbers, values = StagedIndex(rolls.attributes), StagedIndex(rolls.values)
    return Batch(
        trials=trials,
        votes=form,
        rows=read_rows(sources["attributes"], numbers) if "rows" in needs else None,
        nominal=read_nominal(sources["attributes"], values) if "nominal" in needs else None,
        labels=found.labels,
        known=found.known,
        new_classes=found.new,
        new_experts=experts.new,
        new_attributes=numbers.new,
        new_values=values.new,
        unknown_classes=found.unknown_classes,
        ignored=found.ignored,
        classes_seen=max(len(classes) + len(found.new), int(found.known.max(initial=0))),
        experts_seen=len(experts),
    )


def _agreed(sizes: dict[str, int], labels: Sized | None) -> int:
    if labels is not None:
        sizes = {**sizes, "labels": len(labels)}
    (first, trials), *others = sizes.items() or [("votes", 0)]
    for what, size in others:
        if size != trials:
            raise ValueError(f"{first} have {trials} items but {what} have {size}")
    return trials


def _decide(
    cast: CodedArray | Dense | VoteEntries | None,
    truth: CodedArray | None,
    trials: int,
    classes: NameIndex,
    on_new_class: str,
) -> tuple[Hard | Dense | Sparse | None, ClassCodes]:
    if isinstance(cast, Dense):
        return _scored(cast.values, truth, classes, on_new_class)
    if isinstance(cast, VoteEntries):
        said = VoteCells(cast.label, cast.row)
    else:
        said = VoteCells(silent((trials, 0)) if cast is None else cast, None)
    _demand_one_kind(classes, said.cells, truth)
    found = discover(said, truth, trials, classes, on_new_class)
    if isinstance(cast, VoteEntries):
        return to_sparse(cast, found.votes, trials), found
    return None if cast is None else Hard(found.votes), found


def _scored(
    values: NDArray[np.float64], truth: CodedArray | None, classes: NameIndex, on_new_class: str
) -> tuple[Dense, ClassCodes]:
    """Scores name no classes: they are those of the roll or, if it is empty, 0, 1, ... from the start."""
    ignored = 0
    announced = classes
    if not len(classes) and values.shape[2]:
        if truth is not None and any(isinstance(name, str | bool) for name in truth.present):
            raise ValueError(f"votes score {values.shape[2]} classes without naming them; pass classes=")
        if on_new_class == "error":
            raise unknown_class_error(0, classes)
        if on_new_class == "ignore":
            ignored = int(np.count_nonzero(values.any(axis=2)))
            values = np.zeros((*values.shape[:2], 0))
        announced = NameIndex(range(values.shape[2]), what="class")
    said = silent((len(values), 0))
    _demand_one_kind(announced, said, truth)
    found = discover(VoteCells(said, None), truth, len(values), announced, on_new_class)
    found = found._replace(ignored=found.ignored + ignored)
    if announced is not classes and (found.labels >= 0).any():
        found = found._replace(new=[*announced.names, *found.new])
    elif announced is not classes:
        found = found._replace(
            unknown_classes=no_unknown_classes()._replace(everywhere=tuple(announced.names))
        )
    return Dense(values), found


def _demand_one_kind(classes: NameIndex, votes: CodedArray, labels: CodedArray | None) -> None:
    kinds = [("classes", classes.names[:1]), ("votes", votes.present)]
    check_one_kind([*kinds, ("labels", [] if labels is None else labels.present)])
