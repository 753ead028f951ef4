"""The session: which classes are known, what counts, who has spoken, and what a guess is made of."""

import math
import random
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import linmax
from linmax import Averaged, Fusion, Perceptron, Recycled, Romma, Triplets, Winnow
from linmax._jit.compilation import interpreted
from linmax.experts import Thresholds, Votes
from tests.helpers.compare_rules import CLASSES, EXPERTS, TECHNIQUES, follow, items
from tests.helpers.sessions import same
from tests.oracles import rules as oracles
from tests.oracles.session import Session

# --- any stream


cells = st.dictionaries(
    st.sampled_from(EXPERTS[:4]),
    st.one_of(
        st.sampled_from(CLASSES).map(lambda c: {c: 1}),
        st.dictionaries(st.sampled_from(CLASSES), st.integers(-2, 2), max_size=3),
    ),
    max_size=4,
)
labels = st.sampled_from([*CLASSES, "e", None])


@given(
    st.lists(st.tuples(cells.map(lambda votes: {"votes": votes}), labels), max_size=12),
    st.sampled_from(sorted(TECHNIQUES)),
    st.sampled_from([[], ["b"], CLASSES]),
)
def test_any_stream_of_votes_and_labels_is_the_oracles(
    stream: Any, technique: str, classes: list[str]
) -> None:
    """Classes and experts appear at any trial, labels are missing or novel."""
    wrap, options = TECHNIQUES[technique]
    with interpreted():
        session = Session(oracles.Perceptron(), classes=classes, **options)
        follow(Fusion(wrap(Perceptron()), classes=classes), session, stream, exact=True)


@given(st.lists(st.tuples(cells.map(lambda votes: {"votes": votes}), labels), max_size=12))
def test_ignoring_new_classes_is_the_oracles(stream: Any) -> None:
    with interpreted():
        fusion = Fusion(Perceptron(), classes=["b", "a"], on_new_class="ignore")
        session = Session(oracles.Perceptron(), classes=["b", "a"], on_new_class="ignore")
        follow(fusion, session, stream, exact=True)
        assert fusion.classes == ["b", "a"]


# --- known classes


def test_ties_go_to_the_first_class() -> None:
    votes = [["b", "a", "c"]]
    assert Fusion(Perceptron(start="equal")).predict(votes).tolist() == ["b"]
    assert Fusion(Perceptron(start="equal"), classes=["c", "a"]).predict(votes).tolist() == ["c"]


def test_a_vote_makes_its_class_known_before_the_trial_is_scored() -> None:
    fusion = Fusion(Winnow(1.2))
    run = fusion.learn([["a", "b"], ["c", "c"]], ["b", "c"])
    assert (run.mistakes, run.right, run.novel) == (1, 1, 0)
    assert fusion.classes == ["a", "b", "c"]


def test_a_label_nobody_named_is_novel_and_moves_nothing() -> None:
    for learner in (Perceptron(), Winnow(1.2), Romma()):
        fusion = Fusion(learner)
        run = fusion.learn([["a", "a"]], ["z"])
        assert (run.trials, run.mistakes, run.right, run.novel, run.moves) == (1, 0, 0, 1, 0)
        assert not fusion.state()["theta"].any()
        assert fusion.classes == ["a", "z"]
        assert math.isnan(run.accuracy)


def test_before_any_class_is_known_the_guess_is_none() -> None:
    with interpreted():
        fusion = Fusion(Perceptron().on(Thresholds()))
        assert fusion.learn(None, ["a", "a"]).guesses.tolist() == [None, "a"]
    fusion = Fusion(Perceptron())
    assert fusion.predict([[None, None]]).tolist() == [None]
    assert fusion.scores([[None, None]]).shape == (1, 0)


def test_new_classes_may_be_refused() -> None:
    fusion = Fusion(Perceptron(), classes=["a", "b"], on_new_class="error")
    for votes, y in (([["c", "a"]], ["a"]), ([["a", "a"]], ["c"])):
        with pytest.raises(ValueError, match=r"'c'.*on_new_class"):
            fusion.learn(votes, y)
    assert fusion.trials == 0


