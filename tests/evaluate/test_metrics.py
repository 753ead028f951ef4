"""Metrics by class and calibration compared with scikit-learn and with loops over the items."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    cohen_kappa_score,
    f1_score,
    log_loss,
    mean_absolute_error,
)

from linmax import Fusion, Winnow
from linmax.evaluate import metrics
from linmax.evaluate.audit.resumable_run import ResumableRun
from linmax.evaluate.calibration import BINS, CalibrationCounts
from linmax.evaluate.metrics import (
    LAST_LABEL,
    LINMAX,
    MOST_FREQUENT,
    PLURALITY,
    ClassCounts,
    class_metrics,
)
from linmax.streams import open_stream
from tests.evaluate.test_audit import known_before, learn, panel, text
from tests.oracles.audit import counted

NOTHING = "nothing"


def by_scikit_learn(truth: list[Any], predicted: list[Any]) -> list[float]:
    return [
        float(np.mean([a == b for a, b in zip(truth, predicted, strict=True)])),
        balanced_accuracy_score(truth, predicted),
        f1_score(truth, predicted, average="macro", zero_division=0.0),
        cohen_kappa_score(truth, predicted),
    ]


@pytest.mark.parametrize("k", [2, 3, 17])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true:UserWarning")
def test_metrics_are_those_of_scikit_learn(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=80)
    predicted = np.where(rng.random(80) < 0.6, truth, rng.integers(k, size=80))
    truth[truth == k - 1] = 0  # a class that is only predicted
    hits = np.bincount(truth[truth == predicted], minlength=k)
    distance = float(abs(truth - predicted).sum())
    found = class_metrics(
        np.bincount(truth, minlength=k), np.bincount(predicted, minlength=k), hits, distance
    )
    with np.errstate(all="ignore"):
        assert np.allclose(found[:4], by_scikit_learn(truth.tolist(), predicted.tolist()))
    assert found.mean_absolute_error == pytest.approx(mean_absolute_error(truth, predicted))


def test_metrics_that_are_not_defined_are_none() -> None:
    assert class_metrics([0, 0], [0, 0], [0, 0]).accuracy is None
    assert class_metrics([5, 0], [5, 0], [5, 0]).kappa is None
    assert class_metrics([5, 0], [5, 0], [5, 0]).macro_f1 == 1.0


def spread(predictions: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Truth and plurality, each item 12 times, of which every tied class gets the same number."""
    truth, predicted = [], []
    for one in predictions:
        truth += [one["truth"]] * 12
        predicted += [name for name in one["tied"] for _ in range(12 // len(one["tied"]))]
    return truth, predicted


def test_counts_by_class_give_the_metrics_of_each_predictor() -> None:
    rows, labels = panel(400)
    run, guesses = learn(text(rows, labels))
    slow = counted(guesses, rows, labels, known_before(rows, labels), run.fusion.classes)
    predictions, counts = slow["predictions"], run.audit.class_counts
    truth = [one["truth"] for one in predictions]
    for predictor, name in ((LINMAX, "linmax"), (MOST_FREQUENT, "frequent"), (LAST_LABEL, "last")):
        said = [one[name] for one in predictions]
        assert None not in said or said.count(None) == 1
        found = counts.metrics(predictor)
        assert found.mean_absolute_error is None
        if None not in said:
            assert np.allclose(found[:4], by_scikit_learn(truth, said))
    assert np.allclose(counts.metrics(PLURALITY)[:4], by_scikit_learn(*spread(predictions)))
    for i, name in enumerate(run.fusion.experts):
        there = [one for one in predictions if name in one]
        want = by_scikit_learn([one["truth"] for one in there], [one[name] for one in there])
        assert np.allclose(counts.expert_metrics(i)[:4], want)


def run_text(lines: list[str], classes: Any = None) -> ResumableRun:
    run = ResumableRun(
        Fusion(Winnow(1.3), classes=classes),
        open_stream(io.BytesIO("\n".join(lines).encode()), label="truth"),
    )
    for _ in run:
        pass
    return run


def test_the_mean_absolute_error_is_measured_where_all_classes_are_numbers() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 6, 200)
    votes = np.clip(truth[:, None] + rng.integers(-1, 2, (200, 3)), 1, 5)
    lines = ["a,b,c,truth", *(f"{a},{b},{c},{y}" for (a, b, c), y in zip(votes, truth, strict=True))]
    run = run_text(lines, classes=list("12345"))
    counts = run.audit.class_counts
    assert [run.fusion.classes[code] for code in counts.ordered] == list("12345")
    assert counts.expert_metrics(0).mean_absolute_error == pytest.approx(
        mean_absolute_error(truth, votes[:, 0])
    )
    want = 0.0
    for row, y in zip(votes, truth, strict=True):
        times = np.bincount(row, minlength=6)
        want += np.mean([abs(c - y) for c in np.flatnonzero(times == times.max())]) / 200
    assert counts.metrics(PLURALITY).mean_absolute_error == pytest.approx(want)
    assert counts.metrics(LAST_LABEL).mean_absolute_error == pytest.approx(
        mean_absolute_error(truth[1:], truth[:-1]) * 199 / 200
    )
    other = run_text(["a,truth", "good,1", "2,2", "3,3", "good,2"], classes=["1", "2", "3", "good"])
    assert other.audit.class_counts.ordered  # the labels are
    assert other.audit.class_counts.expert_metrics(0).mean_absolute_error is None  # its votes are not
    assert not run_text(["a,truth", "0,0", "1,1"], classes=["0", "1"]).audit.class_counts.ordered


def test_many_experts_times_classes_are_not_counted_by_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "EXPERT_CELLS", 11)
    counts = ClassCounts()
    votes, truth, known = np.zeros((2, 5), np.int32), np.zeros(2, np.int32), np.full(2, 2, np.int32)
    counts.add(votes, truth, known, truth, ["a", "b"])
    assert counts.expert_metrics(4).accuracy == 1.0
    counts.add(votes, truth, known, truth, ["a", "b", "c"])
    assert counts.expert_metrics(4).accuracy is None
    assert counts.metrics(LINMAX).accuracy == 1.0
    again = ClassCounts.from_state(counts.state())
    assert again.state() == counts.state()


