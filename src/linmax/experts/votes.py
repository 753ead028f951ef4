"""Sources that read votes: Votes, Thresholds, Split and PerClass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import (
    VOTE_CLAIMS,
    Capacity,
    Influence,
    Source,
    SubVotes,
    TrialData,
    VoteArrays,
    VoteReader,
    expert_key,
    expert_owner,
)
from linmax.kernels.forms import ConstantVotes, Dense, Hard, PerClassVotes, Sparse, SplitVotes
from linmax.spec import short
from linmax.validation import check_choice

SCALES = ("raw", "onehot", "softmax", "rank")


@dataclass(frozen=True, repr=False)
class Votes(Source):
    """One sub-expert per expert, which votes as the expert does.

    Parameters
    ----------
    as_ : {"raw", "onehot", "softmax", "rank"}, default "raw"
        The scale of scores. All but "raw" rescale the scores of each expert and item, over the classes that
        have a score: "onehot" gives 1 to the best class, "softmax" the probabilities of a softmax, and
        "rank" 1 to the best and 0 to the worst class, where ties share. Hard votes are the same on every
        scale.

    Notes
    -----
    The key of a weight is the name of the expert; ``("expert", name)`` if the name is a tuple. In an
    explanation an expert is called ``("expert", name)`` if its name is a tuple, "expert", "threshold",
    "attribute", "pair", "(remainder)", "(prior)" or a name of a map.

    References
    ----------
    C. Mesterharm and D. F. Hsu (2008). Combinatorial fusion with on-line learning algorithms. The scales are
    those of its plan for normalisation.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Votes
    >>> scores = np.array([[[9.0, 1.0], [0.1, 0.2]]])
    >>> Fusion(Perceptron(start="equal").on(Votes(as_="rank")), classes=["a", "b"]).scores(scores)
    array([[1., 1.]])
    """

    as_: str = field(default="raw", kw_only=True)

    needs: ClassVar[str] = "votes"
    claims: ClassVar[frozenset[str]] = VOTE_CLAIMS
    starts_equal: ClassVar[bool] = True
    in_place: ClassVar[bool] = True
    grouped: ClassVar[bool] = True
    once_positional: ClassVar[tuple[str, ...]] = ("as_",)

    def __post_init__(self) -> None:
        """Check the scale."""
        super().__post_init__()
        check_choice("Votes", "as_", self.as_, SCALES)

    @property
    def single_item(self) -> bool:
        """Whether single items can be run on prepared arrays; rescaled scores need a form of their own."""
        return self.as_ == "raw"

    def holds(self, claim: str) -> bool:
        """Whether a mathematical check holds; with rescaled scores a constant may matter, for example."""
        return self.as_ == "raw" and super().holds(claim)

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per expert."""
        return (capacity.experts,)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the votes, rescaled."""
        return rescale(data.votes, self.as_)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by expert; a name that is no tuple differs from all keys of other sources."""
        for i, expert in enumerate(names.experts.names):
            yield (("expert", expert) if isinstance(expert, tuple) else expert), (i,)

    def owner(self, key: Any) -> Any:
        """Return the expert."""
        return key if isinstance(key, tuple) else expert_owner(key)

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return the votes."""
        expert, label, value = read(form)
        return SubVotes(expert, label, value, expert)

    def influence(self, weights: np.ndarray, experts: np.ndarray, k: int, names: Any) -> Influence:
        """A vote adds the weight of the expert to its class."""
        diagonal = np.repeat(weights[experts, None], k, axis=1)
        return Influence(diagonal=diagonal, scale=self.as_)


@dataclass(frozen=True, repr=False)
class Thresholds(Source):
    """One sub-expert per class, which always votes 1 for it. Part of the default source.

    Notes
    -----
    The key of a weight is ``("threshold", class)``.

    References
    ----------
    C. Mesterharm (2003). Using linear-threshold algorithms to combine multi-class sub-experts, section 2.2.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Thresholds
    >>> fusion = Fusion(Perceptron().on(Thresholds()))
    >>> run = fusion.learn(None, ["ham", "spam", "spam", "spam"])
    >>> fusion.weights
    {('threshold', 'ham'): -1.0, ('threshold', 'spam'): 1.0}
    """

    claims: ClassVar[frozenset[str]] = VOTE_CLAIMS
    in_place: ClassVar[bool] = True
    grouped: ClassVar[bool] = True
    per_class: ClassVar[bool] = True

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per class."""
        return (capacity.classes,)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return constant votes."""
        return ConstantVotes(capacity.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by class."""
        for c, name in enumerate(names.classes.names):
            yield ("threshold", name), (c,)

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return a vote for every class."""
        classes = np.arange(k)
        return SubVotes(classes, classes, np.ones(k), np.full(k, -1), "threshold")

    def influence(self, weights: np.ndarray, experts: np.ndarray, k: int, names: Any) -> Influence:
        """The weights are added to the classes."""
        return Influence(constant=weights[:k])


class _OfExperts(Source, abstract=True):
    """A source with several sub-experts per expert."""

    needs: ClassVar[str] = "votes"
    in_place: ClassVar[bool] = True

    def owner(self, key: Any) -> Any:
        """Return the expert."""
        return key[:2] if key[0] == "expert" else key[0]


@dataclass(frozen=True, repr=False)
class Split(_OfExperts):
    """Sub-expert (i, c) repeats the votes of expert i for class c and abstains on other classes.

    The paper adds these sub-experts to the original ones: ``Votes() + Split()``.

    Parameters
    ----------
    classes : tuple of labels, optional
        The classes c. Default: all.

    Notes
    -----
    The key of a weight is ``(expert, class)``, or ``("expert", expert, class)`` for an expert with a reserved
    name (see `Votes`).

    References
    ----------
    C. Mesterharm (1999). A multi-class linear learning algorithm related to Winnow, section 4.4.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Split, Votes
    >>> fusion = Fusion(Perceptron().on(Votes() + Split()))
    >>> run = fusion.learn([["a", "b"], ["b", "a"]], ["b", "b"])
    >>> fusion.weights[1, "b"]
    1.0
    """

    classes: tuple[Any, ...] | None = field(default=None, kw_only=True)

    grouped: ClassVar[bool] = True
    once_positional: ClassVar[tuple[str, ...]] = ("classes",)

    def __post_init__(self) -> None:
        """Check the classes and make them a tuple, which is hashable."""
        if self.classes is None:
            return
        classes: Any = self.classes
        given = [] if isinstance(classes, str | int) else list(classes)
        names = [name.item() if isinstance(name, np.generic) else name for name in given]
        if not names or len({type(name) for name in names}) > 1 or type(names[0]) not in (int, str, bool):
            raise ValueError(f"Split requires a tuple of classes (got {short(classes)}); None is all of them")
        if len(set(names)) < len(names):
            raise ValueError(f"Split requires each class once (got {short(classes)})")
        object.__setattr__(self, "classes", tuple(names))

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per expert and class."""
        return (capacity.experts, capacity.classes)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the votes for the chosen classes."""
        chosen = np.ones(capacity.classes, dtype=np.uint8)
        if self.classes is not None:
            chosen[:] = 0
            chosen[[c for c in map(names.classes.get, self.classes) if c >= 0]] = 1
        return SplitVotes(data.votes, chosen, capacity.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by expert and class."""
        for i, expert in enumerate(names.experts.names):
            start = expert_key(expert)
            for c, name in enumerate(names.classes.names):
                if self.classes is None or name in self.classes:
                    yield (*start, name), (i, c)

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return the votes for the chosen classes."""
        expert, label, value = read(form.votes)
        chosen = form.chosen[label] == 1
        expert, label = expert[chosen], label[chosen]
        return SubVotes(expert * form.stride + label, label, value[chosen], expert)

    def influence(self, weights: np.ndarray, experts: np.ndarray, k: int, names: Any) -> Influence:
        """A vote for a chosen class adds the weight of the expert and the class to it."""
        diagonal = weights[experts, :k]
        if self.classes is not None:
            known = [c for c, name in enumerate(names.classes.names[:k]) if name not in self.classes]
            diagonal[:, known] = 0.0
        return Influence(diagonal=diagonal)


@dataclass(frozen=True, repr=False)
class PerClass(_OfExperts):
    """Sub-expert (i, a, c) votes for class c whenever expert i votes for class a.

    The votes of an expert for the k classes are read as k attributes of a linear machine: the weights tell
    what each vote means, so that an expert who confuses two classes is informative.

    Notes
    -----
    The key of a weight is ``(expert, vote, class)``, or ``("expert", expert, vote, class)`` for an expert
    with a reserved name (see `Votes`).

    References
    ----------
    C. Mesterharm (1999). A multi-class linear learning algorithm related to Winnow, section 4.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import PerClass
    >>> fusion = Fusion(Perceptron().on(PerClass()), classes=["yes", "no"])
    >>> run = fusion.learn([["yes"], ["no"]] * 5, ["no", "yes"] * 5)  # the expert always says the opposite
    >>> fusion.predict([["yes"], ["no"]])
    array(['no', 'yes'], dtype='<U3')
    """

    many: ClassVar[bool] = True
    per_class: ClassVar[bool] = True
    sparse: ClassVar[bool] = True

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per expert, vote and class."""
        return (capacity.experts, capacity.classes, capacity.classes)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the votes as attributes."""
        return PerClassVotes(data.votes, capacity.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by expert, vote and class."""
        for i, expert in enumerate(names.experts.names):
            start = expert_key(expert)
            for a, vote in enumerate(names.classes.names):
                for c, label in enumerate(names.classes.names):
                    yield (*start, vote, label), (i, a, c)

    def key_at(self, names: Any, place: tuple[int, ...]) -> Any:
        """Return the key of the weight of an expert, a vote and a class."""
        i, a, c = place
        classes = names.classes.names
        return (*expert_key(names.experts.names[i]), classes[a], classes[c])

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return the votes of each expert as votes for every class."""
        expert, vote, value = read(form.votes)
        first, label = (expert * form.stride + vote) * form.stride, np.arange(len(expert) * k) % max(k, 1)
        return SubVotes(first.repeat(k) + label, label, value.repeat(k), expert.repeat(k))

    def influence(self, weights: np.ndarray, experts: np.ndarray, k: int, names: Any) -> Influence:
        """A vote adds a weight to every class."""
        return Influence(table=weights[experts, :k, :k])


def first_votes(votes: Any) -> VoteArrays:
    """Return the experts, classes and values of the votes of the first trial, without abstentions.

    >>> first_votes(Hard(np.array([[2, -1, 0]])))
    (array([0, 2]), array([2, 0]), array([1., 1.]))
    """
    if isinstance(votes, Hard):
        codes = votes.codes[0]
        expert = np.flatnonzero(codes >= 0)
        return expert, codes[expert].astype(np.int64), np.ones(len(expert))
    if isinstance(votes, Dense):
        expert, label = np.nonzero(votes.values[0])
        return expert, label, votes.values[0, expert, label]
    entries = slice(int(votes.indptr[0]), int(votes.indptr[1]))
    expert, label, value = votes.expert[entries], votes.label[entries], votes.value[entries]
    given = (label >= 0) & (value != 0.0)
    return expert[given].astype(np.int64), label[given].astype(np.int64), value[given]


def rescale(votes: Any, scale: str) -> Any:
    """Return votes on another scale; a score of 0 is no score."""
    if scale == "raw" or isinstance(votes, Hard):
        return votes
    if isinstance(votes, Dense):
        trials, experts, classes = votes.values.shape
        rows = _rescale_rows(votes.values.reshape(-1, classes), scale)
        return Dense(rows.reshape(trials, experts, classes))
    return _rescale_sparse(votes, scale)


def _rescale_rows(scores: np.ndarray, scale: str) -> np.ndarray:
    """Rescale each row of a matrix."""
    given = scores != 0.0
    if not given.any():
        return scores
    low = np.where(given, scores, -np.inf)
    if scale == "onehot":
        best = low.argmax(axis=1)
        scaled = np.zeros_like(scores)
        scaled[np.arange(len(scores)), best] = given.any(axis=1)
        return scaled
    if scale == "softmax":
        top = low.max(axis=1, keepdims=True, initial=-1e308)
        powers = np.where(given, np.exp(np.minimum(low - top, 0.0)), 0.0)
        powers /= np.maximum(powers.sum(axis=1, keepdims=True), 1e-300)
        return powers
    below = (low[:, :, None] > low[:, None, :]) & given[:, None, :]
    level = (low[:, :, None] == low[:, None, :]) & given[:, None, :]
    rank = below.sum(axis=2) + (level.sum(axis=2) - 1) / 2
    most = given.sum(axis=1, keepdims=True) - 1
    return np.where(given, np.where(most > 0, rank / np.maximum(most, 1), 1.0), 0.0)


def _rescale_sparse(votes: Sparse, scale: str) -> Sparse:
    """Rescale sparse votes: a row of the matrix has the scores of one expert for one item."""
    entries = len(votes.value)
    if entries == 0:
        return votes
    item = np.repeat(np.arange(len(votes.indptr) - 1), np.diff(votes.indptr))
    new = np.ones(entries, dtype=bool)
    new[1:] = (votes.expert[1:] != votes.expert[:-1]) | (item[1:] != item[:-1])
    row = np.cumsum(new) - 1
    column = np.arange(entries) - np.flatnonzero(new)[row]
    matrix = np.zeros((row[-1] + 1, column.max() + 1))
    matrix[row, column] = votes.value
    value = _rescale_rows(matrix, scale)[row, column]
    nonzero = value != 0.0
    indptr = np.concatenate(([0], np.cumsum(np.bincount(item[nonzero], minlength=len(votes.indptr) - 1))))
    return Sparse(indptr.astype(np.int64), votes.expert[nonzero], votes.label[nonzero], value[nonzero])
