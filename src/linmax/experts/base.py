"""The base classes of sources: what a source declares, the names of its weights, and its memory."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows
from linmax.kernels.sources.scaling import ScaledRows
from linmax.spec import Term, find, short

VOTE_CLAIMS = frozenset({"mean", "permutes", "shift", "theta adds z"})
"""The mathematical checks that hold for a source whose sub-experts vote as the experts do."""

RESERVED = frozenset(
    {
        "expert",
        "threshold",
        "attribute",
        "pair",
        "(constant)",
        "(features)",
        "(neighbours)",
        "(unit neighbours)",
        *(f"(tables of {order})" for order in range(1, 5)),
        "(remainder)",
        "(prior)",
    }
)
"""First elements of keys, and owners, that are not names of experts."""

KERNEL_LABEL = re.compile(r"\w+\(.*\) of \w+( in sets)?")

State = dict[str, np.ndarray]
VoteArrays = tuple[np.ndarray, np.ndarray, np.ndarray]
VoteReader = Callable[[Any], VoteArrays]


class Capacity(NamedTuple):
    """The sizes for which arrays have space; each grows by half when it is used up.

    Attributes
    ----------
    experts, classes, attributes : int
        The number of experts, classes and attributes.
    stored : int
        The number of pairs or support vectors, which get weights while trials are learned.
    """

    experts: int
    classes: int
    attributes: int
    stored: int


class FrozenVotes(NamedTuple):
    """Votes of a source with memory, as they were at each trial; see `RememberedPairs`."""

    pair: Any
    favourite: Any
    tied: Any


@dataclass(frozen=True)
class TrialData:
    """The data of some trials as arrays.

    Attributes
    ----------
    votes, rows
        The votes and attributes, as they were given.
    frozen
        The votes of a source with memory.
    scaled
        The attributes, standardised.
    generated
        The votes that sources have generated from the attributes, by source.
    new_attributes
        The attributes of these trials that follow those of the session.
    """

    votes: Hard | Dense | Sparse | None = None
    rows: Rows | SparseRows | None = None
    frozen: FrozenVotes | None = None
    scaled: ScaledRows | None = None
    generated: Mapping[Source, Sparse] | None = None
    new_attributes: tuple[Hashable, ...] = ()


class SubVotes(NamedTuple):
    """What the sub-experts of a source vote on one item, for an explanation; abstentions are left out.

    Attributes
    ----------
    weight : ndarray of int
        The sub-expert of each vote: the index of its weight among those of the source.
    label : ndarray of int
        The code of the class.
    value : ndarray of float
        The vote.
    expert : ndarray of int
        The code of the expert that the sub-expert belongs to; -1 if it is none's.
    owner : hashable
        The owner, in an explanation, of sub-experts that are no expert's.
    owners : tuple of hashable
        Instead, several owners, whose indices are in `expert`.
    """

    weight: np.ndarray
    label: np.ndarray
    value: np.ndarray
    expert: np.ndarray
    owner: Any = None
    owners: tuple[Any, ...] = ()


class Influence(NamedTuple):
    """What an answer of each expert adds to the scores through the weights of a source.

    Attributes
    ----------
    constant : ndarray of shape (classes,) or None
        What is added to each class whatever the experts vote.
    diagonal : ndarray of shape (experts, classes) or None
        What a vote for a class adds to that class.
    table : ndarray of shape (experts, classes, classes) or None
        What a vote for a class adds to every class.
    scale : str
        The scale of scores, see `Votes`; on all but "raw" they are in [0, 1].
    """

    constant: np.ndarray | None = None
    diagonal: np.ndarray | None = None
    table: np.ndarray | None = None
    scale: str = "raw"


def is_reserved(name: Any) -> bool:
    """Whether an expert's name could be mistaken for another key.

    That is so for tuples, for reserved words and for labels of sources.

    Such an expert is called ``("expert", name)`` where keys could collide.

    >>> [is_reserved(name) for name in ("ann", 3, "threshold", ("ann", "spam"), "product")]
    [False, False, True, True, True]
    """
    if isinstance(name, tuple) or name in RESERVED:
        return True
    if not isinstance(name, str):
        return False
    found = find(name.partition(" ")[0])  # labels of Shared and Kernel begin with the name of a function
    return (found is not None and not isinstance(found, type)) or KERNEL_LABEL.fullmatch(name) is not None


def expert_key(name: Any, *rest: Any) -> tuple[Any, ...]:
    """Return the key of a sub-expert of an expert.

    >>> expert_key("ann", "spam"), expert_key("threshold", "spam")
    (('ann', 'spam'), ('expert', 'threshold', 'spam'))
    """
    return ("expert", name, *rest) if is_reserved(name) else (name, *rest)


def expert_owner(name: Any) -> Any:
    """Return the key of an expert in an explanation: its name, or ("expert", name) if that is reserved."""
    return ("expert", name) if is_reserved(name) else name


def expert_of_owner(owner: Any) -> Any:
    """Return the name of the expert in a key of an explanation; None if the key is not an expert's.

    >>> expert_of_owner("ann"), expert_of_owner("threshold"), expert_of_owner(("expert", "threshold"))
    ('ann', None, 'threshold')
    """
    if isinstance(owner, tuple):
        return owner[1] if owner[0] == "expert" else None
    return None if is_reserved(owner) else owner


def split_key(key: Any) -> tuple[Any, ...] | None:
    """Split the key of a weight into the expert's name and the classes; None if it is not an expert's.

    >>> split_key("threshold"), split_key(("threshold", "spam")), split_key(("expert", "threshold", "spam"))
    (('threshold',), None, ('threshold', 'spam'))
    """
    if not isinstance(key, tuple):
        return (key,)
    if key[0] == "expert":
        return key[1:]
    return None if is_reserved(key[0]) else key


@dataclass(frozen=True, repr=False)
class Source(Term, abstract=True):
    """A source of sub-experts; sources add up with ``+``.

    Attributes
    ----------
    needs : {"votes", "rows", "nominal"} or None
        What it reads: votes, attributes as rows of numbers, or nominal attributes.
    claims : frozenset of str
        The mathematical checks of rules that hold on it.
    starts_equal : bool
        Whether its sub-experts begin with weight 1 under ``start="equal"``.
    always_active : bool
        Whether its sub-experts exist before their first vote.
    in_place : bool
        Whether its forms can `add` to weights in place.
    grouped : bool
        Whether its forms can do so for several hypotheses side by side.
    many : bool
        Whether it has so many weights that those which only learn fast are kept as float32.
    scaled : bool
        Whether it reads attributes that are standardised (`TrialData.scaled`).
    per_class : bool
        Whether each of its inputs has one weight per class (`list_inputs`).
    sparse : bool
        Whether only those of its weights are adapted that belong to a vote of the trial and to eight classes
        with a share in z, so that many weights are stored in blocks.
    scratch : bool
        Whether kernels write to arrays of its forms, so that kernels in two threads need a form each.
    """

    needs: ClassVar[str | None] = None
    claims: ClassVar[frozenset[str]] = frozenset()
    starts_equal: ClassVar[bool] = False
    always_active: ClassVar[bool] = False
    in_place: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    many: ClassVar[bool] = False
    scaled: ClassVar[bool] = False
    per_class: ClassVar[bool] = False
    sparse: ClassVar[bool] = False
    scratch: ClassVar[bool] = False

    def __add__(self, other: Source) -> Source:
        if not isinstance(other, Source):
            return NotImplemented
        return SourceSum((*self.parts, *other.parts))

    @property
    def parts(self) -> tuple[Source, ...]:
        """The sources that this one is the sum of."""
        return (self,)

    @property
    def single_item(self) -> bool:
        """Whether single items can be run on prepared arrays, without building a form for each."""
        return True

    @property
    def label(self) -> str | None:
        """The first element of its weights' keys, if two sources of its type may be in one sum."""
        return None

    @abstractmethod
    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """Return the shape of the array of its weights."""

    @abstractmethod
    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the trials in the form that kernels read."""

    @abstractmethod
    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield the key of each weight and its place in the array."""

    def key_at(self, names: Any, place: tuple[int, ...]) -> Any:
        """Return the key of the weight at a place in the array; only sparse sources have to."""
        raise NotImplementedError

    def owner(self, key: Any) -> Any:
        """Return the key of an explanation to which the weight with this key contributes."""
        return key[0] if isinstance(key, tuple) else key

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes | None:
        """Return the votes for k classes on the first trial of a form; `read` lists votes as given.

        `names` are those of the session and of the item.

        None: they are found with the functions of the form, as in kernels, and their owners with `keys`.
        """
        return None

    def influence(self, weights: np.ndarray, experts: np.ndarray, k: int, names: Any) -> Influence | None:
        """Return what answers of some experts add to the scores of k classes; None if it is not known.

        `weights` has the shape of the source and may have space for more experts and classes. The last of
        the k classes may be one without a name.
        """
        return None

    def holds(self, claim: str) -> bool:
        """Whether a mathematical check holds on this source with its options."""
        return claim in self.claims

    def check(self, classes: int) -> None:
        """Raise a ValueError if the source cannot be used with so many classes."""

    def check_rows(self, rows: Any) -> None:
        """Raise a ValueError if attributes are too large for the source."""

    def check_rule(self, rule: Any) -> None:
        """Raise a ValueError if a rule cannot learn on the source."""

    def new_memory(self) -> SourceMemory | None:
        """Return a new memory, or None if the source has none."""
        return None


