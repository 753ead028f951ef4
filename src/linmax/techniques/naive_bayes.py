"""NaiveBayes: the probabilities of the experts' votes given the label, estimated by counting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax.experts import Votes
from linmax.experts.base import Capacity, expert_key
from linmax.kernels.naive_bayes import Accuracies, Tables, add_expert, count, end_of_expert
from linmax.runtime.predictor import Attribution, Predictions, Predictor, State, TrialChunk
from linmax.runtime.sources import Sources, check_size
from linmax.spec import Learner, check_source
from linmax.validation import check_array, require

KINDS: dict[str, Any] = {"tables": Tables, "accuracies": Accuracies}
AXES = {
    "said": (0, 1, 1),
    "heard": (0, 1),
    "pooled": (1, 1),
    "pool": (1,),
    "truths": (1,),
    "right": (0,),
}  # fmt: skip - 0: as many as experts, 1: as classes, 2: two


@dataclass(frozen=True, repr=False)
class NaiveBayes(Learner):
    """Multiply the probabilities of what the experts have voted, estimated by counting.

    "tables" estimates P(expert i votes a | label j), and so learns that an expert who says "a" means "b".
    "accuracies" estimates how often an expert is right; a vote then counts log(a_i (k - 1) / (1 - a_i)).
    Both start at the plurality. Scores are log-probabilities.

    There is no bound on the mistakes: it is a member for committees, where it makes up for rules that learn
    slowly from experts who vote rarely.

    Parameters
    ----------
    of
        "tables" or "accuracies".
    shrink
        The prior strength in pseudo-counts: an expert's counts are drawn towards those of all experts as if
        it had voted so many more times.

    References
    ----------
    Dawid & Skene, Maximum likelihood estimation of observer error-rates, 1979, here with known labels.

    Examples
    --------
    >>> from linmax import Fusion, NaiveBayes
    >>> votes = [["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"]]  # the first is always wrong
    >>> Fusion(NaiveBayes(shrink=1.0), classes=["a", "b"]).learn(votes, ["b", "a", "b", "a"]).guesses
    array(['a', 'a', 'b', 'a'], dtype='<U1')
    """

    ensemble: ClassVar[bool] = True

    of: str = "tables"
    shrink: float = field(default=5.0, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for an unknown kind, and without pseudo-counts: one vote would be certainty."""
        super().__post_init__()
        if not isinstance(self.of, str) or self.of not in KINDS:
            raise ValueError(f'NaiveBayes requires of="tables" or of="accuracies" (got {self.of!r})')
        value = self.shrink
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 < value <= 1e9:
            raise ValueError(f"NaiveBayes requires 0 < shrink <= 1e9 (got {value!r}); a typical value is 5")

    def on(self, source: Any) -> NaiveBayes:
        """Return the learner itself: it counts the experts' votes, whatever the source.

        Parameters
        ----------
        source
            A source of `linmax.experts`. It is not used.
        """
        check_source("NaiveBayes", source)
        return self

    @property
    def rule(self) -> Any:
        """Counting is not a rule: AttributeError."""
        raise AttributeError(f"{self!r} counts, and has no rule")

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor that counts."""
        return NaiveBayesPredictor(self, runner.shared_sources((Votes(),)))


class NaiveBayesPredictor(Predictor):
    """Counts votes by expert, vote and label.

    Parameters
    ----------
    learner
        The learner.
    sources
        The votes.
    """

    single_item: ClassVar[bool] = True

    def __init__(self, learner: NaiveBayes, sources: Sources) -> None:
        self.learner = learner
        self.sources = sources
        self.kind = KINDS[learner.of]
        self.counts: Any = self.kind(*self._zeros(0, 0))

    def _zeros(self, experts: int, classes: int) -> list[np.ndarray]:
        sizes = (experts, classes, 2)
        return [np.zeros([sizes[axis] for axis in self._axes(name)]) for name in self.kind._fields]

    def _axes(self, name: str) -> tuple[int, ...]:
        return (
            {"heard": (0,), "pooled": (2,)}.get(name, AXES[name]) if self.kind is Accuracies else AXES[name]
        )

    def check_sizes(self, sizes: Capacity) -> None:
        """Check the size of the tables, which are experts by classes by classes."""
        check_size(
            max(math.prod(sizes[axis] for axis in self._axes(name)) for name in self.kind._fields), sizes
        )

    def resize(self) -> None:
        """Follow the capacity of the sources."""
        capacity = self.sources.capacity
        if len(self.counts.truths) < capacity.classes or len(self.counts.heard) < capacity.experts:
            self.counts = self._copied(self.counts, capacity.experts, capacity.classes)

    def _copied(self, counts: Any, experts: int, classes: int) -> Any:
        fresh = self._zeros(experts, classes)
        for old, new in zip(counts, fresh, strict=True):
            corner = tuple(slice(min(pair)) for pair in zip(old.shape, new.shape, strict=True))
            new[corner] = old[corner]
        return self.kind(*fresh)

    def compute(self, chunk: TrialChunk) -> Predictions:
        """Return the most probable class."""
        trials, classes = chunk.trials, chunk.classes
        codes = np.empty(chunk.length, dtype=np.int32)
        scores = np.zeros((chunk.length if self.scores_wanted else 0, classes))
        count(
            chunk.sparse_votes, trials.buffered, trials.labels, trials.known, float(self.learner.shrink),
            self.counts, np.zeros(classes), np.zeros(classes), codes, scores,
        )  # fmt: skip
        return Predictions(codes, scores)

    def bind(self, item: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel on the votes of the item."""
        classes, shrink = int(item.known[0]), float(self.learner.shrink)
        scratch = np.zeros(classes), np.zeros(classes)
        item.call(count, item.votes, 0, item.label, item.known, shrink, self.counts, *scratch, codes, scores)

    def weights(self) -> dict[Any, float]:
        """Return the weights by expert; of tables by expert, vote and class, with the keys of `PerClass`."""
        classes = self.sources.names.classes.names
        k, named = len(classes), list(self.sources.named_weights())
        if self.kind is Accuracies:
            return {key: float(self._says(at, 0, k)[0]) for key, _, at in named} if k else {}
        experts = self.sources.names.experts.names
        return {
            expert_key(experts[at], said, label): float(weight)
            for _, _, at in named
            for a, said in enumerate(classes)
            for label, weight in zip(classes, self._says(at, a, k), strict=True)
        }

    def _says(self, i: int, a: int, k: int) -> np.ndarray:
        """Return what the vote a of an expert adds to each class, up to a constant."""
        r = np.zeros(k)
        self.counts.add_log_odds(i, a, 1.0, k, self.learner.shrink, r)
        return r if self.kind is Accuracies else r - r.mean()

    def explain(self, item: Any) -> Attribution:
        """Return what each expert's vote adds, and the frequency of the classes."""
        votes, k = item.chunk.sparse_votes, item.known
        owners = {at: owner for _, owner, at in self.sources.named_weights(item.names)}
        parts: dict[Any, np.ndarray] = {"(prior)": np.log1p(self.counts.truths[:k])}
        at, last = 0, int(votes.indptr[1])
        while at < last:
            until = end_of_expert(votes, at, last)
            parts[owners[int(votes.expert[at])]] = r = np.zeros(k)
            add_expert(votes, at, until, k, self.learner.shrink, self.counts, r)
            at = until
        return Attribution(sum(parts.values(), np.zeros(k)), parts)

    def state(self) -> State:
        """Return all counts, without spare capacity."""
        names = self.sources.names
        return self._copied(self.counts, len(names.experts), len(names.classes))._asdict()  # type: ignore[no-any-return]

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        self.counts = self.kind(*(state[name] for name in self.kind._fields))
        self.resize()

    def validate(self, state: State, sizes: Any) -> None:
        """Check that all counts have their shape, and none is below 0."""
        shape = (len(self.sources.names.experts), len(self.sources.names.classes), 2)
        for name in self.kind._fields:
            check_array(state, name, tuple(shape[axis] for axis in self._axes(name)), np.float64)
            require(not bool((state[name] < 0.0).any()), f"{name} has negative counts")
        if self.kind is Accuracies:
            right = np.append(state["right"], state["pooled"][0])
            require(
                bool((right <= np.append(state["heard"], state["pooled"][1])).all()), "right is above heard"
            )
