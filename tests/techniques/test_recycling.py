"""Sketches spare recycling most of its work, and never change what it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import Alma, Averaged, BalancedWinnow, Cycle, Fusion, Perceptron, PNorm, Recycled, Rule, Winnow
from linmax._jit.compilation import interpreted
from linmax.kernels import recycling
from linmax.kernels import recycling as sketch
from linmax.kernels import update as moving
from linmax.kernels.forms import Hard
from linmax.kernels.recycling import Buffer
from linmax.problems import majority
from tests.helpers.compare_rules import CLASSES, EXPERTS, follow, items, own_rules
from tests.helpers.examples import examples
from tests.oracles import rules as oracles
from tests.oracles.session import Session

RULES = [
    *(rule() for rule in own_rules().values()),
    Winnow(1.01), Winnow(1.6), Winnow(50.0), Winnow(1e6), BalancedWinnow(30.0), Alma(9.0), PNorm(9.0),
    Perceptron(start="equal"), Perceptron(slack=1.0), Perceptron(ties=True), Winnow(1.2, rivals=Cycle(3)),
]  # fmt: skip


def stream(seed: int, count: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Votes with abstentions; experts and classes come late, and labels are noisy."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 12)), int(rng.integers(2, 8))
    votes = rng.integers(0, k, (count, n))
    labels = np.where(rng.random(count) < 0.7, votes[:, 0], rng.integers(0, k, count))
    known = np.minimum(1 + np.arange(count) // int(rng.integers(1, 20)), k)
    votes, labels = votes % known[:, None], labels % known
    votes[rng.random(votes.shape) < rng.choice([0.0, 0.2, 0.8])] = -1
    late = rng.integers(0, count, n) * (rng.random(n) < 0.3)
    votes[np.arange(count)[:, None] < late] = -1
    return votes.astype(np.int32), labels


def learned(learner: Any, votes: np.ndarray, labels: np.ndarray, cuts: int = 1) -> tuple[Any, ...]:
    """The guesses, and every bit of the state."""
    fusion = Fusion(learner)
    pieces = zip(np.array_split(votes, cuts), np.array_split(labels, cuts), strict=True)
    guesses = [guess for piece in pieces for guess in fusion.learn(*piece).guesses.tolist()]
    return guesses, {name: array.tobytes() for name, array in fusion.state().items()}


def plainly(learner: Any, votes: np.ndarray, labels: np.ndarray) -> tuple[Any, ...]:
    """The same with every score added up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hard, "sketch_votes", lambda self: -1)
        return learned(learner, votes, labels)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@examples(2)
@given(st.integers(0, 10**6), st.sampled_from([1, 7, 30, 100]), st.sampled_from([1, 5, None]), st.booleans())
def test_sketches_change_no_bit(
    rule: Rule, seed: int, size: int, updates: int | None, averaged: bool
) -> None:
    votes, labels = stream(seed, 60 if updates is None else 150)
    learner = Recycled(rule, size=size, updates=updates)
    whole = learned(Averaged(learner) if averaged else learner, votes, labels)
    assert whole == plainly(Averaged(learner) if averaged else learner, votes, labels)
    assert whole == learned(Averaged(learner) if averaged else learner, votes, labels, cuts=4)


@pytest.mark.parametrize("seed", [11, 14, 24])
def test_sketches_change_no_bit_when_weights_return_to_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(-1, 3, (60, int(rng.integers(1, 3)))).astype(np.int32)
    labels = rng.integers(0, 3, 60)
    learner = Recycled(Perceptron(), size=int(rng.choice([3, 7, 30])), updates=5)
    assert learned(learner, votes, labels) == plainly(learner, votes, labels)


@pytest.mark.parametrize("rule", [Perceptron(), Winnow(1.05), Winnow(1.5), Alma(2.0), Alma(5.0)], ids=repr)
@pytest.mark.parametrize(
    ("experts", "classes"),
    [(20, 5), (60, 2), (12, 8), (300, 5), pytest.param(200, 3, marks=pytest.mark.slow)],
)
def test_sketches_change_no_bit_of_long_runs(rule: Rule, experts: int, classes: int) -> None:
    votes, labels = majority(1500, experts=experts, classes=classes, noise=0.05, speak=0.9)
    learner = Averaged(Recycled(rule))
    assert learned(learner, votes, labels) == plainly(learner, votes, labels)


@pytest.mark.parametrize("rule", [Perceptron(), Winnow(1.2), Winnow(50.0), Alma(3.0)], ids=repr)
def test_sketches_are_the_same_when_interpreted(rule: Rule) -> None:
    for seed, classes in enumerate((2, 3, 5)):
        votes, labels = majority(60, classes=classes, experts=12, noise=0.1, speak=0.8, seed=seed)
        learner = Averaged(Recycled(rule, size=20))
        compiled = learned(learner, votes, labels)
        with interpreted():
            assert learned(learner, votes, labels) == compiled


@examples(10)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 12]), st.sampled_from([1, 2, 5]))
def test_recycled_perceptrons_are_the_oracles(seed: int, size: int, updates: int) -> None:
    """Trial by trial, so that all instances come from an earlier tape."""
    learner = Recycled(Perceptron(), size=size, updates=updates)
    fusion = Fusion(learner, classes=CLASSES, experts=EXPERTS)
    session = Session(oracles.Perceptron(), classes=CLASSES, recycled=(size, updates))
    assert follow(fusion, session, items("hard", 30, seed), "hard", exact=True) == 30


def test_most_instances_are_passed_over_without_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, labels = majority(120, noise=0.05)
    counts = dict.fromkeys(("sketched", "plain"), 0)

    def counted(kind: str) -> None:
        def score_classes(*arguments: Any) -> None:
            counts[kind] += 1
            moving.score_classes(*arguments)

        monkeypatch.setattr(recycling, "score_classes", score_classes)
        with interpreted():
            Fusion(Recycled(Perceptron()), classes=range(5)).learn(votes, labels)

    counted("sketched")
    monkeypatch.setattr(Hard, "sketch_votes", lambda self: -1)
    counted("plain")
    assert 0 < 5 * counts["sketched"] < counts["plain"]


def drawn(k: int, weights: Any) -> bool:
    """Do these weights have a sketch for k classes?"""
    none = np.zeros(0, dtype=np.int64)
    q, off, rough = np.zeros(len(weights), dtype=np.int64), np.zeros(len(weights)), np.ones(sketch.ROUGH)
    shifts = np.zeros((0, 0), dtype=np.int64)
    sketch.make_sketch(k, np.array(weights), Buffer(none, none, none, shifts, q, off, rough))
    return bool(rough[sketch.UNIT] > 0.0)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1e-300, 0.0]])
def test_weights_out_of_range_have_no_sketch(weights: list[float]) -> None:
    assert not drawn(2, weights)


@pytest.mark.parametrize(
    ("k", "usable"), [(1, True), (2, True), (5, True), (7, False), (63, False), (200, False)]
)
def test_a_sketch_needs_fields_wider_than_the_roundings(k: int, usable: bool) -> None:
    assert drawn(k, np.linspace(-1, 1, 40)) == usable
