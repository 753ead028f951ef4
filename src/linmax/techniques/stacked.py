"""Stacked: learn how much to trust each member's probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linmax.experts.expect import expect, need
from linmax.techniques.committee import Committee, check_part
from linmax.techniques.head import Head, State
from linmax.techniques.mixing import stack
from linmax.techniques.mixture import OfScores


@dataclass(frozen=True, repr=False)
class Stacked(Committee):
    """Soft-max regression on the members' log-probabilities, with steps of Newton's kind.

    p = softmax(sum over members of v_m log softmax(scores_m));  v = 1/M each at the start;
    v += P (x[y] - E_p x), P the inverse of the curvature so far, begun at `prior` times the identity and
    drawn back to it by `forget` on every trial.

    Stacked generalization (Wolpert 1992), on-line. Unlike a mixture it can be surer than every member,
    and set one against another. The scores of the whole are log p.

    >>> from linmax import Averaged, Fusion, Logistic, Stacked
    >>> from linmax.problems import majority
    >>> bank = [Logistic(eta, start="equal") for eta in (0.01, 0.1, 1.0)]
    >>> [Fusion(B).learn(*majority(1000, noise=0.1)).mistakes for B in (*bank, Stacked(bank))]
    [343, 196, 322, 220]
    """

    prior: float = field(default=0.02, kw_only=True)
    forget: float = field(default=1e-4, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        super().__post_init__()
        check_part(self, "prior", 0.02)
        check_part(self, "forget", 1e-4)

    def seat(self, council: Any) -> Head:
        """The head of the members."""
        return Stacker(self, [council.seat(member) for member in self.members])


class Stacker(OfScores):
    """One who stacks: the trust `v`, and `P`, how sure that is."""

    kernel = stack

    def __init__(self, learner: Stacked, members: list[Head]) -> None:
        super().__init__(learner, members)
        self.v = np.full(len(members), 1.0 / len(members))
        self.P = learner.prior * np.eye(len(members))

    def tools(self, classes: int) -> tuple[Any, ...]:
        """Trust, how sure it is and stays, and scratch."""
        members, prior, forget = len(self.members), float(self.learner.prior), float(self.learner.forget)
        scratch = np.zeros((members, classes)), np.zeros((2, classes)), np.zeros((3, members))
        return self.v, self.P, prior, forget, *scratch

    def shares(self) -> list[tuple[Head, float]]:
        """By trust, which may be negative."""
        return list(zip(self.members, self.v.tolist(), strict=True))

    def state(self) -> State:
        """Trust and sureness."""
        return {"v": self.v, "P": self.P}

    def restore(self, state: State) -> None:
        """Take up what `state` gave."""
        self.v[:], self.P[:] = state["v"], state["P"]

    def check(self, state: State, remembered: dict[int, int]) -> None:
        """One number per member, and per pair of them."""
        expect(state, "v", (len(self.members),), np.float64)
        expect(state, "P", (len(self.members), len(self.members)), np.float64)
        P, v = state["P"], state["v"]
        need(bool((np.abs(v) <= 1e9).all()), "v holds trust that nobody has")
        need(
            bool(np.allclose(P, P.T)) and bool((np.abs(P) <= 1.0 + 1e-6).all()),
            "P is no inverse of a curvature",
        )
