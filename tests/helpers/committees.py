"""A committee of every kind, and a stream on which experts and classes come on the way."""

from __future__ import annotations

from typing import Any

import pytest

from linmax import (
    Averaged,
    Combine,
    Fusion,
    Logistic,
    Mixture,
    Perceptron,
    Recycled,
    Voted,
    WeightedMajority,
    Winnow,
    WinnowSearch,
)
from tests.helpers.compare_committees import at_once, random_stream

P = Perceptron()
R = Recycled(P, size=6, updates=2)
W = Winnow(1.3)
VR = Combine([P, R, Averaged(R), Averaged(W)], hypotheses=4, window=12, recent=7, patience=3)
COMMITTEES = {
    "vr": VR,
    "plain figures": Combine([W, Averaged(W), R], hypotheses=3, window=12, recent=0, patience=2),
    "voted": Voted(Averaged(W), hypotheses=3, recent=9, patience=3),
    "random": Combine([P, Averaged(R)], hypotheses=5, choose="random"),
    "leader": Combine([P, Averaged(W), R], hypotheses=0),
    "members": WeightedMajority([P, Averaged(R), W]),
    "experts": WeightedMajority(multiplier=2.0),
    "mixture": Mixture([Logistic(0.3, start="equal"), Averaged(W), R], share=0.05),
    "search": WinnowSearch([W, Winnow(1.7)], slots=2),
    "nested": WeightedMajority([VR, Mixture([P, W]), Voted(P, hypotheses=2), WeightedMajority()]),
}
# the tests of Combine compare both with the oracle; all else that they do, "vr" and "random" do, too
SLOW = ("plain figures", "leader")
each = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in COMMITTEES]
)
STREAM = random_stream(90, 12)


def learned(name: str, stream: Any = STREAM, seed: int = 5) -> Fusion:
    fusion = Fusion(COMMITTEES[name], seed=seed)
    at_once(fusion, stream)
    return fusion


def one_by_one(name: str, stream: Any = STREAM) -> tuple[Fusion, list[Any]]:
    fusion = Fusion(COMMITTEES[name], seed=5)
    return fusion, [fusion.learn_one(item["votes"], y) for item, y in stream]


def members_of(name: str) -> list[Any]:
    learner: Any = COMMITTEES[name]
    return [learner.inner] if hasattr(learner, "inner") else list(learner.members or ())
