"""Weighted Majority: members vote, and those who are wrong lose weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from linmax.experts import Votes
from linmax.experts.votes import on_one_scale
from linmax.kernels.ensembles import NEW, SPOKEN, mean_log, weigh
from linmax.kernels.forms import Dense, Hard
from linmax.runtime.predictor import Asked, Predictor, Attribution, State, TrialChunk, Predictions, blend, mixed
from linmax.runtime.single_item import NO_SCORES
from linmax.runtime.sources import Sources
from linmax.spec import Learner
from linmax.techniques.base import Committee, check_multiplier
from linmax.validation import check_array


@dataclass(frozen=True, repr=False)
class WeightedMajority(Committee):
    """Guess what the heaviest members guess; divide the weight of every member that was wrong.

    On every trial, whether or not the whole was right; who abstains is not wrong. Littlestone & Warmuth 1994,
    as used in 2003 (section 5.2). Without members it is the classic over the experts themselves: there an
    expert that gives scores guesses its best class, and a newcomer starts at the mean weight.

    >>> from linmax import Fusion, Perceptron, WeightedMajority, Winnow
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, relevant=1, noise=0.1)
    >>> Fusion(WeightedMajority()).learn(votes, labels).mistakes
    92
    >>> Fusion(WeightedMajority([Perceptron(), Winnow(1.5)])).learn(votes, labels).mistakes
    170
    """

    members: tuple[Learner, ...] | None = None  # type: ignore[assignment]
    multiplier: float = 1.5  # > 1: what the weight of who is wrong is divided by

    def __post_init__(self) -> None:
        """Refuse a multiplier that punishes nobody."""
        if self.members is not None:
            super().__post_init__()
        else:
            Learner.__post_init__(self)
        check_multiplier(self)

    def __str__(self) -> str:
        return super().__str__() if self.members is not None else "WeightedMajority of the experts"

    def on(self, source: Any) -> Self:
        """The same over members on another source; the experts themselves have none to choose."""
        if self.members is None:
            raise ValueError(f"{self!r} is over the experts' votes; give it members to set on {source!r}")
        return super().on(source)

    def predictor(self, runner: Any) -> Predictor:
        """The head of the members, or of the experts themselves."""
        if self.members is None:
            return ExpertMajority(self, runner.ground((Votes(),)))
        return MemberMajority(self, [runner.predictor(member) for member in self.members])


class _Majority(Predictor):
    """Weights in the exponent: a member's is exp(`logs`), and only ratios matter."""

    def __init__(self, learner: WeightedMajority) -> None:
        self.learner = learner
        self.step = math.log(learner.multiplier)
        self.logs = np.zeros(0)
        self.spoken = np.zeros(0, dtype=np.uint8)

    def seats(self, count: int) -> None:
        """Room for this many who vote."""
        more = count - len(self.logs)
        if more > 0:
            self.logs = np.concatenate((self.logs, np.zeros(more)))
            self.spoken = np.concatenate((self.spoken, np.full(more, NEW, dtype=np.uint8)))

    def judge(self, stretch: TrialChunk, ballots: np.ndarray, board: bool) -> Predictions:
        """The guesses when these are the votes (trials, seats)."""
        self.seats(ballots.shape[1])
        classes = stretch.batch.classes_seen
        guesses = np.empty(stretch.length, dtype=np.int32)
        scores = np.zeros((stretch.length if board else 0, classes))
        weigh(
            np.ascontiguousarray(ballots), stretch.labels, stretch.known, self.logs, self.spoken, self.step,
            np.zeros(classes + 1), guesses, scores,
        )  # fmt: skip
        return Predictions(guesses, scores)

    def parts(self) -> np.ndarray:
        """The part of each of those who have spoken, adding up to 1."""
        logs = np.where(self.spoken == NEW, -np.inf, self.logs)
        if not len(logs) or logs.max() == -np.inf:
            return np.zeros(len(logs))
        parts = np.exp(logs - logs.max())
        return parts / parts.sum()  # type: ignore[no-any-return]

    def state(self) -> State:
        """The weights, and who has spoken."""
        return {"logs": self.logs, "spoken": self.spoken}

    def restore(self, state: State) -> None:
        """Take up what `state` gave."""
        self.logs, self.spoken = state["logs"].copy(), state["spoken"].copy()