def test_ignored_votes_and_labels_are_counted() -> None:
    fusion = Fusion(Perceptron(), classes=["a", "b"], on_new_class="ignore")
    run = fusion.learn([["c", "a"], ["b", "b"]], ["a", "c"])
    assert (run.trials, run.ignored, fusion.classes) == (1, 2, ["a", "b"])


# --- labels that are missing, experts who abstain


@pytest.mark.parametrize("missing", [None, math.nan])
def test_without_a_label_an_item_is_only_guessed(missing: Any) -> None:
    fusion = Fusion(Averaged(Recycled(Winnow(1.2))))
    fusion.learn([["a", "b"]], ["b"])
    before = fusion.state()
    run = fusion.learn([["b", "c"], ["b", "a"]], [missing, missing])
    assert (run.trials, run.guesses.tolist()) == (0, fusion.predict([["b", "c"], ["b", "a"]]).tolist())
    assert all(before[name].tobytes() == array.tobytes() for name, array in fusion.state().items())
    assert fusion.classes == ["a", "b"]  # what is said there makes no class known


@pytest.mark.parametrize(
    "learner", [Perceptron(start="equal"), Winnow(1.5), Averaged(Recycled(Romma()))], ids=repr
)
def test_abstaining_is_voting_zero_is_being_absent(learner: Any) -> None:
    labels = ["a", "b", "b", "a", "b"]
    spoken = ["a", "a", "b", "b", "a"]
    ways = [
        [{"ann": c} for c in spoken],
        [{"ann": c, "bob": None} for c in spoken],
        [{"ann": c, "bob": {}} for c in spoken],
        [{"ann": {c: 1.0}, "bob": {"a": 0.0, "b": 0}} for c in spoken],
    ]
    found = []
    for votes in ways:
        fusion = Fusion(learner, classes=["a", "b"], experts=["ann", "bob"])
        found.append((fusion.learn(votes, labels).guesses.tolist(), fusion.weights))
    scores = np.full((5, 2, 2), np.nan)
    scores[:, 0] = [[c == "a", c == "b"] for c in spoken]
    fusion = Fusion(learner, classes=["a", "b"], experts=["ann", "bob"])
    found.append((fusion.learn(scores, labels).guesses.tolist(), fusion.weights))
    assert all(one == found[0] for one in found)
    assert found[0][1]["bob"] == 0.0


def test_minus_one_abstains_unless_it_is_a_class() -> None:
    fusion = Fusion(Winnow(1.2), classes=[0, 1])
    fusion.learn(np.array([[-1, 1], [0, 1]]), [1, 1])
    assert fusion.classes == [0, 1]
    with pytest.raises(ValueError, match=r"-1.*abstain="):
        Fusion(Winnow(1.2)).learn(np.array([[-1, 1]]), [-1])
    with pytest.raises(ValueError, match=r"-1.*abstain="):
        Fusion(Winnow(1.2), classes=[-1, 1]).learn(np.array([[-1, 1]]), [1])


@pytest.mark.parametrize("learner", [Winnow(1.2), None])
@pytest.mark.parametrize(("abstain", "labels"), [(0, [0, 1]), ("x", ["x", "y"]), (1, [True, False])])
def test_a_vote_that_abstains_does_so_also_if_it_is_a_label(learner: Any, abstain: Any, labels: Any) -> None:
    rng = random.Random(0)
    items = [{name: rng.choice(labels) for name in ("ann", "bob", "eve")} for _ in range(40)]
    truth = [rng.choice(labels) for _ in items]
    whole, single, scored = (Fusion(learner, classes=labels, abstain=abstain) for _ in range(3))
    guesses = whole.learn(items, truth).guesses.tolist()
    assert [single.learn_one(votes, label) for votes, label in zip(items, truth, strict=True)] == guesses
    assert same(whole, single)
    assert [single.predict_one(votes) for votes in items] == whole.predict(items).tolist()
    if not isinstance(abstain, int) or type(labels[0]) is int:
        told = [{name: None if vote == abstain else vote for name, vote in votes.items()} for votes in items]
        assert scored.learn(told, truth).guesses.tolist() == guesses


