"""Experts and attributes that a session has not met: they vote while it learns, not in a mere prediction."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import linmax
from linmax import (
    Averaged,
    Combine,
    Fusion,
    Logistic,
    NaiveBayes,
    Perceptron,
    Recycled,
    Triplets,
    WeightedMajority,
    Winnow,
)
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Pairs, PerClass, ScaledAttributes, Thresholds, Votes
from linmax.inputs import Newcomers
from tests.helpers.sessions import same

CLASSES = ["a", "b", "c"]
EXPERTS = ["x", "y", "z"]
LEARNERS: dict[str, Any] = {
    "a rule": Winnow(1.3),
    "equal start": Perceptron(start="equal"),
    "techniques": Averaged(Recycled(Winnow(1.3))),
    "several sources": Winnow(1.3).on(Votes() + PerClass() + Thresholds()),
    "a committee": Combine([Winnow(1.2), Averaged(Perceptron())]),
    "a majority": WeightedMajority([Winnow(1.2), Perceptron()]),
    "the default": None,
}


def stream(size: int, seed: int = 0) -> tuple[list[dict[str, str]], list[str]]:
    draw = random.Random(seed)
    labels = [draw.choice(CLASSES) for _ in range(size)]
    votes = [{e: draw.choice([y, y, *CLASSES]) for e in EXPERTS} for y in labels]
    return votes, labels


def trained(learner: Any = None, size: int = 30) -> Fusion:
    fusion = Fusion(learner, classes=CLASSES, experts=EXPERTS)
    fusion.learn(*stream(size))
    return fusion


def every_form(votes: list[dict[str, str]]) -> dict[str, Any]:
    """Return votes in all forms that have names."""
    table = {name: [item.get(name) for item in votes] for name in dict.fromkeys(e for v in votes for e in v)}
    cells = [(t, name, vote) for t, item in enumerate(votes) for name, vote in item.items()]
    item, expert, label = (list(column) for column in zip(*cells, strict=True))
    return {
        "dicts": votes,
        "pandas": pd.DataFrame(table),
        "polars": pl.DataFrame(table),
        "triplets": Triplets(item, expert, label, items=len(votes)),
        "scored triplets": Triplets(np.array(item), expert, label, np.ones(len(item)), items=len(votes)),
        "series": Triplets(
            pd.Series(item, index=item), pl.Series(expert), pd.Series(label), items=len(votes)
        ),
        "scores": [{e: {v: 1.0} for e, v in item.items()} for item in votes],
    }


# --- predictions


@pytest.mark.parametrize("learner", LEARNERS)
def test_unknown_experts_change_no_prediction(learner: str) -> None:
    with interpreted():
        fusion = trained(LEARNERS[learner])
        votes, _ = stream(12, seed=1)
        more = [{"new": "new class", **item, "newer": "b", 7: "c"} for item in votes]
        table = pd.DataFrame(votes)
        wide = table.assign(new="new class", text=0.25, newer="b")[["new", "x", "text", "y", "newer", "z"]]
        scores = fusion.scores(votes)
        assert (fusion.scores(more) == scores).all()
        assert (fusion.scores(wide) == fusion.scores(table)).all()
        assert fusion.predict(more).tolist() == fusion.predict(votes).tolist()
        assert (fusion.predict_proba(more) == fusion.predict_proba(votes)).all()
        for item, other in zip(votes[:4], more, strict=False):
            assert fusion.predict_one(other) == fusion.predict_one(item)
            assert fusion.predict_proba_one(other) == fusion.predict_proba_one(item)
            assert fusion.explain_one(other) == fusion.explain_one(item)


def test_unknown_experts_are_left_out_in_every_form_of_votes() -> None:
    fusion = trained(Averaged(Winnow(1.3)))
    votes, _ = stream(20, seed=2)
    more = [{**item, "new": "new class", "newer": "b"} for item in votes]
    expected = fusion.scores(votes)
    assert (expected != fusion.scores(more, new_experts="vote")).any()
    for form, given in every_form(more).items():
        assert (fusion.scores(given) == expected).all(), form
        assert fusion.read(given, new_experts="ignore").left_out.experts == ["new", "newer"], form
        assert fusion.newcomers(given) == Newcomers(["new", "newer"], [], []), form
    for form, given in every_form(votes).items():
        assert fusion.newcomers(given) == Newcomers([], [], []), form


def test_items_of_unknown_experts_only_are_items_without_votes() -> None:
    fusion = trained(Winnow(1.3))
    nobody = fusion.scores([{}, {}])
    for form, given in every_form([{"new": "b"}, {"new": "b"}]).items():
        assert (fusion.scores(given) == nobody).all(), form
    assert fusion.predict_one({"new": "b"}) == fusion.predict_one({})
    assert fusion.predict(Triplets([1], ["new"], ["b"])).shape == (2,), "the items are still counted"


def test_columns_of_an_array_beyond_the_known_ones_are_unknown_experts() -> None:
    with interpreted():
        rng = np.random.default_rng(0)
        votes, labels = rng.integers(0, 3, (40, 3)), rng.integers(0, 3, 40)
        fusion = Fusion(Winnow(1.3), classes=range(3))
        fusion.learn(votes, labels)
        wide = np.column_stack((votes, 9 * np.ones((40, 2), dtype=int)))
        assert (fusion.scores(wide) == fusion.scores(votes)).all()
        assert (fusion.scores(wide.tolist()) == fusion.scores(votes)).all()
        assert fusion.newcomers(wide).experts == [3, 4]
        dense = rng.random((4, 3, 3))
        nan = np.full((4, 1, 3), np.inf)
        assert (fusion.scores(np.concatenate((dense, nan), axis=1)) == fusion.scores(dense)).all()
        for refused in (
            lambda: fusion.predict(wide, new_experts="vote"),
            lambda: fusion.learn(wide, labels),
            lambda: fusion.predict(votes[:, :2]),
            lambda: trained(Winnow(1.3)).predict([["a", "b", "c", "a"]]),  # which of the four has no name?
        ):
            with pytest.raises(ValueError, match=r"columns but 3 experts are known"):
                refused()


def test_what_an_ignored_expert_says_is_not_checked() -> None:
    fusion = Fusion(Winnow(1.3), classes=CLASSES, experts=EXPERTS, on_new_class="error")
    fusion.learn(*stream(5))
    for vote in ("other", 3, 0.5, {"a": float("nan")}, object()):
        assert fusion.predict_one({"x": "a", "new": vote}) == fusion.predict_one({"x": "a"})
    with pytest.raises(ValueError, match="other"):
        fusion.predict([{"x": "a", "new": "other"}], new_experts="vote")


# --- where newcomers vote


def test_before_the_first_trial_everybody_votes() -> None:
    fusion = Fusion(Winnow(1.3), experts=["x"], classes=CLASSES)
    item = {"x": "a", "new": "b", "newer": "b"}
    fusion.learn([{"x": "a"}], [None])
    assert fusion.predict_one(item) == fusion.predict([item])[0] == fusion.explain_one(item).guess == "b"
    fusion.learn_one({"x": "a"}, "a")
    assert fusion.predict_one(item) == fusion.predict([item])[0] == fusion.explain_one(item).guess == "a"
    assert fusion.predict_one(item, new_experts="vote") == "b"
    assert fusion.predict([item], new_experts="vote")[0] == "b"
    assert fusion.explain_one(item, new_experts="vote").guess == "b"
    assert fusion.predict_proba([item], new_experts="vote").argmax() == 1
    assert max(fusion.predict_proba_one(item, new_experts="vote").items(), key=lambda p: p[1])[0] == "b"


@pytest.mark.parametrize("learner", ["a rule", "techniques", "a committee"])
def test_a_ticket_predicts_what_learning_predicts_also_with_new_experts(learner: str) -> None:
    with interpreted():
        one, other, whole = (Fusion(LEARNERS[learner], classes=CLASSES) for _ in range(3))
        draw = random.Random(3)
        items = [{f"e{draw.randrange(3 + t)}": draw.choice(CLASSES) for _ in range(4)} for t in range(25)]
        labels = [draw.choice(CLASSES) for _ in items]
        run = whole.learn(items, labels)
        for item, label, predicted in zip(items, labels, run.guesses.tolist(), strict=True):
            ticket = one.predict_one(item, ticket=True)
            assert ticket.guess == one.predict_one(ticket) == one.explain_one(ticket).guess == predicted
            assert one.predict_proba_one(ticket) == one.predict_proba_one(item, new_experts="vote")
            assert one.learn_one(ticket, label) == other.learn_one(item, label) == predicted
        assert one.weights == other.weights == whole.weights


def test_an_expert_that_was_learned_is_known() -> None:
    fusion = trained(Winnow(1.3))
    assert fusion.newcomers([{"new": "b"}]).experts == ["new"]
    fusion.learn_one({"new": "b"}, "b")
    assert fusion.newcomers([{"new": "b"}]).experts == []
    assert fusion.predict_one({"new": "b"}) == "b"


def test_a_prediction_adds_no_names() -> None:
    fusion = trained(Winnow(1.3))
    for new_experts in ("ignore", "vote"):
        fusion.predict([{"new": "other"}], new_experts=new_experts)
        fusion.predict_one({"new": "other"}, new_experts=new_experts)
    assert (fusion.experts, fusion.classes) == (EXPERTS, CLASSES)


def test_a_loaded_session_ignores_the_same(tmp_path: Path) -> None:
    fusion = trained(Averaged(Winnow(1.3)))
    fusion.save(tmp_path / "model")
    other = linmax.load(tmp_path / "model")
    votes = [{**item, "new": "b"} for item in stream(9, seed=4)[0]]
    assert (other.scores(votes) == fusion.scores(votes)).all()
    assert other.newcomers(votes).experts == ["new"]
    assert other.predict_one(votes[0]) == fusion.predict_one(votes[0])


def test_an_unknown_way_is_refused() -> None:
    fusion = trained(Winnow(1.3))
    for call in (fusion.predict_one, fusion.explain_one, fusion.predict_proba_one):
        with pytest.raises(ValueError, match=r'new_experts must be "ignore" or "vote" \(got \'votes\'\)'):
            call({"x": "a"}, new_experts="votes")
    for many in (fusion.predict, fusion.scores, fusion.predict_proba, fusion.read):
        with pytest.raises(ValueError, match=r'new_experts must be "ignore" or "vote" \(got None\)'):
            many([{"x": "a"}], new_experts=None)


# --- attributes

ROWS = [{"size": 0.25, "color": "red"}, {"size": 0.75, "color": "blue"}, {"size": 0.5, "color": "red"}] * 4
KINDS = ["berry", "melon", "berry"] * 4


@pytest.mark.parametrize("source", [Attributes() + Thresholds(), Pairs()], ids=["numbers", "nominal"])
def test_unknown_attributes_change_no_prediction(source: Any) -> None:
    nominal = [{name: str(value) for name, value in row.items()} for row in ROWS]
    rows: list[dict[str, Any]] = nominal if isinstance(source, Pairs) else ROWS
    with interpreted():
        fusion = Fusion(Winnow(1.3).on(source))
        fusion.learn(attributes=rows, labels=KINDS)
        some = rows[:3]
        more = [{"weight": "light", **row, "shape": "round"} for row in some]
        expected = fusion.scores(attributes=some)
        assert (fusion.scores(attributes=more) == expected).all()
        assert (fusion.scores(attributes=more, new_experts="vote") != expected).any() or source == Pairs()
        for frame in (pd.DataFrame, pl.DataFrame):
            assert (fusion.scores(attributes=frame(more)) == fusion.scores(attributes=frame(some))).all()
            assert fusion.newcomers(attributes=frame(more)).attributes == ["weight", "shape"]
        for row, other in zip(some, more, strict=True):
            assert fusion.predict_one(attributes=other) == fusion.predict_one(attributes=row)
            assert fusion.explain_one(attributes=other) == fusion.explain_one(attributes=row)
        assert fusion.newcomers(attributes=more) == Newcomers([], ["weight", "shape"], [])


def test_an_unknown_value_of_a_known_attribute_is_left_out() -> None:
    with interpreted():
        fusion = Fusion(Winnow(1.3).on(Attributes()))
        fusion.learn(attributes=ROWS, labels=KINDS)
        new, less = [{"size": 0.5, "color": "green"}], [{"size": 0.5}]
        assert (fusion.scores(attributes=new) == fusion.scores(attributes=less)).all()
        assert (fusion.scores(attributes=pd.DataFrame(new)) == fusion.scores(attributes=less)).all()
        assert fusion.newcomers(attributes=new) == Newcomers([], [], [("color", "green")])
        assert fusion.predict_one(attributes=new[0]) == fusion.predict_one(attributes=less[0])


def test_what_an_ignored_attribute_holds_is_not_checked() -> None:
    with interpreted():
        fusion = Fusion(Winnow(1.3).on(Attributes()))
        fusion.learn(attributes=ROWS, labels=KINDS)
        expected = fusion.scores(attributes=ROWS[:2])
        for value in (float("nan"), 1e99, -1.0):
            more = [{**row, "new": value} for row in ROWS[:2]]
            assert (fusion.scores(attributes=more) == expected).all()
            assert (fusion.scores(attributes=pd.DataFrame(more)) == expected).all()
            assert fusion.predict_one(attributes=more[0]) == fusion.predict_one(attributes=ROWS[0])


@pytest.mark.parametrize(
    "form", [np.array, scipy.sparse.csr_array, scipy.sparse.coo_matrix, np.ndarray.tolist]
)
def test_columns_of_attributes_beyond_the_known_ones_are_left_out(form: Any) -> None:
    rows, labels = np.random.default_rng(0).random((12, 3)), np.arange(12) % 2
    with interpreted():
        fusion = Fusion(Winnow(1.3).on(Attributes()), classes=[0, 1])
        fusion.learn(attributes=rows, labels=labels)
        wide = np.column_stack((rows, np.full((12, 2), 0.5)))
        assert (fusion.scores(attributes=form(wide)) == fusion.scores(attributes=form(rows))).all()
        assert fusion.newcomers(attributes=form(wide)).attributes == [3, 4]


def test_attributes_with_names_are_columns_by_position_also_in_an_array_of_objects() -> None:
    frame = pd.DataFrame({"size": [0.25, 0.75], "age": [0.5, 0.0]})
    with interpreted():
        fusion = Fusion(Winnow(1.3).on(Attributes()))
        fusion.learn(attributes=frame, labels=["a", "b"])
        expected = fusion.scores(attributes=frame)
        assert (fusion.scores(attributes=frame.to_numpy().astype(object)) == expected).all()
        assert (fusion.scores(attributes=frame.to_numpy().tolist()) == expected).all()


# --- probabilities


@pytest.mark.parametrize("learner", ["a rule", "a committee", "the default"])
def test_probabilities_are_those_of_the_scores(learner: str) -> None:
    with interpreted():
        fusion = trained(LEARNERS[learner])
        votes = [*stream(8, seed=5)[0], {}]
        scores, found = fusion.scores(votes), fusion.predict_proba(votes)
        assert found.shape == (9, 3)
        if learner == "the default":  # whose scores are log-probabilities
            assert found == pytest.approx(np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True))
        assert found == pytest.approx(fusion.decisions.probabilities(scores))
        assert found.sum(axis=1) == pytest.approx(1.0)
        assert [CLASSES[code] for code in found.argmax(axis=1)] == fusion.predict(votes).tolist()
        for item, row in zip(votes, found.tolist(), strict=True):
            assert fusion.predict_proba_one(item) == dict(zip(CLASSES, row, strict=True))


def test_huge_scores_have_probabilities() -> None:
    fusion = trained(Perceptron(start="equal"))
    found = fusion.predict_proba([{"x": {"a": 1e50, "b": -1e50}}, {"x": {"a": 1e-50}}])
    assert found[0, 0] > 0.9 > found[0, 1] == found[0, 2]
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1.0)
    raw = trained(Logistic(0.1)).predict_proba([{"x": {"a": 1e50, "b": -1e50}}])
    assert np.isfinite(raw).all()


def test_without_classes_only_those_that_votes_name_have_probabilities() -> None:
    fusion = Fusion(Winnow(1.3))
    assert fusion.predict_proba([["a", "b"], ["b", "a"]]).shape == (2, 0)
    assert fusion.predict_proba_one({}) == {}
    assert fusion.predict_proba_one({"x": "a"}) == {"a": 1.0}
    assert fusion.predict_proba([]).shape == (0, 0)
    assert trained(Winnow(1.3)).predict_proba([]).shape == (0, 3)
    with pytest.raises(ValueError, match="needs votes"):
        fusion.predict_proba_one(None)


@pytest.mark.parametrize("learner", [Winnow(1.3), Averaged(Perceptron(start="equal")), NaiveBayes(), None])
def test_a_class_that_only_the_item_names_has_a_probability(learner: Any) -> None:
    with interpreted():
        fusion = trained(learner)
        item = dict.fromkeys(fusion.experts, "new")
        found = fusion.predict_proba_one(item)
        assert list(found) == [*fusion.classes, "new"]
        assert sum(found.values()) == pytest.approx(1.0)
        assert max(found, key=lambda name: found[name]) == fusion.predict_one(item)
        consultation = fusion.consult(item.get)
        assert consultation.probabilities[consultation.prediction] == max(consultation.probabilities.values())


@pytest.mark.parametrize("new_experts", ["ignore", "vote"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_prediction_with_probabilities_is_what_two_calls_return(learner: str, new_experts: Any) -> None:
    with interpreted():
        fusion = trained(LEARNERS[learner])
        items: list[Any] = [*stream(8, seed=5)[0], {}, dict.fromkeys(fusion.experts, "new"), {"new": "b"}]
        items += [{"x": {"a": 0.5, "b": 1.5}}, {"x": {"new": 2.0}}]
        for item in items:
            for one in (fusion, Fusion(LEARNERS[learner])):
                calls = one.predict_one, one.predict_proba_one, one.predict_with_proba_one
                prediction, probabilities, both = (call(item, new_experts=new_experts) for call in calls)
                assert both == (prediction, probabilities)
                assert type(both[0]) is type(prediction)


def test_a_prediction_with_probabilities_of_a_ticket_is_that_of_its_item() -> None:
    fusion = trained(Winnow(1.3))
    ticket = fusion.predict_one({"x": "a", "new": "b"}, ticket=True)
    assert fusion.predict_with_proba_one(ticket) == (ticket.guess, fusion.predict_proba_one(ticket))


def test_an_item_without_votes_has_the_probabilities_of_its_scores() -> None:
    found = Fusion(Perceptron(), classes=CLASSES).predict_proba_one({})
    assert found == pytest.approx(dict.fromkeys(CLASSES, 1 / 3))


@pytest.mark.parametrize("scored", [False, True], ids=["labels", "scores"])
@pytest.mark.parametrize("learner", [None, Averaged(Winnow(1.2))], ids=["default", "rule"])
def test_probabilities_of_one_item_stay_those_of_many_while_the_session_grows(
    learner: Any, scored: bool
) -> None:
    rng = np.random.default_rng(4)
    fusion, names = Fusion(learner), ["ann", "bob", "eve", "joe", "kim"]
    for t in range(30):
        item = {name: f"class {rng.integers(2 + t // 8)}" for name in names[: 3 + t // 12]}
        if scored:
            item = {name: {vote: 0.25 + rng.random(), "class 0": 0.5} for name, vote in item.items()}
        if t % 5 == 4:
            (row,) = fusion.predict_proba([item]).tolist()
            found = fusion.predict_proba_one(item)
            assert sum(found.values()) == pytest.approx(1.0)
            assert max(found, key=lambda name: found[name]) == fusion.predict_one(item)
            if len(found) == len(fusion.classes):
                assert found == dict(zip(fusion.classes, row, strict=True))
        fusion.learn_one(item, f"class {rng.integers(2 + t // 8)}")


@pytest.mark.parametrize(
    "learner", ["Perceptron().on(RandomFeatures(8))", "Perceptron().on(Attributes(complement=True))"]
)
def test_a_new_attribute_counts_in_a_ticket_as_it_does_when_it_is_learned(learner: str) -> None:
    with interpreted():
        fusion = Fusion(learner, classes=["p", "q"])
        for size, label in ((1.0, "q"), (-1.0, "p"), (0.3, "q")):
            fusion.learn_one(attributes={"size": size}, label=label)
        item = {"size": 0.5, "new": 1.0}
        predicted = fusion.scores(attributes=[item], new_experts="vote")
        ticket = fusion.predict_one(attributes=item, ticket=True)
        learned = fusion.learn_batch(fusion.read(attributes=[item], labels=["p"]), scores=True)
    np.testing.assert_array_equal(predicted, learned.scores)
    assert predicted.any()
    assert ticket.guess == "pq"[int(learned.codes[0])]


@pytest.mark.parametrize("source", [Attributes(), ScaledAttributes()])
def test_an_attribute_becomes_known_by_a_0_too(source: Any) -> None:
    rows = [{"b": 1.0}, {"a": 0.0, "b": 1}, {"b": 2.0, "a": 0.0}, {"c": 0, "b": 1}, {"b": -1}]
    whole, single = (Fusion(Perceptron().on(source), classes=["x", "y"]) for _ in range(2))
    with interpreted():
        whole.learn(labels=list("xyxyx"), attributes=rows)
        for row, label in zip(rows, "xyxyx", strict=True):
            single.learn_one(label=label, attributes=row)
    assert whole.names.attributes.names == single.names.attributes.names == ["b", "a", "c"]
    assert same(whole, single)
