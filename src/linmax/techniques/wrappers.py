"""Techniques around one learner: averaging, recycling, and scores on the scale of log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linmax.kernels.ensembles.board import HEAT
from linmax.kernels.ensembles.mixtures import temper
from linmax.runtime.influence import Influences, Leaf, scaled
from linmax.runtime.predictor import Attribution, Predictor, State, TrialChunk
from linmax.runtime.program import padded
from linmax.spec import UNLIMITED, Learner, RunOptions
from linmax.techniques.base import Committee, Technique
from linmax.validation import check_array, is_integer, require


@dataclass(frozen=True, repr=False)
class Averaged(Technique):
    """Predict with the mean of all hypotheses.

    The mean is over the hypotheses held at the start of each trial, the current one included. The learner
    inside keeps predicting for itself, and updates on its own mistakes (A-B in Mesterharm & Hsu).

    Parameters
    ----------
    inner
        A rule, or a technique around one.

    References
    ----------
    Freund & Schapire, Large margin classification using the Perceptron algorithm, 1999.
    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, section V.

    Examples
    --------
    >>> from linmax import Averaged, Fusion, Perceptron
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, noise=0.1)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Perceptron(), Averaged(Perceptron()))]
    [347, 226]
    """

    inner: Learner

    def run_options(self) -> RunOptions:
        """Ask for the mean of all hypotheses."""
        return replace(self.inner.run_options(), averages=True)


@dataclass(frozen=True, repr=False)
class Recycled(Technique):
    """Replay the latest instances after every mistake, and learn from those that are predicted wrong.

    After a mistake, passes over the buffer run from the oldest instance to the newest until one makes no
    update (R-B in Mesterharm & Hsu).

    Parameters
    ----------
    inner
        A rule, or a technique around one.
    size
        How many instances the buffer holds.
    updates
        How many updates an instance may cause, that of its own trial included. 1 keeps the bound against an
        adversary; None means no limit, for data without noise.

    References
    ----------
    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, section VI.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron, Recycled
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, noise=0.0)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Perceptron(), Recycled(Perceptron()))]
    [166, 78]
    """

    inner: Learner
    size: int = field(default=100, kw_only=True)
    updates: int | None = field(default=5, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for an empty buffer or no updates."""
        super().__post_init__()
        if not is_integer(self.size) or not 1 <= self.size <= 1_000_000:
            raise ValueError(
                f"Recycled requires 1 <= size <= 1000000 (got {self.size!r}); a typical value is 100"
            )
        if self.updates is not None and (not is_integer(self.updates) or self.updates < 1):
            raise ValueError(
                f"Recycled requires updates >= 1 or None (got {self.updates!r}); a typical value is 5"
            )

    def run_options(self) -> RunOptions:
        """Ask for a buffer of the latest instances."""
        return replace(self.inner.run_options(), buffer=self.size, updates=self.updates or UNLIMITED)


@dataclass(frozen=True, repr=False)
class Tempered(Technique):
    """Multiply scores by a learned inverse temperature, so that their soft-max is a probability.

    s = exp(u) (s - max s);  u follows the gradient of the log-loss, in steps that shrink with its curvature

    Predictions do not change. For rules whose scores have no scale of their own, such as the Perceptron's,
    before they are mixed.

    Parameters
    ----------
    inner
        A rule, a technique around one, or another learner that is no committee, such as `SquaredHinge`.

    References
    ----------
    Guo et al., On calibration of modern neural networks, 2017, who do this after training.

    Examples
    --------
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

    @staticmethod
    def accepts(layer: Learner) -> bool:
        """Whether a learner may be inside: any with scores of its own.

        Parameters
        ----------
        layer
            The learner.
        """
        return not isinstance(layer, Committee)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over that of the learner inside."""
        return TemperedPredictor(self, runner.predictor_for(self.inner))


class TemperedPredictor(Predictor):
    """Keeps the logarithm of the inverse temperature and the curvature of its loss.

    The runner keeps those of all such predictors in one table, where the board of an ensemble finds them.

    Parameters
    ----------
    learner
        The technique.
    member
        The predictor whose scores are scaled.
    """

    staged: ClassVar[bool] = True
    log_probabilities = True

    def __init__(self, learner: Tempered, member: Predictor) -> None:
        self.learner = learner
        self.member = member
        self.members = (member,)
        self.temperature: tuple[np.ndarray, int] = (np.zeros((1, 2)), 0)

    @property
    def heat(self) -> np.ndarray:
        """The logarithm of the inverse temperature, and the curvature."""
        table, row = self.temperature
        heat: np.ndarray = table[row]
        return heat

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask for scores."""
        super().request(chunk, scores)
        self.member.request(chunk, True)

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Let the member write its predictions here, and its scores to be scaled."""
        raw = np.zeros((program.block, program.classes))
        program.bind(self.member, codes, raw)
        target = scores if len(scores) else np.zeros_like(raw)
        scratch = np.zeros(padded(program.classes)), np.zeros(padded(program.classes))
        program.call(temper, raw, program.labels, program.known, self.heat, *scratch, target)

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the shares of the members below."""
        return self.member.shares()

    def weights(self) -> dict[Any, float]:
        """Return the weights of the member, on the scale of the scores."""
        factor = float(np.exp(self.heat[HEAT]))
        return {key: factor * weight for key, weight in self.member.weights().items()}

    def influences(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return what answers add for the member, on the scale of the scores."""
        found, factor = self.member.influences(experts, k, names), float(np.exp(self.heat[HEAT]))
        return None if found is None else scaled(found, factor)

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> list[Leaf] | None:
        """Return the member on the scale of the scores."""
        below, factor = self.member.leaves_of_mixture(experts, k, names), float(np.exp(self.heat[HEAT]))
        return below and [leaf._replace(influences=scaled(leaf.influences, factor)) for leaf in below]

    def approximation(self, experts: np.ndarray, k: int, names: Any) -> Influences | None:
        """Return about what answers add for the member, on the scale of the scores."""
        found, factor = self.member.approximation(experts, k, names), float(np.exp(self.heat[HEAT]))
        return None if found is None else scaled(found, factor)

    def explain(self, item: Any) -> Attribution:
        """Return the attribution of the member on the new scale; the remainder sets the best score to 0."""
        attribution = item.explain(self.member)
        factor = float(np.exp(self.heat[HEAT]))
        scores = factor * (attribution.scores - attribution.scores.max(initial=-np.inf))
        parts = tuple((part, factor * own) for part, own in attribution.parts)
        return Attribution(scores, parts, True, attribution.members)

    def state(self) -> State:
        """Return the temperature."""
        return {"heat": self.heat}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        self.heat[:] = state["heat"]

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there are two numbers in range."""
        check_array(state, "heat", (2,), np.float64)
        require(abs(state["heat"][0]) <= 100.0 and state["heat"][1] >= 0.0, "heat is not a temperature")
