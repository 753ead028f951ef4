"""Ensembles that combine the scores of their members: Mixture and Stacked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._jit import CompiledKernel
from linmax.kernels.ensembles import mix, stack
from linmax.runtime.predictor import (
    Attribution,
    Predictions,
    Predictor,
    State,
    TrialChunk,
    mean_weights,
    mix_attributions,
)
from linmax.techniques.base import Committee, check_fraction, check_multiplier
from linmax.validation import check_array, require

MAX_LOG_WEIGHT = 1000.0


@dataclass(frozen=True, repr=False)
class Mixture(Committee):
    """Mix the members' probabilities by weights that fall with each member's mistakes.

    p = sum over members of v_m softmax(scores_m);  v_m is divided by `multiplier` when m was wrong;
    then a `share` of all weight is spread evenly, so that a member which was bad can recover.

    This is `WeightedMajority` with probabilities instead of votes, and with a fixed share. Scores are log p.

    Parameters
    ----------
    members
        The learners.
    multiplier
        The divisor, above 1.
    share
        The share of all weight that is spread evenly after every trial.

    References
    ----------
    Herbster & Warmuth, Tracking the best expert, 1998.

    Examples
    --------
    >>> from linmax import Fusion, Logistic, Mixture
    >>> from linmax.problems import majority
    >>> bank = [Logistic(eta, start="equal") for eta in (0.01, 0.1, 1.0)]
    >>> [Fusion(B).learn(*majority(1000, noise=0.1)).mistakes for B in (*bank, Mixture(bank))]
    [343, 196, 322, 198]
    """

    multiplier: float = field(default=1.2, kw_only=True)
    share: float = field(default=1e-4, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for numbers out of range."""
        super().__post_init__()
        check_multiplier(self)
        check_fraction(self, "share", 1e-4)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over those of the members."""
        return MixturePredictor(self, [runner.predictor_for(member) for member in self.members])


class ScoreEnsemble(Predictor):
    """Predicts with a function of the members' scores.

    Parameters
    ----------
    learner
        The ensemble.
    members
        The predictors of its members.
    """

    kernel: CompiledKernel
    single_item: ClassVar[bool] = True
    combines_scores: ClassVar[bool] = True

    def __init__(self, learner: Any, members: list[Predictor]) -> None:
        self.learner = learner
        self.members = members

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask all members for scores."""
        super().request(chunk, scores)
        for member in self.members:
            member.request(chunk, True)

    def compute(self, chunk: TrialChunk) -> Predictions:
        """Return the best class by the combined scores."""
        stacked = np.stack([member.predictions(chunk).scores for member in self.members])
        codes = np.empty(chunk.length, dtype=np.int32)
        scores = np.zeros((chunk.length if self.scores_wanted else 0, stacked.shape[2]))
        self.kernel(stacked, chunk.labels, chunk.known, *self.kernel_state(stacked.shape[2]), codes, scores)
        return Predictions(codes, scores)

    def kernel_state(self, classes: int) -> tuple[Any, ...]:
        """Return what the kernel takes between the labels and the results."""
        raise NotImplementedError

    def bind(self, item: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel after the members."""
        stacked = item.stacked_scores(self.members)
        state = self.kernel_state(stacked.shape[2])
        item.call(self.kernel, stacked, item.label, item.known, *state, codes, scores)

    def weights(self) -> dict[Any, float]:
        """Return the mean of the members' normalized weights."""
        return mean_weights(self.shares())

    def explain(self, item: Any) -> Attribution:
        """Return the attributions of the members, and the remainder that the combination adds."""
        stacked = np.stack([member.explain(item).scores for member in self.members])[:, None, :]
        scores, codes = np.zeros((1, item.known)), np.zeros(1, dtype=np.int32)
        state = self.kernel_state(item.known)
        self.kernel(stacked, np.full(1, -1), np.full(1, item.known), *state, codes, scores)
        return mix_attributions(self.shares(), item, scores[0])


class MixturePredictor(ScoreEnsemble):
    """Mixes probabilities; `logs` are the logarithms of the weights.

    Parameters
    ----------
    learner
        The ensemble.
    members
        The predictors of its members.
    """

    kernel = mix

    def __init__(self, learner: Mixture, members: list[Predictor]) -> None:
        super().__init__(learner, members)
        self.logs = np.full(len(members), -math.log(len(members)))

    def kernel_state(self, classes: int) -> tuple[Any, ...]:
        """Return the weights, how they fall, and scratch arrays."""
        step, share = math.log(self.learner.multiplier), float(self.learner.share)
        return self.logs, step, share, np.zeros((len(self.members) + 1, classes))

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members by weight."""
        return list(zip(self.members, np.exp(self.logs).tolist(), strict=True))

    def state(self) -> State:
        """Return the weights."""
        return {"logs": self.logs}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        self.logs[:] = state["logs"]

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there is one weight per member."""
        check_array(state, "logs", (len(self.members),), np.float64)
        require(bool((np.abs(state["logs"]) <= MAX_LOG_WEIGHT).all()), "logs are not logarithms of weights")


@dataclass(frozen=True, repr=False)
class Stacked(Committee):
    """Soft-max regression on the members' log-probabilities, with Newton-like steps.

    p = softmax(sum over members of v_m log softmax(scores_m));  v = 1/M each at the start;
    v += P (x[y] - E_p x), where P is the inverse of the curvature so far. P starts at `prior` times the
    identity, and is drawn back to it by `forget` on every trial.

    Unlike a mixture it can be more certain than every member, and can weigh one member against another.
    Scores are log p.

    Parameters
    ----------
    members
        The learners.
    prior
        The initial scale of P.
    forget
        How fast P returns to its start.

    References
    ----------
    Wolpert, Stacked generalization, 1992; here on-line.

    Examples
    --------
    >>> from linmax import Averaged, Fusion, Logistic, Stacked
    >>> from linmax.problems import majority
    >>> bank = [Logistic(eta, start="equal") for eta in (0.01, 0.1, 1.0)]
    >>> [Fusion(B).learn(*majority(1000, noise=0.1)).mistakes for B in (*bank, Stacked(bank))]
    [343, 196, 322, 220]
    """

    prior: float = field(default=0.02, kw_only=True)
    forget: float = field(default=1e-4, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for numbers out of range."""
        super().__post_init__()
        check_fraction(self, "prior", 0.02)
        check_fraction(self, "forget", 1e-4)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over those of the members."""
        return StackedPredictor(self, [runner.predictor_for(member) for member in self.members])


class StackedPredictor(ScoreEnsemble):
    """Keeps the weights `v` of the members, and `P`, the inverse of the curvature.

    Parameters
    ----------
    learner
        The ensemble.
    members
        The predictors of its members.
    """

    kernel = stack

    def __init__(self, learner: Stacked, members: list[Predictor]) -> None:
        super().__init__(learner, members)
        self.v = np.full(len(members), 1.0 / len(members))
        self.P = learner.prior * np.eye(len(members))

    def kernel_state(self, classes: int) -> tuple[Any, ...]:
        """Return the weights, their certainty, and scratch arrays."""
        members, prior, forget = len(self.members), float(self.learner.prior), float(self.learner.forget)
        scratch = np.zeros((members, classes)), np.zeros((2, classes)), np.zeros((3, members))
        return self.v, self.P, prior, forget, *scratch

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members by weight, which may be negative."""
        return list(zip(self.members, self.v.tolist(), strict=True))

    def state(self) -> State:
        """Return the weights and the inverse curvature."""
        return {"v": self.v, "P": self.P}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        self.v[:], self.P[:] = state["v"], state["P"]

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there is one number per member, and per pair of them."""
        check_array(state, "v", (len(self.members),), np.float64)
        check_array(state, "P", (len(self.members), len(self.members)), np.float64)
        P, v = state["P"], state["v"]
        require(bool((np.abs(v) <= 1e9).all()), "v is out of range")
        require(
            bool(np.allclose(P, P.T)) and bool((np.abs(P) <= 1.0 + 1e-6).all()),
            "P is not the inverse of a curvature",
        )
