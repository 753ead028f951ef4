"""The default committee: begins as the plurality, and is never much worse than the best it is made of."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, load, parse, recommended
from linmax.fusion.model_file import fingerprint
from linmax.inputs import Triplets
from linmax.problems import drifting, majority

K = 4
BANK = recommended().members[1].members  # type: ignore[attr-defined]


def truths(trials: int, seed: int = 0) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.integers(K, size=trials)


def noisy(rng: np.random.Generator, y: np.ndarray, accuracy: list[float]) -> np.ndarray:
    """An expert for each accuracy; who is wrong says anything."""
    right = rng.random((len(y), len(accuracy))) < np.array(accuracy)
    return np.where(right, y[:, None], rng.integers(K, size=right.shape))


def confused() -> tuple[np.ndarray, np.ndarray]:
    """Two experts always name the class after the true one; three others are little better than chance."""
    rng, y = truths(1000)
    after = np.repeat(((y + 1) % K)[:, None], 2, axis=1)
    return np.hstack([after, noisy(rng, y, [0.1] * 3)]), y


def sleeping() -> tuple[np.ndarray, np.ndarray]:
    """Thirty experts, each speaking one time in ten; half of them are good."""
    rng, y = truths(1500)
    votes = noisy(rng, y, [0.8] * 15 + [0.0] * 15)
    return np.where(rng.random(votes.shape) < 0.1, votes, -1), y


def many() -> tuple[np.ndarray, np.ndarray]:
    """Two hundred experts who know nothing, and one who is nearly always right."""
    rng, y = truths(3000)  # finding one in two hundred costs some fifty mistakes
    return noisy(rng, y, [0.0] * 200 + [0.9]), y


def few() -> tuple[np.ndarray, np.ndarray]:
    rng, y = truths(1000)
    return noisy(rng, y, [0.7, 0.4, 0.4]), y


def switching() -> tuple[np.ndarray, np.ndarray]:
    """The good experts become the bad ones half-way."""
    rng, y = truths(2000)
    votes = noisy(rng, y, [0.8] * 5 + [0.1] * 5)
    votes[1000:] = votes[1000:, ::-1]
    return votes, y


STREAMS: dict[str, Any] = {
    "confused": confused,
    "sleeping": sleeping,
    "many": many,
    "few": few,
    "switching": switching,
    "majority": lambda: majority(1500, noise=0.1),
    "drifting": lambda: drifting(1500),
}


def plurality(votes: np.ndarray, classes: int) -> np.ndarray:
    counts = np.stack([(votes == c).sum(axis=1) for c in range(classes)], axis=1)
    return counts.argmax(axis=1)


@pytest.mark.parametrize("stream", STREAMS)
def test_it_is_never_much_worse_than_the_best_of_plurality_experts_and_members(stream: str) -> None:
    votes, labels = STREAMS[stream]()
    classes = int(max(labels.max(), votes.max())) + 1
    ours = Fusion(classes=range(classes)).learn(votes, labels).mistakes
    members = [Fusion(member, classes=range(classes)).learn(votes, labels).mistakes for member in BANK]
    experts = (votes != labels[:, None]).sum(axis=0)
    best = min(int((plurality(votes, classes) != labels).sum()), int(experts.min()), *members)
    assert ours <= best + 0.02 * len(labels)
    assert ours < max(members)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_before_any_label_it_is_the_plurality_ties_to_the_first_class(k: int) -> None:
    rng = np.random.default_rng(k)
    for n in (1, 2, 5, 20):
        votes = rng.integers(-1, k, size=(50, n))
        assert (Fusion(classes=range(k)).predict(votes) == plurality(votes, k)).all()


def test_it_learns_what_confused_experts_mean() -> None:
    votes, labels = confused()
    wrong = Fusion(classes=range(K)).learn(votes, labels).wrong
    assert wrong[500:].sum() <= 5


def test_it_gets_over_a_change_of_who_is_good() -> None:
    votes, labels = switching()
    wrong = Fusion(classes=range(K)).learn(votes, labels).wrong
    assert wrong[1500:].mean() < 1.5 * wrong[500:1000].mean() + 0.01


def test_it_meets_new_classes_and_new_experts() -> None:
    rng, y = truths(900)
    votes = noisy(rng, y, [0.9, 0.6, 0.3, 0.9]).astype(object)
    late = np.arange(900) < 450
    votes[late, 3] = None
    keep = ~(late & (y == 3))
    fusion = Fusion()
    wrong = fusion.learn(votes[keep], y[keep]).wrong
    assert sorted(fusion.classes) == [0, 1, 2, 3]
    assert wrong[-200:].mean() < 0.1


def test_its_scores_are_log_probabilities_and_look_calibrated() -> None:
    rng, y = truths(12000)
    votes = noisy(rng, y, [0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    fusion = Fusion(classes=range(K))
    fusion.learn(votes[:2000], y[:2000])
    p = np.exp(fusion.scores(votes[2000:]))
    assert p.sum(axis=1) == pytest.approx(1.0)
    sure, right = p.max(axis=1), p.argmax(axis=1) == y[2000:]
    for low, high in ((0.3, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1.0)):
        bin_ = (sure >= low) & (sure < high)
        assert bin_.sum() > 50
        assert abs(sure[bin_].mean() - right[bin_].mean()) < 0.06


def test_one_by_one_in_pieces_and_at_once_are_the_same() -> None:
    votes, labels = sleeping()
    votes, labels = votes[:300], labels[:300]
    once, pieces, single = (Fusion(classes=range(K), experts=range(30)) for _ in range(3))
    once.learn(votes, labels)
    for begin in range(0, 300, 37):
        pieces.learn(votes[begin : begin + 37], labels[begin : begin + 37])
    for row, y in zip(votes.tolist(), labels.tolist(), strict=True):
        single.learn_one(dict(enumerate(row)), y)
    for other in (pieces, single):
        here, there = once.state(), other.state()
        assert all(here[name].tobytes() == there[name].tobytes() for name in here)


def test_a_file_holds_the_committee_itself_not_the_name_of_a_default_that_may_change(tmp_path: Path) -> None:
    votes, labels = few()
    fusion = Fusion(classes=range(K))
    fusion.learn(votes[:500], labels[:500])
    fusion.save(tmp_path / "default.linmax")
    assert b"NaiveBayes" in (tmp_path / "default.linmax").read_bytes()
    again = load(tmp_path / "default.linmax")
    assert again.learn(votes[500:], labels[500:]).mistakes == fusion.learn(votes[500:], labels[500:]).mistakes
    assert parse("recommended()") == parse(repr(recommended())) == recommended() == Fusion().learner


def test_an_explanation_adds_up_and_names_all_seven() -> None:
    votes, labels = few()
    fusion = Fusion(classes=range(K), experts=["ann", "bob", "eve"])
    fusion.learn(votes, labels)
    item = {"ann": 1, "bob": 2, "eve": 1}
    told = fusion.explain_one(item)
    assert told.guess == fusion.predict_one(item)
    for label, score in told.scores.items():
        assert sum(row.get(label, 0.0) for row in told.contributions.values()) == pytest.approx(score)
    assert set(map(repr, BANK)) == set(told.members) == set(fusion.members)
    assert {"ann", "bob", "eve"} <= set(told.contributions)


@pytest.mark.parametrize("experts", [7, 20])
def test_an_array_dicts_triplets_and_single_items_learn_the_same_bits(experts: int) -> None:
    """A member has weights of float32, which are adapted eight at a time where votes are codes."""
    rng, y = truths(80)
    votes = noisy(rng, y, [0.7] * experts)
    dicts = [dict(enumerate(row)) for row in votes.tolist()]
    item, expert = np.indices(votes.shape).reshape(2, -1)

    def learned(*given: Any) -> str:
        fusion = Fusion(classes=range(K), experts=range(experts))
        fusion.learn(*given)
        return fingerprint(fusion)

    expected = learned(votes, y)
    assert learned(dicts, y) == expected
    assert learned(Triplets(item, expert, votes.reshape(-1), items=len(y)), y) == expected
    single = Fusion(classes=range(K), experts=range(experts))
    for one, label in zip(dicts, y.tolist(), strict=True):
        single.learn_one(one, label)
    assert fingerprint(single) == expected


@pytest.mark.parametrize("score", [1e13, 1e20, 1e60])
def test_weights_stay_finite_under_the_largest_scores(score: float, tmp_path: Path) -> None:
    fusion = Fusion(classes=["x", "y"])
    for label in "xyxy" * 3:
        fusion.learn_one({"a": {"x": score}, "b": {"y": 1.0}}, label)
    assert all(map(math.isfinite, fusion.weights.values()))
    fusion.save(tmp_path / "m.linmax")
    assert load(tmp_path / "m.linmax").weights == fusion.weights
