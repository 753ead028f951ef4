"""Mixture: the members' probabilities, weighted by how well each has foretold so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linmax.techniques.committee import Committee
from linmax.techniques.expect import expect
from linmax.techniques.head import Asked, Head, Reason, State, Stretch, Verdict, blend, mixed
from linmax.techniques.weighing import mix


@dataclass(frozen=True, repr=False)
class Mixture(Committee):
    """Mix the soft-max of the members' scores by weights that fall with each member's log-loss.

    p = sum over members of v_m softmax(scores_m);  v_m *= softmax(scores_m)[y] ** rate;
    then a `share` of all weight is spread evenly, so that a member which was bad can come back.

    The exponentially weighted average of Vovk 1990 with the share of Herbster & Warmuth 1998. The scores of
    the whole are log p.

    >>> from linmax import Fusion, Logistic, Mixture
    >>> from linmax.problems import majority
    >>> bank = [Logistic(eta, start="equal") for eta in (0.01, 0.1, 1.0)]
    >>> [Fusion(B).learn(*majority(1000, noise=0.1)).mistakes for B in (*bank, Mixture(bank))]
    [343, 196, 322, 196]
    """

    rate: float = field(default=1.0, kw_only=True)
    share: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        super().__post_init__()
        for what, most, usual in (("rate", 1e6, 1), ("share", 1.0, 0.001)):
            value = getattr(self, what)
            right = isinstance(value, int | float) and not isinstance(value, bool)
            if not right or not 0 <= value <= most or (what == "rate" and value == 0):
                raise ValueError(
                    f"Mixture needs {what} between 0 and {most:g} (got {value!r}); {usual:g} is usual"
                )

    def seat(self, council: Any) -> Head:
        """The head of the members."""
        return Mixer(self, [council.seat(member) for member in self.members])


class Mixer(Head):
    """One who mixes; `logs` are the logarithms of the weights."""

    def __init__(self, learner: Mixture, members: list[Head]) -> None:
        self.learner = learner
        self.members = members
        self.logs = np.full(len(members), -np.log(len(members)))

    def heads(self) -> Iterator[Head]:
        """This one and all below."""
        yield self
        for member in self.members:
            yield from member.heads()

    def ask(self, asked: Asked, board: bool) -> None:
        """Everybody's scores."""
        for member in self.members:
            member.ask(asked, True)

    def decide(self, stretch: Stretch, board: bool) -> Verdict:
        """The most probable class of the mixture."""
        boards = np.stack([member.decide(stretch, True).board for member in self.members])
        guesses = np.empty(stretch.length, dtype=np.int32)
        scores = np.zeros((stretch.length if board else 0, boards.shape[2]))
        mix(
            boards, stretch.labels, stretch.known, self.logs, float(self.learner.rate),
            float(self.learner.share), np.zeros((len(boards) + 1, boards.shape[2])), guesses, scores,
        )  # fmt: skip
        return Verdict(guesses, scores)

    def shares(self) -> list[tuple[Head, float]]:
        """By weight."""
        return list(zip(self.members, np.exp(self.logs).tolist(), strict=True))

    def weights(self) -> dict[Any, float]:
        """The mean of the members' weights, each brought to absolute values that add up to 1."""
        return blend([(share, member.weights()) for member, share in self.shares()])

    def explain(self, item: Any) -> Reason:
        """The members' reasons, and what the mixing of probabilities adds to that."""
        boards = np.stack([member.explain(item).scores for member in self.members])[:, None, :]
        scores, guesses = np.zeros((1, item.known)), np.zeros(1, dtype=np.int32)
        mix(
            boards, np.full(1, -1), np.full(1, item.known), self.logs, 1.0, 0.0,
            np.zeros((len(boards) + 1, item.known)), guesses, scores,
        )  # fmt: skip
        return mixed(self.shares(), item, scores[0])

    def state(self) -> State:
        """The weights."""
        return {"logs": self.logs}

    def restore(self, state: State) -> None:
        """Take up what `state` gave."""
        self.logs[:] = state["logs"]

    def check(self, state: State, pairs: dict[int, int]) -> None:
        """One weight per member."""
        expect(state, "logs", (len(self.members),), np.float64)
