"""Members of an ensemble in threads: the same bits as one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linmax import (
    Averaged,
    Fusion,
    Logistic,
    Mixture,
    NaiveBayes,
    Perceptron,
    Recycled,
    SquaredHinge,
    Stacked,
    Tempered,
    Winnow,
)
from linmax.experts import PerClass, RandomFeatures, Thresholds, Votes
from linmax.fusion.model_file import fingerprint
from linmax.problems import majority
from linmax.runtime import concurrency, program, runner

WIDE = Logistic(decay="adagrad", start="equal").on(Votes() + PerClass() + Thresholds())
ENSEMBLES = {
    "default": None,
    "stack": Stacked([NaiveBayes(), NaiveBayes("accuracies"), Tempered(Perceptron()), WIDE]),
    "nested": Mixture([Stacked([NaiveBayes(), Perceptron()]), Mixture([NaiveBayes(), Perceptron()])]),
    "recycled": Mixture([NaiveBayes(), Recycled(Perceptron(), size=5), Averaged(Winnow(1.2))]),
}


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Start threads for the smallest chunks; the list has an entry for every block that was run in them."""
    for name in ("THREADS_WORK", "THREADS_EXPERTS", "THREADS_CELLS"):
        monkeypatch.setattr(program, name, 1)
    monkeypatch.setattr(program, "THREADS_BLOCK", 100)
    monkeypatch.setattr(concurrency, "MIN_TRIALS", 1)
    started: list[int] = []

    def run_all(tasks: Any, trials: int) -> None:
        started.append(len(tasks))
        concurrency.run_all(tasks, trials)

    monkeypatch.setattr(program, "run_all", run_all)
    return started


def learned(learner: Any, count: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    monkeypatch.setenv("LINMAX_THREADS", count)
    votes, labels = majority(730, relevant=3, experts=20, classes=4)
    votes = np.where(np.random.default_rng(1).random(votes.shape) < 0.1, -1, votes)
    fusion = Fusion(learner)
    guesses = fusion.learn(votes[:700], labels[:700]).guesses.tolist()
    return guesses, fusion.scores(votes[700:]).tolist(), fusion.mistakes, fingerprint(fusion)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_members_in_threads_learn_the_same_bits(
    name: str, threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = learned(ENSEMBLES[name], "1", monkeypatch)
    assert threads == []
    for count in ("2", "5"):
        assert learned(ENSEMBLES[name], count, monkeypatch) == alone
    assert len(threads) >= 2 * 7
    assert min(threads) > 1


def test_small_panels_and_short_tables_start_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINMAX_THREADS", "2")
    monkeypatch.setattr(program, "run_all", None)  # which a program in threads would call
    votes, labels = majority(5000, relevant=3, experts=15, classes=20)
    assert Fusion().learn(votes, labels).trials == 5000
    votes, labels = majority(1900, relevant=3, experts=100, classes=4)
    assert Fusion().learn(votes, labels).trials == 1900


def test_large_panels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINMAX_THREADS", "2")
    monkeypatch.setattr(program, "run_all", None)
    votes, labels = majority(2100, relevant=3, experts=100, classes=4)
    with pytest.raises(TypeError, match="not callable"):
        Fusion().learn(votes, labels)


@pytest.mark.parametrize("members", ["rules", "regressions"])
def test_threads_do_not_share_the_features_of_a_trial(
    members: str, threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(3000, 8))
    labels = (np.abs(rows).sum(axis=1) > 6.0).astype(int)
    source = RandomFeatures(512)
    ensemble: Mixture
    if members == "rules":
        monkeypatch.setattr(runner, "MANY_RUNS", 2)
        ensemble = Mixture([Logistic(eta).on(source) for eta in (0.1, 0.2, 0.3, 0.4)])
    else:
        for name in ("THREADS_WORK", "THREADS_EXPERTS", "THREADS_CELLS"):  # there are no experts
            monkeypatch.setattr(program, name, 0)
        ensemble = Mixture([SquaredHinge(eta).on(source) for eta in (0.1, 0.2, 0.3, 0.4)])
    found = set()
    for count in ("1", "2", "4"):
        monkeypatch.setenv("LINMAX_THREADS", count)
        fusion = Fusion(ensemble)
        fusion.learn(attributes=rows, labels=labels)
        found.add(fingerprint(fusion))
    assert len(found) == 1
