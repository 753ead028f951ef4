"""Weighted Majority: members or experts vote, and those that are wrong lose weight."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from linmax.experts import Votes
from linmax.kernels.ensembles.mixtures import NEW, SPOKEN, mean_log, weigh
from linmax.runtime.influence import Hypothesis
from linmax.runtime.predictor import (
    NO_SCORES,
    Attribution,
    Part,
    Predictions,
    Predictor,
    State,
    TrialChunk,
    mean_weights,
    mix_attributions,
)
from linmax.runtime.sources import Sources
from linmax.spec import Learner, check_source
from linmax.techniques.base import Committee, check_multiplier
from linmax.validation import check_array

LOWEST = -700.0  # the logarithm of the smallest weight beside the largest


@dataclass(frozen=True, repr=False)
class WeightedMajority(Committee):
    """Predict the class with the most weight behind it; divide the weight of every member that was wrong.

    Weights change on every trial, whether or not the prediction was right; a member that abstains is not
    wrong. Without members this is the classic algorithm over the experts themselves: an expert that gives
    scores votes for its best class, and a new expert starts at the mean weight.

    Parameters
    ----------
    members
        The learners; None for the experts themselves.
    multiplier
        The divisor, above 1.

    References
    ----------
    Littlestone & Warmuth, The weighted majority algorithm, 1994.
    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, 2003, section 5.2.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron, WeightedMajority, Winnow
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, relevant=1, noise=0.1)
    >>> Fusion(WeightedMajority()).learn(votes, labels).mistakes
    92
    >>> Fusion(WeightedMajority([Perceptron(), Winnow(1.5)])).learn(votes, labels).mistakes
    170
    """

    once_positional: ClassVar[tuple[str, ...]] = ("multiplier",)

    members: tuple[Learner, ...] | None = None  # type: ignore[assignment]
    multiplier: float = field(default=1.5, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for members that are no learners, and for a multiplier out of range."""
        if self.members is not None:
            super().__post_init__()
        else:
            Learner.__post_init__(self)
        check_multiplier(self)

    def __str__(self) -> str:
        return super().__str__() if self.members is not None else "WeightedMajority of the experts"

    def on(self, source: Any) -> Self:
        """Return the same over members on another source; the experts' own votes have no other source.

        Parameters
        ----------
        source
            A source of `linmax.experts`, or a sum of them.
        """
        check_source("WeightedMajority", source)
        return self if self.members is None else super().on(source)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over the members, or over the experts themselves."""
        if self.members is None:
            return ExpertMajority(self, runner.shared_sources((Votes(),)))
        return MemberMajority(self, [runner.predictor_for(member) for member in self.members])


class _Majority(Predictor):
    """Weights in the exponent: a voter's is exp(`logs`), and only ratios matter."""

    def __init__(self, learner: WeightedMajority) -> None:
        self.learner = learner
        self.step = math.log(learner.multiplier)
        self.logs = np.zeros(0)
        self.spoken = np.zeros(0, dtype=np.uint8)

    def grow(self, count: int) -> None:
        """Make space for so many voters."""
        more = count - len(self.logs)
        if more > 0:
            self.logs = np.concatenate((self.logs, np.zeros(more)))
            self.spoken = np.concatenate((self.spoken, np.full(more, NEW, dtype=np.uint8)))

    def count_votes(self, chunk: TrialChunk, votes: np.ndarray) -> Predictions:
        """Return the predictions when these are the votes (trials, voters)."""
        self.grow(votes.shape[1])
        codes = np.empty(chunk.length, dtype=np.int32)
        scores = np.zeros((chunk.length if self.scores_wanted else 0, chunk.classes))
        stage = weigh.stage(
            np.ascontiguousarray(votes.T), chunk.labels, chunk.known, self.logs, self.spoken, self.step,
            np.zeros(chunk.classes + 1), codes, scores,
        )  # fmt: skip
        stage(0, chunk.length)
        return Predictions(codes, scores)

    def parts(self) -> np.ndarray:
        """Return the share of each voter that has spoken; they add up to 1."""
        logs = np.where(self.spoken == NEW, -np.inf, self.logs)
        if not len(logs) or logs.max() == -np.inf:
            return np.zeros(len(logs))
        parts = np.exp(logs - logs.max())
        return parts / parts.sum()  # type: ignore[no-any-return]

    def logs_of_all(self) -> np.ndarray:
        """Return the logarithms of the weights; whoever has not voted yet has the mean weight."""
        return np.where(self.spoken == NEW, mean_log(self.logs, self.spoken), self.logs)

    def state(self) -> State:
        """Return the weights, and who has spoken."""
        return {"logs": self.logs, "spoken": self.spoken}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        self.logs, self.spoken = state["logs"].copy(), state["spoken"].copy()


