"""Votes as one dict per item, encoded item by item, because they mostly come one at a time."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from linmax.inputs.abstain import Abstentions
from linmax.inputs.classes import ClassCodes, UnknownClasses, no_unknown_classes, unknown_class_error
from linmax.inputs.names import Label, NameIndex, StagedIndex, check_one_kind, to_label
from linmax.inputs.numbers import SCORE_TYPES, limit_number, score_error, to_float
from linmax.kernels.forms import Sparse

Vote = tuple[int, Label, float]  # expert, class, value
Entry = tuple[int, int, float]  # expert, code of the class, value
LABEL_TYPES = (str, int, bool)  # a vote of exactly such a type is a label already

_expert = itemgetter(0)


class DictRows(list[Mapping[Any, Any]]):
    """A list of dicts, one per item."""


class ClassEncoder:
    """Encode the classes of votes and labels trial by trial.

    Parameters
    ----------
    classes : NameIndex
        The known classes. It is not changed.
    on_new_class : {"add", "error", "ignore"}
        What to do with a class that is not known.
    """

    def __init__(self, classes: NameIndex, on_new_class: str) -> None:
        self.classes, self.on_new_class = classes, on_new_class
        self._new: dict[Label, int] = {}
        where, known = classes.sample
        self._samples: dict[str, list[Label]] = {where: known, "votes": [], "labels": []}
        self._kind: type | None = type(known[0]) if known else None
        self._labels: list[int] = []
        self._known: list[int] = []
        self._unknown: list[tuple[int, int, Label]] = []
        self._ignored = 0

    def encode_trial(self, trial: int, votes: list[Vote], label: Label | None) -> list[Entry]:
        """Encode the votes and the label of one trial."""
        if label is not None and self.on_new_class == "ignore" and self.classes.get(label) < 0:
            self._check_kind(label, "labels")
            self._ignored += 1
            label = None
        unknown: dict[Label, int] = {}
        entries: list[Entry] = []
        codes, new = self.classes.codes, self._new
        for expert, name, value in votes:
            if type(name) is not self._kind:
                self._check_kind(name, "votes")
            code = codes[name] if name in codes else new.get(name, -1)
            if code < 0 and self.on_new_class == "ignore":
                self._ignored += 1
                continue
            if code < 0:
                code = self._add_unknown(name, unknown) if label is None else self._add(name)
            entries.append((expert, code, value))
        entries.sort()
        self._known.append(len(self.classes) + len(self._new) + len(unknown))
        self._unknown += [(trial, code, name) for name, code in unknown.items()]
        code = -1
        if label is not None:
            self._check_kind(label, "labels")
            code = self._find(label)
            code = self._add(label) if code < 0 else code
        self._labels.append(code)
        return entries

    def result(self, votes: Any) -> ClassCodes:
        """Return the codes of all trials, given those of the votes."""
        unknown = no_unknown_classes()
        if self._unknown:
            row, code, names = zip(*self._unknown, strict=True)
            which = np.arange(len(names))
            unknown = UnknownClasses(np.array(row, np.int64), np.array(code, np.int64), which, list(names))
        labels, known = np.array(self._labels, np.int32), np.array(self._known, np.int32)
        return ClassCodes(votes, labels, known, list(self._new), unknown, self._ignored)

    def _find(self, name: Label) -> int:
        code = self.classes.codes.get(name, -1)
        return code if code >= 0 else self._new.get(name, -1)

    def _add(self, name: Label) -> int:
        if self.on_new_class == "error":
            raise unknown_class_error(name, self.classes)
        return self._new.setdefault(name, len(self.classes) + len(self._new))

    def _add_unknown(self, name: Label, unknown: dict[Label, int]) -> int:
        if self.on_new_class == "error":
            raise unknown_class_error(name, self.classes)
        return unknown.setdefault(name, len(self.classes) + len(self._new) + len(unknown))

    def _check_kind(self, name: Label, where: str) -> None:
        if self._kind is None:
            self._kind, self._samples[where] = type(name), [name]
        elif type(name) is not self._kind:
            check_one_kind({**self._samples, where: [*self._samples[where], name]}.items())


def read_dicts(
    dicts: DictRows,
    labels: Sequence[Label | None] | None,
    experts: StagedIndex,
    abstentions: Abstentions,
    encoder: ClassEncoder,
) -> tuple[Sparse, ClassCodes]:
    """Read dicts {expert: label} or {expert: {class: score}}, trial by trial.

    >>> votes = DictRows([{"ann": "a", "bob": {"b": 0.5}}, {"ann": "b"}])
    >>> encoder = ClassEncoder(NameIndex(what="class"), "add")
    >>> sparse, encoded = read_dicts(votes, ["c", None], StagedIndex(NameIndex()), Abstentions(()), encoder)
    >>> sparse.expert.tolist(), sparse.label.tolist(), sparse.value.tolist(), sparse.indptr.tolist()
    ([0, 1, 0], [0, 1, 1], [1.0, 0.5, 1.0], [0, 2, 3])
    >>> encoded.labels.tolist(), encoded.known.tolist(), encoded.new
    ([2, -1], [2, 3], ['a', 'b', 'c'])
    """
    indptr, expert, label, value = [0], list[int](), list[int](), list[float]()
    for t, row in enumerate(dicts):
        votes = _votes_of_item(t, row, experts, abstentions)
        for i, code, x in encoder.encode_trial(t, votes, None if labels is None else labels[t]):
            expert.append(i)
            label.append(code)
            value.append(x)
        indptr.append(len(value))
    encoded = encoder.result(np.array(label, np.int32))
    sparse = Sparse(
        np.array(indptr, np.int64), np.array(expert, np.int32), encoded.votes, np.array(value, np.float64)
    )
    return sparse, encoded


def _votes_of_item(
    item: int, row: Mapping[Any, Any], experts: StagedIndex, abstentions: Abstentions
) -> list[Vote]:
    """Return the votes of one item that do not abstain, by expert."""
    votes: list[Vote] = []
    known = experts.index.codes
    for name, vote in row.items():
        expert = known[name] if name in known else experts.code(name)
        if expert < 0:
            continue
        kind = type(vote)
        if kind is dict or (kind not in LABEL_TYPES and isinstance(vote, Mapping)):
            for key, score in vote.items():
                label, value = to_label(key, "votes"), _score(score, item, name, key)
                if label is not None and value:
                    votes.append((expert, label, value))
        else:
            label = vote if kind in LABEL_TYPES else to_label(vote, "votes")
            if label is not None and not (label in abstentions.names and abstentions.includes(label)):
                votes.append((expert, label, 1.0))
    votes.sort(key=_expert)
    return votes


def _score(score: Any, item: int, expert: Any, label: Any) -> float:
    value = limit_number(to_float(score)) if isinstance(score, SCORE_TYPES) else None
    if value is None:
        raise score_error(item, expert, label, score)
    return value
