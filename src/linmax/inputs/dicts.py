"""Votes as a dict per item: read one by one, for they mostly come one by one."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from linmax.inputs.classes import (
    Abstentions,
    ClassCodes,
    UnknownClasses,
    no_unknown_classes,
    unknown_class_error,
)
from linmax.inputs.names import Label, NameIndex, StagedIndex, check_one_kind, to_label
from linmax.inputs.numbers import NUMBERS, fitting, number, score_error
from linmax.kernels.forms import Sparse

Vote = tuple[int, Label, float]  # expert, class, value
Entry = tuple[int, int, float]  # expert, code of the class, value
PLAIN = (str, int, bool)  # such a vote is a label as it is

_expert = itemgetter(0)


class DictRows(list[Mapping[Any, Any]]):
    """A dict per item."""


def read_dicts(
    dicts: DictRows,
    labels: Sequence[Label | None] | None,
    experts: StagedIndex,
    quiet: Abstentions,
    desk: "ClassEncoder",
) -> tuple[Sparse, ClassCodes]:
    """Read dicts {expert: label} or {expert: {class: score}}, trial by trial.

    >>> votes = DictRows([{"ann": "a", "bob": {"b": 0.5}}, {"ann": "b"}])
    >>> desk = ClassEncoder(NameIndex(what="class"), "add")
    >>> sparse, found = read_dicts(votes, ["c", None], StagedIndex(NameIndex()), Abstentions(()), desk)
    >>> sparse.expert.tolist(), sparse.label.tolist(), sparse.value.tolist(), sparse.indptr.tolist()
    ([0, 1, 0], [0, 1, 1], [1.0, 0.5, 1.0], [0, 2, 3])
    >>> found.labels.tolist(), found.known.tolist(), found.new
    ([2, -1], [2, 3], ['a', 'b', 'c'])
    """
    indptr, expert, label, value = [0], list[int](), list[int](), list[float]()
    for t, ballot in enumerate(dicts):
        votes = _votes(t, ballot, experts, quiet)
        for i, code, x in desk.admit(t, votes, None if labels is None else labels[t]):
            expert.append(i)
            label.append(code)
            value.append(x)
        indptr.append(len(value))
    found = desk.discovery(np.array(label, np.int32))
    sparse = Sparse(
        np.array(indptr, np.int64), np.array(expert, np.int32), found.votes, np.array(value, np.float64)
    )
    return sparse, found


def _votes(item: int, ballot: Mapping[Any, Any], experts: StagedIndex, quiet: Abstentions) -> list[Vote]:
    """The votes of one item that say something, by expert."""
    votes: list[Vote] = []
    seats = experts.roll.codes
    for name, vote in ballot.items():
        expert = seats[name] if name in seats else experts.code(name)
        kind = type(vote)
        if kind is dict or (kind not in PLAIN and isinstance(vote, Mapping)):
            for said, score in vote.items():
                label, value = to_label(said, "votes"), _number(score, item, name, said)
                if label is not None and value:
                    votes.append((expert, label, value))
        else:
            label = vote if kind in PLAIN else to_label(vote, "votes")
            if label is not None and not (label in quiet.names and quiet.silences(label)):
                votes.append((expert, label, 1.0))
    votes.sort(key=_expert)
    return votes


def _number(score: Any, item: int, expert: Any, label: Any) -> float:
    value = fitting(number(score)) if isinstance(score, NUMBERS) else None
    if value is None:
        raise score_error(item, expert, label, score)
    return value


class ClassEncoder:
    """Where classes report, trial by trial, and get their codes."""

    def __init__(self, classes: NameIndex, on_new_class: str) -> None:
        self.classes, self.on_new_class = classes, on_new_class
        self._fresh: dict[Label, int] = {}
        self._samples: dict[str, list[Label]] = {"classes": classes.names[:1], "votes": [], "labels": []}
        self._kind: type | None = type(classes.names[0]) if len(classes) else None
        self._labels: list[int] = []
        self._known: list[int] = []
        self._strangers: list[tuple[int, int, Label]] = []
        self._ignored = 0

    def admit(self, trial: int, votes: list[Vote], label: Label | None) -> list[Entry]:
        """Give the classes of one trial their codes."""
        if label is not None and self.on_new_class == "ignore" and self.classes.get(label) < 0:
            self._check(label, "labels")
            self._ignored += 1
            label = None
        unknown_classes: dict[Label, int] = {}
        entries: list[Entry] = []
        codes, fresh = self.classes.codes, self._fresh
        for expert, name, value in votes:
            if type(name) is not self._kind:
                self._check(name, "votes")
            code = codes[name] if name in codes else fresh.get(name, -1)
            if code < 0 and self.on_new_class == "ignore":
                self._ignored += 1
                continue
            if code < 0:
                code = self._seat(name, unknown_classes) if label is None else self._add(name)
            entries.append((expert, code, value))
        entries.sort()
        self._known.append(len(self.classes) + len(self._fresh) + len(unknown_classes))
        self._strangers += [(trial, code, name) for name, code in unknown_classes.items()]
        code = -1
        if label is not None:
            self._check(label, "labels")
            code = self._code(label)
            code = self._add(label) if code < 0 else code
        self._labels.append(code)
        return entries

    def discovery(self, votes: Any) -> ClassCodes:
        """What was found out."""
        unknown_classes = no_unknown_classes()
        if self._strangers:
            row, code, names = zip(*self._strangers, strict=True)
            which = np.arange(len(names))
            unknown_classes = UnknownClasses(
                np.array(row, np.int64), np.array(code, np.int64), which, list(names)
            )
        labels, known = np.array(self._labels, np.int32), np.array(self._known, np.int32)
        return ClassCodes(votes, labels, known, list(self._fresh), unknown_classes, self._ignored)

    def _code(self, name: Label) -> int:
        code = self.classes.codes.get(name, -1)
        return code if code >= 0 else self._fresh.get(name, -1)

    def _add(self, name: Label) -> int:
        if self.on_new_class == "error":
            raise unknown_class_error(name, self.classes)
        return self._fresh.setdefault(name, len(self.classes) + len(self._fresh))

    def _seat(self, name: Label, unknown_classes: dict[Label, int]) -> int:
        if self.on_new_class == "error":
            raise unknown_class_error(name, self.classes)
        return unknown_classes.setdefault(name, len(self.classes) + len(self._fresh) + len(unknown_classes))

    def _check(self, name: Label, where: str) -> None:
        if self._kind is None:
            self._kind, self._samples[where] = type(name), [name]
        elif type(name) is not self._kind:
            check_one_kind({**self._samples, where: [*self._samples[where], name]}.items())
