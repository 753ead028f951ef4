"""Who decides: a single run, or a committee over others who decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from linmax.experts.base import Capacity
from linmax.kernels.structs import Out
from linmax.runtime.instances import TrialSequence
from linmax.runtime.rule_run import RuleRun
from linmax.spec import Learner

State = dict[str, np.ndarray]

REMAINDER = "(remainder)"  # the row of an explanation that no expert answers for


class UnfitError(Exception):
    """Somebody keeps more than one item: this learner takes the general path one by one."""


class Predictions(NamedTuple):
    """The guesses of a stretch and, where they were asked for, the scores behind them."""

    guesses: np.ndarray  # (trials,) int32
    board: np.ndarray  # (trials or 0, classes)


class Attribution(NamedTuple):
    """Why an item is guessed as it is."""

    scores: np.ndarray  # (classes,)
    parts: dict[Any, np.ndarray]  # what each owner of sub-experts adds to each class
    members: list[tuple[Any, float, int]] = []  # noqa: RUF012 - learner, share and guess of each


class Asked(NamedTuple):
    """What is wanted of engines and heads in a stretch."""

    length: int
    learns: bool
    own: set[int]  # engines whose own scores are wanted
    mean: set[int]  # engines whose mean's scores are wanted
    again: set[int]  # engines that may have to be run over again
    moves: set[int]  # engines of which it is asked whether they moved
    boards: set[int]  # heads whose scores are wanted


class TrialChunk(NamedTuple):
    """Some trials that all engines have run over."""

    batch: Any
    rows: slice
    tape: TrialSequence
    tapes: dict[int, TrialSequence]  # by ground
    forms: dict[int, Any]  # by ground
    asked: Asked
    outs: dict[int, Out]  # by engine
    twins: dict[int, RuleRun]  # by engine: as it was before, where somebody has to go over it again
    verdicts: dict[int, Predictions]  # by head
    shared: dict[str, Any]  # what several heads need and one has made

    @property
    def labels(self) -> np.ndarray:
        """Of the new trials."""
        return self.tape.labels[self.tape.held :]

    @property
    def known(self) -> np.ndarray:
        """How many classes were known at each of them."""
        return self.tape.known[self.tape.held :]

    @property
    def length(self) -> int:
        """How many new trials there are."""
        return len(self.tape.labels) - self.tape.held

    def judged(self, guesses: np.ndarray) -> np.ndarray:
        """Which guesses were mistakes."""
        labels = self.labels
        return (guesses != labels) & (labels >= 0) & (labels < self.known)  # type: ignore[no-any-return]


class Predictor:
    """One who decides."""

    learner: Any
    members: Sequence[Any] = ()  # those below
    recent = 0  # how many of the latest instances it wants kept

    def ask(self, asked: Asked, board: bool) -> None:
        """Say what is needed of others, before they run; `board`: the scores are wanted, too."""
        if board:
            asked.boards.add(id(self))

    def verdict(self, stretch: TrialChunk) -> Predictions:
        """The guesses of a stretch; whoever asks first makes this one decide, and learn."""
        if id(self) not in stretch.verdicts:
            stretch.verdicts[id(self)] = self.decide(stretch, id(self) in stretch.asked.boards)
        return stretch.verdicts[id(self)]

    def bind(self, desk: Any, guesses: np.ndarray, board: np.ndarray) -> None:
        """Put what one trial takes on the desk, to write its guess and (unless empty) its scores here."""
        raise UnfitError

    def decide(self, stretch: TrialChunk, board: bool) -> Predictions:
        """The guesses of a stretch, and learn from it."""
        raise NotImplementedError

    def weights(self) -> dict[Any, float]:
        """The weights that predict, by name."""
        raise NotImplementedError

    def explain(self, item: Any) -> Attribution:
        """Whose votes decide an item."""
        raise NotImplementedError

    def shares(self) -> list[tuple[Predictor, float]]:
        """The members, and the part each has in the guesses now."""
        return []

    def members_below(self) -> list[tuple[Predictor, float]]:
        """The members of members, down to those who have none."""
        found = []
        for member, share in self.shares():
            below = member.members_below() or [(member, 1.0)]
            found += [(head, share * part) for head, part in below]
        return found

    def heads(self) -> Iterator[Predictor]:
        """This one and all below, in a fixed order."""
        yield self
        for member in self.members:
            yield from member.heads()

    def check_room(self, need: Capacity) -> None:
        """Refuse what would make too many weights, before anything has changed."""

    def fit(self) -> None:
        """Follow the room of the ground."""

    def state(self) -> State:
        """What this one has learned, apart from its members."""
        return {}

    def restore(self, state: State) -> None:
        """Take up what `state` gave."""

    def check(self, state: State, remembered: dict[int, int]) -> None:
        """Raise a ValueError that says what is wrong with a state; `remembered`: how much by ground."""


def mixed(members: list[tuple[Predictor, float]], item: Any, scores: np.ndarray | None = None) -> Attribution:
    """What owners add through all members, by the members' shares; what that leaves open is a row, too."""
    parts: dict[Any, np.ndarray] = {}
    told = []
    ballots = np.zeros(item.known)
    for member, share in members:
        reason = member.explain(item)
        guess = item.guess(reason.scores)
        below = reason.members or [(member.learner, 1.0, guess)]
        told += [(learner, share * part, code) for learner, part, code in below]
        if guess >= 0:
            ballots[guess] += share
        for owner, row in reason.parts.items():
            parts[owner] = parts.get(owner, 0.0) + share * row
    whole = ballots if scores is None else scores
    return Attribution(whole, completed(parts, whole), told)


