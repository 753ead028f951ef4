"""Averaged: guess with the mean of all hypotheses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linmax.kernels.ensembles import HEAT, temper
from linmax.runtime.predictor import NOTHING, Asked, Predictor, Attribution, State, TrialChunk, Predictions, completed
from linmax.spec import UNLIMITED, Learner, RunOptions
from linmax.techniques.base import Technique
from linmax.validation import check_array, require


@dataclass(frozen=True, repr=False)
class Averaged(Technique):
    """Guess with the mean of the hypotheses held at the start of each trial, the current one included.

    The inner learner goes on guessing for itself and moves on its own mistakes. Freund & Schapire 1999, as
    used in 2008 (A-B).

    >>> from linmax import Averaged, Fusion, Perceptron
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, noise=0.1)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Perceptron(), Averaged(Perceptron()))]
    [347, 226]
    """

    inner: Learner

    def run_options(self) -> RunOptions:
        """Average."""
        return replace(self.inner.run_options(), averages=True)


@dataclass(frozen=True, repr=False)
class Recycled(Technique):
    """After a mistake pass over the latest instances and learn from those that are guessed wrong.

    An instance serves for at most `updates` updates, its own trial included; passes end when one moves
    nothing. Mesterharm & Hsu 2008, section VI (R-B). `updates=1` keeps the bound against an adversary;
    `updates=None` is for data without noise.

    >>> from linmax import Fusion, Perceptron, Recycled
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, noise=0.0)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Perceptron(), Recycled(Perceptron()))]
    [166, 78]
    """

    inner: Learner
    size: int = field(default=100, kw_only=True)  # instances kept
    updates: int | None = field(default=5, kw_only=True)  # per instance; None: no limit

    def __post_init__(self) -> None:
        """Refuse an empty buffer or no updates."""
        super().__post_init__()
        if not _whole(self.size) or not 1 <= self.size <= 1_000_000:
            raise ValueError(f"Recycled needs 1 <= size <= 1000000 (got {self.size!r}); 100 is usual")
        if self.updates is not None and (not _whole(self.updates) or self.updates < 1):
            raise ValueError(f"Recycled needs updates >= 1 or None (got {self.updates!r}); 5 is usual")

    def run_options(self) -> RunOptions:
        """Keep the latest instances."""
        return replace(self.inner.run_options(), buffer=self.size, updates=self.updates or UNLIMITED)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, repr=False)
class Tempered(Technique):
    """Multiply scores by a temperature that is learned: their soft-max can then be taken as probabilities.

    s = exp(u) (s - max s);  u follows the gradient of the log-loss, in steps that shrink with its curvature

    No guess changes. For rules whose scores have no scale of their own, such as the Perceptron's, before they
    are mixed (Guo et al. 2017 do the same after training).

    >>> from linmax import Averaged, Fusion, Perceptron, Tempered
    >>> from linmax.problems import majority
    >>> votes, labels = majority(2000, noise=0.2)
    >>> fusion = Fusion(Tempered(Averaged(Perceptron())))
    >>> plain = Fusion(Averaged(Perceptron()))
    >>> fusion.learn(votes, labels).mistakes == plain.learn(votes, labels).mistakes
    True
    >>> fusion.scores(votes[:1]).round(1), plain.scores(votes[:1]).round(1)
    (array([[-0.5,  0. , -0.1, -1. , -1.8]]), array([[5.9, 7.3, 6.9, 4.5, 2.2]]))
    """

    ensemble: ClassVar[bool] = True

    inner: Learner

    def predictor(self, runner: Any) -> Predictor:
        """The head over one run."""
        return TemperedPredictor(self, runner.predictor(self.inner))


class TemperedPredictor(Predictor):
    """The logarithm of the temperature, and the curvature it has met."""

    def __init__(self, learner: Tempered, member: Predictor) -> None:
        self.learner = learner
        self.member = member
        self.members = (member,)
        self.heat = np.zeros(2)

    def ask(self, asked: Asked, board: bool) -> None:
        """Scores."""
        super().ask(asked, board)
        self.member.ask(asked, True)

    def decide(self, stretch: TrialChunk, board: bool) -> Predictions:
        """The guesses of the one below, its scores on another scale."""
        below = self.member.verdict(stretch)
        classes, tempered = below.board.shape[1], np.zeros_like(below.board)
        temper(
            below.board,
            stretch.labels,
            stretch.known,
            self.heat,
            np.zeros(classes),
            np.zeros(classes),
            tempered,
        )
        return Predictions(below.guesses, tempered if board else NOTHING)

    def bind(self, desk: Any, guesses: np.ndarray, board: np.ndarray) -> None:
        """The one below writes its guess here, and its scores to be tempered."""
        scores = np.zeros((1, int(desk.known[0])))
        desk.seat(self.member, guesses, scores)
        target = board if len(board) else np.zeros_like(scores)
        scratch = np.zeros(scores.shape[1]), np.zeros(scores.shape[1])
        desk.call(temper, scores, desk.label, desk.known, self.heat, *scratch, target)

    def shares(self) -> list[tuple[Predictor, float]]:
        """Nobody else has a part."""
        return self.member.shares()

    def weights(self) -> dict[Any, float]:
        """Those below, on the same scale as the scores."""
        heat = float(np.exp(self.heat[HEAT]))
        return {key: heat * weight for key, weight in self.member.weights().items()}

    def explain(self, item: Any) -> Attribution:
        """The reasons below on another scale, and what brings the best score to 0."""
        reason = self.member.explain(item)
        heat = float(np.exp(self.heat[HEAT]))
        scores = heat * (reason.scores - reason.scores.max(initial=-np.inf))
        parts = {owner: heat * row for owner, row in reason.parts.items()}
        return Attribution(scores, completed(parts, scores), reason.members)

    def state(self) -> State:
        """The temperature."""
        return {"heat": self.heat}

    def restore(self, state: State) -> None:
        """Take up what `state` gave."""
        self.heat[:] = state["heat"]

    def check(self, state: State, remembered: dict[int, int]) -> None:
        """Two numbers."""
        check_array(state, "heat", (2,), np.float64)
        require(abs(state["heat"][0]) <= 100.0 and state["heat"][1] >= 0.0, "heat is no temperature")
