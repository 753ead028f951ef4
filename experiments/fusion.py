"""The problem of the experiments of 2008, its algorithms, and their names in the paper."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from linmax import (
    Alma,
    Averaged,
    Combine,
    Fusion,
    Perceptron,
    Recycled,
    Run,
    parse,
    standard_bank,
    vr_combine,
)
from linmax.problems import majority

CLASSES = 5  # r = 10 relevant experts of n = 20: the defaults of `majority`
TRIALS = 5000
NOISES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)


@lru_cache(maxsize=4)  # many learners take the same one
def stream(noise: float, seed: int, *, trials: int = TRIALS, classes: int = CLASSES) -> Any:
    """Return votes and noisy labels of one run."""
    return majority(trials, classes=classes, noise=noise, seed=seed)


def learn(learner: Any, panel: Any, *, classes: int = CLASSES, seed: int = 0) -> Run:
    """Learn one pass; all classes are known from the start."""
    return Fusion(learner, classes=range(classes), seed=seed).learn(*panel)


def optimum(noise: float, seed: int) -> Any:
    """Return where the target itself is wrong: on the labels changed by noise."""
    return stream(noise, seed).labels != stream(0.0, seed).labels


def v_combine(**options: int) -> Combine:
    """Return V-Combine over the 62 algorithms."""
    return Combine(tuple(standard_bank()), **options)


def recycling(updates: int | None) -> Combine:
    """Return VR-Combine with another limit on the updates per instance."""
    plain = [Recycled(member, updates=updates) for member in bank("B")]
    return Combine((*plain, *map(Averaged, plain)))


def bank(family: str) -> list[Any]:
    """Return the 31 algorithms of 2008, plain (B), averaged (A), recycled (R) or both (AR)."""
    plain: list[Any] = standard_bank()[:31]
    if "R" in family:
        plain = [Recycled(member) for member in plain]
    return [Averaged(member) for member in plain] if "A" in family else plain


def learner(who: str) -> Any:
    """Return a learner by its name in `expected.json`."""
    known = {"VR-Combine": vr_combine, "V-Combine": v_combine}
    return known[who]() if who in known else parse(who)


def name(learner: Any) -> str:
    """Return the name of a learner in the paper: AR-Perceptron, A-Winnow(1.35), ALMA(2).

    >>> name(Averaged(Recycled(Alma(2.5))))
    'AR-ALMA(2.5)'
    """
    if learner == vr_combine():
        return "VR-Combine"
    if learner == v_combine():
        return "V-Combine"
    letters = ""
    for letter, technique in (("A", Averaged), ("R", Recycled)):
        if isinstance(learner, technique):
            letters, learner = letters + letter, learner.inner
    if isinstance(learner, Alma):
        rule = f"ALMA({learner.p:g})"
    else:
        rule = "Perceptron" if learner == Perceptron() else repr(learner)
    return f"{letters}-{rule}" if letters else rule
