"""Votes one after the other become sparse votes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.abstain import Quiet
from linmax.ballots.cells import Cells, Codes, gather, plainly
from linmax.ballots.limits import beyond, score_error, within
from linmax.ballots.roll import Peek
from linmax.forms import Sparse


class Entries(NamedTuple):
    """Votes in the order in which they were given."""

    row: NDArray[np.int64]
    expert: NDArray[np.int64]
    label: Cells
    value: NDArray[np.float64]
    hard: bool  # each is a label that was named, not a score

    def take(self, places: NDArray[Any]) -> "Entries":
        """Some of the entries, in the order of places."""
        label = self.label._replace(codes=self.label.codes[places])
        return Entries(self.row[places], self.expert[places], label, self.value[places], self.hard)


def tidy(entries: Entries, experts: Peek, quiet: Quiet) -> Entries:
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


def to_sparse(entries: Entries, label: Codes, trials: int) -> Sparse:
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
