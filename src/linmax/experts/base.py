"""What a source of sub-experts is: what it needs, how many weights it has, the form it makes of data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows
from linmax.spec import Term

PLAIN = frozenset({"mean", "permutes", "shift", "theta adds z"})  # what holds when an expert is its vote


class Capacity(NamedTuple):
    """For how many of each there is room; it doubles when it runs out, so growth costs nothing per trial."""

    experts: int
    classes: int
    attributes: int
    stored: int  # pairs or supports: what comes to have weights while trials are learned


class FrozenVotes(NamedTuple):
    """Votes of sources with memory, as they were at each trial; see `RememberedPairs`."""

    pair: Any
    favourite: Any
    tied: Any


@dataclass(frozen=True)
class TrialData:
    """The trials of a tape, as arrays."""

    votes: Hard | Dense | Sparse | None = None
    rows: Rows | SparseRows | None = None
    frozen: FrozenVotes | None = None


@dataclass(frozen=True, repr=False)
class Source(Term, abstract=True):
    """A source of sub-experts; sources add up with `+`."""

    needs: ClassVar[str | None] = None  # "votes", "rows" or "nominal"
    claims: ClassVar[frozenset[str]] = frozenset()  # the mathematical checks of rules that hold on it
    starts_equal: ClassVar[bool] = False  # do its sub-experts begin with weight 1 under start="equal"?
    always_active: ClassVar[bool] = False  # do its sub-experts exist before they have spoken?

    def __add__(self, other: Source) -> Source:
        if not isinstance(other, Source):
            return NotImplemented
        return SourceSum((*self.parts, *other.parts))

    @property
    def parts(self) -> tuple[Source, ...]:
        """The sources this one is the sum of."""
        return (self,)

    @property
    def label(self) -> str | None:
        """What the names of its weights begin with, where another source of its kind may stand beside it."""
        return None

    @abstractmethod
    def shape(self, room: Capacity) -> tuple[int, ...]:
        """The weights of this source, as the shape of an array."""

    @abstractmethod
    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """The form kernels see."""

    @abstractmethod
    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """The name of each weight, and where it is in the array."""

    def holds(self, what: str) -> bool:
        """Does a mathematical check hold on this source, as it is set up?"""
        return what in self.claims

    def check(self, classes: int) -> None:
        """Raise a ValueError when this source cannot serve so many classes."""

    def check_rows(self, rows: Any) -> None:
        """Raise a ValueError when attributes are beyond what this source can work with."""

    def check_rule(self, rule: Any) -> None:
        """Raise a ValueError when a rule cannot be set on this source."""

    def owner(self, key: Any) -> Any:
        """Whose contribution the weight of this name is, in an explanation."""
        return key[0] if isinstance(key, tuple) else key

    def new_memory(self) -> Any:
        """What the source remembers between trials, or None."""
        return None


@dataclass(frozen=True, repr=False)
class SourceSum(Source, abstract=True):
    """Sources side by side."""

    together: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a source that is there already: its weights could not be told apart."""
        for at, part in enumerate(self.together):
            if part in self.together[:at]:
                raise ValueError(f"{part!r} is there twice in {self!r}; once is enough")
        labels = [part.label for part in self.together if part.label is not None]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(
                    f"the weights of two sources would both be called {label!r} in {self!r};"
                    " put their sets into one, or register functions under names of their own"
                )
        if sum(getattr(part.new_memory(), "freezes_votes", False) for part in self.together) > 1:
            raise ValueError(f"only one source that freezes its votes can be in a sum (got {self!r})")

    @property
    def parts(self) -> tuple[Source, ...]:
        """The sources this one is the sum of."""
        return self.together

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.together))

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """Sums are laid out part by part."""
        raise NotImplementedError

    form = keys = shape  # type: ignore[assignment]


State = dict[str, np.ndarray]


class SourceMemory:
    """Arrays that a form writes into while it runs; they grow with the room."""

    count = 0  # what has a weight of its own: pairs, supports
    binds_weights = False  # do weights mean something only beside what this learner remembers?
    freezes_votes = False  # are the votes of a trial kept as they were in its own time?

    def configure(self, size: int, updates: int, rivals: int | None) -> None:
        """The learner recycles `size` instances for `updates` moves each, on so many rivals (None: all)."""

    def chunk_size(self, classes: int) -> int:
        """How many trials to run at a time, at most."""
        return 1 << 62

    def reserve(self, trials: int, classes: int) -> None:
        """So many trials are to be learned."""

    def capacity_needed(self) -> int:
        """For how many of what it counts there must be room, with those that may come."""
        return self.count

    def resize(self, room: Capacity) -> None:
        """Follow the room."""

    def compact(self) -> np.ndarray | None:
        """After some trials: which of what it counts is still there, or None for all."""
        return None

    def state(self, sizes: Capacity) -> State:
        """What a model file keeps, without spare room."""
        raise NotImplementedError

    def restore(self, state: State) -> None:
        """Take up what a model file kept (and what was found sound)."""
        raise NotImplementedError

    def validate(self, state: State, names: Any) -> int:
        """Raise a ValueError that says what is wrong with a state; return how many it counts."""
        raise NotImplementedError
