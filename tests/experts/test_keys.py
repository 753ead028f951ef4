"""Every weight and every contribution has an entry of its own, whatever experts are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Mixture, NaiveBayes, Perceptron, WeightedMajority, Winnow, recommended
from linmax._jit.compilation import interpreted
from linmax.evaluate.experts import vote_weights
from linmax.experts import Attributes, PerClass, Shared, Split, Thresholds, Votes
from linmax.experts.base import expert_of_owner, split_key

STRANGE = [
    "threshold",
    "expert",
    "attribute",
    "pair",
    "(remainder)",
    "(prior)",
    "product",
    ("ann", "a"),
    ("threshold", "a"),
]
ROWS = np.array([["a", "b"], ["b", "a"], ["a", "a"], ["b", "b"]] * 5)
LABELS = ["b", "a", "b", "a"] * 5


def learned(source: Any, names: list[Any], **options: Any) -> Fusion:
    fusion = Fusion(Perceptron().on(source), classes=["a", "b"], experts=names)
    with interpreted():
        fusion.learn(ROWS, LABELS, **options)
    return fusion


@pytest.mark.parametrize("name", STRANGE, ids=str)
def test_an_expert_has_the_weights_of_any_other_whatever_it_is_called(name: Any) -> None:
    source = Votes() + Split() + PerClass() + Thresholds()
    strange, plain = learned(source, [name, "ann"]), learned(source, ["bob", "ann"])
    assert len(strange.weights) == len(plain.weights) == 2 + 4 + 8 + 2
    assert list(strange.weights.values()) == list(plain.weights.values())
    assert strange.weights["threshold", "a"] == plain.weights["threshold", "a"]
    assert strange.weights["ann", "a", "b"] == plain.weights["ann", "a", "b"]


def test_weights_of_split_and_thresholds_do_not_collide() -> None:
    fusion = learned(Votes() + Split() + Thresholds(), ["threshold", "ann"])
    assert list(fusion.weights) == [
        "threshold", "ann", ("expert", "threshold", "a"), ("expert", "threshold", "b"), ("ann", "a"),
        ("ann", "b"), ("threshold", "a"), ("threshold", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", STRANGE, ids=str)
@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(),
        Averaged(Winnow(1.2)),
        Mixture([Perceptron(), Winnow(1.5)]),
        NaiveBayes(),
        NaiveBayes("accuracies"),
        recommended(),
    ],
    ids=["a rule", "an average", "a mixture", "tables", "accuracies", "the default"],
)
def test_a_contribution_belongs_to_one_owner_whatever_an_expert_is_called(learner: Any, name: Any) -> None:
    explanations = []
    for first in (name, "bob"):
        fusion = Fusion(learner, classes=["a", "b"], experts=[first, "ann"])
        fusion.learn(ROWS, LABELS)
        explanations.append(fusion.explain_one({first: "a", "ann": "b"}))
    strange, plain = explanations
    assert list(strange.contributions.values()) == list(plain.contributions.values())
    assert strange.contributions["expert", name] == plain.contributions["bob"]
    for label, score in strange.scores.items():
        total = sum(added.get(label, 0.0) for added in strange.contributions.values())
        assert total == pytest.approx(score)


def test_an_attribute_may_have_the_name_of_an_expert() -> None:
    attributes = np.eye(2)[[0, 1] * 10]
    source = Votes() + Split() + Attributes() + Shared("product") + Thresholds()
    fusion = Fusion(Perceptron().on(source), experts=["ann", "product"], classes=["a", "b"])
    frame = [{"ann": x, "product": y, "a": 1.0} for x, y in attributes.tolist()]
    with interpreted():
        fusion.learn(ROWS, LABELS, attributes=frame)
        item = {"ann": "a", "product": "b"}
        why = fusion.explain_one(item, attributes={"ann": 1.0, "product": 2.0, "a": 1.0})
    assert len(fusion.weights) == 2 + 4 + 3 * 2 + 3 + 2
    assert {"ann", ("expert", "product"), ("attribute", "ann"), ("attribute", "product")} <= set(
        why.contributions
    )


def test_keys_tell_the_expert_and_what_is_not_one() -> None:
    for name in ["ann", 3, *STRANGE]:
        source = Votes() + Split() + PerClass() + Thresholds()
        fusion = learned(source, [name, "bob"])
        found = [split_key(key) for key in fusion.weights]
        assert found.count(None) == 2  # the thresholds
        assert [key[0] for key in found if key is not None].count(name) == 1 + 2 + 4
        with interpreted():
            contributions = fusion.explain_one({name: "a", "bob": "b"}).contributions
        owners = [expert_of_owner(owner) for owner in contributions]
        assert sorted(map(str, owners)) == sorted(["None", "bob", str(name)])


def test_the_table_of_weights_is_the_same_whatever_an_expert_is_called() -> None:
    source = Votes() + Split() + PerClass() + Thresholds()
    plain = vote_weights(learned(source, ["bob", "ann"]))
    for name in STRANGE:
        assert np.array_equal(vote_weights(learned(source, [name, "ann"])), plain)


def test_members_of_a_weighted_majority_of_experts_are_told_apart() -> None:
    for name in STRANGE:
        fusion = Fusion(WeightedMajority(None), classes=["a", "b"], experts=[name, "ann"])
        fusion.learn(ROWS, LABELS)
        assert len(fusion.weights) == 2


@pytest.mark.parametrize("name", ["ann", 3, *STRANGE], ids=str)
def test_tables_have_the_keys_that_a_source_with_votes_and_classes_has(name: Any) -> None:
    classes, experts = ["a", "b"], [name, "bob"]
    tables = Fusion(NaiveBayes(), classes=classes, experts=experts)
    per_class = Fusion(Perceptron().on(PerClass()), classes=classes, experts=experts)
    both = Fusion(Mixture([NaiveBayes(), Perceptron().on(PerClass())]), classes=classes, experts=experts)
    with interpreted():  # a kernel that nothing else needs
        for fusion in (tables, per_class, both):
            fusion.learn(ROWS, LABELS)
    assert list(tables.weights) == list(per_class.weights) == list(both.weights)
    assert [split_key(key) for key in tables.weights] == [
        (expert, vote, label) for expert in experts for vote in classes for label in classes
    ]


def test_the_prior_of_an_explanation_is_not_an_expert() -> None:
    fusion = Fusion(NaiveBayes(), classes=["a", "b"], experts=["(prior)", "ann"])
    fusion.learn(ROWS, LABELS)
    contributions = fusion.explain_one({"(prior)": "a", "ann": "b"}).contributions
    assert [expert_of_owner(owner) for owner in contributions] == [None, "(prior)", "ann"]
