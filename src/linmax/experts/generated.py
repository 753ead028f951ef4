"""Sources that generate a panel out of attributes: what they vote depends on labels, but not on weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import Capacity, Source, State, SubVotes, TrialData, VoteReader
from linmax.kernels.forms import Sparse


class Generator(ABC):
    """Computes the votes of generated sub-experts on one trial after the other.

    A session has one per source, for all learners that read it.
    """

    @abstractmethod
    def vote(self, data: TrialData, labels: np.ndarray, sizes: Capacity, new: Sequence[Any]) -> Sparse:
        """Return the votes on some trials; those with a label are learned, each after its votes.

        `sizes` are those of the session with the trials, and `new` the attributes that it did not know.
        """

    @abstractmethod
    def most_votes(self, classes: int) -> int:
        """Return the largest number of votes on a trial."""

    @abstractmethod
    def state(self) -> State:
        """Return the arrays of a model file."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Take over the arrays of a model file, which have been validated."""

    @abstractmethod
    def validate(self, state: State, names: Any) -> None:
        """Raise a ValueError if the arrays of a model file are wrong."""


class GeneratedSource(Source, abstract=True):
    """A source whose sub-experts learn from the attributes and the labels by themselves.

    Their votes are computed before any rule runs, once for all learners of a session, and are those of their
    own trial wherever an instance is replayed.
    """

    needs: ClassVar[str] = "rows"
    starts_equal: ClassVar[bool] = True
    in_place: ClassVar[bool] = True
    grouped: ClassVar[bool] = True

    @property
    @abstractmethod
    def label(self) -> str:
        """The first element of its weights' keys."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The largest number of sub-experts."""

    @abstractmethod
    def new_generator(self, names: Any) -> Generator:
        """Return a generator that has learned nothing, for a session with these names."""

    @property
    def single_item(self) -> bool:
        """Not supported: every item changes what is stored."""
        return False

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per sub-expert."""
        return (self.size,)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the votes."""
        if data.generated is None:
            raise ValueError(f"{self._name()} needs attributes; pass attributes=")
        return data.generated[self]

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return the votes, which belong to the source as a whole."""
        expert, label, value = read(form)
        return SubVotes(expert, label, value, np.full(len(expert), -1), self.label)
