"""Calibrated probabilities are those of the slow version, for any stream and any scores."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import (
    Averaged,
    Logistic,
    NaiveBayes,
    Perceptron,
    QuasiAdditive,
    Recycled,
    Tempered,
    Voted,
    Winnow,
)
from linmax._jit.compilation import interpreted
from linmax.checks import mathematics
from linmax.decisions import Decisions
from linmax.decisions.trials import SEEN, Probabilities, decide
from linmax.runtime.sources import NO_COSTS
from tests.decisions.test_decisions import learned, panel
from tests.oracles import decisions as oracles


@pytest.mark.parametrize("learner", [Perceptron(), Winnow(1.3), Averaged(Recycled(Winnow(1.3)))], ids=repr)
def test_probabilities_are_the_oracles_before_each_label(learner: Any) -> None:
    votes, labels = panel(150)
    with interpreted():
        fusion, found = learned(learner, votes, labels)
    oracle = oracles.CalibrationMap()
    for scores, p, y in zip(found.scores.tolist(), found.probabilities, labels.tolist(), strict=True):
        assert p == pytest.approx(oracle.probabilities(scores), rel=1e-6)
        oracle.learn(scores, y)
    fresh = fusion.scores(votes[:5])
    assert fusion.predict_proba(votes[:5]) == pytest.approx(
        np.array([oracle.probabilities(scores) for scores in fresh.tolist()]), rel=1e-6
    )


@pytest.mark.parametrize("learner", [Logistic(0.1), NaiveBayes(), Tempered(Perceptron()), None], ids=repr)
def test_scores_that_are_log_probabilities_need_no_map(learner: Any) -> None:
    votes, labels = panel(60)
    with interpreted():
        fusion, found = learned(learner, votes, labels)
    expected = np.exp(found.scores) / np.exp(found.scores).sum(axis=1, keepdims=True)
    assert found.probabilities == pytest.approx(expected)
    assert fusion.decisions.scores_are_logs


@given(st.integers(0, 2**32), st.sampled_from([0.01, 1.0, 30.0]), st.floats(0, 1))
def test_the_log_loss_never_exceeds_that_of_the_softmax_by_more_than_ln_2(
    seed: int, scale: float, skill: float
) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 40).astype(np.int32)
    scores = scale * rng.normal(size=(40, 3))
    scores[np.arange(40), labels] += scale * skill
    oracle, loss, raw = oracles.CalibrationMap(), 0.0, 0.0
    for row, y in zip(scores.tolist(), labels.tolist(), strict=True):
        loss -= math.log(max(oracle.probabilities(row)[y], 1e-15))
        raw -= math.log(max(oracles.softmax(row)[y], 1e-15))
        assert loss <= raw + math.log(2) + 1e-9
        oracle.learn(row, y)


def test_the_most_probable_class_is_the_prediction() -> None:
    votes, labels = panel(500)
    _, found = learned(Voted(Perceptron()), votes, labels)
    assert (found.probabilities.argmax(axis=1) == found.codes).mean() > 0.99  # equal scores tie
    assert (found.probabilities.max(axis=1) == found.probabilities[np.arange(500), found.codes]).all()
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "row", [[1e308, -1e308, 0.0], [0.0, -math.inf, 1.0], [math.nan, 0.0, math.inf], [0.0, 1.0, math.nan]]
)
def test_the_map_stays_finite_if_scores_overflow(row: list[float]) -> None:
    decisions, p = Decisions(), np.zeros((1, 3))
    with interpreted(), np.errstate(all="ignore"):
        for y in (0, 1, 2, 1):
            label, known, code = (np.array([number], np.int32) for number in (y, 3, 0))
            work = Probabilities(*np.zeros((4, 8)))
            decide(label, known, code, np.array([row]), NO_COSTS, decisions.arrays, work, p, 0, 0, 1)
            assert p.sum() == pytest.approx(1.0)
    assert np.isfinite(decisions.arrays.scale).all()
    assert decisions.arrays.counts[SEEN] == 4


def test_the_map_stays_finite_if_weights_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathematics, "LONG_RUN", 5000)
    mathematics.check_no_overflow(QuasiAdditive("sinh"))
