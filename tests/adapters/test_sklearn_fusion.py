"""FusionClassifier: out-of-fold votes, and estimators that continue to learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from linmax import Fusion
from linmax.adapters.sklearn import FusionClassifier, LinearMaxClassifier

AVERAGED = "Averaged(Perceptron(start='equal'))"
PANEL = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]

PAIRWISE = SVC(decision_function_shape="ovo")
NUMBERS = GaussianNB().fit([[0], [1]], [0, 1])


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    rows, labels = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return rows[order], np.array(["setosa", "versicolor", "virginica"])[labels[order]]


class Memorizer(ClassifierMixin, BaseEstimator):
    """Memorizes every row: perfect on training rows, and useless on others."""

    def fit(self, X: Any, y: Any) -> Memorizer:
        self.classes_ = np.unique(y)
        self.seen_ = dict(zip(map(tuple, np.asarray(X).tolist()), y, strict=True))
        return self

    def predict(self, X: Any) -> Any:
        return np.array([self.seen_.get(tuple(row), self.classes_[0]) for row in np.asarray(X).tolist()])


def test_an_estimator_that_memorizes_rows_gets_no_weight() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2))
    labels = (rows[:, 0] > 0).astype(int)
    panel = [("parrot", Memorizer()), ("bayes", GaussianNB())]
    model = FusionClassifier(panel).fit(rows, labels)
    assert model.weights_["bayes"] > 2 * model.weights_["parrot"]
    fresh = rng.normal(size=(200, 2))
    assert model.score(fresh, fresh[:, 0] > 0) > 0.9


def test_without_shuffling_the_session_learns_out_of_fold_votes_in_the_order_of_the_rows(iris: Any) -> None:
    rows, labels = iris
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    model = FusionClassifier(PANEL, AVERAGED, cv=cv, shuffle=False).fit(rows, labels)
    votes = np.column_stack([cross_val_predict(clone(one), rows, labels, cv=cv) for _, one in PANEL])
    fusion = Fusion(AVERAGED, classes=sorted(set(labels)), experts=["bayes", "tree"])
    fusion.learn(votes, labels)
    assert model.fusion_.weights == fusion.weights
    refitted = np.column_stack([clone(one).fit(rows, labels).predict(rows) for _, one in PANEL])
    assert (model.transform(rows) == refitted).all()
    order = np.random.RandomState(3).permutation(len(labels))
    shuffled = clone(model).set_params(shuffle=True, random_state=3).fit(rows, labels)
    again = Fusion(AVERAGED, classes=sorted(set(labels)), experts=["bayes", "tree"])
    again.learn(votes[order], labels[order])
    assert shuffled.fusion_.weights == again.weights
    assert (shuffled.transform(rows) == refitted).all(), "the estimators are the same"


def test_a_cv_may_leave_rows_out_and_the_estimators_of_the_last_fold_may_be_used(iris: Any) -> None:
    rows, labels = iris
    forward = FusionClassifier(PANEL, AVERAGED, cv=TimeSeriesSplit(4)).fit(rows, labels)
    assert forward.fusion_.trials == 120
    split = ShuffleSplit(1, test_size=0.4, random_state=0)
    blend = FusionClassifier(PANEL, AVERAGED, cv=split, refit=False).fit(rows, labels)
    (train, _), *_ = split.split(rows)
    assert blend.fusion_.trials == 60
    assert (blend.estimators_[0].theta_ == GaussianNB().fit(rows[train], labels[train]).theta_).all()


@pytest.mark.parametrize("votes", ["predict_proba", "decision_function"])
def test_votes_may_be_scores_and_each_column_has_a_name(iris: Any, votes: str) -> None:
    rows, labels = iris
    linear: Any = GaussianNB() if votes == "predict_proba" else LinearSVC()
    for truth in (labels, np.where(labels == "setosa", "a", "b")):
        panel = [("one", linear), ("two", LinearMaxClassifier(max_iter=2, random_state=0))]
        model = FusionClassifier(panel, AVERAGED, votes=votes, cv=2).fit(rows, truth)
        k = len(model.classes_)
        assert model.score(rows, truth) > 0.8
        assert model.transform(rows).shape == (150, 2 * k)
        assert model.get_feature_names_out().tolist()[:k] == [
            f"fusionclassifier_one_{c}" for c in model.classes_
        ]
        why = model.explain(rows[:1])
        assert why.guess == model.predict(rows[:1])[0]


def test_an_estimator_may_know_fewer_classes_than_all(iris: Any) -> None:
    rows, labels = iris
    some = labels != "setosa"
    narrow, wide = GaussianNB().fit(rows[some], labels[some]), GaussianNB().fit(rows, labels)
    for votes in ("predict", "predict_proba"):
        panel = [("narrow", narrow), ("wide", wide)]
        model = FusionClassifier(panel, AVERAGED, prefit=True, votes=votes).fit(rows, labels)
        assert model.score(rows, labels) > 0.9
    model = FusionClassifier([("wide", wide)], AVERAGED, prefit=True).fit(rows[some], labels[some])
    assert model.classes_.tolist() == sorted(set(labels)), "the classes of prefit estimators are known"


def test_fitted_estimators_are_never_changed(iris: Any) -> None:
    rows, labels = iris
    bayes = GaussianNB().fit(rows, labels)
    before = pickle.dumps(bayes)
    model = FusionClassifier([("bayes", bayes)], AVERAGED, prefit=True).fit(rows, labels)
    model.partial_fit(rows, labels)
    assert pickle.dumps(bayes) == before
    assert model.estimators_[0] is bayes
    assert model.fusion_.trials == 300


def test_partial_fit_collects_votes_before_the_estimators_learn(iris: Any) -> None:
    rows, labels = iris
    model = FusionClassifier([("bayes", GaussianNB())], AVERAGED, shuffle=False).fit(rows[:50], labels[:50])
    before, trials = model.transform(rows[50:]), model.fusion_.trials
    weights = Fusion(AVERAGED, classes=sorted(set(labels)), experts=["bayes"])
    weights.learn(cross_val_predict(GaussianNB(), rows[:50], labels[:50])[:, None], labels[:50])
    weights.learn(before, labels[50:])
    model.partial_fit(rows[50:], labels[50:])
    assert model.fusion_.weights == weights.weights
    assert model.fusion_.trials == trials + 100
    assert np.allclose(model.estimators_[0].theta_, GaussianNB().fit(rows, labels).theta_)


def test_partial_fit_from_the_first_row_takes_new_classes(iris: Any) -> None:
    rows, labels = iris
    order = np.argsort(labels == "setosa", kind="stable")  # setosa comes last
    panel = [("bayes", GaussianNB()), ("linear", LinearMaxClassifier()), ("tree", DecisionTreeClassifier())]
    model = FusionClassifier(panel, AVERAGED)
    for at in range(0, 150, 10):
        model.partial_fit(rows[order[at : at + 10]], labels[order[at : at + 10]])
    assert model.classes_.tolist() == sorted(set(labels))
    bayes, linear, tree = model.estimators_
    assert bayes.class_count_.sum() == 100, "it cannot take in a third class"
    assert linear.classes_.tolist() == sorted(set(labels)), "this one can"
    assert len(tree.classes_) == 2, "and this one was fitted on the first rows"
    assert model.predict_proba(rows).shape == (150, 3)


@pytest.mark.parametrize("votes", ["predict", "predict_proba"])
def test_rows_may_be_whatever_the_estimators_read(votes: str) -> None:
    texts = ["cheap pills", "meeting at noon", "cheap watches", "lunch at noon"] * 10
    labels = ["spam", "ham"] * 20
    panel = [("words", make_pipeline(CountVectorizer(), MultinomialNB()))]
    model = FusionClassifier(panel, AVERAGED, votes=votes, cv=2).fit(texts, labels)
    assert model.predict(["cheap cheap"]).tolist() == ["spam"]
    beginner = FusionClassifier(panel, AVERAGED, votes=votes).partial_fit(texts[:4], labels[:4])
    assert beginner.partial_fit(texts[4:], labels[4:]).predict(["lunch"]).tolist() == ["ham"]


def test_nested_parameters_and_dropped_estimators(iris: Any) -> None:
    rows, labels = iris
    model = FusionClassifier(PANEL, AVERAGED, cv=2)
    found = GridSearchCV(model, {"learner": [AVERAGED, "Winnow(1.5)"], "tree__max_depth": [1, 3]}, cv=2)
    assert found.fit(rows, labels).best_score_ > 0.9
    model = clone(model).set_params(tree="drop").fit(rows, labels)
    assert list(model.weights_) == ["bayes"]
    assert model.named_estimators_["bayes"] is model.estimators_[0]


def test_set_output_gives_votes_under_names(iris: Any) -> None:
    rows, labels = iris
    for kind in ("pandas", "polars"):
        votes = FusionClassifier(PANEL, AVERAGED, cv=2).set_output(transform=kind).fit_transform(rows, labels)
        assert list(votes.columns) == ["fusionclassifier_bayes", "fusionclassifier_tree"]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_sample_weights_must_match_the_rows(iris: Any, method: str) -> None:
    model = FusionClassifier([("bayes", GaussianNB())], "Perceptron()")
    with pytest.raises(ValueError, match=rf"{len(iris[1])}, {len(iris[1]) - 1}"):
        getattr(model, method)(*iris, sample_weight=np.ones(len(iris[1]) - 1))


def test_sample_weights_reach_all_estimators_without_routing(iris: Any) -> None:
    rows, labels = iris
    weights = np.tile([0.0, 1.0], 75)
    model = FusionClassifier(PANEL, AVERAGED, cv=2).fit(rows, labels, sample_weight=weights)
    assert np.allclose(model.estimators_[0].theta_, GaussianNB().fit(rows[1::2], labels[1::2]).theta_)
    model.partial_fit(rows, labels, sample_weight=weights)
    assert model.estimators_[0].class_count_.sum() == 150
    with pytest.raises(TypeError, match="which requires metadata routing"):
        model.fit(rows, labels, groups=weights)
    ready = FusionClassifier([("bayes", GaussianNB().fit(rows, labels))], AVERAGED, prefit=True)
    for learn in (ready.fit, ready.partial_fit):
        with pytest.raises(TypeError, match="got sample_weight, but prefit estimators are not fitted"):
            learn(rows, labels, sample_weight=weights)


def test_metadata_is_routed_where_it_was_requested(iris: Any) -> None:
    rows, labels = iris
    weights, groups = np.tile([0.0, 1.0], 75), np.arange(150) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        panel = [
            (
                name,
                GaussianNB().set_fit_request(sample_weight=asks).set_partial_fit_request(sample_weight=asks),
            )
            for name, asks in (("weighted", True), ("unweighted", False))
        ]
        model = FusionClassifier(panel, AVERAGED, cv=GroupKFold(3))
        model.fit(rows, labels, sample_weight=weights, groups=groups)
        weighted, unweighted = model.estimators_
        assert weighted.class_count_.sum() == 75
        assert unweighted.class_count_.sum() == 150
        model.partial_fit(rows, labels, sample_weight=weights)
        assert weighted.class_count_.sum() == 150
        assert unweighted.class_count_.sum() == 300


@pytest.mark.slow
def test_two_jobs_give_the_same_result_as_one(iris: Any) -> None:
    one, two = (
        FusionClassifier(PANEL, AVERAGED, cv=2, n_jobs=jobs, random_state=0).fit(*iris) for jobs in (1, 2)
    )
    assert one.fusion_.weights == two.fusion_.weights
    assert cross_val_score(one, *iris, cv=2).min() > 0.8


def test_the_default_learner_gives_probabilities(iris: Any) -> None:
    rows, labels = iris
    model = FusionClassifier(PANEL, cv=3).fit(rows, labels)
    shares = model.predict_proba(rows)
    assert np.allclose(shares, np.exp(model.decision_function(rows)), atol=1e-6)
    assert set(model.weights_) == {"bayes", "tree"}


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (FusionClassifier(PANEL, votes="scores"), r"votes must be one of 'predict', .* \(got 'scores'\)"),
        (FusionClassifier(PANEL, "Winow()"), r"there is no 'Winow'; did you mean 'Winnow'"),
        (FusionClassifier([("p", SklearnPerceptron())], votes="predict_proba"), r"'p' has no predict_proba"),
        (FusionClassifier([("s", PAIRWISE)], AVERAGED, votes="decision_function"), r'"ovr"'),
        (FusionClassifier([("b", GaussianNB())], AVERAGED, prefit=True), "not fitted yet"),
        (FusionClassifier([("b", NUMBERS)], AVERAGED, prefit=True), "use one kind"),
    ],
)
def test_an_error_is_one_sentence(iris: Any, model: Any, sentence: str) -> None:
    rows = np.vstack((iris[0], iris[0] + 9))
    labels = np.concatenate((iris[1], np.char.add(iris[1], "2")))
    with pytest.raises((ValueError, NotFittedError), match=sentence):
        model.fit(rows, labels)


def test_one_row_is_rejected_and_an_error_leaves_nothing_fitted(iris: Any) -> None:
    rows, labels = iris
    model = FusionClassifier(PANEL, AVERAGED, cv=2).fit(rows, labels)
    with pytest.raises(ValueError, match="require at least two rows"):
        model.fit(rows[:1], labels[:1])
    with pytest.raises(NotFittedError):
        model.predict(rows)


@pytest.mark.parametrize("more", [-1, 1])
def test_an_estimator_with_the_wrong_number_of_votes_is_named(more: int) -> None:
    class Odd(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: Any) -> Any:
            return np.full(len(X) + more, self.classes_[0])

    rows = np.arange(40.0).reshape(-1, 2)
    with pytest.raises(ValueError, match="estimator 'odd' returns votes of shape"):
        FusionClassifier([("odd", Odd())], "Winnow(1.2)").fit(rows, [0, 1] * 10)
