"""Votes, labels and attributes as they come, read into one batch."""

from collections.abc import Set, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.abstain import DEFAULT, quiet
from linmax.ballots.attributes import read_rows
from linmax.ballots.batch import Batch
from linmax.ballots.cells import Cells, silent
from linmax.ballots.columns import column, column_names
from linmax.ballots.dicts import Desk, Dicts, read_dicts
from linmax.ballots.discover import NEW_CLASS, Discovery, Said, discover, stranger_error
from linmax.ballots.entries import Entries, to_sparse
from linmax.ballots.names import one_kind
from linmax.ballots.nominal import read_nominal
from linmax.ballots.roll import Peek, Roll, Rolls
from linmax.ballots.sources import length, table
from linmax.ballots.strangers import nobody
from linmax.ballots.votes import read_votes
from linmax.forms import Dense, Hard, Sparse

NEEDS = {"votes": "votes", "rows": "attributes", "nominal": "attributes"}


def read(
    votes: Any,
    labels: Any,
    attributes: Any,
    rolls: Rolls,
    *,
    needs: Set[str] = frozenset({"votes"}),
    on_new_class: str = "add",
    abstain: Any = DEFAULT,
) -> Batch:
    """Read what a learner needs ("votes", "rows" of numbers, "nominal" attributes) into plain arrays.

    Nothing is changed: the rolls are only looked at, and the batch says who is new. Labels may be missing,
    one by one or (None) all together; what is said in such a trial makes no class known.

    >>> rolls = Rolls()
    >>> batch = read([["ham", "spam"], ["eggs", None]], ["spam", "tea"], None, rolls)
    >>> batch.votes.codes.tolist(), batch.labels.tolist(), batch.new_classes
    ([[0, 1], [2, -1]], [1, 3], ['ham', 'spam', 'eggs', 'tea'])
    >>> batch.known.tolist()  # tea is novel: it was unknown when its trial was scored
    [2, 3]
    >>> rolls.classes.extend(batch.new_classes)
    >>> later = read([{0: "tea", 7: {"milk": 0.5}}], None, None, rolls)
    >>> later.votes.label.tolist(), later.strangers.name(0, 4), later.new_classes, later.new_experts
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
    classes, experts = rolls.classes, Peek(rolls.experts)
    ballot = sources["votes"] if "votes" in needs else None
    form: Hard | Dense | Sparse | None
    if isinstance(ballot, Dicts):
        names = None if labels is None else column_names(labels, "labels")
        trials = _agreed(sizes, names)
        silence = quiet(abstain, classes, names)
        form, found = read_dicts(ballot, names, experts, silence, Desk(classes, on_new_class))
    else:
        truth = None if labels is None else column(labels, "labels")
        trials = _agreed(sizes, None if truth is None else truth.codes)
        silence = quiet(abstain, classes, truth)
        cast = None if ballot is None else read_votes(ballot, experts, classes, silence)
        form, found = _decide(cast, truth, trials, classes, on_new_class)

    numbers, values = Peek(rolls.attributes), Peek(rolls.values)
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
        strangers=found.strangers,
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
    cast: Cells | Dense | Entries | None, truth: Cells | None, trials: int, classes: Roll, on_new_class: str
) -> tuple[Hard | Dense | Sparse | None, Discovery]:
    if isinstance(cast, Dense):
        return _scored(cast.values, truth, classes, on_new_class)
    if isinstance(cast, Entries):
        said = Said(cast.label, cast.row)
    else:
        said = Said(silent((trials, 0)) if cast is None else cast, None)
    _demand_one_kind(classes, said.cells, truth)
    found = discover(said, truth, trials, classes, on_new_class)
    if isinstance(cast, Entries):
        return to_sparse(cast, found.votes, trials), found
    return None if cast is None else Hard(found.votes), found


def _scored(
    values: NDArray[np.float64], truth: Cells | None, classes: Roll, on_new_class: str
) -> tuple[Dense, Discovery]:
    """Scores name no classes: they are those of the roll or, if it is empty, 0, 1, ... from the start."""
    ignored = 0
    announced = classes
    if not len(classes) and values.shape[2]:
        if truth is not None and any(isinstance(name, str | bool) for name in truth.present):
            raise ValueError(f"votes score {values.shape[2]} classes without naming them; pass classes=")
        if on_new_class == "error":
            raise stranger_error(0, classes)
        if on_new_class == "ignore":
            ignored = int(np.count_nonzero(values.any(axis=2)))
            values = np.zeros((*values.shape[:2], 0))
        announced = Roll(range(values.shape[2]), what="class")
    said = silent((len(values), 0))
    _demand_one_kind(announced, said, truth)
    found = discover(Said(said, None), truth, len(values), announced, on_new_class)
    found = found._replace(ignored=found.ignored + ignored)
    if announced is not classes and (found.labels >= 0).any():
        found = found._replace(new=[*announced.names, *found.new])
    elif announced is not classes:
        found = found._replace(strangers=nobody()._replace(everywhere=tuple(announced.names)))
    return Dense(values), found


def _demand_one_kind(classes: Roll, votes: Cells, labels: Cells | None) -> None:
    kinds = [("classes", classes.names[:1]), ("votes", votes.present)]
    one_kind([*kinds, ("labels", [] if labels is None else labels.present)])
