"""The quantities that grow, their values, and the learners that are measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from linmax import Averaged, Combine, Fusion, Mixture, Perceptron, Winnow
from linmax.experts import Attributes
from linmax.problems import majority

EXPERTS, CLASSES, RELEVANT, NOISE = 20, 5, 10, 0.05
NUMBERS = 8_000_000  # the largest size of an array
WORDS, BAGS = 20_000, 10
SINGLE, AVERAGED, DEFAULT = "Winnow", "averaged Winnow", "the default"
LEARNERS: dict[str, Any] = {SINGLE: Winnow(1.2), AVERAGED: Averaged(Winnow(1.2)), DEFAULT: None}


class Rows(NamedTuple):
    """All rows as keyword arguments of `Fusion.learn`."""

    given: dict[str, Any]
    labels: np.ndarray[Any, Any]
    k: int

    def part(self, begin: int, end: int) -> dict[str, Any]:
        """Return some of the rows."""
        some = {name: values[begin:end] for name, values in self.given.items()}
        return some | {"labels": self.labels[begin:end]}


class Axis(NamedTuple):
    """One quantity: its values, and the rows and learners for a value."""

    title: str
    values: tuple[int, ...]
    quick: tuple[int, ...]
    rows: Callable[[int], Rows]
    learners: Callable[[int], dict[str, Any]]
    expected_slope: float = 1.0
    value_is_rows: bool = False


@cache
def votes(experts: int, k: int) -> Rows:
    """Generate hard votes."""
    count = min(1_000_000, NUMBERS // experts)
    made = majority(count, relevant=min(RELEVANT, experts), experts=experts, classes=k, noise=NOISE)
    return Rows({"votes": made.votes}, made.labels, k)


@cache
def stream() -> Rows:
    """Generate a long stream."""
    made = majority(1_000_020, relevant=RELEVANT, experts=EXPERTS, classes=CLASSES, noise=NOISE)
    return Rows({"votes": made.votes}, made.labels, CLASSES)


@cache
def bags(length: int) -> Rows:
    """Generate rows with `length` non-zero attributes; hidden weights determine the class."""
    rng = np.random.default_rng(0)
    count = min(20_000, 4_000_000 // length)
    steps = np.array(
        [step for step in range(1, WORDS) if np.gcd(step, WORDS) == 1]
    )  # so that no word occurs twice
    walk = rng.choice(steps, count)[:, None] * np.arange(length) + rng.integers(WORDS, size=count)[:, None]
    words = np.sort(walk % WORDS, axis=1)
    hidden = rng.normal(size=(WORDS, BAGS))
    labels = np.array([hidden[row].sum(axis=0).argmax() for row in words])
    ends = np.arange(0, count * length + 1, length)
    return Rows(
        {"attributes": csr_matrix((np.ones(count * length), words.ravel(), ends), (count, WORDS))},
        labels,
        BAGS,
    )


def clear_rows() -> None:
    """Clear the cached rows."""
    for made in (votes, stream, bags):
        made.cache_clear()


def on_votes(_: int) -> dict[str, Any]:
    """Return a single learner, an averaged one, and the default."""
    return LEARNERS


def on_attributes(_: int) -> dict[str, Any]:
    """Return a linear learner, plain and averaged."""
    plain = Perceptron().on(Attributes())
    return {"Perceptron": plain, "averaged Perceptron": Averaged(plain)}


def ensembles(size: int) -> dict[str, Any]:
    """Return ensembles of Winnows with different multipliers."""
    members = tuple(Winnow(1.01 + 0.01 * at) for at in range(size))
    return {"Combine": Combine(members), "Mixture": Mixture(members)}


def fusion(learner: Any, k: int) -> Fusion:
    """Return a new session."""
    return Fusion(classes=range(k)) if learner is None else Fusion(learner, classes=range(k))


AXES: dict[str, Axis] = {
    "experts": Axis(
        f"experts n (k = {CLASSES})",
        (5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 20_000),
        (5, 50, 500),
        lambda n: votes(n, CLASSES),
        on_votes,
    ),
    "classes": Axis(
        f"classes k (n = {EXPERTS})",
        (2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
        (2, 20, 100),
        lambda k: votes(EXPERTS, k),
        on_votes,
    ),
    "trials": Axis(
        f"trials so far (n = {EXPERTS}, k = {CLASSES})",
        (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        (1000, 10_000, 100_000),
        lambda _: stream(),
        on_votes,
        expected_slope=0.0,
        value_is_rows=True,
    ),
    "non-zeros": Axis(
        f"non-zero attributes of {WORDS:,} (k = {BAGS})",
        (4, 8, 16, 32, 64, 128, 256, 512, 1024),
        (8, 64, 512),
        bags,
        on_attributes,
    ),
    "members": Axis(
        f"members of an ensemble (n = {EXPERTS}, k = {CLASSES})",
        (1, 2, 4, 8, 16, 31, 62),
        (1, 8, 62),
        lambda _: votes(EXPERTS, CLASSES),
        ensembles,
    ),
}
