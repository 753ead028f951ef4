"""One item at a time, in microseconds: buffers that stay, and the kernel called with no look-up.

Only what is known already goes this way; a new name, an odd value or an error takes the general path, which
knows them all.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from linmax import _jit
from linmax.ballots.abstain import quiet
from linmax.ballots.limits import LARGEST, SMALLEST
from linmax.forms import Sparse, SparseRows
from linmax.techniques.council import Council
from linmax.techniques.desk import Desk
from linmax.techniques.records import MISTAKES, TRIALS

PREDICT = -1


class SurpriseError(Exception):
    """This item must take the general path."""


class Single:
    """The fast path of a council, for as long as its names and its room stay as they are."""

    def __init__(self, council: Council, abstain: Any) -> None:
        names = council.names
        silence = quiet(abstain, names.classes, None)
        self.version = (council.version, _jit.interpreting())
        self.columns = names.experts.codes
        self.labels: dict[Any, int] = names.classes.codes
        self.codes = dict.fromkeys((None, *silence.names), -1) | names.classes.codes
        for name in silence.contested:  # the general path complains of these
            self.codes.pop(name, None)
        self.whole = type(names.classes.names[0]) is int
        self.panel: tuple[Any, ...] | None = None
        self.attributes = names.attributes.codes
        self.cells = 4 * max(8, len(names.experts)) * max(1, min(len(names.classes), 4))
        self.wide = 4 * max(8, len(names.attributes))
        self.votes = Sparse(
            np.zeros(2, dtype=np.int64),
            np.zeros(self.cells, dtype=np.int32),
            np.zeros(self.cells, dtype=np.int32),
            np.ones(self.cells),
        )
        self.rows = SparseRows(
            np.zeros(2, dtype=np.int64), np.zeros(self.wide, dtype=np.int32), np.zeros(self.wide)
        )
        self.ones = True
        self.desk = Desk(council, self.votes, self.rows)
        self.label, self.guess = self.desk.label, self.desk.guess
        self.counts = None if council.solo else council.counts  # a single engine counts by itself

    def trial(self, votes: Any, attributes: Any, label: Any) -> int:
        """Guess an item and, unless the label is None, learn it; the guess as a code."""
        if votes is not None:
            self._write(votes)
        if attributes is not None:
            self._write_attributes(attributes)
        y = PREDICT if label is None else self._code(label)
        self.label[0] = y
        self.desk.run()
        guess: int = self.guess.item()
        if self.counts is not None and y >= 0:
            self.counts[TRIALS] += 1
            self.counts[MISTAKES] += guess != y
        return guess

    def _code(self, label: Any) -> int:
        if self.whole and type(label) is bool:
            raise SurpriseError
        return self.labels[label]

    def _write(self, votes: dict[Any, Any]) -> None:
        """Labels, experts in the order of the roll; the same panel again costs one look at its names."""
        panel = tuple(votes)
        try:
            labels = list(map(self.codes.__getitem__, votes.values()))
            if self.whole and bool in map(type, votes.values()):
                raise SurpriseError  # True is not 1 here, though it is to a dict
            if panel != self.panel:
                self._seat(panel)
        except (KeyError, TypeError):
            self._write_scores(votes)
            return
        if not self.ones:
            self.votes.value.fill(1.0)
            self.ones = True
        self.votes.label[: len(labels)] = labels

    def _seat(self, panel: tuple[Any, ...]) -> None:
        experts = [self.columns[name] for name in panel]
        if len(experts) > self.cells or any(map(operator.gt, experts, experts[1:])):
            raise TypeError
        self.panel = panel
        self.votes.indptr[1] = len(experts)
        self.votes.expert[: len(experts)] = experts

    def _write_scores(self, votes: dict[Any, Any]) -> None:
        """The same when experts come in another order, or give scores."""
        cells: list[tuple[int, int, float]] = []
        try:
            for name, vote in votes.items():
                expert = self.columns[name]
                if isinstance(vote, dict):
                    cells.extend(
                        (expert, _known(self.codes[label]), _fit(x)) for label, x in vote.items() if x != 0
                    )
                elif self.codes[vote] >= 0:
                    cells.append((expert, self.codes[vote], 1.0))
        except (KeyError, TypeError):
            raise SurpriseError from None
        if len(cells) > self.cells:
            raise SurpriseError
        self.ones = False
        self.panel = None
        cells.sort()
        self.votes.indptr[1] = len(cells)
        for at, (expert, label, x) in enumerate(cells):
            self.votes.expert[at], self.votes.label[at], self.votes.value[at] = expert, label, x

    def _write_attributes(self, attributes: dict[Any, Any]) -> None:
        cells: list[tuple[int, float]] = []
        try:
            for name, value in attributes.items():
                if isinstance(value, str):
                    cells.append((self.attributes[name, value], 1.0))
                elif value != 0:
                    cells.append((self.attributes[name], _fit(value)))
        except (KeyError, TypeError):
            raise SurpriseError from None
        if len(cells) > self.wide:
            raise SurpriseError
        cells.sort()
        self.rows.indptr[1] = len(cells)
        for at, (attribute, value) in enumerate(cells):
            self.rows.index[at], self.rows.value[at] = attribute, value


def _fit(value: Any) -> float:
    """A number that needs no comment; the general path has something to say about all others."""
    if type(value) is not float and type(value) is not int:
        raise SurpriseError
    if not SMALLEST <= abs(value) <= LARGEST:
        raise SurpriseError
    return float(value)


def _known(label: int) -> int:
    if label < 0:
        raise SurpriseError
    return label