class MemberMajority(_Majority):
    """The members of the ensemble vote.

    Parameters
    ----------
    learner
        The ensemble.
    members
        The predictors of its members.
    """

    staged: ClassVar[bool] = True

    def __init__(self, learner: WeightedMajority, members: list[Predictor]) -> None:
        super().__init__(learner)
        self.members = members
        self.grow(len(members))
        self.spoken[:] = SPOKEN  # every member is there from the start

    def voters(self) -> list[Any]:
        """Return the members; None for each that does not vote yet."""
        return list(self.members)

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask the members for predictions."""
        super().request(chunk, scores)
        for member in self.members:
            member.request(chunk, False)

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel on the predictions of the members."""
        votes = np.full((len(self.members), program.block), -1, dtype=np.int32)
        for member, own in zip(self.voters(), votes, strict=True):
            if member is not None:
                program.bind(member, own, NO_SCORES)
        program.call(
            weigh, votes, program.labels, program.known, self.logs, self.spoken, self.step,
            np.zeros(program.classes + 1), codes, scores,
        )  # fmt: skip

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members by weight."""
        return list(zip(self.members, self.parts().tolist(), strict=True))

    def weights(self) -> dict[Any, float]:
        """Return the mean of the members' normalized weights."""
        return mean_weights(self.shares())

    def explain(self, item: Any) -> Attribution:
        """Return each member's weight for its prediction, relative to the largest."""
        weights = np.exp(self.logs - self.logs.max())
        attribution = mix_attributions(list(zip(self.members, weights.tolist(), strict=True)), item)
        total = float(weights.sum())
        members = tuple((title, part / total, code) for title, part, code in attribution.members)
        return attribution._replace(members=members)

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there is one weight per member."""
        check_array(state, "logs", (len(self.members),), np.float64)
        check_array(state, "spoken", (len(self.members),), np.uint8, 0, 3)


class ExpertMajority(_Majority):
    """The experts themselves vote.

    Parameters
    ----------
    learner
        The learner.
    sources
        The votes.
    """

    def __init__(self, learner: WeightedMajority, sources: Sources) -> None:
        super().__init__(learner)
        self.sources = sources

    def compute(self, chunk: TrialChunk) -> Predictions:
        """Return the class with the most weight behind it."""
        return self.count_votes(chunk, chunk.voted_classes)

    def weights(self) -> dict[Any, float]:
        """Return the weights by expert, which add up to 1."""
        parts, named = self.parts(), self.sources.named_weights()
        return {key: float(parts[at]) if at < len(parts) else 0.0 for key, _, at in named}

    def linear_hypotheses(self) -> list[Hypothesis]:
        """Return the weights of the experts, each of which votes for its best class."""
        self.grow(self.sources.capacity.experts)
        logs = self.logs_of_all()
        weights = np.exp(np.maximum(logs - logs.max(initial=-np.inf), LOWEST))
        return [[(Votes(as_="onehot"), weights)]]

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> None:
        """Scores are relative to the largest weight of those that vote, so that their scale is not fixed."""

    def explain(self, item: Any) -> Attribution:
        """Return each expert's weight for its vote, relative to the largest of those that speak."""
        (votes,) = item.chunk.voted_classes
        self.grow(len(votes))
        logs = self.logs_of_all()[: len(votes)]
        voters = np.flatnonzero(votes >= 0)
        weights = np.exp(logs[voters] - logs[voters].max(initial=-np.inf))
        rows = item.rows_of_experts(voters)
        part = Part(item.add_up(rows, votes[voters], weights), frozenset(rows.tolist()))
        return Attribution(part.values.sum(axis=0), ((part, 1.0),))

    def state(self) -> State:
        """Return the weights of the known experts, and who has spoken."""
        self.grow(len(self.sources.names.experts))
        count = len(self.sources.names.experts)
        return {"logs": self.logs[:count], "spoken": self.spoken[:count]}

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there is one weight per expert."""
        count = len(self.sources.names.experts)
        check_array(state, "logs", (count,), np.float64)
        check_array(state, "spoken", (count,), np.uint8, 0, 2)
