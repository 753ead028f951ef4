"""What a kernel can be given: plain arrays of codes and numbers."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.classes import UnknownClasses
from linmax.inputs.names import Label
from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows

Codes = NDArray[np.int32]
Starts = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Nominal(NamedTuple):
    """Attributes that are names."""

    codes: Codes  # (trials, columns) of (column, value) pairs, -1 is missing


@dataclass
class Batch:
    """Trials as arrays, and whom they brought along."""

    trials: int
    votes: Hard | Dense | Sparse | None
    rows: Rows | SparseRows | None
    nominal: Nominal | None
    labels: Codes  # (trials,), -1: predict only
    known: Codes  # (trials,) classes known when a trial is scored; a label from there on is novel
    new_classes: list[Label]  # each list follows its roll, in this order
    new_experts: list[Hashable]
    new_attributes: list[Hashable]
    new_values: list[Hashable]
    unknown_classes: UnknownClasses  # classes that have a code in one trial only
    ignored: int  # votes and labels for unknown classes that were left out
    classes_seen: int  # every class code is below
    experts_seen: int  # every expert code is below

    @property
    def sliceable(self) -> bool:
        """Whether these are hard votes for classes that all trials know, and bring no_unknown_classes along."""
        new = self.new_classes or self.new_experts or self.new_attributes or self.new_values
        strange = len(self.unknown_classes.row) or self.unknown_classes.everywhere or self.ignored
        hard = isinstance(self.votes, Hard) and self.rows is None and self.nominal is None
        return hard and not new and not strange

    def slice(self, begin: int, end: int) -> "Batch":
        """Some trials of a familiar batch that follow one another: reading these alone gives the same."""
        assert isinstance(self.votes, Hard)
        rows = slice(begin, end)
        votes = Hard(self.votes.codes[rows])
        return replace(
            self, trials=len(votes.codes), votes=votes, labels=self.labels[rows], known=self.known[rows]
        )