class MemberMajority(_Majority):
    """Learners vote."""

    def __init__(self, learner: WeightedMajority, members: list[Predictor]) -> None:
        super().__init__(learner)
        self.members = members
        self.seats(len(members))
        self.spoken[:] = SPOKEN  # every member is there from the start

    def ask(self, asked: Asked, board: bool) -> None:
        """Guesses are enough."""
        super().ask(asked, board)
        for member in self.members:
            member.ask(asked, False)

    def decide(self, stretch: TrialChunk, board: bool) -> Predictions:
        """The heaviest guess."""
        ballots = [member.verdict(stretch).guesses for member in self.members]
        return self.judge(stretch, np.stack(ballots, axis=1), board)

    def bind(self, desk: Any, guesses: np.ndarray, board: np.ndarray) -> None:
        """After the members, the kernel."""
        ballots = np.zeros((1, len(self.members)), dtype=np.int32)
        for m, member in enumerate(self.members):
            desk.seat(member, ballots[0, m : m + 1], NO_SCORES)
        desk.call(
            weigh, ballots, desk.label, desk.known, self.logs, self.spoken, self.step,
            np.zeros(int(desk.known[0]) + 1), guesses, board,
        )  # fmt: skip

    def shares(self) -> list[tuple[Predictor, float]]:
        """By weight."""
        return list(zip(self.members, self.parts().tolist(), strict=True))

    def weights(self) -> dict[Any, float]:
        """The mean of the members' weights, each brought to absolute values that add up to 1."""
        return blend([(share, member.weights()) for member, share in self.shares()])

    def explain(self, item: Any) -> Attribution:
        """Each member's weight is for its guess; the heaviest counts 1."""
        weights = np.exp(self.logs - self.logs.max())
        reason = mixed(list(zip(self.members, weights.tolist(), strict=True)), item)
        told = [(learner, part / float(weights.sum()), code) for learner, part, code in reason.members]
        return reason._replace(members=told)

    def check(self, state: State, remembered: dict[int, int]) -> None:
        """One weight per member."""
        check_array(state, "logs", (len(self.members),), np.float64)
        check_array(state, "spoken", (len(self.members),), np.uint8, 0, 3)


class ExpertMajority(_Majority):
    """The experts themselves vote."""

    def __init__(self, learner: WeightedMajority, ground: Sources) -> None:
        super().__init__(learner)
        self.ground = ground

    def decide(self, stretch: TrialChunk, board: bool) -> Predictions:
        """The heaviest vote."""
        return self.judge(stretch, labels_voted(stretch), board)

    def weights(self) -> dict[Any, float]:
        """By expert, adding up to 1."""
        parts = self.parts()
        return {key: float(parts[at]) if at < len(parts) else 0.0 for key, _, at in self.ground.named()}

    def explain(self, item: Any) -> Attribution:
        """Each expert's weight is for its vote; the heaviest who speaks counts 1."""
        (ballots,) = labels_voted(item.stretch)
        self.seats(len(ballots))
        owners = {at: owner for _, owner, at in self.ground.named(item.names)}
        logs = np.where(self.spoken == NEW, mean_log(self.logs, self.spoken), self.logs)[: len(ballots)]
        top = logs[ballots >= 0].max(initial=-np.inf)
        scores, parts = np.zeros(item.known), {}
        for at in np.flatnonzero(ballots >= 0).tolist():
            parts[owners[at]] = np.zeros(item.known)
            parts[owners[at]][ballots[at]] = math.exp(logs[at] - top)
            scores += parts[owners[at]]
        return Attribution(scores, parts)

    def state(self) -> State:
        """The weights, and who has spoken, of the experts that are known."""
        self.seats(len(self.ground.names.experts))
        count = len(self.ground.names.experts)
        return {"logs": self.logs[:count], "spoken": self.spoken[:count]}

    def check(self, state: State, remembered: dict[int, int]) -> None:
        """One weight per expert."""
        count = len(self.ground.names.experts)
        check_array(state, "logs", (count,), np.float64)
        check_array(state, "spoken", (count,), np.uint8, 0, 2)


def labels_voted(stretch: TrialChunk) -> np.ndarray:
    """The best class of every expert (trials, experts), the first of those that tie; -1 when it abstains."""
    if "labels voted" not in stretch.shared:
        stretch.shared["labels voted"] = _labels_voted(stretch)
    return stretch.shared["labels voted"]  # type: ignore[no-any-return]


def _labels_voted(stretch: TrialChunk) -> np.ndarray:
    tape = stretch.tape
    voted = np.full((stretch.length, stretch.batch.experts_seen), -1, dtype=np.int32)
    votes = on_one_scale(tape.data.votes, "onehot")
    if isinstance(votes, Hard):
        voted[:, : votes.codes.shape[1]] = votes.codes[tape.held :]
    elif isinstance(votes, Dense):
        values = votes.values[tape.held :]
        voted[:, : values.shape[1]] = np.where(values.any(axis=2), values.argmax(axis=2), -1)
    else:
        trial = np.repeat(np.arange(len(tape.labels)), np.diff(votes.indptr)) - tape.held
        new = (trial >= 0) & (votes.label >= 0)
        voted[trial[new], votes.expert[new]] = votes.label[new]
    return voted