@dataclass(frozen=True, repr=False)
class SourceSum(Source, abstract=True):
    """A sum of sources: the sub-experts of all of them."""

    terms: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        """Raise a ValueError if the weights of two sources would have the same keys."""
        part = _repeated(self.terms)
        if part is not None:
            raise ValueError(f"{short(part)} occurs twice in {short(self)}; once is enough")
        label = _repeated(part.label for part in self.terms if part.label is not None)
        if label is not None:
            raise ValueError(
                f"the weights of two sources would both be called {label!r} in {short(self)};"
                " leave one out, put their sets into one, or register functions under names of their own"
            )
        if sum(memory.freezes_votes for part in self.terms if (memory := part.new_memory())) > 1:
            raise ValueError(f"only one Pairs can be in a sum (got {short(self)}); keep one")

    @property
    def parts(self) -> tuple[Source, ...]:
        """The sources that this one is the sum of."""
        return self.terms

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """Not used: the weights of a sum are laid out part by part."""
        raise NotImplementedError

    form = keys = shape  # type: ignore[assignment]


def _repeated(things: Iterable[Any]) -> Any:
    """Return the first thing that has occurred before, or None; a sum in a file may have many terms."""
    seen = set()
    for thing in things:
        if thing in seen:
            return thing
        seen.add(thing)
    return None


