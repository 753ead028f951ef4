"""Mistakes against what is proven."""

from __future__ import annotations

import math

import numpy as np

from linmax.bounds import Case, bound
from linmax.checks.fixtures import expect
from linmax.fusion import Fusion
from linmax.spec import Learner

EXPERTS, CLASSES = 9, 3


def separable(panel: int, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Items whose label most of the first `panel` experts name, and no other class as often.

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
    """The case of equal trust in the panel: of n experts and k thresholds, z has at most n + 2."""
    return Case(n=EXPERTS + CLASSES, delta=1 / panel, u=[1 / panel] * panel, length=math.sqrt(EXPERTS + 2))


def promised(learner: Learner) -> list[tuple[int, float]]:
    """For panels of three and of five, how many mistakes theory allows; empty when it does not say."""
    found = [(panel, bound(learner, separable_case(panel))) for panel in (3, 5)]
    return [(panel, most) for panel, most in found if most is not None]


def check_mistakes_within_bound(learner: Learner) -> None:
    """On separable streams, random and adversarial, a learner errs no more often than its bound allows.

    >>> from linmax import Perceptron
    >>> check_mistakes_within_bound(Perceptron())
    """
    for panel, most in promised(learner):
        fusion = Fusion(learner, classes=range(CLASSES))
        for seed in range(5):
            votes, labels = separable(panel, 1000, seed)
            fusion.learn(votes, labels)
        said = f"a bound of {most:.1f} with a panel of {panel}"
        expect(
            fusion.mistakes <= most,
            f"{learner!r} made {fusion.mistakes} mistakes on random items against {said}",
        )
        fusion = Fusion(learner, classes=range(CLASSES))
        against(fusion, panel, int(most) + 2)
        expect(
            fusion.mistakes <= most,
            f"{learner!r} made {fusion.mistakes} mistakes against an adversary, and has {said}",
        )


def against(fusion: Fusion, panel: int, most: int) -> None:
    """Let an adversary look for items that are guessed wrong, narrowly, and give those only."""
    for seed in range(most):
        votes, labels = separable(panel, 60, seed)
        scores = fusion.scores(votes)
        truth = scores[np.arange(len(labels)), labels]
        wrong = np.flatnonzero(fusion.predict(votes) != labels)
        if len(wrong):
            narrow = wrong[np.argmin(scores[wrong].max(axis=1) - truth[wrong])]
            fusion.learn(votes[narrow : narrow + 1], labels[narrow : narrow + 1])
