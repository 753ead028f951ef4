"""`mix`: the mean of shards, the theorem on it, and what it does not give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from linmax import Fusion, NaiveBayes, Perceptron
from linmax.bounds import parameter_mixing_bound
from linmax.experts import Votes
from linmax.problems import majority
from linmax.scale import mix
from tests.helpers.datasets import EXPERTS, write
from tests.scale.test_keyed import table_of

P = Perceptron().on(Votes())


def cut(votes: Any, labels: Any, shards: int) -> list[Any]:
    return list(zip(np.array_split(votes, shards), np.array_split(labels, shards), strict=True))


def oracle(shards: list[Any], experts: int, classes: list[int], epochs: int) -> tuple[Any, list[list[int]]]:
    """Iterative parameter mixing as in the paper, with dense vectors; ties go to the first class."""
    w, mistakes = np.zeros(experts), []
    for _ in range(epochs):
        ends, row = [], []
        for votes, labels in shards:
            own, count = w.copy(), 0
            for vote, label in zip(votes, labels, strict=True):
                x = np.array([vote == name for name in classes], float)
                guess = classes[int((x @ own).argmax())]
                if guess != label:
                    count += 1
                    own += x[classes.index(label)] - x[classes.index(guess)]
            ends.append(own)
            row.append(count)
        w = sum(ends) / len(ends)
        mistakes.append(row)
    return w, mistakes


@pytest.mark.parametrize("shards", [1, 2, 4])  # the means of powers of 2 are exact
def test_weights_and_mistakes_are_those_of_the_paper(shards: int) -> None:
    votes, labels = majority(600, relevant=3, experts=8, noise=0.1)
    parts = cut(votes, labels, shards)
    result = mix(P, parts, epochs=3, workers=1)
    classes = result.fusion.classes
    w, mistakes = oracle(parts, votes.shape[1], classes, 3)
    assert result.mistakes.tolist() == mistakes
    assert np.array_equal(list(result.fusion.weights.values()), w)
    assert result.trials == 600


def test_one_shard_is_one_pass() -> None:
    votes, labels = majority(500, noise=0.1)
    result = mix(Perceptron(), [(votes, labels)], workers=1)
    alone = Fusion(Perceptron(), classes=result.fusion.classes, experts=result.fusion.experts)
    assert alone.learn(votes, labels).mistakes == result.mistakes.sum()
    assert alone.weights == result.fusion.weights
    assert result.given_up == "Nothing: there is one shard."


@pytest.mark.parametrize("shards", [1, 2, 4, 8, 16])
def test_the_mean_over_shards_obeys_the_bound_and_the_total_need_not(shards: int) -> None:
    votes, labels = majority(2000, relevant=3, experts=16, classes=2, noise=0)
    u = np.zeros(16)
    names = [int(name) for name in np.unique(labels)]
    x = np.stack([votes == name for name in names]).astype(float)  # (classes, items, experts)
    at = np.array([names.index(label) for label in labels.tolist()])
    z = x[at, np.arange(len(at))] - x[1 - at, np.arange(len(at))]
    relevant = [j for j in range(16) if abs(z[:, j].mean()) > 0.2]
    u[relevant] = 1 / np.sqrt(len(relevant))
    margin, radius = float((z @ u).min()), float(np.sqrt((z**2).sum(axis=1).max()))
    assert margin > 0, "the relevant experts separate the data"
    result = mix(P, cut(votes, labels, shards), epochs=4, workers=1)
    limit = parameter_mixing_bound(radius, margin)
    assert result.mixed_mistakes <= limit
    assert result.mistakes.sum() <= shards * limit
    if shards == 16:
        assert result.mistakes.sum() > limit, "the total is not bounded by the bound of one pass"
        assert "16 R²/γ²" in result.given_up


def test_counts_of_naive_bayes_are_those_of_one_pass() -> None:
    votes, labels = majority(900, classes=3, noise=0.2)
    for of in ("tables", "accuracies"):
        result = mix(NaiveBayes(of), cut(votes, labels, 4), workers=1)
        whole = Fusion(
            NaiveBayes(of), classes=result.fusion.classes, experts=result.fusion.experts, calibrate="none"
        )
        run = whole.learn(votes, labels)
        mixed, plain = result.fusion.state(), whole.state()
        for name in plain:
            if name.startswith("head."):
                assert np.array_equal(mixed[name], plain[name]), name
        assert result.fusion.trials == whole.trials
        assert (result.fusion.predict(votes) == whole.predict(votes)).all()
        assert result.mistakes.sum() >= run.mistakes


def test_files_are_shards(tmp_path: Path) -> None:
    data = write(tmp_path / "data", parts=3)
    result = mix("Perceptron()", data, label="truth", ignore=("customer", "when"), workers=1)
    rows = table_of(data)
    parts = [
        ([{name: row[name] for name in EXPERTS} for row in part], [row["truth"] for row in part])
        for part in (rows[:200], rows[200:400], rows[400:])
    ]
    same = mix("Perceptron()", parts, workers=1)
    assert result.mistakes.tolist() == same.mistakes.tolist()
    assert result.fusion.weights == same.fusion.weights


def test_files_without_rows_are_no_shards(tmp_path: Path) -> None:
    data = write(tmp_path / "data", parts=2)
    options: dict[str, Any] = {"label": "truth", "ignore": ("customer", "when"), "workers": 1}
    expected = mix("Perceptron()", data, **options)
    for name in ("part-00", "part-9"):
        empty = pq.read_table(data / "part-0.parquet").slice(0, 0)
        pq.write_table(empty, data / f"{name}.parquet")
    result = mix("Perceptron()", data, **options)
    assert result.mistakes.tolist() == expected.mistakes.tolist()
    assert (result.fusion.weights, result.given_up) == (expected.fusion.weights, expected.given_up)
    with pytest.raises(ValueError, match=r"no file of the data set has rows \(the first is part-9.parquet\)"):
        mix("Perceptron()", data / "part-9.parquet", **options)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        ("Winnow(1.2)", "a mean of weights that were multiplied"),
        ("BalancedWinnow(1.2)", "a mean of weights that were multiplied"),
        ("Alma()", "depend on a scale that shards do not share"),
        ("Averaged(Perceptron())", "no bound is known for mixed averages and committees"),
        ("recommended()", "no bound is known for mixed averages and committees"),
        ("Perceptron().on(Attributes())", "only rules on votes are"),
    ],
)
def test_other_learners_are_refused_with_the_reason(learner: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        mix(learner, cut(*majority(40), 2), workers=1)


def test_wrong_arguments_are_refused() -> None:
    parts = cut(*majority(40), 2)
    with pytest.raises(ValueError, match="requires an integer epochs >= 1"):
        mix("Perceptron()", parts, epochs=0)
    with pytest.raises(ValueError, match="NaiveBayes counts every item once"):
        mix("NaiveBayes()", parts, epochs=2)
    with pytest.raises(ValueError, match="without a margin there is none"):
        parameter_mixing_bound(1.0, 0.0)


def test_a_state_of_another_session_is_refused_and_changes_nothing() -> None:
    votes, labels = majority(100)
    fusion, other = Fusion(Perceptron()), Fusion(NaiveBayes())
    for one in (fusion, other):
        one.learn(votes, labels)
    before = fusion.weights
    with pytest.raises(ValueError, match="the state"):
        fusion.set_state(other.state())
    bad = fusion.state()
    bad["theta"] = bad["theta"][:-1]
    with pytest.raises(ValueError, match="the state is not one of this session"):
        fusion.set_state(bad)
    assert fusion.weights == before
    rest = majority(50, seed=7)
    copy = Fusion(Perceptron(), classes=fusion.classes, experts=fusion.experts)
    copy.set_state(fusion.state())
    assert copy.learn(*rest).guesses.tolist() == fusion.learn(*rest).guesses.tolist()
    assert copy.predict_one(votes[0].tolist()) == fusion.predict_one(votes[0].tolist())
    assert copy.weights == fusion.weights
