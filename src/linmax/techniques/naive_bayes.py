"""NaiveBayes: the probabilities of the experts' votes given the label, estimated by counting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._jit.memory import aligned_zeros
from linmax._jit.vectors import WIDTH
from linmax.experts import Votes
from linmax.experts.base import Capacity, expert_key
from linmax.kernels.elementwise import log_of
from linmax.kernels.ensembles.naive_bayes import count
from linmax.kernels.ensembles.vote_counts import POOL, SIDES, TRUST, Accuracies, Tables, VoteList, odds
from linmax.runtime import tables
from linmax.runtime.influence import MOST_CELLS, Influences
from linmax.runtime.predictor import Attribution, Part, Predictor, State
from linmax.runtime.sources import Sources
from linmax.runtime.tables import (
    BlockTable,
    GrowingTable,
    check_places,
    check_size,
    in_eights,
    most_votes,
)
from linmax.spec import Learner, check_source
from linmax.validation import check_array, require

KINDS: dict[str, Any] = {"tables": Tables, "accuracies": Accuracies}
# the counts that are saved, and their shapes; 0: as many as experts, 1: as classes, 2: two
SAVED: dict[str, dict[str, tuple[int, ...]]] = {
    "tables": {"said": (0, 1, 1), "heard": (0, 1), "pooled": (1, 1), "pool": (1,), "truths": (1,)},
    "accuracies": {"right": (0,), "heard": (0,), "pooled": (2,), "truths": (1,)},
}
SAVED_COLUMN = {"said": 0, "pooled": 1}  # of the tables


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
    log_probabilities = True

    def __init__(self, learner: NaiveBayes, sources: Sources) -> None:
        self.learner = learner
        self.sources = sources
        self.shapes = SAVED[learner.of]
        self.counts: Any = None
        self.tables: dict[str, GrowingTable] = {}
        if learner.of == "tables":
            self.tables = {"said": GrowingTable(3, 1), "pooled": GrowingTable(2, 2, share=4)}
        self._use(self._zeros(0, 0))

    def _zeros(self, experts: int, classes: int) -> State:
        """Return counts of 0, without those that are in tables."""
        sizes = (experts, classes, 2)
        return {
            name: aligned_zeros(tuple(sizes[axis] for axis in axes))
            for name, axes in self.shapes.items()
            if name not in self.tables
        }

    def _use(self, saved: State) -> None:
        """Take over counts, and compute what follows from them and from the tables."""
        self.saved = saved
        if not self.tables:
            self.counts = Accuracies(**saved, log_truths=log_of(saved["truths"] + 1.0))
            return
        shrink, heard, pooled = self.learner.shrink, saved["heard"].reshape(-1), self.tables["pooled"]
        inverse = aligned_zeros(len(heard))
        inverse[:] = shrink / (shrink + heard)
        self.counts = Tables(
            self.tables["said"].column(0), heard, inverse, pooled.column(1),
            pooled.column(0), saved["pool"], 1.0 / (POOL + saved["pool"]), saved["truths"],
            log_of(saved["truths"] + 1.0), np.zeros(1, dtype=np.int64),
        )  # fmt: skip

    def _copied(self, experts: int, classes: int) -> State:
        fresh = self._zeros(experts, classes)
        for name, new in fresh.items():
            corner = tuple(slice(min(pair)) for pair in zip(self.saved[name].shape, new.shape, strict=True))
            new[corner] = self.saved[name][corner]
        return fresh

    def check_sizes(self, sizes: Capacity) -> None:
        """Check the size of the tables, which are experts by classes by classes."""
        numbers = max(math.prod(sizes[axis] for axis in axes) for axes in self.shapes.values())
        check_size(numbers, sizes, in_blocks=bool(self.tables))

    def resize(self) -> None:
        """Follow the capacity of the sources."""
        capacity, heard = self.sources.capacity, self.saved["heard"]
        if len(self.counts.truths) < capacity.classes or len(heard) < capacity.experts:
            self._resize_tables(capacity.experts, capacity.classes)
            self._use(self._copied(capacity.experts, capacity.classes))

    def _resize_tables(self, experts: int, classes: int) -> None:
        for name, table in self.tables.items():
            table.resize(_shapes(experts, classes)[name])
        if self.tables and self.tables["pooled"].blocks is not None:  # these always exist
            labels = np.arange(classes)
            right = (1 + labels) * (classes // WIDTH) + labels // WIDTH
            self.tables["pooled"].blocks.add_missing(np.concatenate(([0], right)))

    @property
    def in_blocks(self) -> bool:
        """Whether tables are stored in blocks."""
        return bool(self._blocks())

    def _blocks(self) -> list[BlockTable]:
        return [table.blocks for table in self.tables.values() if table.blocks is not None]

    def chunk_size(self, votes: Any, classes: int) -> int:
        """Return how many trials with such votes may be run at a time."""
        most = tables.CHUNK_BLOCKS // max(1, most_votes(votes))
        return max(1, most) if self.in_blocks else 1 << 62

    def reserve(self, votes: Any, trials: int, classes: int) -> bool:
        """Make space for a block in each table for every vote; return whether arrays were replaced."""
        most = trials * most_votes(votes)
        replaced = [blocks.reserve(most, most) for blocks in self._blocks()]
        if any(replaced):
            self._use(self.saved)
        return any(replaced)

    def lacks(self, votes: Any, classes: int) -> bool:
        """Whether there is no space for the votes of one trial."""
        return any(blocks.lacks(most_votes(votes), most_votes(votes)) for blocks in self._blocks())

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel on the votes."""
        classes = len(self.counts.truths)
        space = self.sources.capacity.experts + WIDTH
        votes = VoteList(
            np.zeros(space, dtype=np.int64), np.zeros(space, dtype=np.int64), np.ones(space), np.ones(space),
            *aligned_zeros((2, max(classes, SIDES * WIDTH))),
        )  # fmt: skip
        shown = program.predictor is self and len(scores) > 0
        program.call(
            count, program.form(self.sources), program.labels, program.known, float(self.learner.shrink),
            self.counts, votes, int(shown), *aligned_zeros((2, classes)), codes, scores,
        )  # fmt: skip

    def weights(self) -> dict[Any, float]:
        """Return the weights by expert; of tables by expert, vote and class, with the keys of `PerClass`.

        Of tables that are stored in blocks only the weights in these blocks are returned.
        """
        classes = self.sources.names.classes.names
        k, named = len(classes), list(self.sources.named_weights())
        if self.learner.of == "accuracies":
            return {key: float(self._says(at, 0, k)[0]) for key, _, at in named} if k else {}
        experts = self.sources.names.experts.names
        if self.tables["said"].blocks is not None:
            return {
                expert_key(experts[i], classes[a], classes[label]): float(weight[label])
                for i, a, labels, weight in self._rows_in_blocks(k)
                for label in labels
            }
        return {
            expert_key(experts[at], said, label): float(weight)
            for _, _, at in named
            for a, said in enumerate(classes)
            for label, weight in zip(classes, self._says(at, a, k), strict=True)
        }

    def _rows_in_blocks(self, k: int) -> Iterator[tuple[int, int, list[int], np.ndarray]]:
        """Yield every expert and vote that has been counted, the labels stored, and the weights of all."""
        (blocks, *_), wide = self._blocks(), len(self.counts.truths)
        self.counts.begin_counts(k)
        rows, places = np.divmod(np.sort(blocks.numbers()), wide // WIDTH)
        starts = np.flatnonzero(np.diff(rows, prepend=-1)).tolist()
        for begin, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            i, a = divmod(int(rows[begin]), wide)
            labels = (places[begin:end, None] * WIDTH + np.arange(WIDTH)).reshape(-1)
            r = np.log(self._probabilities(np.array([i]), np.array([a]), k)[0])
            yield i, a, labels[labels < k].tolist(), r - r.mean()

    def _probabilities(self, expert: np.ndarray, vote: np.ndarray, k: int) -> np.ndarray:
        """Return the probability of each vote under every label, up to a constant."""
        counts, labels, wide = self.counts, np.arange(k), len(self.counts.truths)
        at, pooled = (vote[:, None] + 1) * wide + labels, self.tables["pooled"]
        prior = pooled.gather(at, 0)
        if pooled.blocks is not None:
            prior = np.where(pooled.blocks.exist(at), prior, pooled.gather(labels[:1], 0))
        said = self.tables["said"].gather((expert * wide + vote)[:, None] * wide + labels, 0)
        inverse = counts.inverse[expert[:, None] * wide + labels]
        return (said * (1.0 / (self.learner.shrink * TRUST)) + prior * counts.scale[:k]) * inverse  # type: ignore[no-any-return]

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
            logs = np.log(self._probabilities(expert, vote, k))
            values = item.add_up(rows[:, None], np.arange(k), fraction[:, None] * logs)
        values -= values.max(axis=1, keepdims=True, initial=-np.inf)  # 0 for the class that is favoured most
        values[prior] = np.log1p(counts.truths[:k])
        part = Part(values, frozenset((prior, *rows.tolist())))
        return Attribution(values.sum(axis=0), ((part, 1.0),))

    def influences(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return the logarithms of probabilities; a new class would change those of all others."""
        return self.approximation(experts, k, names) if k == len(names.classes) else None

    def approximation(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return the same as if no class could be added."""
        base, n = np.log1p(self.counts.truths[None, :k]), len(experts)
        if n * k * k > MOST_CELLS:
            return None
        if self.learner.of == "accuracies":
            logs = np.log(odds(self.counts, experts, k, self.learner.shrink))
            return Influences(
                base, False, np.repeat(logs[None, :, None], k, axis=2), np.zeros((1, n, 0, 0)), {}, True, True
            )
        self.counts.begin_counts(k)
        table = np.log(self._probabilities(experts.repeat(k), np.tile(np.arange(k), n), k)).reshape(
            1, n, k, k
        )
        table -= table.mean(axis=3, keepdims=True)
        return Influences(base, False, np.zeros((1, n, k)), table, {}, True, True)

    def state(self) -> State:
        """Return all counts, without spare capacity; tables as (experts, labels, votes).

        Tables that could not be stored as arrays are blocks, with the labels last: see `GrowingTable.state`.
        """
        experts, classes = len(self.sources.names.experts), len(self.sources.names.classes)
        state, shapes = self._copied(experts, classes), _shapes(experts, classes)
        for name, table in self.tables.items():
            state |= table.state(name, shapes[name], SAVED_COLUMN[name])
            if f"{name}.places" not in state:
                state[name] = _swap_votes_and_labels(state[name] if name == "said" else state[name][1:])
        return state

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        experts, classes = len(self.sources.names.experts), len(self.sources.names.classes)
        self._use({name: state[name] for name in self.shapes if name not in self.tables})
        self.resize()
        self._resize_tables(self.sources.capacity.experts, self.sources.capacity.classes)
        for name, table in self.tables.items():
            part = {key: state[key] for key in (name, f"{name}.places") if key in state}
            if f"{name}.places" not in part:
                array = _swap_votes_and_labels(part[name])
                part[name] = array if name == "said" else np.concatenate((np.zeros((1, classes)), array))
            table.restore(part, name, _shapes(experts, classes)[name], SAVED_COLUMN[name])
        self._use(self.saved)

    def validate(self, state: State, sizes: Any) -> None:
        """Check that all counts have their shape, and none is below 0."""
        shape = (len(self.sources.names.experts), len(self.sources.names.classes), 2)
        for name, axes in self.shapes.items():
            if name in self.tables and f"{name}.places" in state:
                blocks = math.prod(in_eights(_shapes(*shape[:2])[name]))
                check_places(state, name, f"{name}.places", blocks, np.float64)
            else:
                check_array(state, name, tuple(shape[axis] for axis in axes), np.float64)
            require(not bool((state[name] < 0.0).any()), f"{name} has negative counts")
        if self.learner.of == "accuracies":
            right = np.append(state["right"], state["pooled"][0])
            require(
                bool((right <= np.append(state["heard"], state["pooled"][1])).all()), "right is above heard"
            )


def _shapes(experts: int, classes: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tables; see `kernels.vote_counts.Tables`."""
    return {"said": (experts, classes, classes), "pooled": (1 + classes, classes)}


def _swap_votes_and_labels(counts: np.ndarray) -> np.ndarray:
    """Exchange the last two axes: kernels read the labels of a vote one after the other."""
    return np.ascontiguousarray(np.swapaxes(counts, -1, -2))
