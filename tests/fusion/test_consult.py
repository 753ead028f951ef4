"""Consultations: experts are asked until no other answer can change the prediction."""

from __future__ import annotations

import asyncio
import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import (
    Alma,
    Averaged,
    BalancedWinnow,
    Combine,
    Fusion,
    Logistic,
    Mixture,
    NaiveBayes,
    PassiveAggressive,
    Perceptron,
    PNorm,
    Recycled,
    Romma,
    Stacked,
    Tempered,
    Voted,
    WeightedMajority,
    Winnow,
    recommended,
)
from linmax.experts import Attributes, PerClass, Split, Thresholds, Votes
from linmax.problems import majority
from tests.helpers.examples import EVERYTHING, examples, rarely_compiled
from tests.helpers.sessions import same
from tests.oracles.settlement import is_tied, outcomes

CLASSES = ["a", "b", "c"]
EXPERTS = ["ann", "bob", "eve", "joe"]
HYBRID = Votes() + PerClass() + Split() + Thresholds()
LEARNERS = [
    Perceptron(start="equal").on(Votes()),
    Perceptron(),
    Averaged(Perceptron(slack=2.0, start="equal")),
    Recycled(Perceptron(start="equal"), size=5),
    Winnow(1.5),
    Averaged(Winnow(1.5)),
    Averaged(Recycled(BalancedWinnow(1.3, start="equal"), size=5)),
    Averaged(PNorm(3.0, start="equal")),
    Averaged(Alma(3.0)),
    PassiveAggressive(),
    Tempered(Averaged(Perceptron(start="equal"))),
    WeightedMajority(),
]
RARE = [
    Voted(Winnow(1.3), hypotheses=4, window=2),
    Averaged(Perceptron().on(HYBRID)),
    Logistic(0.5, start="equal").on(HYBRID),
    Logistic(0.5, decay="adagrad", start="equal").on(Votes() + PerClass()),
    Averaged(Winnow(1.5).on(Split() + PerClass())),
    Romma().on(Split() + Thresholds()),
    Combine([Perceptron(), Winnow(1.5), Averaged(Perceptron().on(PerClass()))], hypotheses=4, window=2),
]
votes_of_an_item = st.dictionaries(st.sampled_from(EXPERTS), st.sampled_from([*CLASSES, None]))
streams = st.lists(st.tuples(votes_of_an_item, st.sampled_from(CLASSES)), max_size=12)


def mode_of(learner: Any) -> AbstractContextManager[None]:
    return rarely_compiled() if learner in RARE else nullcontext()


def session(learner: Any, stream: Any, **options: Any) -> Fusion:
    fusion = Fusion(learner, **options)
    fusion.exploration = 0
    for votes, label in stream:
        fusion.learn_one(votes, label)
    return fusion


def settled(fusion: Fusion, votes: dict[str, Any], **options: Any) -> bool:
    return fusion.next_expert(votes, experts=EXPERTS, **options) is None


@pytest.mark.parametrize("learner", LEARNERS + RARE, ids=repr)
@examples(12)
@given(stream=streams, votes=votes_of_an_item, closed=st.booleans())
def test_a_settled_prediction_is_changed_by_no_answer(
    learner: Any, stream: Any, votes: Any, closed: bool
) -> None:
    options = {"classes": CLASSES, "on_new_class": "error"} if closed else {}
    possible = CLASSES if closed else ["a", "b", "c", "new", "newer"]
    with mode_of(learner):
        fusion = session(learner, stream, **options)
        if settled(fusion, votes):
            assert len(outcomes(fusion, votes, EXPERTS, possible)) == 1


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(start="equal").on(Votes()),
        Averaged(Perceptron(start="equal").on(Votes())),
        Winnow(1.5).on(Votes()),
    ],
    ids=repr,
)
@examples(30)
@given(stream=streams, votes=votes_of_an_item)
def test_on_votes_a_prediction_that_is_not_settled_can_change_or_tie(
    learner: Any, stream: Any, votes: Any
) -> None:
    fusion = session(learner, stream, classes=CLASSES, on_new_class="error")
    if not settled(fusion, votes):
        assert len(outcomes(fusion, votes, EXPERTS, CLASSES)) > 1 or is_tied(fusion, votes, EXPERTS, CLASSES)


@pytest.mark.parametrize("learner", LEARNERS + RARE, ids=repr)
def test_a_consultation_predicts_as_the_full_panel_does_in_the_same_state(learner: Any) -> None:
    trials = 150 if EVERYTHING else 40
    votes, labels = majority(trials, 3, 8, 4, noise=0.1)
    names = [f"expert {i}" for i in range(votes.shape[1])]
    asked = 0
    with mode_of(learner):
        fusion = session(learner, [])
        for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
            answers = dict(zip(names, row, strict=True))
            found = fusion.consult(answers.get, experts=names)
            assert found.prediction == fusion.predict([answers], new_experts="vote")[0]
            asked += len(found.asked)
            fusion.learn_one(answers, label)
    assert asked < trials * 8