class SourceMemory:
    """Arrays that a form writes to while it learns, such as statistics of classes or support vectors.

    Attributes
    ----------
    count : int
        The number of things with a weight of their own: pairs or support vectors.
    binds_weights : bool
        Whether weights are meaningful only together with the memory of the same learner.
    freezes_votes : bool
        Whether the votes of a trial are stored as they were at that trial.
    """

    count = 0
    binds_weights = False
    freezes_votes = False

    def configure(self, size: int, updates: int, rivals: int | None) -> None:
        """Set how the learner recycles: the buffer's size, updates per instance, rivals (None: all)."""

    def chunk_size(self, classes: int) -> int:
        """Return the largest number of trials to run at a time."""
        return 1 << 62

    def reserve(self, trials: int, classes: int) -> None:
        """Announce that so many trials will be learned."""

    def capacity_needed(self) -> int:
        """Return for how many pairs or support vectors space is needed, with those that trials may add."""
        return self.count

    def resize(self, capacity: Capacity) -> None:
        """Make the arrays large enough."""

    def compact(self) -> np.ndarray | None:
        """Drop what is no longer used; return the indices of what remains, or None if all does."""
        return None

    def state(self, sizes: Capacity) -> State:
        """Return the arrays of a model file, without unused space."""
        raise NotImplementedError

    def restore(self, state: State) -> None:
        """Take over the arrays of a model file, which have been validated."""
        raise NotImplementedError

    def validate(self, state: State, names: Any) -> int:
        """Raise a ValueError if the arrays of a model file are wrong; return how many things they hold."""
        raise NotImplementedError
