"""Explanations: what they add up to, and how much work they are."""

import sys
from typing import Any

import numpy as np
import pytest

from linmax import (
    Averaged,
    Combine,
    Fusion,
    Logistic,
    Mixture,
    NaiveBayes,
    Perceptron,
    Stacked,
    Tempered,
    WeightedMajority,
    Winnow,
)
from linmax._jit.compilation import interpreted
from linmax.experts import PerClass, Split, Thresholds, Votes
from linmax.experts.base import Source
from linmax.experts.votes import first_votes
from linmax.fusion.results import Explanation
from linmax.kernels.forms import Dense, Hard, Sparse
from linmax.problems import majority
from linmax.runtime.predictor import RulePredictor

CLASSES = ["a", "b", "c"]
EXPERTS = ["ann", "bob", "threshold", ("eve", 1)]
SOURCES = {
    "votes": Votes(),
    "softmax": Votes(as_="softmax") + Thresholds(),
    "split": Votes() + Split(),
    "some classes": Split(classes=("a", "c")) + Thresholds(),
    "per class": Votes() + PerClass() + Thresholds(),
}
RULES = {
    "rule": Perceptron(),
    "equal start": Perceptron(start="equal"),
    "multiplicative": Winnow(1.3),
    "mean": Averaged(Winnow(1.3)),
    "adaptive": Logistic(0.3, decay="adagrad", start="equal"),
}
ENSEMBLES: dict[str, Any] = {
    "default": None,
    "tables": NaiveBayes(),
    "accuracies": NaiveBayes("accuracies"),
    "tempered": Tempered(Averaged(Perceptron())),
    "stacked": Stacked([Winnow(1.2), NaiveBayes(), Mixture([Perceptron(), Winnow(1.2)])]),
    "members": WeightedMajority([Perceptron(), Winnow(1.2)]),
    "experts": WeightedMajority(),
    "saved hypotheses": Combine([Perceptron(), Averaged(Winnow(1.2))], hypotheses=4, window=4, patience=2),
    "random hypotheses": Combine([Perceptron(), Winnow(1.2)], hypotheses=5, choose="random"),
}


def stream(scored: bool, size: int = 25) -> tuple[list[dict[Any, Any]], list[str]]:
    """Return items on which some experts abstain, and labels; half of the votes may be scores."""
    draw = np.random.default_rng(0)
    labels = [CLASSES[c] for c in draw.integers(0, 3, size)]
    items: list[dict[Any, Any]] = []
    for label in labels:
        item: dict[Any, Any] = {}
        for expert in EXPERTS:
            if draw.random() < 0.8:
                item[expert] = label if draw.random() < 0.5 else str(draw.choice(CLASSES))
                if scored and draw.random() < 0.5:
                    item[expert] = {c: round(draw.normal(), 2) for c in CLASSES[: draw.integers(1, 4)]}
        items.append(item)
    return items, labels


def learned(learner: Any, scored: bool) -> tuple[Fusion, list[dict[Any, Any]]]:
    """Return a session, and items; the last has an expert and a class that the session has not met."""
    items, labels = stream(scored)
    fusion = Fusion(learner, classes=CLASSES)
    for item, label in zip(items[:20], labels, strict=False):
        fusion.learn_one({name: vote for name, vote in item.items() if name != "bob"}, label)
    return fusion, [*items[20:], {}, {"stranger": "a", "ann": "d", "bob": "b"}]


def check_equal(told: Explanation, expected: Explanation) -> None:
    assert told.guess == expected.guess
    assert told.scores == pytest.approx(expected.scores)
    assert told.contributions.keys() == expected.contributions.keys()
    for owner, row in told.contributions.items():
        assert row == pytest.approx(expected.contributions[owner]), owner