def test_five_thousand_classes_take_little_memory() -> None:
    counts = ClassCounts()
    rng = np.random.default_rng(0)
    votes = rng.integers(5000, size=(3000, 5)).astype(np.int32)
    truth, known = votes[:, 0].copy(), np.full(3000, 5000, np.int32)
    counts.add(votes, truth, known, truth, list(range(5000)))
    assert sum(one.nbytes for one in vars(counts).values() if isinstance(one, np.ndarray)) < 4_000_000
    assert counts.metrics(LINMAX).balanced_accuracy == 1.0


def calibrated(seed: int, n: int = 300, k: int = 4) -> tuple[CalibrationCounts, Any]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * 2
    votes = rng.integers(-1, k, (n, 5)).astype(np.int32)
    votes[::50] = -1
    truth = rng.integers(-1, k, n).astype(np.int32)
    known = np.full(n, k, np.int32)
    guess = scores.argmax(axis=1).astype(np.int32)
    counts = CalibrationCounts()
    for begin in range(0, n, 37):
        rows = slice(begin, begin + 37)
        p = np.exp(scores[rows]) / np.exp(scores[rows]).sum(axis=1, keepdims=True)
        counts.add(p, votes[rows], truth[rows], known[rows], guess[rows])
    there = truth >= 0
    return counts, (scores[there], votes[there], truth[there], k)


def expected_error(confidence: Any, correct: Any) -> float:
    total = 0.0
    for b in range(BINS):
        there = [i for i, p in enumerate(confidence) if b <= p * BINS < b + 1 or (b == BINS - 1 and p == 1.0)]
        if there:
            total += abs(sum(confidence[i] - correct[i] for i in there))
    return total / len(confidence)


