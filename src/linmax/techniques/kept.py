"""The latest labelled trials: recycling learns from them again, voting tests hypotheses on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linmax.experts.base import Data
from linmax.experts.tape import append, sparse, take
from linmax.forms import Sparse, SparseRows

FORMS: dict[str, Any] = {"votes": Sparse, "rows": SparseRows}


class Tape(NamedTuple):
    """Trials one after the other: kept ones, then new ones."""

    data: Data
    labels: np.ndarray
    known: np.ndarray
    held: int  # so many are kept ones

    def last(self, size: int) -> np.ndarray:
        """Where the latest labelled trials are."""
        tail = size  # most trials are labelled: it is enough to look at the latest
        while True:
            begin = max(len(self.labels) - tail, 0)
            labelled = begin + np.flatnonzero(self.labels[begin:] >= 0)
            if not begin or len(labelled) >= size:
                return labelled[max(len(labelled) - size, 0) :]
            tail *= 2


class Kept:
    """Votes, attributes and labels of the latest labelled trials, oldest first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = Data()
        self.labels = np.zeros(0, dtype=np.int32)

    def before(self, batch: Any, rows: slice) -> Tape:
        """What is kept, then these rows of a batch; before predictions alone nothing is put."""
        data, labels, known = Data(batch.votes, batch.rows), batch.labels[rows], batch.known[rows]
        if rows != slice(0, batch.trials):
            data = take(data, rows)
        held = len(self.labels)
        if not held or not bool((labels >= 0).any()):
            return Tape(data, labels, known, 0)
        return Tape(
            append(self.data, data),
            np.concatenate((self.labels, labels)),
            np.concatenate((np.zeros(held, dtype=np.int32), known)),
            held,
        )

    def take_in(self, tape: Tape) -> None:
        """Keep the latest of a tape."""
        if not self.size:
            return
        places = tape.last(self.size)
        if len(places):
            self.data = take(Data(tape.data.votes, tape.data.rows), places)
            self.labels = tape.labels[places]

    def state(self) -> dict[str, np.ndarray]:
        """As arrays."""
        state = {"kept.labels": self.labels}
        for name in FORMS:
            part = getattr(self.data, name)
            if part is not None:
                whole = sparse(part)
                state |= {f"kept.{name}.{field}": getattr(whole, field) for field in whole._fields}
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up what `state` gave."""
        self.labels = state["kept.labels"]
        held: dict[str, Any] = {}
        for name, form in FORMS.items():
            if f"kept.{name}.{form._fields[0]}" in state:
                held[name] = form(*(state[f"kept.{name}.{field}"] for field in form._fields))
        self.data = Data(**held)
