"""Ensembles that combine the scores of their members: Mixture and Stacked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._jit.compilation import CompiledKernel
from linmax.kernels.ensembles.mixtures import FLOOR, SMALLEST, mix, stack
from linmax.runtime.influence import Influences, Leaf, weighted_sum
from linmax.runtime.predictor import (
    Attribution,
    Predictor,
    State,
    TrialChunk,
    mean_weights,
    mix_attributions,
)
from linmax.runtime.program import padded
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
    staged: ClassVar[bool] = True
    log_probabilities = True
    combines_scores: ClassVar[bool] = True
    gives_probabilities: ClassVar[bool] = True

    def __init__(self, learner: Any, members: list[Predictor]) -> None:
        self.learner = learner
        self.members = members

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask all members for scores."""
        super().request(chunk, scores)
        for member in self.members:
            member.request(chunk, True)

    def kernel_state(self, classes: int) -> tuple[Any, ...]:
        """Return what the kernel takes between the labels and the results."""
        raise NotImplementedError

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel on the board of the members."""
        board = program.board(self.members)
        state = *self.kernel_state(program.classes), int(program.takes_probabilities_of(self))
        program.call(self.kernel, board, program.labels, program.known, *state, codes, scores)

    def weights(self) -> dict[Any, float]:
        """Return the mean of the members' normalized weights."""
        return mean_weights(self.shares())

    def explain(self, item: Any) -> Attribution:
        """Return the attributions of the members, and the remainder that the combination adds."""
        scores = np.array([item.explain(member).scores for member in self.members])
        return mix_attributions(self.shares(), item, self.combine(scores))

    def approximation(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return the mean of what answers add to the members' scores, by the members' shares."""
        found = [(member.approximation(experts, k, names), share) for member, share in self.shares()]
        known = [(one, share) for one, share in found if one is not None]
        return weighted_sum(known) if known else None

    def combine(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of one item from those of the members, as the kernel does for many items."""
        raise NotImplementedError


class MixturePredictor(ScoreEnsemble):
    """Mixes probabilities; `v` are the weights.

    Parameters
    ----------
    learner
        The ensemble.
    members
        The predictors of its members.
    """

    kernel = mix
    takes_probabilities: ClassVar[bool] = True

    def __init__(self, learner: Mixture, members: list[Predictor]) -> None:
        super().__init__(learner, members)
        self.v, self.least = np.zeros(padded(len(members))), np.zeros(padded(len(members)))
        self.v[: len(members)], self.least[: len(members)] = 1.0 / len(members), SMALLEST / len(members)

    def kernel_state(self, classes: int) -> tuple[Any, ...]:
        """Return the weights, how they fall, and scratch arrays."""
        multiplier, share = float(self.learner.multiplier), float(self.learner.share)
        return self.v, self.least, multiplier, share, np.zeros(padded(classes)), np.zeros(len(self.v))

    def combine(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithm of the mean probability."""
        p = self.v[: len(scores), None] * np.exp(log_softmax(scores))
        mixed: np.ndarray = np.log(np.maximum(p.sum(axis=0), SMALLEST))
        return mixed

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> list[Leaf] | None:
        """Return the leaves of all members, by the members' shares."""
        found: list[Leaf] = []
        for member, share in self.shares():
            below = member.leaves_of_mixture(experts, k, names)
            if below is None:
                return None
            found += [leaf._replace(g=share * leaf.g) for leaf in below]
        return found

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members by weight."""
        return list(zip(self.members, self.v[: len(self.members)].tolist(), strict=True))

    def state(self) -> State:
        """Return the weights."""
        return {"v": self.v[: len(self.members)]}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        v = state["v"] if "v" in state else np.exp(state["logs"])  # of earlier versions
        self.v[: len(self.members)] = np.maximum(v, SMALLEST)

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there is one weight per member."""
        if "v" in state:
            check_array(state, "v", (len(self.members),), np.float64)
            require(bool(((state["v"] >= 0.0) & (state["v"] <= 1.0 + 1e-6)).all()), "v are not weights")
        else:
            check_array(state, "logs", (len(self.members),), np.float64)
            require(bool((np.abs(state["logs"]) <= MAX_LOG_WEIGHT).all()), "logs are not weights")


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
        count = len(members)
        self.v, self.P = np.zeros(padded(count)), np.zeros((padded(count), padded(count)))
        self.v[:count], self.P[:count, :count] = 1.0 / count, learner.prior * np.eye(count)

    def kernel_state(self, classes: int) -> tuple[Any, ...]:
        """Return the weights, their certainty, and scratch arrays."""
        prior, forget, lanes = float(self.learner.prior), float(self.learner.forget), len(self.v)
        wide = padded(classes)
        scratch = np.zeros(wide * len(self.members)), np.zeros((2, wide)), np.zeros((3, lanes))
        return self.v, self.P.reshape(-1), prior, forget, *scratch

    def combine(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of the regression."""
        x = np.maximum(log_softmax(scores), FLOOR)
        return log_softmax((self.v[: len(scores), None] * x).sum(axis=0))

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> list[Leaf] | None:
        """Return the weighted sum of the members, apart from log-probabilities that are cut off."""
        members: list[tuple[Influences, float]] = []
        for member, weight in self.shares():
            below = member.leaves_of_mixture(experts, k, names)
            if below is None or len(below) > 1 or below[0].members:
                return None
            members.append((below[0].influences, weight))
        return [Leaf(1.0, weighted_sum(members), tuple(members))]

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members by weight, which may be negative."""
        return list(zip(self.members, self.v[: len(self.members)].tolist(), strict=True))

    def state(self) -> State:
        """Return the weights and the inverse curvature."""
        count = len(self.members)
        return {"v": self.v[:count], "P": self.P[:count, :count]}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        count = len(self.members)
        self.v[:count], self.P[:count, :count] = state["v"], state["P"]

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


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return log-probabilities of scores, along the last axis."""
    if not scores.size:
        return scores
    below = scores - scores.max(axis=-1, keepdims=True)
    found: np.ndarray = below - np.log(np.exp(below).sum(axis=-1, keepdims=True))
    return found