@pytest.mark.parametrize("seed", range(3))
def test_the_calibration_of_linmax_is_that_of_its_probabilities(seed: int) -> None:
    counts, (scores, _, truth, k) = calibrated(seed)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = counts.result(0)
    assert found is not None
    assert found.items == len(truth)
    assert found.log_loss == pytest.approx(log_loss(truth, p, labels=range(k)))
    assert found.brier == pytest.approx(((p - np.eye(k)[truth]) ** 2).sum(axis=1).mean())
    assert found.ece == pytest.approx(expected_error(p.max(axis=1), p.argmax(axis=1) == truth))
    assert found.accuracy == pytest.approx((p.argmax(axis=1) == truth).mean())
    assert sum(one.items for one in found.bins) == found.items


def test_the_brier_score_of_two_classes_is_twice_that_of_scikit_learn() -> None:
    counts, (scores, _, truth, _) = calibrated(0, k=2)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    found = counts.result(0)
    assert found is not None
    assert found.brier == pytest.approx(2 * brier_score_loss(truth, p[:, 1]))


@pytest.mark.parametrize("seed", range(3))
def test_the_calibration_of_the_plurality_is_that_of_its_shares(seed: int) -> None:
    counts, (_, votes, truth, k) = calibrated(seed)
    times = np.stack([np.bincount(row[row >= 0], minlength=k) for row in votes])
    voted = times.sum(axis=1, keepdims=True)
    p = np.where(voted > 0, times / np.maximum(voted, 1), 1 / k)
    tied = times == times.max(axis=1, keepdims=True)
    correct = tied[np.arange(len(truth)), truth] / tied.sum(axis=1)
    found = counts.result(1)
    assert found is not None
    assert found.brier == pytest.approx(((p - np.eye(k)[truth]) ** 2).sum(axis=1).mean())
    assert found.log_loss == pytest.approx(log_loss(truth, (times + 1 / k) / (voted + 1), labels=range(k)))
    assert found.ece == pytest.approx(expected_error(p.max(axis=1), correct))
    assert found.accuracy == pytest.approx(correct.mean())


def test_probabilities_that_are_true_are_calibrated() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 20_000)
    truth = (rng.random(20_000)[:, None] > p.cumsum(axis=1)).sum(axis=1).astype(np.int32)
    counts = CalibrationCounts()
    votes, known = np.full((20_000, 1), -1, np.int32), np.full(20_000, 3, np.int32)
    counts.add(p, votes, truth, known, p.argmax(axis=1).astype(np.int32))
    found = counts.result(0)
    assert found is not None
    assert found.ece < 0.015
    assert abs(found.confidence - found.accuracy) < 0.01


def test_with_many_classes_every_so_many_trials_are_counted_whatever_the_chunks() -> None:
    rng = np.random.default_rng(0)
    n, k = 90, 600
    scores = rng.normal(size=(n, k))
    votes, truth = rng.integers(k, size=(n, 3)).astype(np.int32), rng.integers(k, size=n).astype(np.int32)
    known, guess = np.full(n, k, np.int32), scores.argmax(axis=1).astype(np.int32)
    states = []
    for size in (90, 7, 1):
        counts = CalibrationCounts()
        for begin in range(0, n, size):
            rows = slice(begin, begin + size)
            p = np.exp(scores[rows]) / np.exp(scores[rows]).sum(axis=1, keepdims=True)
            counts.add(p, votes[rows], truth[rows], known[rows], guess[rows])
        states.append(counts.state())
    assert states[0] == states[1] == states[2]
    found = counts.result(0)
    assert found is not None
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found.items == 30
    assert found.log_loss == pytest.approx(-np.log(p[np.arange(n), truth])[::3].mean())


def test_extreme_probabilities_have_finite_losses() -> None:
    counts = CalibrationCounts()
    scores = np.array([[1.0, 0.0], [0.5, 0.5], [1.0, 1e-300]])
    truth, known = np.array([1, 1, 1], np.int32), np.full(3, 2, np.int32)
    counts.add(scores, np.zeros((3, 0), np.int32), truth, known, np.zeros(3, np.int32))
    found = counts.result(0)
    assert found is not None
    assert all(map(math.isfinite, found[:6]))
    assert CalibrationCounts().result(0) is None
    assert CalibrationCounts.from_state(counts.state()).result(0) == found
