"""Ties of a consultation: the prediction is that of the full panel, too."""

from __future__ import annotations

from linmax import Averaged, BalancedWinnow, Fusion, WeightedMajority


def test_a_new_expert_without_a_weight_can_end_a_tie_by_rounding() -> None:
    # the scale of an average changes with new experts: of two equal scores, one may be larger afterwards
    fusion = Fusion(Averaged(BalancedWinnow(1.3)), classes=list("abcd"), on_new_class="ignore")
    fusion.exploration = 0
    answers = {"new": "a", "newer": "a"}
    for label in "bcddbcddbcdd":
        found = fusion.consult(answers.get, experts=list(answers))
        assert found.prediction == fusion.predict_one(answers, new_experts="vote")
        fusion.learn_one({}, label)


def test_a_learner_without_weights_still_asks_no_new_expert() -> None:
    fusion = Fusion(Averaged(BalancedWinnow(1.3)), classes=list("abcd"), on_new_class="ignore")
    fusion.exploration = 0
    assert fusion.consult(lambda expert: "a", experts=["new"]).asked == []


def test_a_tie_of_new_classes_does_not_depend_on_the_order_of_asking() -> None:
    answers = {"ann": "x", "bob": "y"}
    for prices in ({"ann": 1, "bob": 2}, {"ann": 2, "bob": 1}):
        fusion = Fusion(WeightedMajority())
        found = fusion.consult(answers.get, experts=["ann", "bob"], prices=prices)
        assert found.asked == sorted(answers, key=prices.__getitem__)
        assert found.prediction == fusion.predict_one(answers, new_experts="vote") == "x"
        assert list(found.votes) == found.asked