@examples(12)
@given(
    stream=st.lists(st.tuples(votes_of_an_item, st.integers(0, 3), st.sampled_from(CLASSES)), max_size=12),
    votes=votes_of_an_item,
    x=st.integers(0, 3),
    closed=st.booleans(),
)
@pytest.mark.parametrize(
    "learner",
    [Averaged(Perceptron()), Winnow(1.5), Tempered(Perceptron(start="equal"))],
    ids=repr,
)
@rarely_compiled()
def test_attributes_of_the_item_are_part_of_the_bound(
    learner: Any, stream: Any, votes: Any, x: int, closed: bool
) -> None:
    source = Votes() + Attributes() + Thresholds()
    options = {"classes": CLASSES, "on_new_class": "error"} if closed else {}
    fusion = Fusion(
        learner.on(source) if not isinstance(learner, Tempered) else Tempered(learner.inner.on(source)),
        **options,
    )
    for given_votes, value, label in stream:
        fusion.learn_one(given_votes, label, attributes={"x": value})
    possible = CLASSES if closed else [*CLASSES, "new"]
    if settled(fusion, votes, attributes={"x": x}):
        assert len(outcomes(fusion, votes, EXPERTS, possible, {"x": x})) == 1


# --- four traps


def test_an_expert_that_never_spoke_counts_with_the_weight_it_would_have() -> None:
    fusion = Fusion(Perceptron(start="equal").on(Votes()), classes=CLASSES, experts=EXPERTS)
    fusion.learn_one({"ann": "a", "bob": "a"}, "a")
    assert fusion.weights["eve"] == 0.0
    assert fusion.next_expert({"ann": "a", "bob": "b"}, experts=["ann", "bob", "eve"]) == "eve"
    assert fusion.next_expert({"ann": "a", "bob": "a"}, experts=["ann", "bob", "somebody new"]) is None
    assert fusion.next_expert({"ann": "a"}, experts=["ann", "somebody new"]) == "somebody new"


def test_scores_without_a_range_settle_nothing() -> None:
    fusion = Fusion(Perceptron(start="equal").on(Votes()), classes=CLASSES, on_new_class="error")
    fusion.exploration = 0
    answers = {name: {"a": 0.9, "b": 0.1} for name in EXPERTS}
    found = fusion.consult(answers.get, experts=EXPERTS)
    assert len(found.asked) == 4
    assert "score_range" in found.reason
    assert len(fusion.consult({name: "a" for name in EXPERTS}.get, experts=EXPERTS).asked) == 4
    found = fusion.consult(answers.get, experts=EXPERTS, score_range=(0, 1))
    assert len(found.asked) == 3  # 2 * 0.8 is not more than 2, and 3 * 0.8 is more than 1
    assert found.prediction == "a"
    assert (
        len(fusion.consult(answers.get, experts=EXPERTS, score_range=(0, 0.5)).asked) == 4
    )  # 0.9 is outside


@pytest.mark.parametrize(("scale", "asked"), [("onehot", 3), ("rank", 3), ("softmax", 4)])
def test_rescaled_scores_need_no_range(scale: str, asked: int) -> None:
    fusion = Fusion(Perceptron(start="equal").on(Votes(as_=scale)), classes=CLASSES, on_new_class="error")
    fusion.exploration = 0
    answers = {name: {"a": 9.0, "b": 8.5} for name in EXPERTS}
    found = fusion.consult(answers.get, experts=EXPERTS)
    assert len(found.asked) == asked
    assert found.prediction == "a"


@examples(20)
@given(
    stream=streams,
    votes=st.dictionaries(
        st.sampled_from(EXPERTS[:3]),
        st.dictionaries(st.sampled_from(CLASSES), st.sampled_from([0.25, 0.5, 1.0])),
    ),
    scale=st.sampled_from(["raw", "rank", "softmax", "onehot"]),
)
@rarely_compiled()
def test_scores_in_the_range_do_not_change_what_is_settled(stream: Any, votes: Any, scale: str) -> None:
    fusion = session(
        Averaged(Perceptron(start="equal").on(Votes(as_=scale) + PerClass())),
        stream,
        classes=CLASSES,
        on_new_class="error",
    )
    experts = EXPERTS[:3]
    if fusion.next_expert(votes, experts=experts, score_range=(0, 1)) is None:
        answers = [
            *CLASSES,
            *({"a": x, "b": y, "c": z} for x in (0, 1) for y in (0, 1) for z in (0.0, 0.3, 1)),
        ]
        assert len(outcomes(fusion, votes, experts, answers)) == 1


