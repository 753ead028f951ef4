"""NaiveBayes: the probabilities of the experts' votes given the label, estimated by counting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._vectors import WIDTH
from linmax.experts import Votes
from linmax.experts.base import Capacity, expert_key
from linmax.kernels.naive_bayes import TRUST, Accuracies, Tables, VoteList, count, odds
from linmax.runtime.predictor import Attribution, Part, Predictor, State
from linmax.runtime.sources import Sources, check_size
from linmax.spec import Learner, check_source
from linmax.validation import check_array, require

KINDS: dict[str, Any] = {"tables": Tables, "accuracies": Accuracies}
# the counts that are saved, and their shapes; 0: as many as experts, 1: as classes, 2: two
SAVED: dict[str, dict[str, tuple[int, ...]]] = {
    "tables": {"said": (0, 1, 1), "heard": (0, 1), "pooled": (1, 1), "pool": (1,), "truths": (1,)},
    "accuracies": {"right": (0,), "heard": (0,), "pooled": (2,), "truths": (1,)},
}


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

    staged: ClassVar[bool] = True

    def __init__(self, learner: NaiveBayes, sources: Sources) -> None:
        self.learner = learner
        self.sources = sources
        self.shapes = SAVED[learner.of]
        self.counts: Any = None
        self._use(self._zeros(0, 0))

    def _zeros(self, experts: int, classes: int) -> State:
        sizes = (experts, classes, 2)
        return {name: np.zeros([sizes[axis] for axis in axes]) for name, axes in self.shapes.items()}

    def _use(self, saved: State) -> None:
        """Take over counts, and compute what follows from them."""
        if self.learner.of == "accuracies":
            self.counts = Accuracies(**saved)
            return
        shrink, classes = self.learner.shrink, len(saved["truths"])
        inverse, prior = shrink / (shrink + saved["heard"]), np.zeros((classes, classes))
        flat: Any = tuple(array.reshape(-1) for array in (saved["said"], prior, inverse, saved["heard"]))
        self.counts = Tables(
            **saved, inverse=inverse, prior=prior, flat=flat, classes=np.zeros(1, dtype=np.int64)
        )

    def _copied(self, experts: int, classes: int) -> State:
        fresh = self._zeros(experts, classes)
        for name, new in fresh.items():
            old = getattr(self.counts, name)
            corner = tuple(slice(min(pair)) for pair in zip(old.shape, new.shape, strict=True))
            new[corner] = old[corner]
        return fresh

    def check_sizes(self, sizes: Capacity) -> None:
        """Check the size of the tables, which are experts by classes by classes."""
        check_size(max(math.prod(sizes[axis] for axis in axes) for axes in self.shapes.values()), sizes)

    def resize(self) -> None:
        """Follow the capacity of the sources."""
        capacity = self.sources.capacity
        if len(self.counts.truths) < capacity.classes or len(self.counts.heard) < capacity.experts:
            self._use(self._copied(capacity.experts, capacity.classes))

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel on the votes."""
        classes = len(self.counts.truths)
        space = self.sources.capacity.experts + WIDTH
        votes = VoteList(
            np.zeros(space, dtype=np.int64), np.zeros(space, dtype=np.int64), np.ones(space), np.ones(space)
        )
        shown = program.predictor is self and len(scores) > 0
        program.call(
            count, program.form(self.sources), program.labels, program.known, float(self.learner.shrink),
            self.counts, votes, int(shown), np.zeros(classes), np.zeros(classes), codes, scores,
        )  # fmt: skip

    def weights(self) -> dict[Any, float]:
        """Return the weights by expert; of tables by expert, vote and class, with the keys of `PerClass`."""
        classes = self.sources.names.classes.names
        k, named = len(classes), list(self.sources.named_weights())
        if self.learner.of == "accuracies":
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
        self.counts.begin_counts(k)
        self.counts.add_log_odds(i, a, 1.0, k, self.learner.shrink, r)
        return r if self.learner.of == "accuracies" else r - r.mean()

    def explain(self, item: Any) -> Attribution:
        """Return what each expert's vote adds, and the frequency of the classes."""
        k, shrink, counts = item.known, self.learner.shrink, self.counts
        expert, vote, value = item.first_votes(self.sources.form)
        if value.min(initial=1.0) <= 0.0:
            expert, vote, value = expert[value > 0.0], vote[value > 0.0], value[value > 0.0]
        prior, rows = item.row_of("(prior)"), item.rows_of_experts(expert)
        fraction = value / np.bincount(rows, value)[rows]
        if self.learner.of == "accuracies":
            values = item.add_up(rows, vote, fraction * np.log(odds(counts, expert, k, shrink)))
        else:
            counts.begin_counts(k)
            p = counts.prior[vote, :k] + counts.said[expert, vote, :k] / (shrink * TRUST)
            logs = np.log(p * counts.inverse[expert, :k])
            values = item.add_up(rows[:, None], np.arange(k), fraction[:, None] * logs)
        values -= values.max(axis=1, keepdims=True, initial=-np.inf)  # 0 for the class that is favoured most
        values[prior] = np.log1p(counts.truths[:k])
        part = Part(values, frozenset((prior, *rows.tolist())))
        return Attribution(values.sum(axis=0), ((part, 1.0),))

    def state(self) -> State:
        """Return all counts, without spare capacity; tables as (experts, labels, votes)."""
        names = self.sources.names
        saved = self._copied(len(names.experts), len(names.classes))
        return _labels_before_votes(saved)

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        self._use(_labels_before_votes({name: state[name] for name in self.shapes}))
        self.resize()

    def validate(self, state: State, sizes: Any) -> None:
        """Check that all counts have their shape, and none is below 0."""
        shape = (len(self.sources.names.experts), len(self.sources.names.classes), 2)
        for name, axes in self.shapes.items():
            check_array(state, name, tuple(shape[axis] for axis in axes), np.float64)
            require(not bool((state[name] < 0.0).any()), f"{name} has negative counts")
        if self.learner.of == "accuracies":
            right = np.append(state["right"], state["pooled"][0])
            require(
                bool((right <= np.append(state["heard"], state["pooled"][1])).all()), "right is above heard"
            )


def _labels_before_votes(counts: State) -> State:
    """Exchange the last two axes of `said`: kernels read the labels of a vote one after the other."""
    if "said" not in counts:
        return counts
    return counts | {"said": np.ascontiguousarray(counts["said"].transpose(0, 2, 1))}
