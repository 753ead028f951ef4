"""linmax in River: River's own checks, and the behaviour of the two classifiers."""

from __future__ import annotations

import functools
import itertools
import pickle
import random
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from river import (
    base,
    checks,
    compose,
    datasets,
    evaluate,
    linear_model,
    metrics,
    naive_bayes,
    preprocessing,
    tree,
)

from linmax import Averaged, Fusion, Perceptron
from linmax.adapters.river import FusionClassifier, LinearMaxClassifier
from linmax.experts import Attributes, Thresholds
from tests.helpers.examples import EVERYTHING, rarely_compiled

AVERAGED = "Averaged(Perceptron(start='equal'))"


def panel() -> list[base.Classifier]:
    return [naive_bayes.GaussianNB(), linear_model.Perceptron(), linear_model.LogisticRegression()]


def many() -> list[base.Classifier]:
    # not BernoulliNB: at a tie its label follows the order of the features, which a check of River shuffles
    return [naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier()]


MODELS = {
    "linear": LinearMaxClassifier(),
    "fusion of two classes": FusionClassifier(panel(), AVERAGED, votes="predict_proba"),
    "fusion of many classes": FusionClassifier(many(), AVERAGED),
}


def river_checks() -> Iterator[Any]:
    """Yield River's checks of all models.

    Slow are those on a second data set, and those of both fusions with one of the two, in turn.
    """
    names = {name: {check.__name__ for check in checks.yield_checks(model)} for name, model in MODELS.items()}
    both = sorted(names["fusion of two classes"] & names["fusion of many classes"])
    repeated = {"fusion of two classes": set(both[::2]), "fusion of many classes": set(both[1::2])}
    for name, model in MODELS.items():
        seen = repeated.get(name, set())
        for number, check in enumerate(checks.yield_checks(model)):
            marks = pytest.mark.slow if check.__name__ in seen else ()
            seen.add(check.__name__)
            yield pytest.param(name, shorter(check), id=f"{name}-{number}-{check.__name__}", marks=marks)


def shorter(check: Any) -> Any:
    """Return a check on the first 60 of 200 items; that of memory needs all of its items."""
    if EVERYTHING or not isinstance(check, functools.partial) or "memory" in check.__name__:
        return check
    return functools.partial(check.func, dataset=itertools.islice(check.keywords["dataset"], 60))


@pytest.mark.parametrize(("name", "check"), list(river_checks()))
def test_river_s_own_checks_pass(name: str, check: Any) -> None:
    check(MODELS[name].clone())


def test_the_order_of_features_changes_no_bit() -> None:
    chance = random.Random(0)
    one, other = LinearMaxClassifier(), LinearMaxClassifier()
    for _ in range(40):
        x: dict[Any, Any] = {f"feature {j}": chance.gauss(0, 1) for j in chance.sample(range(15), 12)}
        y = sum(x.values()) > 0
        names = chance.sample(list(x), len(x))
        one.learn_one(x, y)
        other.learn_one({name: x[name] for name in names}, y)
        assert one.predict_proba_one(x) == other.predict_proba_one(x)
    assert one.predict_one({1: 1.0, "feature 1": 2.0}) in (True, False)  # names without an order


def test_no_check_of_river_is_skipped() -> None:
    assert not any(model._unit_test_skips() for model in MODELS.values())


class Fixed(base.Classifier):
    """Predicts the value of one feature, and counts the items it has learned."""

    def __init__(self, feature: str) -> None:
        self.feature = feature
        self.learned = 0
        self.asked: list[int] = []

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: dict[str, Any], **options: Any) -> Any:
        self.asked.append(self.learned)
        return x.get(self.feature)

    def learn_one(self, x: dict[str, Any], y: Any) -> None:
        self.learned += 1


def test_every_model_votes_on_an_item_before_it_learns_it_also_in_a_batch() -> None:
    model = FusionClassifier([Fixed("a"), Fixed("b")], AVERAGED)
    batch = pd.DataFrame({"a": ["x", "y", "y"], "b": ["y", "y", "x"]})
    model.learn_many(batch, pd.Series(["x", "y", "x"]))
    assert [one.asked for one in model.models] == [[0, 1, 2], [0, 1, 2]]


def test_the_session_learns_the_votes_of_the_models() -> None:
    items = [{"a": "x", "b": "y"}, {"a": "y", "b": "y"}, {"a": None, "b": "z"}] * 4
    truth = ["y", "y", "z"] * 4
    model, fusion = FusionClassifier([Fixed("a"), Fixed("b")], AVERAGED), Fusion(AVERAGED)
    for item, label in zip(items, truth, strict=True):
        assert model.predict_one(item) == fusion.predict_one(item)
        model.learn_one(item, label)
        fusion.learn_one(item, label)
    assert list(model.weights.values()) == [fusion.weights["a"], fusion.weights["b"]]
    assert model.names == ["Fixed", "Fixed 2"]
    assert model.fusion.classes == ["x", "y", "z"]
    assert model.explain_one(items[0]).guess == "y"


def test_an_item_without_a_label_is_not_learned() -> None:
    model = FusionClassifier([Fixed("a")], AVERAGED)
    for unknown in (None, pd.NA, float("nan")):
        model.learn_one({"a": "x"}, unknown)
    model.learn_many(pd.DataFrame({"a": ["x", "y"]}), pd.Series([None, "y"]))
    assert model.models[0].learned == model.fusion.trials == 1
    assert model.fusion.classes == ["y"]


