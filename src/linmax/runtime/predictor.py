"""Predictors: what turns the runs of rules into predictions, for a single run or for an ensemble."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linmax.experts.base import Capacity
from linmax.experts.votes import rescale
from linmax.kernels.forms import Dense, Hard
from linmax.runtime.influence import Hypothesis, Influences, Leaf, hypotheses_of_run, influences, split_vector
from linmax.runtime.instances import TrialSequence
from linmax.runtime.rule_runs.rule_run import RuleRun
from linmax.spec import Learner
from linmax.validation import require

State = dict[str, np.ndarray]

REMAINDER = "(remainder)"  # the row of an explanation that belongs to no expert
NO_SCORES = np.zeros((0, 0))


class Predictions(NamedTuple):
    """Predictions for some trials.

    Parameters
    ----------
    codes
        The code of the predicted class of each trial, int32; -1 where no class is known.
    scores
        Trials by classes; without rows where scores were not asked for.
    probabilities
        The calibrated probabilities of known classes; without rows where they were not asked for.
    """

    codes: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray = NO_SCORES


class Wanted(NamedTuple):
    """What is wanted of a chunk: scores, that the observer sees it, and its probabilities.

    Predicted codes that a program computes are written to `codes`.
    """

    codes: np.ndarray
    scores: bool
    observed: bool = False
    probabilities: bool = False


@dataclass(frozen=True, eq=False)  # a part equals itself only, so that parts are keys of dicts
class Part:
    """What each owner of sub-experts adds to the scores of one item through one hypothesis.

    Parameters
    ----------
    values
        A row of classes per owner of the item. Owners that the item has met later have no row.
    rows
        The rows of the owners that vote.
    """

    values: np.ndarray
    rows: frozenset[int]


class Attribution(NamedTuple):
    """What the scores of one item are made of.

    Parameters
    ----------
    scores
        The score of each class.
    parts
        What owners add through each hypothesis, and its factor. They are added up for the explanation.
    remainder
        Whether the parts do not account for all of the scores.
    members
        The learner, as text, the share and the predicted code of each member of an ensemble.
    code
        The predicted code, where rounding may decide between the best classes; None: that of the best score.
    """

    scores: np.ndarray
    parts: tuple[tuple[Part, float], ...]
    remainder: bool = False
    members: tuple[tuple[str, float, int], ...] = ()
    code: int | None = None


class TrialChunk:
    """Trials of a batch that all rule runs go through before predictors combine them.

    Parameters
    ----------
    batch
        The encoded batch.
    trials
        Buffered trials, then those of the batch.
    """

    def __init__(self, batch: Any, trials: TrialSequence) -> None:
        self.trials = trials
        self.labels = trials.labels[trials.buffered :]
        self.known = trials.known[trials.buffered :]
        self.length = len(self.labels)
        self.learns = self.length > 0 and bool(self.labels[0] >= 0 or (self.labels >= 0).any())
        self.classes: int = batch.classes_seen
        self.experts: int = batch.experts_seen

    def wrong(self, codes: np.ndarray) -> np.ndarray:
        """Return which predictions were mistakes."""
        return (codes != self.labels) & (self.labels >= 0) & (self.labels < self.known)  # type: ignore[no-any-return]

    @cached_property
    def voted_classes(self) -> np.ndarray:
        """The best class of every expert (trials, experts), the first of those that tie; -1 abstains."""
        buffered = self.trials.buffered
        voted = np.full((self.length, self.experts), -1, dtype=np.int32)
        votes = rescale(self.trials.data.votes, "onehot")
        if isinstance(votes, Hard):
            voted[:, : votes.codes.shape[1]] = votes.codes[buffered:]
        elif isinstance(votes, Dense):
            values = votes.values[buffered:]
            voted[:, : values.shape[1]] = np.where(values.any(axis=2), values.argmax(axis=2), -1)
        else:
            trial = np.repeat(np.arange(len(self.trials.labels)), np.diff(votes.indptr)) - buffered
            new = (trial >= 0) & (votes.label >= 0)
            voted[trial[new], votes.expert[new]] = votes.label[new]
        return voted


class Predictor:
    """The runtime part of a learner: predicts, and learns what the rule runs below it do not.

    A chunk takes three steps. `request` tells members and rule runs what will be needed of them; the rule
    runs go through the chunk; `predictions` combines them, and updates the predictor's own state.
    """

    learner: Any
    members: Sequence[Any] = ()
    recent = 0  # how many of the latest trials have to be kept for it
    staged: ClassVar[bool] = False  # does `bind` add kernels that run block by block?
    combines_scores: ClassVar[bool] = False  # are its scores made of the scores of its members?
    log_probabilities = False  # are its scores log-probabilities, up to a constant?
    gives_probabilities: ClassVar[bool] = False  # can it write probabilities instead of scores?
    takes_probabilities: ClassVar[bool] = False  # does it need of its members no more than probabilities?
    changes: ClassVar[bool] = False  # are members added or replaced, after `next_change` trials?
    scores_wanted = False
    temperature: tuple[np.ndarray, int] | None = None  # table and row of the scale of its member's scores
    _chunk: TrialChunk | None = None
    _predictions: Predictions

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask members and rule runs for what this predictor needs of a chunk."""
        self.scores_wanted |= scores

    def predictions(self, chunk: TrialChunk) -> Predictions:
        """Return the predictions of a chunk; the first call computes them, and learns."""
        if self._chunk is not chunk:
            self._predictions = self.compute(chunk)
            self._chunk = chunk
        return self._predictions

    def release(self) -> None:
        """Forget the chunk."""
        self.scores_wanted = False
        self._chunk = None
        self._predictions = Predictions(NO_SCORES, NO_SCORES)

    def compute(self, chunk: TrialChunk) -> Predictions:
        """Return the predictions of a chunk, and learn from it."""
        raise NotImplementedError

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Add kernels to a `Program` that write into `codes` and (unless empty) `scores`."""
        program.copy(self.predictions(program.chunk), codes, scores)

    def weights(self) -> dict[Any, float]:
        """Return the weights that predict, by key."""
        raise NotImplementedError

    def explain(self, item: Any) -> Attribution:
        """Return what decides an item; `item.explain` asks each predictor once."""
        raise NotImplementedError

    def linear_hypotheses(self) -> list[Hypothesis] | None:
        """Return the linear hypothesis that predicts, or two between which it lies; None if there is none.

        Sub-experts that have never voted have the weight with which they would start.
        """
        return None

    def influences(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return what answers of experts add to the scores; None if the prediction is not linear in them.

        The last of k classes may be one without a name; there is space for all experts and classes.
        """
        found = self.linear_hypotheses()
        return None if found is None else influences(found, experts, k, names)

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> list[Leaf] | None:
        """Return linear learners whose mixed probabilities decide the prediction; None if there are none.

        Unlike in `influences`, the scale of scores matters.
        """
        found = self.influences(experts, k, names)
        return None if found is None or len(found.base) > 1 else [Leaf(1.0, found)]

    def approximation(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return about what answers add to the scores, to decide whom to ask; None if nothing is known."""
        return self.influences(experts, k, names)

    @cached_property
    def title(self) -> str:
        """The learner as text."""
        return repr(self.learner)

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members, and the share that each has in the predictions now."""
        return []

    def leaves(self) -> list[tuple[Predictor, float]]:
        """Return the members of members, down to those that have none, with their shares."""
        found = []
        for member, share in self.shares():
            below = member.leaves() or [(member, 1.0)]
            found += [(leaf, share * part) for leaf, part in below]
        return found

    def tree(self) -> Iterator[Predictor]:
        """Yield this predictor and all below, in a fixed order."""
        yield self
        for member in self.members:
            yield from member.tree()

    def check_cost_margins(self) -> None:
        """Raise a ValueError if no rule learns here whose slack costs could multiply."""
        require(
            len(self.members) > 0,
            f"cost_margins needs rules with a slack, such as Perceptron(slack=2) (got {self.title})",
        )

    def check_sizes(self, sizes: Capacity) -> None:
        """Raise a ValueError if so many would need too much memory, before anything has changed."""

    @property
    def in_blocks(self) -> bool:
        """Whether tables of its own are stored in blocks."""
        return False

    def chunk_size(self, votes: Any, classes: int) -> int:
        """Return how many trials with such votes may be run at a time."""
        return 1 << 62

    def reserve(self, votes: Any, trials: int, classes: int) -> bool:
        """Make space for what so many trials may add; return whether arrays were replaced."""
        return False

    def lacks(self, votes: Any, classes: int) -> bool:
        """Whether there is no space for what one trial may add."""
        return False

    def next_change(self, trials: int) -> int:
        """Return the number of labelled trials, more than `trials`, after which `change` is called."""
        return 1 << 62

    def change(self, trials: int) -> bool:
        """Add or replace members after so many labelled trials; return whether any was."""
        return False

    def resize(self) -> None:
        """Follow the capacity of the sources."""

    def state(self) -> State:
        """Return what this predictor has learned, without its members."""
        return {}

    def restore(self, state: State) -> None:
        """Take over arrays that `state` returned."""

    def validate(self, state: State, sizes: Any) -> None:
        """Raise a ValueError that says what is wrong with a state; `sizes(sources)` tells its sizes."""


class RulePredictor(Predictor):
    """Predicts with one run of a rule: with its last hypothesis, or with the mean of all.

    Parameters
    ----------
    learner
        The learner.
    run
        The run of its rule.
    mean
        Whether the mean predicts.
    """

    staged: ClassVar[bool] = True

    def __init__(self, learner: Learner, run: RuleRun, mean: bool) -> None:
        self.learner = learner
        self.run = run
        self.mean = mean
        # a rule that follows the gradient of the log-loss at every trial
        logistic = learner.rule.rivals == "softmax" and learner.rule.slack == math.inf
        self.log_probabilities = logistic and not mean and not run.buffer_size

    def check_cost_margins(self) -> None:
        """Raise a ValueError if the rule has no slack that costs could multiply."""
        rule = self.run.rule
        require(not rule.fixed_margin, f"cost_margins cannot scale the margin of {rule!r}; take another rule")
        require(
            0 < rule.slack < math.inf,
            f"cost_margins multiplies the slack by costs, so that it needs 0 < slack < inf (got {rule!r})",
        )
        require(
            rule.rivals == "top" or not isinstance(rule.rivals, str),
            f'cost_margins needs rivals="top" or Cycle(rounds) (got {rule!r})',
        )

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask the run for scores, if they are needed."""
        super().request(chunk, scores)
        if scores and self.mean:
            self.run.requests.mean_scores = True
        elif scores:
            self.run.requests.scores = True

    def compute(self, chunk: TrialChunk) -> Predictions:
        """Return what the run has found."""
        out = self.run.outputs
        if self.mean:
            return Predictions(out.mean, out.mean_scores if self.scores_wanted else NO_SCORES)
        return Predictions(out.own, out.own_scores if self.scores_wanted else NO_SCORES)

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Let the run write here, unless it has gone through the chunk already."""
        if self.run.outputs is not None:
            super().bind(program, codes, scores)
        else:
            program.write_run(self.run, self.mean, codes, scores)

    def set_rule(self, rule: Any) -> None:
        """Continue with other parameters of the rule."""
        self.learner = rule
        self.__dict__.pop("title", None)
        self.run.rule = rule

    def vector(self) -> np.ndarray:
        """Return the hypothesis that predicts."""
        return self.run.weights(mean=self.mean)

    def weights(self) -> dict[Any, float]:
        """Return the hypothesis that predicts, by key; if it is stored in blocks, what is in these."""
        if self.run.table is not None:
            return self.run.table.by_key(self.run.sources)
        vector = self.vector()
        return {key: float(vector[at]) for key, _, at in self.run.sources.named_weights()}

    def linear_hypotheses(self) -> list[Hypothesis] | None:
        """Return the hypothesis of the run; without a mean and attributes, its scale does not matter."""
        found = hypotheses_of_run(self.run, self.mean)
        if found is None:
            return None
        if not self.mean and all(part.needs in ("votes", None) for part in self.run.sources.parts):
            found = found[:1]
        return [split_vector(self.run.layout, one) for one in found]

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> list[Leaf] | None:
        """Return the run itself, unless new experts change the scale of its weights."""
        found = hypotheses_of_run(self.run, self.mean)
        return super().leaves_of_mixture(experts, k, names) if found and len(found) == 1 else None

    def explain(self, item: Any) -> Attribution:
        """Return what each sub-expert adds."""
        return item.of_run(self.run, self.mean)  # type: ignore[no-any-return]


def mix_attributions(
    members: list[tuple[Predictor, float]], item: Any, scores: np.ndarray | None = None
) -> Attribution:
    """Return what owners add through all members, by the members' shares."""
    found: list[Attribution] = [item.explain(member) for member, _ in members]
    codes = item.best_classes(found)
    votes = np.zeros(item.known)
    parts: list[tuple[Part, float]] = []
    described: list[tuple[str, float, int]] = []
    for (member, share), attribution, code in zip(members, found, codes, strict=True):
        parts += [(part, share * factor) for part, factor in attribution.parts]
        below = attribution.members or ((member.title, 1.0, code),)
        described += [(title, share * part, own) for title, part, own in below]
        if code >= 0:
            votes[code] += share
    return Attribution(votes if scores is None else scores, tuple(parts), True, tuple(described))


def normalized(weights: dict[Any, float]) -> dict[Any, float]:
    """Scale weights so that their absolute values add up to 1."""
    total = sum(map(abs, weights.values()))
    return {key: weight / total for key, weight in weights.items()} if total > 0 else weights


def mean_weights(members: list[tuple[Predictor, float]]) -> dict[Any, float]:
    """Return the mean of the members' weights by share, each member's normalized first."""
    mean: dict[Any, float] = {}
    for member, share in members:
        for key, weight in normalized(member.weights()).items():
            mean[key] = mean.get(key, 0.0) + share * weight
    return mean