def completed(parts: dict[Any, np.ndarray], scores: np.ndarray) -> dict[Any, np.ndarray]:
    """The parts with a row for what they leave open."""
    named = {owner: row for owner, row in parts.items() if owner != REMAINDER}
    return named | {REMAINDER: scores - sum(named.values(), np.zeros(len(scores)))}


def scaled(weights: dict[Any, float]) -> dict[Any, float]:
    """The same with absolute values that add up to 1."""
    total = sum(map(abs, weights.values()))
    return {key: weight / total for key, weight in weights.items()} if total > 0 else weights


def blend(parts: list[tuple[float, dict[Any, float]]]) -> dict[Any, float]:
    """The mean of several weightings, each brought to absolute values that add up to 1."""
    blended: dict[Any, float] = {}
    for share, weights in parts:
        for key, weight in scaled(weights).items():
            blended[key] = blended.get(key, 0.0) + share * weight
    return blended


NOTHING = np.zeros((0, 0))


class RulePredictor(Predictor):
    """One of the two readings of a run."""

    def __init__(self, learner: Learner, engine: RuleRun, mean: bool) -> None:
        self.learner = learner
        self.engine = engine
        self.mean = mean

    def ask(self, asked: Asked, board: bool) -> None:
        """Scores, if they are wanted."""
        super().ask(asked, board)
        if board:
            (asked.mean if self.mean else asked.own).add(id(self.engine))

    def decide(self, stretch: TrialChunk, board: bool) -> Predictions:
        """What the engine found."""
        out = stretch.outs[id(self.engine)]
        if self.mean:
            return Predictions(out.mean, out.mean_scores if board else NOTHING)
        return Predictions(out.own, out.own_scores if board else NOTHING)

    def bind(self, desk: Any, guesses: np.ndarray, board: np.ndarray) -> None:
        """The engine writes here."""
        reading = "mean" if self.mean else "own"
        wanted = desk.outs.setdefault(id(self.engine), {})
        wanted[reading] = guesses
        if len(board):
            wanted[f"{reading}_scores"] = board

    def vector(self) -> np.ndarray:
        """The hypothesis that decides."""
        return self.engine.weights(mean=self.mean)

    def weights(self) -> dict[Any, float]:
        """The hypothesis that decides, by name."""
        vector = self.vector()
        return {key: float(vector[at]) for key, _, at in self.engine.ground.named()}

    def explain(self, item: Any) -> Attribution:
        """What each sub-expert adds."""
        return item.of_engine(self.engine, self.mean)  # type: ignore[no-any-return]