@pytest.mark.parametrize("scored", [False, True], ids=["labels", "scores"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("source", SOURCES)
def test_votes_as_arrays_are_those_that_kernels_find(
    source: str, rule: str, scored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with interpreted():  # explaining runs no kernel, and each source would compile kernels of its own
        fusion, items = learned(RULES[rule].on(SOURCES[source]), scored)
    told = [fusion.explain_one(item, new_experts="vote") for item in items]
    for part in (Votes, Thresholds, Split, PerClass):
        monkeypatch.setattr(part, "sub_votes", Source.sub_votes)
    for item, one in zip(items, told, strict=True):
        check_equal(one, fusion.explain_one(item, new_experts="vote"))


@pytest.mark.parametrize("scored", [False, True], ids=["labels", "scores"])
@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_parts_of_an_ensemble_add_up_to_the_scores_that_predict(name: str, scored: bool) -> None:
    fusion, items = learned(ENSEMBLES[name], scored)
    for item in items:
        told = fusion.explain_one(item, new_experts="vote")
        scores = fusion.predict_batch(fusion.read([item]), scores=True).scores[0]
        assert list(told.scores.values()) == pytest.approx(scores.tolist(), abs=1e-9)
        sums = dict.fromkeys(told.scores, 0.0)
        for row in told.contributions.values():
            for label, x in row.items():
                sums[label] += x
        assert sums == pytest.approx(told.scores, abs=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        Averaged(Perceptron(slack=2.0, start="equal")),
        Winnow(1.3),
        Averaged(Winnow(1.3)),
        Combine([Winnow(1.3)], hypotheses=5, choose="random"),
        WeightedMajority([Winnow(1.3), Winnow(1.7)]),
    ],
    ids=repr,
)
def test_ties_are_decided_as_predictions_decide_them(learner: Any) -> None:
    draw = np.random.default_rng(1)
    half = draw.integers(0, 2, (30, 4))
    votes = np.concatenate((half, half[:, ::-1]), axis=1)  # experts i and 7 - i have the same weight
    tie = np.array([0] * 4 + [1] * 4)
    with interpreted():
        alone = [Fusion(one, classes=[0, 1], experts=range(8)) for one in getattr(learner, "members", [])]
        fusion = Fusion(learner, classes=[0, 1], experts=range(8))
        for row, label in zip(votes, draw.integers(0, 2, 30).tolist(), strict=True):
            for swapped in (tie, 1 - tie):
                item = dict(enumerate(swapped.tolist()))
                told = fusion.explain_one(item)
                assert told.guess == fusion.predict_one(item)
                if not isinstance(learner, Combine):
                    assert [code for _, code in told.members.values()] == [
                        one.predict_one(item) for one in alone
                    ]
            for one in (fusion, *alone):
                one.learn_one(dict(enumerate(row.tolist())), label)


def test_labels_are_read_as_scores_of_one_are() -> None:
    codes = np.array([[1, -1, 0]], dtype=np.int32)
    dense = np.zeros((1, 3, 2))
    dense[0, 0, 1] = dense[0, 2, 0] = 1.0
    cells = np.array([0, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32), np.ones(2)
    for votes in (Hard(codes), Dense(dense), Sparse(np.array([0, 2]), *cells)):
        assert [array.tolist() for array in first_votes(votes)] == [[0, 2], [1, 0], [1.0, 1.0]]


def test_a_member_of_two_ensembles_is_explained_once(monkeypatch: pytest.MonkeyPatch) -> None:
    explained, explain = [], RulePredictor.explain

    def noted(self: RulePredictor, item: Any) -> Any:
        explained.append(self)
        return explain(self, item)

    monkeypatch.setattr(RulePredictor, "explain", noted)
    fusion, items = learned(None, False)
    fusion.explain_one(items[0])
    assert len(explained) == len(set(explained)) == 5


def calls_to_explain(experts: int, classes: int) -> int:
    """Return how many functions the default calls to explain an item, those written in C included."""
    votes, labels = majority(60, relevant=experts, experts=experts, classes=classes)
    fusion = Fusion(classes=range(classes), experts=range(experts))
    fusion.learn(votes, labels)
    item = dict(enumerate(votes[0].tolist()))
    fusion.explain_one(item)
    events: list[str] = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        fusion.explain_one(item)
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in events)


def test_the_default_explains_an_item_with_few_calls() -> None:
    """An item has 100 votes on the largest source of the default, which has 500 weights."""
    assert calls_to_explain(20, 5) < 1300


def test_the_calls_do_not_grow_with_the_classes() -> None:
    assert calls_to_explain(20, 20) < 1.25 * calls_to_explain(20, 5)


def test_a_class_that_only_votes_name_is_explained_with_costs() -> None:
    fusion = Fusion(Winnow(1.2), mistake_costs={("x", "y"): 9})
    fusion.learn([{"a": "x", "b": "y"}] * 3, ["x", "y", "x"])
    item = {"a": "new", "b": "new"}
    assert fusion.explain_one(item).guess == fusion.predict_one(item) == "new"
