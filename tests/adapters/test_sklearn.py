"""linmax in scikit-learn: its estimator checks, and the behaviour of the three classifiers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from linmax import Averaged, Fusion, Perceptron, Winnow
from linmax._jit.compilation import interpreted
from linmax.adapters.sklearn import FusionClassifier, LinearMaxClassifier, VoteClassifier
from linmax.experts import Attributes
from tests.helpers.examples import EVERYTHING, rarely_compiled

AVERAGED = "Averaged(Perceptron(start='equal'))"  # other tests compile the same kernels
PANEL = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]

ORDER = (
    "an on-line learner depends on the order of the rows, and the check compares two orders; moreover a row"
    " of weight 2 is predicted once and moves twice as far, while a repeated row is predicted twice. The same"
    " holds for scikit-learn's SGDClassifier and Perceptron."
)
NO_VOTES = "the check's X are fractions, which are not votes for a class; they are rejected with one sentence"
EXPECTED_FAILURES = {
    "LinearMaxClassifier": {
        "check_sample_weight_equivalence_on_dense_data": ORDER,
        "check_sample_weight_equivalence_on_sparse_data": ORDER,
    },
    "VoteClassifier": {
        "check_positive_only_tag_during_fit": NO_VOTES,
        "check_decision_proba_consistency": NO_VOTES,
    },
}


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    rows, labels = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return rows[order], np.array(["setosa", "versicolor", "virginica"])[labels[order]]


@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks provoke warnings of its own estimators
@parametrize_with_checks(
    [
        LinearMaxClassifier(),
        VoteClassifier(AVERAGED),
        FusionClassifier(PANEL, AVERAGED, cv=3),
    ],
    expected_failed_checks=lambda model: EXPECTED_FAILURES.get(type(model).__name__, {}),
)
def test_scikit_learn_s_own_checks_pass(estimator: Any, check: Any) -> None:
    expected = EXPECTED_FAILURES.get(type(estimator).__name__, {}).get(check.func.__name__)
    if expected and not EVERYTHING:
        pytest.xfail(expected)
    check(estimator)


# --- attributes


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_are_learned_as_dense_ones(iris: Any, form: Any) -> None:
    rows, labels = iris
    dense, thin = (LinearMaxClassifier(max_iter=2, random_state=0) for _ in range(2))
    dense.fit(rows, labels), thin.fit(form(rows), labels)
    assert (dense.decision_function(rows) == thin.decision_function(form(rows))).all()


def test_partial_fit_is_the_session_s_pass_over_the_rows(iris: Any) -> None:
    rows, labels = iris
    learner = Averaged(Perceptron())
    model, fusion = LinearMaxClassifier(learner, fit_intercept=False), Fusion(learner.on(Attributes()))
    for piece in (slice(0, 30), slice(30, 31), slice(31, 150)):
        model.partial_fit(rows[piece], labels[piece])
    fusion.learn(attributes=rows, labels=labels)
    assert model.fusion_.weights == fusion.weights
    assert model.classes_.tolist() == sorted(fusion.classes)


def test_a_linear_model_has_coefficients(iris: Any) -> None:
    rows, labels = iris
    many = LinearMaxClassifier("Averaged(Perceptron())", random_state=0).fit(rows, labels)
    assert np.allclose(rows @ many.coef_.T + many.intercept_, many.decision_function(rows))
    two = clone(many).fit(rows, labels == "setosa")
    assert two.coef_.shape == (1, 4)
    assert np.allclose((rows @ two.coef_.T + two.intercept_)[:, 0], two.decision_function(rows))
    with interpreted():
        committee = LinearMaxClassifier("WeightedMajority([Perceptron(), Romma()])").fit(
            rows[:20], labels[:20]
        )
    assert not hasattr(committee, "coef_"), "its scores are no linear function of the row"


def test_a_new_class_gets_its_column_in_order(iris: Any) -> None:
    rows, labels = iris
    model = LinearMaxClassifier().partial_fit(rows[labels != "setosa"], labels[labels != "setosa"])
    assert model.predict_proba(rows).shape == (150, 2)
    model.partial_fit(rows, labels, classes=["other", "virginica"])
    assert model.classes_.tolist() == ["other", "setosa", "versicolor", "virginica"]
    assert model.predict_proba(rows).shape == (150, 4)
    assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert (model.classes_[model.decision_function(rows).argmax(axis=1)] == model.predict(rows)).all()


def test_a_sample_weight_scales_the_update() -> None:
    rows, labels = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([0, 1, 1])
    model = LinearMaxClassifier("Perceptron()").partial_fit(rows, labels, [0, 1], sample_weight=[1, 3, 0])
    fusion = Fusion(Perceptron().on(Attributes()), classes=[0, 1])
    fusion.learn(attributes=[[1, 0, 1], [0, 3, 3]], labels=[0, 1])
    assert model.fusion_.weights == fusion.weights
    assert model.fusion_.trials == 2


@pytest.mark.parametrize("rule", ["Romma()", "Perceptron(slack=1.0)", "Perceptron(rivals='softmax')"])
def test_a_rule_that_cannot_use_weights_says_so_and_can_leave_rows_out(iris: Any, rule: str) -> None:
    rows, labels = iris
    weights = np.tile([0.0, 1.0], 75)
    model = LinearMaxClassifier(rule, shuffle=False, max_iter=1)
    with pytest.raises(ValueError, match=r"cannot use a sample weight of 2; pass weights of 0 and 1"):
        model.fit(rows, labels, sample_weight=2 * weights)
    with rarely_compiled():
        model.fit(rows, labels, sample_weight=weights)
        other = clone(model).fit(rows[1::2], labels[1::2])
    assert (model.coef_ == other.coef_).all()


def test_the_default_learns_a_row_as_often_as_its_weight_says(iris: Any) -> None:
    rows, labels = iris
    weights = np.tile([0.0, 1.0, 2.0], 50)
    model = LinearMaxClassifier(shuffle=False, max_iter=1).fit(rows, labels, sample_weight=weights)
    repeated = np.repeat(np.arange(150), weights.astype(int))
    other = clone(model).fit(rows[repeated], labels[repeated])
    assert (model.decision_function(rows) == other.decision_function(rows)).all()
    half = clone(model).fit(rows, labels, sample_weight=np.full(150, 0.5))
    assert half.fusion_.trials == 75
    with pytest.raises(
        ValueError, match=r"adds up to 150000 for 150 rows.*a mean of about 1, and at most 100"
    ):
        model.fit(rows, labels, sample_weight=np.full(150, 1000.0))


def test_the_default_needs_no_scaling(iris: Any) -> None:
    rows, labels = iris
    model = LinearMaxClassifier(random_state=0).fit(rows, labels)
    stretched = rows * [1e-3, 1.0, 1e3, 1e6] + [0.0, 1e3, 0.0, -1e6]
    assert model.score(rows, labels) > 0.95
    assert clone(model).fit(stretched, labels).score(stretched, labels) == model.score(rows, labels)


def test_the_default_is_much_better_on_columns_of_different_scales() -> None:
    rows, labels = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:120], order[120:]
    default, single = (
        LinearMaxClassifier(learner, random_state=0)
        .fit(rows[train], labels[train])
        .score(rows[test], labels[test])
        for learner in (None, "Averaged(Perceptron())")
    )
    assert default > 0.95 > 0.8 > single


def test_the_same_random_state_gives_the_same_model(iris: Any) -> None:
    one, other = (LinearMaxClassifier(random_state=3).fit(*iris) for _ in range(2))
    assert (one.decision_function(iris[0]) == other.decision_function(iris[0])).all()
    other = LinearMaxClassifier(random_state=4).fit(*iris)
    assert (one.decision_function(iris[0]) != other.decision_function(iris[0])).any()


def test_fit_stops_after_a_pass_without_updates() -> None:
    model = LinearMaxClassifier("Perceptron()", max_iter=1000).fit([[1.0], [-1.0]], ["up", "down"])
    assert model.n_iter_ < 10


# --- votes


def test_a_matrix_of_votes_gives_the_result_of_a_session() -> None:
    votes = np.array([["a", "b", None], ["b", "b", "a"], ["a", "a", "b"]] * 5, object)
    truth = np.array(["b", "b", "a"] * 5)
    model, fusion = VoteClassifier(AVERAGED).partial_fit(votes, truth), Fusion(AVERAGED)
    fusion.learn(votes, truth)
    assert model.fusion_.weights == fusion.weights
    assert model.weights_ == {expert: fusion.weights[expert] for expert in range(3)}
    assert model.explain(votes[:1]).guess == fusion.predict(votes[:1])[0]


def test_votes_are_shuffled_by_fit_and_never_by_partial_fit() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)  # sorted by label
    votes = np.where(
        rng.random((120, 4)) < [0.9, 0.7, 0.5, 0.4], truth[:, None], rng.integers(0, 3, (120, 4))
    )
    orders = np.random.RandomState(5)
    expected = Fusion(AVERAGED, classes=range(3), experts=range(4))
    for _ in range(2):
        order = orders.permutation(120)
        expected.learn(votes[order], truth[order])
    model = VoteClassifier(AVERAGED, passes=2, random_state=5).fit(votes, truth)
    assert model.fusion_.weights == expected.weights
    assert clone(model).fit(votes, truth).weights_ == model.weights_
    assert clone(model).set_params(random_state=6).fit(votes, truth).weights_ != model.weights_
    in_order = Fusion(AVERAGED, classes=range(3), experts=range(4))
    in_order.learn(votes, truth, passes=2)
    assert clone(model).set_params(shuffle=False).fit(votes, truth).fusion_.weights == in_order.weights
    once = VoteClassifier(AVERAGED, shuffle=False).fit(votes, truth)
    assert VoteClassifier(AVERAGED).partial_fit(votes, truth, [0, 1, 2]).weights_ == once.weights_
    with pytest.raises(ValueError, match=r"passes must be an integer >= 1 \(got 0\)"):
        model.set_params(passes=0).fit(votes, truth)


def test_frames_name_the_experts() -> None:
    columns = {"ann": ["x", "y"] * 5, "bob": ["y", None] * 5}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        model = VoteClassifier(AVERAGED).fit(frame, ["x", "y"] * 5)
        assert list(model.weights_) == list(model.feature_names_in_) == ["ann", "bob"]
        assert model.score(frame, ["x", "y"] * 5) == 1


def test_minus_one_abstains_unless_it_is_a_label() -> None:
    silent = VoteClassifier(AVERAGED).fit([[1, -1], [0, 1]], [1, 0])
    assert 1 not in silent.explain([[1, -1]]).contributions
    model = VoteClassifier(AVERAGED).fit([[1, -1], [-1, 1]], [1, -1])
    assert set(model.explain([[1, -1]]).contributions) >= {0, 1}


def test_votes_and_labels_of_two_kinds_are_compared_as_texts() -> None:
    model = VoteClassifier(AVERAGED).fit([[1, 2], [2, np.nan]] * 5, ["1", "2"] * 5)
    assert model.predict([[2, 2]]).tolist() == ["2"]
    model = VoteClassifier(AVERAGED).fit([["1", "2"], ["2", None]] * 5, [1, 2] * 5)
    assert model.predict([["2", "2"]]).tolist() == [2]


def test_only_labels_are_predicted() -> None:
    model = VoteClassifier(AVERAGED).fit([["unsure", "a"], ["b", "b"]] * 5, ["a", "b"] * 5)
    assert model.predict([["unsure", "unsure"]])[0] in ("a", "b")
    assert model.predict_proba([["c", "c"]]).shape == (1, 2)


# --- in common


@pytest.mark.parametrize("kind", ["int", "float", "bool", "text", "object", "list"])
def test_labels_of_every_kind_come_back_as_they_were(iris: Any, kind: str) -> None:
    rows, labels = iris
    whole = (labels == "setosa").astype(int)
    given: Any = {
        "int": whole - 1, "float": whole.astype(float), "bool": whole == 1, "text": labels,
        "object": labels.astype(object), "list": labels.tolist(),
    }[kind]  # fmt: skip
    for model in (LinearMaxClassifier(random_state=0), FusionClassifier(PANEL, AVERAGED, cv=2)):
        model.fit(rows, given)
        assert model.score(rows, given) > 0.9
        assert model.classes_.tolist() == sorted(set(np.asarray(given).tolist()))
        assert type(model.predict(rows).tolist()[0]) is type(np.asarray(given).tolist()[0])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_read_and_their_names_kept(iris: Any, frame: Any) -> None:
    rows, labels = iris
    table = frame({name: rows[:, at] for at, name in enumerate("abcd")})
    for model in (
        LinearMaxClassifier(random_state=0),
        FusionClassifier(PANEL, AVERAGED, cv=2, random_state=0),
    ):
        named = clone(model).fit(table, labels)
        assert named.feature_names_in_.tolist() == list("abcd")
        assert (named.predict(table) == model.fit(rows, labels).predict(rows)).all()


def test_a_grid_search_takes_learners_by_repr(iris: Any) -> None:
    rows, labels = iris
    pipe = make_pipeline(StandardScaler(), LinearMaxClassifier(max_iter=2, random_state=0))
    grid = {"linearmaxclassifier__learner": ["Perceptron()", "Averaged(Perceptron())", Winnow(1.2)]}
    with rarely_compiled():  # Winnow on attributes
        found = GridSearchCV(pipe, grid, cv=2).fit(rows, labels)
    assert found.best_score_ > 0.8
    assert len(found.cv_results_["params"]) == 3


def test_clones_copies_and_pickles_are_independent(iris: Any) -> None:
    rows, labels = iris
    model = LinearMaxClassifier(random_state=0).fit(rows, labels)
    with pytest.raises(NotFittedError):
        clone(model).predict(rows)
    trials, before = model.fusion_.trials, model.decision_function(rows)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (other.decision_function(rows) == before).all()
        other.partial_fit(rows, labels)
        assert model.fusion_.trials == trials


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda X, y: LinearMaxClassifier(3).fit(X, y), r"must be a learner, its repr or None \(got 3\)"),
        (lambda X, y: LinearMaxClassifier("recommended()").fit(X, y), r"no votes, and .* needs votes; use"),
        (lambda X, y: LinearMaxClassifier(max_iter=0).fit(X, y), r"max_iter must be an integer >= 1"),
        (lambda X, y: LinearMaxClassifier().fit(X * 1e99, y), r"scale attributes to at most 1e60"),
        (lambda X, y: LinearMaxClassifier().fit(X[:2], ["a", None]), r"one kind, and none may be missing"),
        (lambda X, y: LinearMaxClassifier().fit(X, y, np.zeros(150)), r"non-zero|must be positive"),
        (lambda X, y: VoteClassifier(AVERAGED).fit(X, y), r"votes must be whole numbers, text or true/false"),
        (lambda X, y: VoteClassifier(AVERAGED).fit([[1], [2]], [1, 2]).explain([[1], [2]]), r"takes one row"),
    ],
)
def test_an_error_is_one_sentence(iris: Any, make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make(*iris)


def test_a_fit_that_fails_leaves_nothing_partly_fitted(iris: Any) -> None:
    rows, labels = iris
    model = LinearMaxClassifier().fit(rows, labels)
    with pytest.raises(ValueError, match="scale attributes"):
        model.fit(rows * 1e99, labels)
    with pytest.raises(NotFittedError):
        model.predict(rows)


def test_scaled_rows_calibrate_no_probabilities() -> None:
    """Multiplied by their weights, rows have scores of another scale than those that are predicted."""
    X, y = load_iris(return_X_y=True)
    half = np.full(len(y), 0.5)
    rule = LinearMaxClassifier("Perceptron()", random_state=0)
    assert rule.fit(X, y, sample_weight=half).score(X, y) > 0.5
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        rule.predict_proba(X)
    rule.partial_fit(X, y)
    with pytest.raises(ValueError, match="CalibratedClassifierCV"):
        rule.predict_proba(X)
    assert rule.fit(X, y, sample_weight=2 * half).predict_proba(X).shape == (150, 3)
    assert LinearMaxClassifier().fit(X, y, sample_weight=half).predict_proba(X).shape == (150, 3)