def test_a_sub_expert_that_has_not_spoken_has_no_weight() -> None:
    fusion = Fusion(Winnow(1.2).on(Votes()), classes=["a", "b"], experts=["ann", "bob", "eve"])
    fusion.learn([{"ann": "a"}, {"ann": "a", "bob": "b"}], ["a", "a"])
    assert fusion.weights == {"ann": 0.5, "bob": 0.5, "eve": 0.0}


# --- pieces, shapes, passes


@pytest.mark.parametrize("learner", [Perceptron(), Averaged(Recycled(Winnow(1.3), size=5))], ids=repr)
def test_a_stream_of_dicts_is_an_array_in_which_columns_are_silent(learner: Any) -> None:
    """Experts come one after the other; the array has had their columns from the start."""
    rng = random.Random(0)
    rows = [[rng.choice(CLASSES) if i <= t // 5 else None for i in range(4)] for t in range(30)]
    labels = [row[0] if rng.random() < 0.8 else rng.choice(CLASSES) for row in rows]
    array, dicts = Fusion(learner, experts=range(4)), Fusion(learner)
    guesses = array.learn(np.array(rows, dtype=object), labels).guesses.tolist()
    found = [
        dicts.learn_one({i: c for i, c in enumerate(row) if c}, y)
        for row, y in zip(rows, labels, strict=True)
    ]
    assert guesses == found
    assert same(array, dicts)


def test_frames_arrays_and_triplets_are_the_same_votes() -> None:
    stream = list(items("hard", 30, silent=0.3))
    rows = [[next(iter(item["votes"].get(e, {None: 1}))) for e in EXPERTS] for item, _ in stream]
    labels = [y for _, y in stream]
    said = [(t, e, c) for t, row in enumerate(rows) for e, c in zip(EXPERTS, row, strict=True) if c]
    shapes = [
        np.array(rows, dtype=object),
        pd.DataFrame(rows, columns=EXPERTS),
        Triplets(*map(list, zip(*said, strict=True)), items=30),
        [{e: c for e, c in zip(EXPERTS, row, strict=True) if c} for row in rows],
    ]
    found = []
    for votes in shapes:
        found.append(Fusion(Averaged(Winnow(1.3)), experts=EXPERTS, classes=CLASSES))
        found[-1].learn(votes, labels)
    assert all(same(found[0], other) for other in found[1:])


def test_passes_are_learning_again() -> None:
    stream = list(items("hard", 20))
    votes, labels = (
        [{e: max(v) for e, v in item["votes"].items()} for item, _ in stream],
        [y for _, y in stream],
    )
    once, again = Fusion(Averaged(Perceptron())), Fusion(Averaged(Perceptron()))
    run = once.learn(votes, labels, passes=3)
    runs = [again.learn(votes, labels) for _ in range(3)]
    assert same(once, again)
    assert run.guesses.tolist() == [guess for one in runs for guess in one.guesses.tolist()]
    assert run.mistakes == sum(one.mistakes for one in runs) == once.mistakes
    assert run.curve[-1] == run.mistakes


# --- what decides


def test_scores_decide_and_explanations_add_up_to_them() -> None:
    fusion = Fusion(Averaged(Recycled(Winnow(1.3))), classes=CLASSES)
    for item, y in items("triplets", 20):
        expected = fusion.predict_one(item["votes"], new_experts="vote")
        scores = fusion.scores([item["votes"]], new_experts="vote")[0]
        assert expected == fusion.classes[int(scores.argmax())]
        why = fusion.explain_one(item["votes"], new_experts="vote")
        assert why.guess == expected
        assert list(why.scores.values()) == pytest.approx(scores.tolist())
        for c in CLASSES:
            assert sum(row.get(c, 0.0) for row in why.contributions.values()) == pytest.approx(why.scores[c])
        assert fusion.learn_one(item["votes"], y) == expected


# --- tickets


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan")], ids=repr)
def test_a_missing_label_does_not_use_up_a_ticket(missing: Any) -> None:
    fusion = Fusion(Perceptron(), classes=["a", "b"])
    ticket = fusion.predict_one({"ann": "a"}, ticket=True)
    assert fusion.learn_one(ticket, missing) == "a"
    assert (fusion.trials, len(fusion.tickets)) == (0, 1)
    fusion.learn_one(ticket, "b")
    assert (fusion.trials, len(fusion.tickets)) == (1, 0)


def test_a_label_may_come_later() -> None:
    """Answering a ticket is learning then, with the votes of then: in whatever order labels come."""
    stream = [(item["votes"], y) for item, y in items("triplets", 12)]
    fusion, direct = (
        Fusion(Averaged(Winnow(1.3)), classes=CLASSES),
        Fusion(Averaged(Winnow(1.3)), classes=CLASSES),
    )
    order = random.Random(0).sample(range(12), 12)
    votes = [{e: dict(vote) for e, vote in item.items()} for item, _ in stream]
    tickets = [fusion.predict_one(item, ticket=True) for item in votes]
    votes.clear()
    for t in order:
        assert fusion.learn_one(tickets[t], stream[t][1]) == direct.learn_one(*stream[t])
    assert fusion.weights == direct.weights
    with pytest.raises(ValueError, match="ticket"):
        fusion.learn_one(tickets[0], "a")


def test_a_learner_may_be_given_as_text() -> None:
    assert Fusion("Averaged(Recycled(Winnow(1.3), size=7))").learner == Averaged(
        Recycled(Winnow(1.3), size=7)
    )
    for bad in ("Winow(1.2)", "Winnow(1.2", "__import__('os')", "Winnow(beta=2)"):
        with pytest.raises(ValueError, match=r"did you mean|not a learner|no parameter|there is no"):
            linmax.parse(bad)


@given(
    st.lists(st.tuples(cells, labels), max_size=12),
    st.sampled_from(sorted(TECHNIQUES)),
    st.sampled_from([Perceptron(start="equal"), Winnow(1e30), Romma()]),
    st.sampled_from([[], ["b"], CLASSES]),
)
def test_a_batch_is_its_items_one_by_one(stream: Any, technique: str, rule: Any, classes: list[str]) -> None:
    """Also when labels are missing and classes and experts appear on the way."""
    learner = TECHNIQUES[technique][0](rule)
    whole, single = Fusion(learner, classes=classes), Fusion(learner, classes=classes)
    guesses = whole.learn([votes for votes, _ in stream], [y for _, y in stream]).guesses.tolist()
    assert guesses == [single.learn_one(votes, y) for votes, y in stream]
    assert same(whole, single)


@example(stream=[({}, "b"), ({}, "a")], item={"e0": {"a": 1}}, technique="averaged")
@given(st.lists(st.tuples(cells, labels), max_size=8), cells, st.sampled_from(sorted(TECHNIQUES)))
def test_predictions_leave_no_trace(stream: Any, item: Any, technique: str) -> None:
    """Not even when an expert speaks for the first time in one, after weights got a new scale."""
    learner = TECHNIQUES[technique][0](Winnow(1e100))
    fusion, other = (Fusion(learner, classes=CLASSES, experts=EXPERTS) for _ in range(2))
    for votes, y in stream:
        assert fusion.learn_one(votes, y) == other.learn_one(votes, y)
        fusion.predict_one(item)
        fusion.predict([item, votes])
        fusion.explain_one(item)
    assert same(fusion, other)


def test_a_session_that_joblib_has_mapped_from_a_file_goes_on_as_the_original(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.5))
    fusion.learn([["a", "b"], ["b", "a"]], ["b", "b"])
    joblib.dump(fusion, tmp_path / "session")
    again = joblib.load(tmp_path / "session", mmap_mode="r")
    for one in (fusion, again):
        one.learn([["a", "b"]] * 3, ["b"] * 3)
    assert (again.trials, again.weights) == (fusion.trials, fusion.weights) == (5, fusion.weights)
