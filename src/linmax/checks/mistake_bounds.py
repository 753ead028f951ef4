"""The check that mistakes stay within the proven bound."""

from __future__ import annotations

import math

import numpy as np

from linmax.bounds import Case, bound
from linmax.checks.fixtures import assert_true
from linmax.fusion import Fusion
from linmax.spec import Learner

EXPERTS, CLASSES = 9, 3


def separable(panel: int, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate items whose label is the unique plurality of the first `panel` experts.

    >>> votes, labels = separable(3, 2, seed=0)
    >>> votes.shape, labels.shape
    ((2, 9), (2,))
    """
    rng = np.random.default_rng(seed)
    votes = rng.integers(CLASSES, size=(4 * trials + 20, EXPERTS))
    counts = (votes[:, :panel, None] == np.arange(CLASSES)).sum(axis=1)
    ordered = np.sort(counts, axis=1)
    clear = np.flatnonzero(ordered[:, -1] > ordered[:, -2])[:trials]
    votes[:, panel:][rng.random((len(votes), EXPERTS - panel)) < 0.2] = -1
    return votes[clear], counts[clear].argmax(axis=1)


def separable_case(panel: int) -> Case:
    """Return the case of equal weights on the panel; z has at most n + 2 non-zero entries."""
    return Case(n=EXPERTS + CLASSES, delta=1 / panel, u=[1 / panel] * panel, length=math.sqrt(EXPERTS + 2))


def separable_bounds(learner: Learner) -> list[tuple[int, float]]:
    """Return the bounds for panels of three and five experts; empty if no theorem applies."""
    bounds = [(panel, bound(learner, separable_case(panel))) for panel in (3, 5)]
    return [(panel, most) for panel, most in bounds if most is not None]


def check_mistakes_within_bound(learner: Learner) -> None:
    """Check that mistakes stay within the bound on separable streams, random and adversarial.

    Parameters
    ----------
    learner : Learner
        The learner to check.

    Examples
    --------
    >>> from linmax import Perceptron
    >>> check_mistakes_within_bound(Perceptron())
    """
    for panel, most in separable_bounds(learner):
        fusion = Fusion(learner, classes=range(CLASSES))
        for seed in range(5):
            votes, labels = separable(panel, 1000, seed)
            fusion.learn(votes, labels)
        limit = f"a bound of {most:.1f} with a panel of {panel}"
        assert_true(
            fusion.mistakes <= most,
            f"{learner!r} made {fusion.mistakes} mistakes on random items, with {limit}",
        )
        fusion = Fusion(learner, classes=range(CLASSES))
        run_adversary(fusion, panel, int(most) + 2)
        assert_true(
            fusion.mistakes <= most,
            f"{learner!r} made {fusion.mistakes} mistakes against an adversary, with {limit}",
        )


def run_adversary(fusion: Fusion, panel: int, most: int) -> None:
    """Let the session learn only items that it predicts wrong, with the smallest margin."""
    for seed in range(most):
        votes, labels = separable(panel, 60, seed)
        scores = fusion.scores(votes)
        truth = scores[np.arange(len(labels)), labels]
        wrong = np.flatnonzero(fusion.predict(votes) != labels)
        if len(wrong):
            narrow = wrong[np.argmin(scores[wrong].max(axis=1) - truth[wrong])]
            fusion.learn(votes[narrow : narrow + 1], labels[narrow : narrow + 1])
