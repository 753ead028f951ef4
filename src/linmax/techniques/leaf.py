"""A single run decides: with its last hypothesis, or with the mean of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.learner import Learner
from linmax.techniques.engine import Engine
from linmax.techniques.head import Asked, Head, Reason, Stretch, Verdict

NOTHING = np.zeros((0, 0))


class Leaf(Head):
    """One of the two readings of a run."""

    def __init__(self, learner: Learner, engine: Engine, mean: bool) -> None:
        self.learner = learner
        self.engine = engine
        self.mean = mean

    def ask(self, asked: Asked, board: bool) -> None:
        """Scores, if they are wanted."""
        super().ask(asked, board)
        if board:
            (asked.mean if self.mean else asked.own).add(id(self.engine))

    def decide(self, stretch: Stretch, board: bool) -> Verdict:
        """What the engine found."""
        out = stretch.outs[id(self.engine)]
        if self.mean:
            return Verdict(out.mean, out.mean_scores if board else NOTHING)
        return Verdict(out.own, out.own_scores if board else NOTHING)

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

    def explain(self, item: Any) -> Reason:
        """What each sub-expert adds."""
        return item.of_engine(self.engine, self.mean)  # type: ignore[no-any-return]
