"""The instances behind a stream, the comparators fitted to them, and the SVM as a fusion."""

import numpy as np
import pytest

from linmax import Averaged, Fusion, Perceptron, Recycled, Triplets, Winnow, svm
from linmax._jit import compilation
from linmax.bounds import Case, bound
from linmax.experts import Attributes, Pairs, PerClass, Split, Thresholds, Votes
from linmax.problems import majority, panel
from linmax.svm import SvmFusion, comparator, instances, simplex_comparator

SOURCES = [
    Votes(),
    Votes() + Thresholds(),
    Split(),
    Votes() + Split() + Thresholds(),
    PerClass(),
    Attributes(),
    Votes() + PerClass() + Attributes() + Thresholds(),
]


@pytest.fixture
def uncompiled():
    """Small data on many sources: compiling for each would take far longer than running them."""
    with compilation.interpreted():
        yield


def confused(trials, seed=0):
    """Three experts: two always vote for the class after the true one, and one votes at random."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=trials)
    wrong = (labels + 1) % 4
    sometimes = np.where(rng.random(trials) < 0.2, rng.integers(4, size=trials), wrong)
    return np.column_stack((wrong, sometimes, rng.integers(4, size=trials))), labels


@pytest.mark.parametrize("source", SOURCES, ids=repr)
def test_under_any_weights_the_instances_give_the_margins_of_the_labels(source, uncompiled):
    votes, labels = majority(120, relevant=3, experts=6, classes=4, noise=0.2)
    attributes = np.random.default_rng(0).random((120, 3)).round(1)
    fusion = Fusion(Perceptron().on(source), classes=range(4))
    fusion.learn(votes, labels, attributes=attributes)
    z, trial, rival = instances(fusion, votes, labels, attributes)
    scores = fusion.scores(votes, attributes=attributes)
    assert z.shape == (120 * 3, len(fusion.weights))
    margins = scores[trial, labels[trial]] - scores[trial, rival]
    assert np.allclose(z @ np.array(list(fusion.weights.values())), margins)


def test_compiled_and_interpreted_instances_are_the_same():
    votes, labels = majority(60, relevant=3, experts=6, classes=4)
    compiled = instances(Perceptron(), votes, labels)
    with compilation.interpreted():
        interpreted = instances(Perceptron(), votes, labels)
    for one, other in zip(compiled, interpreted, strict=True):
        assert (one != other).sum() == 0


def test_hard_one_hot_and_sparse_votes_have_the_same_instances(uncompiled):
    votes, labels = majority(50, relevant=3, experts=6, classes=3, speak=0.6)
    item, expert = np.nonzero(votes >= 0)
    shapes = (
        votes,
        (votes[:, :, None] == np.arange(3)).astype(float),
        Triplets(item, expert, votes[item, expert], items=50),
    )
    fusion = Fusion(Perceptron().on(Votes()), classes=range(3), experts=range(6))
    rows = [instances(fusion, shape, labels).z.toarray() for shape in shapes]
    assert (rows[0] == rows[1]).all()
    assert (rows[0] == rows[2]).all()


def test_a_row_is_the_label_minus_one_rival():
    votes, labels = majority(30, relevant=3, experts=5, classes=3)
    z, trial, rival = instances(Fusion(Perceptron().on(Votes()), classes=range(3)), votes, labels)
    expected = (votes[trial] == labels[trial, None]) * 1.0 - (votes[trial] == rival[:, None])
    assert (z.toarray() == expected).all()
    assert np.bincount(trial).tolist() == [2] * 30
    assert (rival != labels[trial]).all()


def test_instances_do_not_depend_on_the_size_of_the_buffer(monkeypatch):
    votes, labels = majority(80, experts=12)
    whole = instances(Perceptron(), votes, labels)
    monkeypatch.setattr(svm, "CELLS", 1)
    for one, other in zip(whole, instances(Perceptron(), votes, labels), strict=True):
        assert (one != other).sum() == 0


def test_items_without_a_label_have_no_instances():
    z, trial, _ = instances(Perceptron().on(Votes()), [["a", "b"], ["b", "a"], ["b", "b"]], ["a", None, "b"])
    assert trial.tolist() == [0, 2]
    assert z.shape == (2, 2)
    nothing = instances(Perceptron().on(Votes()), [["a", "b"]], [None])
    assert nothing.z.shape[0] == 0


def test_a_source_with_memory_votes_as_it_did_at_the_time(uncompiled):
    attributes = [["mon", "ann"], ["mon", "ann"], ["mon", "ann"]]
    z, _, _ = instances(Perceptron().on(Pairs()), None, ["a", "b", "b"], attributes)
    assert z.toarray().tolist() == [[0.0], [-1.0], [0.0]]  # silent, then "a", then torn between "a" and "b"


def test_a_fusion_is_not_changed_by_computing_instances():
    votes, labels = majority(100, experts=8, relevant=3, classes=3)
    fusion = Fusion(Averaged(Recycled(Winnow(1.2))), classes=range(3))
    fusion.learn(votes[:50], labels[:50])
    before = fusion.state()
    instances(fusion, votes, labels)
    after = fusion.state()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)
    assert fusion.trials == 50


# --- comparators --------------------------------------------------------------------------------------------


def test_the_svm_separates_a_separable_majority_problem():
    votes, labels = majority(600, relevant=4, experts=10, classes=3)
    found = instances(Perceptron(), votes, labels)  # threshold experts decide the ties
    case = Case.of(comparator(found, C=1e4), found)
    assert case.delta > 0
    assert case.hinge == 0
    assert Fusion(Perceptron(), classes=range(3)).learn(votes, labels).mistakes <= bound(Perceptron(), case)


def test_mirrored_instances_do_not_change_the_solution():
    """The gradient of 1/2 |u|^2 + C sum (1 - u.z)_+^2, over the instances once, is 0 at u."""
    votes, labels = majority(300, relevant=3, experts=6, classes=3, noise=0.1)
    found = instances(Perceptron(), votes, labels)
    for C in (0.01, 1.0):
        u = comparator(found, C)
        gradient = u - 2 * C * (np.maximum(1 - found.z @ u, 0) @ found.z)
        at_the_start = 2 * C * found.z.sum(axis=0)
        assert np.linalg.norm(gradient) <= 1e-6 * np.linalg.norm(
            at_the_start
        )  # where LinearSVC is told to stop


@pytest.mark.parametrize("size", [3, 5])
def test_the_simplex_comparator_has_the_largest_possible_margin(size):
    found = instances(Perceptron().on(Votes()), *panel(2000, experts=9, size=size))
    u = simplex_comparator(found, C=1000)
    assert (u >= 0).all()
    assert u.sum() == pytest.approx(1)
    assert Case.of(u, found).delta == pytest.approx(1 / size)


def test_the_simplex_comparator_has_no_more_hinge_than_the_hidden_one():
    votes, labels = majority(500, relevant=3, experts=8, classes=3, noise=0.1)
    found = instances(Perceptron().on(Votes()), votes, labels)
    hidden = np.repeat((1 / 3, 0.0), (3, 5))
    u = simplex_comparator(found, C=10)
    cost = {}
    for name, weights in (("fitted", u), ("hidden", hidden)):
        scales = np.linspace(0.5, 20, 200)
        cost[name] = min(scale + 10 * Case.of(scale * weights, found, margin=1).hinge for scale in scales)
    assert cost["fitted"] <= cost["hidden"]


def test_winnow_keeps_within_the_bound_of_a_comparator_fitted_to_noisy_data():
    votes, labels = majority(500, relevant=3, experts=8, classes=3, noise=0.05)
    found = instances(Winnow(1.1), votes, labels)
    case = Case.of(simplex_comparator(found, C=10), found, margin=0.2)
    assert case.hinge > 0
    assert Fusion(Winnow(1.1), classes=range(3)).learn(votes, labels).mistakes <= bound(Winnow(1.1), case)


@pytest.mark.parametrize("fit", [comparator, simplex_comparator])
def test_invalid_input_is_rejected_with_one_sentence(fit):
    found = instances(Perceptron().on(Votes()), [["a", "b"]], ["a"])
    with pytest.raises(ValueError, match=r"C > 0 \(got 0\)"):
        fit(found, 0)
    with pytest.raises(ValueError, match="two classes"):
        fit(instances(Perceptron().on(Votes()), [["a", "a"]], ["a"]))


def test_a_comparator_that_must_be_negative_is_an_error():
    found = instances(Perceptron().on(Votes()), [["a", "a"], ["b", "b"]], ["b", "a"])
    with pytest.raises(ValueError, match=r"linmax\.svm\.comparator"):
        simplex_comparator(found)
    assert (comparator(found) < 0).all()


# --- the SVM as a fusion ----------------------------------------------------------------------------------


def test_the_svm_beats_the_plurality_on_a_confused_panel(uncompiled):
    votes, labels = confused(600)
    plurality = np.array([np.bincount(row, minlength=4).argmax() for row in votes[300:]])
    fusion = SvmFusion(source=Votes() + PerClass() + Thresholds()).fit(votes[:300], labels[:300])
    assert (plurality == labels[300:]).mean() < 0.2
    assert (fusion.predict(votes[300:]) == labels[300:]).all()


def test_the_prediction_is_the_highest_score_and_scores_follow_from_the_weights():
    votes, labels = majority(200, relevant=3, experts=5, classes=3)
    names = np.array(["ham", "spam", "eggs"])
    fusion = SvmFusion(source=Votes()).fit(names[votes], names[labels])
    scores = fusion.scores(names[votes])
    assert set(fusion.classes) == {"ham", "spam", "eggs"}
    assert (np.array(fusion.classes)[scores.argmax(axis=1)] == fusion.predict(names[votes])).all()
    w = np.array([fusion.weights[expert] for expert in range(5)])
    for column, name in enumerate(fusion.classes):
        assert np.allclose(scores[:, column], (names[votes] == name) @ w)


def test_it_takes_attributes_alone(uncompiled):
    attributes = np.random.default_rng(0).normal(size=(300, 2))
    labels = np.where(attributes[:, 0] > attributes[:, 1], "left", "right")
    fusion = SvmFusion(source=Attributes()).fit(labels=labels, attributes=attributes)
    assert (fusion.predict(attributes=attributes) == labels).mean() > 0.97


def test_a_second_fit_forgets_the_first():
    votes, labels = majority(200, relevant=3, experts=5, classes=3)
    twice = SvmFusion().fit(votes[::-1] % 2, labels % 2).fit(votes, labels)
    assert twice.weights == SvmFusion().fit(votes, labels).weights


def test_predicting_learns_nothing_and_accepts_new_experts(uncompiled):
    votes, labels = majority(200, relevant=3, experts=5, classes=3)
    fusion = SvmFusion(source=Votes()).fit(votes, labels)
    before = fusion.weights
    assert fusion.predict([{0: 1, "a newcomer": 2}]).tolist() == [1]
    assert fusion.weights == before


def test_predicting_before_fit_is_an_error():
    with pytest.raises(ValueError, match=r"SvmFusion\(2.0, None\) is not fitted; call fit"):
        SvmFusion(2.0).predict([["a"]])
