"""The theorem of 2003: linear-max learning on votes is binary linear-threshold learning on z, for any k.

Feed every mistake's z, with label +1, to the binary algorithm: it errs on each and ends with the same theta.
"""

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import Fusion, Perceptron
from linmax import experts as sources
from tests.helpers.examples import examples, rarely_compiled
from tests.oracles import rules as oracles
from tests.oracles.rules import LinearThreshold, differences, identity, odd_powers, powers
from tests.oracles.session import Session, Votes


class UnscaledPNorm(oracles.PNorm):
    """The weights up to a positive factor, which changes no guess: exact for a whole p."""

    def weights(self) -> oracles.Vector:
        return self.unscaled()


RULES: dict[str, tuple[Callable[[], oracles.Rule], Callable]] = {
    "Perceptron": (oracles.Perceptron, identity),
    "Winnow": (lambda: oracles.Winnow(Fraction(6, 5)), powers(Fraction(6, 5))),
    "BalancedWinnow": (lambda: oracles.BalancedWinnow(Fraction(3, 2)), differences(Fraction(3, 2))),
    "PNorm": (lambda: UnscaledPNorm(4), odd_powers(4)),
}


def panel(seed: int, k: int, n: int, trials: int) -> list[tuple[dict[str, Any], int]]:
    """Whole-number votes with noise; the experts all speak, so that all are there from the start."""
    rng = random.Random(seed)
    stream = []
    for _ in range(trials):
        votes = {i: {c: rng.randint(0, 2) for c in range(k)} for i in range(n)}
        for vote in votes.values():
            vote[0] = vote[0] or 1
        trust = [sum(votes[i][c] for i in range(max(1, n // 2))) for c in range(k)]
        stream.append(({"votes": votes}, rng.choice([trust.index(max(trust)), rng.randrange(k)])))
    return stream


def instance(item: dict[str, Any], y: int, rival: int) -> dict[Any, int]:
    return {("vote", i): vote[y] - vote[rival] for i, vote in item["votes"].items()}


def silent(n: int) -> dict[Any, int]:
    return {("vote", i): 0 for i in range(n)}


@pytest.mark.parametrize("name", RULES)
@examples(12)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 5))
def test_the_binary_algorithm_errs_on_every_z_and_ends_with_the_same_theta(
    name: str, seed: int, k: int, n: int
) -> None:
    make, link = RULES[name]
    session, binary = Session(make(), [Votes()], range(k)), LinearThreshold(link)
    binary.theta = silent(n)
    for item, y in panel(seed, k, n, 12):
        before = dict(session.rule.theta)
        session.trial(item, y)
        z = {i: theta - before.get(i, 0) for i, theta in session.rule.theta.items()}
        if any(z.values()):
            assert binary.learn(z), "the binary algorithm was right on a mistake's z"
    assert binary.theta == session.rule.theta


@pytest.mark.parametrize("name", RULES)
@examples(12)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_for_two_classes_the_runs_coincide_when_ties_are_mistakes(name: str, seed: int, n: int) -> None:
    make, link = RULES[name]
    rule = make()
    rule.ties = True
    session, binary = Session(rule, [Votes()], [0, 1]), LinearThreshold(link)
    binary.theta = silent(n)
    for item, y in panel(seed, 2, n, 15):
        before = dict(session.rule.theta) or silent(n)
        session.trial(item, y)
        z = instance(item, 1, 0)
        erred = binary.learn(z, 1 if y == 1 else -1)
        assert (session.rule.theta != before) == (erred and any(z.values()))
        assert binary.theta == session.rule.theta


@examples(12)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 5))
def test_linmax_itself_is_the_binary_algorithm(seed: int, k: int, n: int) -> None:
    """Whole numbers are exact in floats, so the Perceptron's run is the theorem's, not only near it."""
    fusion = Fusion(
        Perceptron().on(sources.Votes() + sources.Thresholds()), classes=range(k), experts=range(n)
    )
    binary = LinearThreshold(identity)
    for item, y in panel(seed, k, n, 12):
        before = fusion.state()["theta"]
        fusion.learn_one(item["votes"], y)
        z = dict(enumerate((fusion.state()["theta"] - before).tolist()))
        if any(z.values()):
            assert binary.learn(z)
    assert list(binary.theta.values() or [0.0] * (n + k)) == fusion.state()["theta"].tolist()


@examples(12)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_linmax_on_two_classes_is_the_binary_run(seed: int, n: int) -> None:
    fusion = Fusion(Perceptron(ties=True).on(sources.Votes()), classes=[0, 1], experts=range(n))
    binary = LinearThreshold(identity)
    binary.theta = silent(n)
    for item, y in panel(seed, 2, n, 15):
        with rarely_compiled():
            fusion.learn_one(item["votes"], y)
        binary.learn(instance(item, 1, 0), 1 if y == 1 else -1)
        assert fusion.state()["theta"].tolist() == list(binary.theta.values())


@pytest.mark.parametrize("rivals", ["violators", "cycle"])
@examples(12)
@given(st.integers(0, 10**6))
def test_shared_blame_and_cycling_are_covered_too(rivals: str, seed: int) -> None:
    """A mean of wrong z is wrong, and cycling moves on wrong z only (2003, sections 2.4 and 4.4)."""
    binary = LinearThreshold(identity)

    class Watched(oracles.Perceptron):
        def update(self, z: oracles.Vector) -> bool:
            assert binary.learn(z)
            return super().update(z)

    session = Session(Watched(rivals=rivals, rounds=3), [Votes()], range(4))
    for item, y in panel(seed, 4, 4, 10):
        exact = {i: {c: Fraction(x) for c, x in vote.items()} for i, vote in item["votes"].items()}
        session.trial({"votes": exact}, y)
    keys = itertools.chain(binary.theta, session.rule.theta)
    assert all(binary.theta.get(i, 0) == session.rule.theta.get(i, 0) for i in keys)