def test_a_class_that_nobody_has_named_competes_from_zero() -> None:
    stream = [({"ann": "a"}, "b"), ({"ann": "b"}, "a")] * 3  # ann is always wrong
    open_session = session(Perceptron().on(Votes()), stream)
    assert open_session.weights["ann"] < 0
    assert open_session.predict_one({"ann": "a", "bob": "b"}) == "b"
    assert (
        open_session.next_expert({"ann": "a"}, experts=["ann", "bob"]) == "bob"
    )  # "b" ties with a new class
    closed = session(Perceptron().on(Votes()), stream, classes=["a", "b"], on_new_class="error")
    assert closed.next_expert({"ann": "a"}, experts=["ann", "bob"]) is None


@rarely_compiled()
def test_the_weights_of_an_expert_are_taken_together() -> None:
    fusion = Fusion(
        Perceptron().on(Votes() + Split()), classes=CLASSES, on_new_class="error", experts=EXPERTS
    )
    fusion.learn_one({"ann": "a", "bob": "b"}, "a")
    weights = fusion.runner.rule_runs[0].columns["w"]
    for key, _, at in fusion.runner.rule_runs[0].sources.named_weights():
        weights[at] = {"ann": 1.5, "bob": 5.0}.get(
            key, -5.0 if isinstance(key, tuple) and key[0] == "bob" else 0.0
        )
    # the weights of bob are 5 and -5, which add up to nothing
    assert fusion.next_expert({"ann": "a"}) is None
    assert outcomes(fusion, {"ann": "a"}, EXPERTS, CLASSES) == {"a"}


# --- order, prices, batches


def test_experts_are_asked_in_the_order_of_gain_per_cost() -> None:
    fusion = Fusion(Perceptron().on(Votes()), classes=CLASSES, experts=EXPERTS, on_new_class="error")
    fusion.learn_one({"ann": "b"}, "a")
    weights = fusion.runner.rule_runs[0].columns["w"]
    weights[:4] = [1.0, -3.0, 2.0, 0.0]
    assert fusion.next_expert({}) == "bob"
    assert fusion.next_expert({"bob": None}) == "eve"
    assert fusion.next_expert({}, prices={"ann": 1, "bob": 6, "eve": 1, "joe": 0}) == "eve"
    assert fusion.next_expert({}, prices={"ann": 0, "bob": 6, "eve": 1, "joe": 0}) == "ann"


def test_a_batch_is_asked_before_the_answers_are_looked_at() -> None:
    fusion = session(Perceptron(start="equal").on(Votes()), [], classes=CLASSES)
    votes = dict.fromkeys(EXPERTS, "a")
    asked = [len(fusion.consult(votes.get, experts=EXPERTS, batch=size).asked) for size in (1, 2, 3, 9)]
    assert asked == [3, 4, 3, 4]


def test_asynchronous_experts_of_a_batch_are_asked_at_once() -> None:
    fusion = session(Perceptron(start="equal").on(Votes()), [], classes=CLASSES)
    waiting, most = 0, 0

    async def ask(expert: str) -> str:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await asyncio.sleep(0)
        waiting -= 1
        return "b"

    found = asyncio.run(
        fusion.consult_async(ask, experts=EXPERTS, batch=3, prices=dict.fromkeys(EXPERTS, 0.5))
    )
    assert (found.prediction, found.cost, most) == ("b", 1.5, 3)


def test_an_expert_that_abstains_was_asked_and_is_paid() -> None:
    fusion = session(Perceptron(start="equal").on(Votes()), [], classes=CLASSES)
    found = fusion.consult(
        {"ann": None, "bob": "b", "eve": "b", "joe": "b"}.get,
        experts=EXPERTS,
        prices=dict.fromkeys(EXPERTS, 2),
    )
    assert found.asked == ["ann", "bob", "eve"]
    assert found.votes == {"ann": None, "bob": "b", "eve": "b"}
    assert found.cost == 6.0


def test_the_ticket_learns_the_votes_that_were_asked_for() -> None:
    one, other = (
        session(Averaged(Perceptron(start="equal")), [], classes=CLASSES, experts=EXPERTS) for _ in range(2)
    )
    found = one.consult(dict.fromkeys(EXPERTS, "a").get)
    one.learn_one(found.ticket, "b")
    other.learn_one(dict.fromkeys(found.asked, "a"), "b")
    assert same(one, other)


def test_a_consultation_changes_no_weight() -> None:
    fusion = session(Averaged(Perceptron()), [({"ann": "a", "bob": "b"}, "b")])
    before = fusion.state()
    fusion.consult(dict.fromkeys([*EXPERTS, "new"], "new class").get, experts=[*EXPERTS, "new"])
    after = fusion.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert fusion.experts == ["ann", "bob"]


