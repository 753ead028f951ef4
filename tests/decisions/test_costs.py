"""Costs of mistakes: the class of least expected cost is predicted, whatever the path."""

from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import Fusion, Logistic, Perceptron, Winnow
from linmax._jit.compilation import interpreted
from linmax.decisions.costs import MistakeCosts, cheapest
from linmax.fusion.model_file import from_bytes, to_bytes
from linmax.problems import majority
from tests.oracles import decisions as oracles

COSTS = [[0.0, 10.0, 1.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]


def panel(count: int) -> tuple[Any, Any]:
    votes, labels = majority(count, experts=5, relevant=3, classes=3, noise=0.2)
    return np.asarray(votes), np.asarray(labels)


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_the_prediction_has_the_least_expected_cost(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    p, costs = rng.dirichlet(np.ones(k)), rng.integers(-2, 10, (k, k)).astype(float)
    assert cheapest(p, k, costs, int(p.argmax())) in oracles.cheapest(p.tolist(), costs.tolist())


def test_with_equal_costs_the_best_class_is_predicted() -> None:
    p = np.array([0.3, 0.4, 0.3])
    assert cheapest(p, 3, 1.0 - np.eye(3), 1) == 1
    assert cheapest(np.array([0.5, 0.5]), 2, 1.0 - np.eye(2), 1) == 1


@pytest.mark.parametrize("learner", [Winnow(1.3), Logistic(0.1), None], ids=repr)
def test_predictions_are_the_cheapest_by_the_probabilities_before_the_label(learner: Any) -> None:
    votes, labels = panel(120)
    with interpreted():
        fusion = Fusion(learner, classes=range(3), mistake_costs=COSTS)
        found = fusion.learn_batch(fusion.read(votes, labels), probabilities=True)
        for p, code in zip(found.probabilities.tolist(), found.codes.tolist(), strict=True):
            assert code in oracles.cheapest(p, COSTS)
        expected = sum(COSTS[y][code] for y, code in zip(labels.tolist(), found.codes.tolist(), strict=True))
        assert fusion.mistake_cost == pytest.approx(expected)
        assert fusion.mistakes == np.count_nonzero(found.codes != labels)
        fresh, p = fusion.predict(votes[:20]), fusion.predict_proba(votes[:20])
        for row, code, own in zip(votes.tolist(), fresh.tolist(), p.tolist(), strict=False):
            item = dict(enumerate(row))
            assert code in oracles.cheapest(own, COSTS)
            assert fusion.predict_one(item) == code
            assert fusion.explain_one(item).guess == code


def test_costs_change_predictions_and_not_the_weights() -> None:
    votes, labels = panel(500)
    plain = Fusion(Winnow(1.3), classes=range(3))
    costly = Fusion(Winnow(1.3), classes=range(3), mistake_costs={(0, 1): 10.0, (0, 2): 10.0})
    first, second = plain.learn(votes, labels), costly.learn(votes, labels)
    assert plain.weights == costly.weights
    assert (first.guesses != second.guesses).any()
    assert np.count_nonzero(second.guesses == 0) > np.count_nonzero(first.guesses == 0)
    matrix = np.ones((3, 3)) - np.eye(3)
    matrix[0, 1:] = 10.0
    assert second.cost == matrix[labels, second.guesses].sum() < matrix[labels, first.guesses].sum()
    assert (first.cost, second.mistakes) == (first.mistakes, np.count_nonzero(second.guesses != labels))


def test_classes_that_appear_later_have_costs_by_name() -> None:
    fusion = Fusion(Winnow(1.3), mistake_costs={("spam", "ham"): 1.0, ("ham", "spam"): 99.0})
    votes = [["spam", "ham"], ["ham", "ham"], ["spam", "spam"], ["eggs", "ham"]] * 20
    fusion.learn(votes, ["spam", "ham", "spam", "eggs"] * 20)
    matrix = fusion.decisions.costs.matrix(fusion.classes)  # type: ignore[union-attr]
    codes = {name: code for code, name in enumerate(fusion.classes)}
    assert matrix[codes["ham"], codes["spam"]] == 99.0
    assert matrix[codes["eggs"], codes["ham"]] == 1.0


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1], [1, 0]], r"a row and a column for each of the 3 classes \(got shape \(2, 2\)\)"),
        ({"ham": 3}, r"needs pairs \(truth, guess\) as keys \(got 'ham'\)"),
        ({(0, 1): float("nan")}, "must be a number from 0"),
        ({(0, 1): -1}, r"must be a number from 0 to 1e\+12 \(got -1\)"),
        ({(0, 1): "much"}, r"must be a number from 0 to 1e\+12 \(got 'much'\)"),
        ({(0, 1): 10**400}, "must be a number from 0"),
        (np.eye(3) * 1j, "must be a square matrix of numbers or a dict"),
        ([["0", "1", "1"], ["1", "0", "1"], ["1", "1", "0"]], "must be a square matrix of numbers or a dict"),
        ([[0, 1], [1]], "must be a square matrix of numbers or a dict"),
        ("much", "must be a square matrix of numbers or a dict"),
    ],
)
def test_costs_that_cannot_be_used_are_refused_in_one_sentence(costs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Fusion(Winnow(1.3), classes=range(3), mistake_costs=costs)


def test_right_predictions_may_cost_something() -> None:
    votes, labels = panel(300)
    costs = np.array([[0.5, 10.0, 9.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    with interpreted():
        fusion = Fusion(Winnow(1.3), classes=range(3), mistake_costs=costs)
        run = fusion.learn(votes, labels)
    assert run.cost == pytest.approx(costs[labels, run.guesses].sum())
    assert ((labels == 0) & (run.guesses == 0)).any()


def test_a_matrix_needs_the_order_of_the_classes() -> None:
    with pytest.raises(ValueError, match="pass classes="):
        Fusion(Winnow(1.3), mistake_costs=[[0, 1], [2, 0]])


def test_costs_of_classes_that_cannot_exist_are_refused() -> None:
    costs = {("ham", "spam"): 3.0, ("ham", "smap"): 3.0}
    for policy in ("error", "ignore"):
        with pytest.raises(ValueError, match="has the class 'smap', which is not among classes="):
            Fusion(Winnow(1.3), classes=["ham", "spam"], on_new_class=policy, mistake_costs=costs)
    Fusion(Winnow(1.3), classes=["ham", "spam"], mistake_costs=costs)  # the class may still be added


@pytest.mark.parametrize("items", [np.array([[0, 1]]), [{"a": 0, "b": 1}], np.ones((1, 2, 2))], ids=repr)
def test_costs_of_another_kind_of_class_are_refused_because_they_would_never_apply(items: Any) -> None:
    with pytest.raises(ValueError, match=r"classes and mistake_costs mix text \('0'\) and numbers \(0\)"):
        Fusion(classes=range(2), mistake_costs={("0", "1"): 9.0})
    with pytest.raises(ValueError, match="mistake_costs mix text"):
        Fusion(mistake_costs={("0", "1"): 9.0, (0, 1): 9.0})
    fusion = Fusion(Winnow(1.3), mistake_costs={("0", "1"): 9.0})
    with pytest.raises(ValueError, match="mistake_costs and votes mix text"):
        fusion.learn(items, [0])
    assert fusion.trials == len(fusion.classes) == 0
    with pytest.raises(ValueError, match=r"needs two classes in each key \(got \(None, 1\)\)"):
        Fusion(mistake_costs={(None, 1): 9.0})


def test_costs_of_members_of_an_enum_are_those_of_their_values() -> None:
    kind = Enum("kind", {"HAM": "ham", "SPAM": "spam"})
    fusion = Fusion(mistake_costs={(kind.HAM, kind.SPAM): 9.0})
    assert fusion.decisions.costs == MistakeCosts({("ham", "spam"): 9.0}, ())


def test_a_file_with_costs_that_never_apply_is_loaded_as_before() -> None:
    """Earlier versions accepted them."""
    fusion = Fusion(Winnow(1.3), classes=range(2), mistake_costs=MistakeCosts({("0", "1"): 9.0}, ()))
    again = from_bytes(to_bytes(fusion))
    again.learn(np.array([[0, 1]]), [0])
    assert again.decisions.costs == fusion.decisions.costs


@pytest.mark.parametrize("scored", [False, True])
def test_an_item_is_predicted_alike_with_and_without_its_probabilities(scored: bool) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 120)
    votes = np.where(rng.random((120, 4)) < 0.5, truth[:, None], rng.integers(0, 3, (120, 4)))
    items: list[dict[Any, Any]] = [{i: "abc"[c] for i, c in enumerate(row)} for row in votes.tolist()]
    if scored:
        items = [{i: {c: 0.8, "b": 0.1} for i, c in one.items()} for one in items]
    costs = {("b", "a"): 20.0, ("c", "b"): 5.0}
    fusion = Fusion(Perceptron(), classes=["a", "b", "c"], mistake_costs=costs)
    fusion.learn(items, ["abc"[c] for c in truth])
    plain = Fusion(Perceptron(), classes=["a", "b", "c"])
    plain.learn(items, ["abc"[c] for c in truth])
    assert [fusion.predict_one(one) for one in items] != [plain.predict_one(one) for one in items]
    others = [{**one, 9: vote} for one, vote in zip(items, ["a", "new"] * 60, strict=True)]
    for session in (fusion, plain):
        for one in items[:40] + ([] if scored else others[:20]):
            found, probabilities = session.predict_with_proba_one(one, new_experts="vote")
            assert found == session.predict_one(one, new_experts="vote")
            assert probabilities == session.predict_proba_one(one, new_experts="vote")
