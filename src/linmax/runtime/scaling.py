"""The scale of attributes: the statistics of their columns, and rows that are standardised with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Capacity
from linmax.kernels.forms import Rows, SparseRows
from linmax.kernels.scaling import ColumnStatistics, ScaledRows, scale
from linmax.runtime.layout import enlarged
from linmax.validation import check_array, require

SAVED = {"nonzeros": np.int64, "mean": np.float64, "squares": np.float64}


class Scaling:
    """Standardises the attributes of a session, once for all learners that read them so.

    Parameters
    ----------
    names
        The names of classes, experts, attributes and values of the session.

    Attributes
    ----------
    statistics : ColumnStatistics
        The statistics of the labelled items so far.
    """

    def __init__(self, names: Any) -> None:
        self.names = names
        self._use(np.zeros(1, dtype=np.int64), {name: np.zeros(8, dtype) for name, dtype in SAVED.items()})

    def _use(self, items: np.ndarray, columns: dict[str, np.ndarray]) -> None:
        frequent = np.flatnonzero(2 * columns["nonzeros"] > items[0])
        listed = np.zeros(len(columns["mean"]) + 1, dtype=np.int32)
        listed[: len(frequent) + 1] = [len(frequent), *frequent]
        self.statistics = ColumnStatistics(items, **columns, frequent=listed, next=listed.copy())

    def resize(self, sizes: Capacity) -> bool:
        """Make space for so many attributes; return whether the arrays are new."""
        capacity = len(self.statistics.mean)
        if sizes.attributes <= capacity:
            return False
        space = enlarged(capacity, sizes.attributes) - capacity
        self._use(
            self.statistics.items,
            {name: np.pad(getattr(self.statistics, name), (0, space)) for name in SAVED},
        )
        return True

    def scale(self, rows: Rows | SparseRows, labels: np.ndarray) -> ScaledRows:
        """Return the standardised rows of some trials; those with a label are counted."""
        trials, reached = len(labels), np.zeros(1, dtype=np.int64)
        each = rows.values.shape[1] if isinstance(rows, Rows) else len(rows.index) // max(trials, 1)
        out = empty_rows(trials, trials * (2 + each) + len(self.statistics.next))
        begin = 0
        while True:
            scale(rows, labels, self.statistics, out, reached, begin, trials)
            if reached[0] == trials:
                break
            begin = int(reached[0])  # the entries of one trial fit into the added space
            space = len(out.index) + len(self.statistics.next) + 2
            out = out._replace(
                **{name: np.pad(getattr(out, name), (0, space)) for name in ("index", "value", "unit")}
            )
        size = int(out.indptr[-1])
        return ScaledRows(out.indptr, out.index[:size], out.value[:size], out.unit[:size])

    def bind(self, program: Any, rows: Any) -> ScaledRows:
        """Return the row of a single item, which a program writes anew for every item."""
        out = empty_rows(1, len(rows.index) + len(self.statistics.next) + 2)
        program.call(scale, rows, program.labels, self.statistics, out, np.zeros(1, dtype=np.int64))
        return out

    def state(self) -> dict[str, np.ndarray]:
        """Return the statistics, without spare capacity."""
        columns = {name: getattr(self.statistics, name)[: len(self.names.attributes)] for name in SAVED}
        return {"items": self.statistics.items, **columns}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        space = enlarged(0, len(self.names.attributes)) - len(self.names.attributes)
        self._use(state["items"].copy(), {name: np.pad(state[name], (0, space)) for name in SAVED})

    def validate(self, state: dict[str, np.ndarray]) -> None:
        """Raise a ValueError if these are no statistics of the columns of the session."""
        check_array(state, "items", (1,), np.int64, 0, 2**62)
        for name, dtype in SAVED.items():
            check_array(state, name, (len(self.names.attributes),), dtype)
        valid = (
            (state["nonzeros"] >= 0) & (state["nonzeros"] <= state["items"][0]) & (state["squares"] >= 0.0)
        )
        require(bool(valid.all()), "the statistics of its attributes are not those of any columns")


def empty_rows(trials: int, entries: int) -> ScaledRows:
    """Return arrays for so many trials and entries."""
    index = np.zeros(entries, dtype=np.int32)
    return ScaledRows(np.zeros(trials + 1, dtype=np.int64), index, np.zeros(entries), np.zeros(entries))
