"""The rules by which votes become codes, as slowly and plainly as possible: item by item, vote by vote."""

import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from linmax import inputs
from linmax.inputs import Batch, Hard, NameIndex, Names, Rows, Sparse


class Expected(NamedTuple):
    votes: list[set]  # per trial: {(expert, class, value)}, all codes
    labels: list[int]
    known: list[int]
    new_classes: list
    new_experts: list
    unknown_classes: dict  # {(trial, code): class}
    ignored: int


def read(items, labels, classes, experts, on_new_class="add") -> Expected:
    """Items are lists of (expert, {class: value}); an expert without classes abstains."""
    classes, experts = list(classes), list(experts)
    were, had = len(classes), len(experts)
    result = Expected([], [], [], [], [], {}, 0)
    ignored = 0
    for t, item in enumerate(items):
        label = None if labels is None else labels[t]
        if on_new_class == "ignore" and label is not None and label not in classes[:were]:
            label, ignored = None, ignored + 1
        for expert, _ in item:
            if expert not in experts:
                experts.append(expert)
        votes, local = set(), list(classes)
        for expert, scores in sorted(item, key=lambda vote: experts.index(vote[0])):
            for name, value in scores.items():
                if value == 0:
                    continue
                if name not in local:
                    if on_new_class == "error":
                        raise ValueError(name)
                    if on_new_class == "ignore":
                        ignored += 1
                        continue
                    local.append(name)
                votes.add((experts.index(expert), local.index(name), float(value)))
        if label is None:
            result.unknown_classes.update({(t, c): local[c] for c in range(len(classes), len(local))})
        else:
            classes = local
        result.votes.append(votes)
        result.known.append(len(local))
        if label is not None and label not in classes:
            if on_new_class == "error":
                raise ValueError(label)
            classes.append(label)
        result.labels.append(-1 if label is None else classes.index(label))
    return result._replace(new_classes=classes[were:], new_experts=experts[had:], ignored=ignored)


def seen(batch: Batch) -> Expected:
    """The same things, out of a batch."""
    unknown_classes = {
        (int(row), int(code)): batch.unknown_classes.name(int(row), int(code))
        for row, code in zip(batch.unknown_classes.row, batch.unknown_classes.code, strict=True)
    }
    return Expected(
        votes(batch), batch.labels.tolist(), batch.known.tolist(), batch.new_classes, batch.new_experts,
        unknown_classes, batch.ignored,
    )  # fmt: skip


def votes(batch: Batch) -> list[set]:
    form = batch.votes
    if isinstance(form, Hard):
        return [{(i, c, 1.0) for i, c in enumerate(row) if c >= 0} for row in form.codes.tolist()]
    assert isinstance(form, Sparse)
    entries = list(zip(form.expert.tolist(), form.label.tolist(), form.value.tolist(), strict=True))
    return [set(entries[a:b]) for a, b in pairwise(form.indptr)]


def well_made(batch: Batch) -> None:
    """What every kernel relies on."""
    assert batch.labels.dtype == batch.known.dtype == np.int32
    assert len(batch.labels) == len(batch.known) == batch.trials
    for arrays in (batch.votes, batch.rows, batch.nominal):
        for array in arrays or ():
            assert array.flags.c_contiguous
            assert array.flags.writeable
    if isinstance(batch.votes, Hard):
        assert batch.votes.codes.dtype in (np.int8, np.int32)
        assert batch.votes.codes.shape == (batch.trials, batch.experts_seen)
    if isinstance(batch.votes, Sparse):
        indptr, expert, label, value = batch.votes
        assert [array.dtype for array in batch.votes] == [np.int64, np.int32, np.int32, np.float64]
        assert len(indptr) == batch.trials + 1
        assert indptr[0] == 0
        assert indptr[-1] == len(expert) == len(label) == len(value)
        assert value.all()
        for a, b in pairwise(indptr):
            entries = list(zip(expert[a:b].tolist(), label[a:b].tolist(), strict=True))
            assert entries == sorted(set(entries))
    for entries in votes(batch) if isinstance(batch.votes, Hard | Sparse) else ():
        assert all(i < batch.experts_seen and c < batch.classes_seen for i, c, _ in entries)
    assert batch.known.max(initial=0) <= batch.classes_seen


def fresh(classes: Any = (), experts: Any = (), attributes: Any = (), values: Any = ()) -> Names:
    return Names(
        NameIndex(classes, what="class"), NameIndex(experts, what="expert"),
        NameIndex(attributes, what="attribute"), NameIndex(values, what="value"),
    )  # fmt: skip


def commit(names: Names, batch: Batch) -> None:
    """Do as a learner does after it has read a batch."""
    names.classes.extend(batch.new_classes)
    names.experts.extend(batch.new_experts)
    names.attributes.extend(batch.new_attributes)
    names.values.extend(batch.new_values)


def rows_of(attributes, met=None, labels=None):
    batch = inputs.read(None, labels, attributes, fresh() if met is None else met, needs={"rows"})
    well_made(batch)
    return batch


def spelled_out(batch, met=None):
    """Each row as {attribute: value}, without zeros."""
    names = [*(met.attributes.names if met else []), *batch.new_attributes]
    if isinstance(batch.rows, Rows):
        return [{names[i]: x for i, x in enumerate(row) if x} for row in batch.rows.values.tolist()]
    indptr, index, value = batch.rows
    assert index.dtype == np.int32
    assert value.all()
    spelled = []
    for t in range(batch.trials):
        mine = index[indptr[t] : indptr[t + 1]].tolist()
        assert mine == sorted(set(mine))
        values = value[indptr[t] : indptr[t + 1]].tolist()
        spelled.append({names[i]: x for i, x in zip(mine, values, strict=True)})
    return spelled


def refuses(message, votes, labels=None, attributes=None, met=None, **options):
    met = fresh() if met is None else met
    sizes = [len(index) for index in (met.classes, met.experts, met.attributes, met.values)]
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        inputs.read(votes, labels, attributes, met, **options)
    assert str(caught.value) == message
    assert [len(index) for index in (met.classes, met.experts, met.attributes, met.values)] == sizes