def test_probabilities_are_those_of_the_votes_asked_for() -> None:
    fusion = session(Logistic(0.5, start="equal"), [({"ann": "a", "bob": "b"}, "b")], classes=CLASSES)
    found = fusion.consult(dict.fromkeys(["ann", "bob"], "b").get)
    assert found.probabilities == fusion.predict_proba_one(found.votes)
    assert math.isclose(sum(found.probabilities.values()), 1.0)


MIXTURES = [
    NaiveBayes(),
    NaiveBayes("accuracies"),
    Mixture([Logistic(0.5, start="equal"), Tempered(Averaged(Perceptron(start="equal")))]),
    Stacked([Logistic(2.0, start="equal"), NaiveBayes(shrink=0.001)], prior=0.5),
    Mixture(
        [Winnow(1.5), Averaged(Winnow(2.0)), WeightedMajority(), Voted(Winnow(1.3), hypotheses=4, window=2)]
    ),
    Mixture([Winnow(1.5), Averaged(Winnow(2.0)), Voted(Winnow(1.3), hypotheses=4, window=2)]),
    Mixture([Stacked([Logistic(0.5, start="equal"), NaiveBayes()]), NaiveBayes("accuracies")]),
    recommended(),
]


@pytest.mark.parametrize("learner", MIXTURES, ids=str)
@examples(12)
@given(stream=streams, votes=votes_of_an_item)
def test_a_settled_prediction_of_a_mixture_is_changed_by_no_answer(
    learner: Any, stream: Any, votes: Any
) -> None:
    fusion = session(learner, stream, classes=CLASSES, on_new_class="error", experts=EXPERTS)
    if settled(fusion, votes):
        assert len(outcomes(fusion, votes, EXPERTS, CLASSES)) == 1


def test_the_default_learner_is_settled_early_if_no_class_can_be_added() -> None:
    votes, labels = majority(550, 3, 8, 3, noise=0.05)
    asked = {}
    for policy in ("add", "error"):
        fusion = Fusion(experts=range(8), classes=range(3), on_new_class=policy)
        fusion.learn(votes[:500], labels[:500])
        fusion.exploration = 0
        found = [fusion.consult(row.__getitem__) for row in votes[500:].tolist()]
        guesses = fusion.predict(votes[500:]).tolist()
        assert [one.prediction for one in found] == guesses
        asked[policy] = sum(len(one.asked) for one in found) / len(found)
    assert asked["add"] == 8.0
    assert asked["error"] < 7.0


def test_a_learner_without_a_bound_asks_all_and_says_so() -> None:
    fusion = session(
        Mixture([Perceptron(), WeightedMajority([Perceptron()])]), [], classes=CLASSES, on_new_class="error"
    )
    found = fusion.consult(dict.fromkeys(EXPERTS, "a").get, experts=EXPERTS)
    assert found.asked == EXPERTS
    assert "no linear combination" in found.reason


def test_a_session_that_learns_meanwhile_is_looked_at_anew() -> None:
    fusion = session(Perceptron(start="equal").on(Votes()), [], classes=["a", "b"], experts=EXPERTS)

    def ask(expert: str) -> str:
        fusion.learn_one(dict.fromkeys(EXPERTS[:3], "b"), "a")  # which makes joe the heaviest
        return "a" if expert == "joe" else "b"

    found = fusion.consult(ask)
    assert found.prediction == fusion.predict_one(found.votes)
    assert len(outcomes(fusion, found.votes, EXPERTS, ["a", "b"])) == 1


def test_with_costs_of_mistakes_all_are_asked_and_the_reason_says_so() -> None:
    costs = {("ham", "spam"): 10.0, ("spam", "ham"): 1.0}
    fusion = Fusion(
        Perceptron(start="equal"), classes=["ham", "spam"], experts=list("abc"), mistake_costs=costs
    )
    fusion.learn([["ham", "ham", "spam"], ["spam", "ham", "spam"]] * 20, ["ham", "spam"] * 20)
    fusion.exploration = 0
    answers = {"a": "spam", "b": "spam", "c": "spam"}
    found = fusion.consult(answers.get)
    assert sorted(found.asked) == ["a", "b", "c"]
    assert "mistake_costs" in found.reason
    assert found.prediction == fusion.predict_one(answers)


def test_an_answer_without_scores_is_an_abstention_and_no_score() -> None:
    fusion = Fusion(Perceptron(start="equal").on(Votes()), classes=["a", "b"], experts=list("12345"))
    fusion.exploration = 0
    found = fusion.consult({"1": {}, "2": "a", "3": "a", "4": "a", "5": "b"}.get)
    assert (found.prediction, found.asked) == ("a", ["1", "2", "3", "4"])
    assert fusion.consult(lambda expert: "a").asked == ["1", "2", "3"]
    assert found.reason.startswith("settled")