@pytest.mark.parametrize(
    "odd", [preprocessing.StandardScaler(), linear_model.LinearRegression(), "bayes", None]
)
def test_anything_but_a_classifier_of_river_is_rejected(odd: Any) -> None:
    with pytest.raises(ValueError, match=r"models must be classifiers of River \(got .*\); .*") as refused:
        FusionClassifier([naive_bayes.GaussianNB(), odd])
    assert "\n" not in str(refused.value)


def test_models_that_predict_none_abstain() -> None:
    model = FusionClassifier([Fixed("a"), Fixed("b")], AVERAGED)
    assert model.predict_one({}) is None
    assert model.predict_proba_one({}) == {}
    model.learn_one({"b": "x"}, "x")
    assert model.predict_one({"b": "x"}) == "x"


@pytest.mark.parametrize(("yes", "no"), [(1, 0), (True, False)])
def test_true_equals_one_as_everywhere_in_river(yes: Any, no: Any) -> None:
    two = FusionClassifier(panel(), AVERAGED)
    mixed = FusionClassifier([Fixed("a"), Fixed("b")], AVERAGED)
    for model in (two, mixed):
        for label in [yes, no, yes, no]:
            model.learn_one({"a": bool(label), "b": int(label)}, label)
        assert model.predict_one({"a": True, "b": 1}) == yes
        assert set(model.predict_proba_one({"a": True, "b": 1})) == {yes, no}


@rarely_compiled()
def test_the_linear_machine_is_the_session_on_attributes_one_by_one_and_in_batches() -> None:
    stream = list(itertools.islice(datasets.ImageSegments(), 90))
    one, batch = (LinearMaxClassifier("Averaged(Perceptron())") for _ in range(2))
    fusion = Fusion(Averaged(Perceptron()).on(Attributes() + Thresholds()))
    for x, y in stream:
        one.learn_one(x, y)
        fusion.learn_one(None, y, attributes=x)
    for begin in (0, 30, 60):
        piece = stream[begin : begin + 30]
        batch.learn_many(pd.DataFrame([x for x, _ in piece]), pd.Series([y for _, y in piece]))
    assert one.fusion.weights == batch.fusion.weights == fusion.weights
    probabilities = batch.predict_proba_many(pd.DataFrame([x for x, _ in stream]))
    assert probabilities.columns.tolist() == fusion.classes
    assert batch.explain_one(stream[0][0]).guess == batch.predict_one(stream[0][0])


def test_features_of_every_kind_are_read_fast() -> None:
    model = LinearMaxClassifier()
    for label in ["a", "b"] * 3:
        model.learn_one({"whole": 1, "true": label == "a", "text": label, "none": None}, label)
    assert model.predict_one({"true": True, "text": "a"}) == "a"
    assert ("attribute", ("text", "a"), "b") in model.fusion.weights


def test_fusing_scores_well_in_progressive_validation_and_pipelines() -> None:
    stream = datasets.Phishing().take(300)
    model = preprocessing.StandardScaler() | FusionClassifier(panel(), AVERAGED, votes="predict_proba")
    assert evaluate.progressive_val_score(stream, model, metrics.LogLoss()).get() < 1
    pipe = compose.Pipeline(
        ("scale", preprocessing.StandardScaler()), ("fuse", FusionClassifier(panel(), AVERAGED))
    )
    assert evaluate.progressive_val_score(datasets.Phishing().take(300), pipe, metrics.Accuracy()).get() > 0.8


def test_a_clone_is_fresh_and_a_pickle_continues() -> None:
    model = FusionClassifier([Fixed("a"), Fixed("b")], AVERAGED)
    model.learn_one({"a": "x", "b": "y"}, "y")
    fresh = model.clone()
    assert [one.learned for one in fresh.models] == [0, 0]
    assert fresh.fusion.trials == 0
    assert model.clone(include_attributes=True).fusion.trials == 1
    restored = pickle.loads(pickle.dumps(model))
    for one in (model, restored):
        one.learn_one({"a": "x", "b": "y"}, "x")
    assert restored.weights == model.weights


def test_errors_are_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"votes must be 'predict' or 'predict_proba' \(got 'labels'\)"):
        FusionClassifier(many(), votes="labels")
    with pytest.raises(ValueError, match=r"there is no 'Winow'; did you mean 'Winnow'"):
        FusionClassifier(many(), "Winow()")
    with pytest.raises(ValueError, match=r"no votes, and .* needs votes"):
        LinearMaxClassifier("recommended()")
    with pytest.raises(ValueError, match="At least 1 models are expected"):
        FusionClassifier([])


def test_integers_other_than_0_and_1_are_not_bools() -> None:
    model = FusionClassifier([naive_bayes.GaussianNB(), linear_model.LogisticRegression()], AVERAGED)
    model.learn_one({"a": 1.0}, 1)
    model.learn_one({"a": 0.0}, 0)
    with pytest.raises(ValueError, match="label 2 is neither true nor false"):
        model.learn_one({"a": 2.0}, 2)
    assert model.fusion.trials == 2


def test_a_batch_with_too_few_labels_is_not_learned() -> None:
    model = FusionClassifier([naive_bayes.GaussianNB()], AVERAGED)
    with pytest.raises(ValueError, match="X has 2 rows but y has 1 labels"):
        model.learn_many(pd.DataFrame({"a": [0.0, 1.0]}), pd.Series([True]))
    assert model.fusion.trials == 0
