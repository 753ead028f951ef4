"""Regressions on the classes: against slow oracles, the closed formula, and in every way a session can go."""

from typing import Any

import numpy as np
import pytest

from linmax import (
    Averaged,
    Fusion,
    LeastSquares,
    Mixture,
    Perceptron,
    SquaredHinge,
    Stacked,
    Tempered,
    load,
    parse,
)
from linmax._jit.compilation import interpreted
from linmax.experts import PerClass, RandomFeatures, ScaledAttributes, Thresholds, Votes
from tests.helpers.examples import rarely_compiled
from tests.oracles import attributes as slow

PERCEPTRON = Averaged(Perceptron().on(RandomFeatures(16)))
LEARNERS: list[Any] = [SquaredHinge(), SquaredHinge(0.1), LeastSquares("diagonal"), LeastSquares("matrix")]


def problem(trials: int = 60, columns: int = 5, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(trials, columns))
    rows[:, -1] *= rng.random(trials) < 0.3
    return rows, (rows[:, :k] + 0.3 * rng.normal(size=(trials, k))).argmax(axis=1)


def oracle(learner: Any, inputs: int, k: int) -> Any:
    if isinstance(learner, SquaredHinge):
        return slow.SquaredHinge(inputs, k, learner.eta)
    return {"diagonal": slow.DiagonalSquares, "matrix": slow.MatrixSquares}[learner.of](inputs, k)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("k", [2, 3, 11])
def test_scores_are_those_of_the_formulas(learner: Any, k: int) -> None:
    rows, labels = problem(columns=12, k=k)
    inputs = slow.standardised(rows)
    inputs = slow.unit(inputs) if learner.source.unit else inputs
    teacher = oracle(learner, inputs.shape[1], k)
    expected = np.array([teacher.learn(x, y) for x, y in zip(inputs, labels, strict=True)])
    fusion = Fusion(learner, classes=range(k))
    found = fusion.learn_batch(fusion.read(attributes=rows, labels=labels), scores=True).scores
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)  # float32, and roots to 2e-4
    weights = np.array(list(fusion.weights.values())).reshape(-1, k)
    np.testing.assert_allclose(weights, teacher.w, rtol=5e-3, atol=5e-3)


@rarely_compiled()
def test_random_features_are_cosines_in_random_directions() -> None:
    rows, labels = problem(columns=12)
    learner = LeastSquares().on(RandomFeatures(24))
    teacher = slow.DiagonalSquares(25, 3)
    features = slow.random_features(rows, 24)
    expected = np.array([teacher.learn(x, y) for x, y in zip(features, labels, strict=True)])
    fusion = Fusion(learner, classes=range(3))
    found = fusion.learn_batch(fusion.read(attributes=rows, labels=labels), scores=True).scores
    np.testing.assert_allclose(found, expected, atol=2e-3)  # float32, and cosines to 2e-4


def test_items_with_many_attributes_have_no_random_features() -> None:
    rows, labels = problem(columns=66)
    moved = {}
    for columns in (64, 66):
        fusion = Fusion(SquaredHinge().on(RandomFeatures(8)), classes=range(3))
        fusion.learn(attributes=rows[:1, :columns], labels=labels[:1])  # no column varies yet
        before = fusion.weights
        fusion.learn(attributes=rows[1:, :columns], labels=labels[1:])
        moved[columns] = {key[1] for key, weight in fusion.weights.items() if weight != before[key]}
    assert moved == {64: set(range(9)), 66: {0}}


def test_recursive_least_squares_is_ridge_regression() -> None:
    rows, labels = problem(60)
    fusion = Fusion(LeastSquares("matrix"), classes=range(3))
    fusion.learn(attributes=rows, labels=labels)
    expected = slow.ridge_regression(slow.standardised(rows), np.eye(3)[labels])
    found = np.array(list(fusion.weights.values())).reshape(-1, 3)
    np.testing.assert_allclose(found, expected, atol=60 * 1e-4)  # the covariance leaks by 1e-4 a trial


def test_the_squared_hinge_never_overshoots() -> None:
    """After a step on an item its score has moved towards the target, and not beyond."""
    rows, labels = problem(200)
    fusion = Fusion(SquaredHinge(10.0), classes=range(3))
    teacher = slow.SquaredHinge(6, 3, 10.0)
    fusion.learn(attributes=rows, labels=labels)
    for x, y in zip(slow.unit(slow.standardised(rows)), labels, strict=True):
        before, target = x @ teacher.w, 2.0 * np.eye(3)[y] - 1.0
        teacher.learn(x, y)
        after = x @ teacher.w
        inside = np.abs(before) < 1.0
        assert ((after - before) * (target - before) >= 0)[inside].all()
        assert (np.abs(after)[inside] <= 1.0 + 1e-9).all()


@pytest.mark.parametrize(
    "learner",
    [*LEARNERS, Tempered(SquaredHinge()), SquaredHinge().on(RandomFeatures(16))],
    ids=repr,
)
def test_it_is_the_same_interpreted_in_chunks_one_by_one_and_from_a_file(learner: Any, tmp_path: Any) -> None:
    is_the_same(learner, tmp_path)


@rarely_compiled()
def test_so_is_a_rule_on_random_features(tmp_path: Any) -> None:
    is_the_same(PERCEPTRON, tmp_path)


def is_the_same(learner: Any, tmp_path: Any) -> None:
    rows, labels = problem()
    whole, python, chunks, single = (Fusion(learner) for _ in range(4))
    whole.learn(attributes=rows, labels=labels)
    with interpreted():
        python.learn(attributes=rows, labels=labels)
    for begin in range(0, 60, 13):
        chunks.learn(attributes=rows[begin : begin + 13], labels=labels[begin : begin + 13])
        chunks.save(tmp_path / "model.linmax")
        chunks = load(tmp_path / "model.linmax")
    for row, label in zip(rows, labels.tolist(), strict=True):
        single.learn_one(None, label, attributes=dict(enumerate(row.tolist())))
    expected = whole.state()
    for other in (python, chunks, single):
        found = other.state()
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name].tobytes() != expected[name].tobytes()] == []


def test_classes_and_attributes_may_appear() -> None:
    rows, labels = problem(80, columns=20, k=11)
    for learner in LEARNERS:
        grown, known = Fusion(learner), Fusion(learner, classes=list(dict.fromkeys(labels.tolist())))
        for t in range(80):
            cells = {a: x for a, x in enumerate(rows[t, : 4 + t // 5].tolist())}
            for fusion in (grown, known):
                fusion.learn_one(None, int(labels[t]), attributes=cells)
        assert len(grown.classes) == 11
        assert len(grown.weights) == len(known.weights) == 11 * 20
        assert grown.predict(attributes=rows).shape == (80,)


def test_a_matrix_stops_learning_when_there_are_many_inputs() -> None:
    rows, labels = problem(30, columns=25, k=2)
    fusion = Fusion(LeastSquares("matrix"), classes=range(2))
    fusion.learn(attributes=rows, labels=labels)
    assert not any(weight for key, weight in fusion.weights.items() if key[0] == "attribute")
    wide = Fusion(LeastSquares("matrix"), classes=range(50))
    wide.learn(attributes=np.hstack([rows] * 20), labels=labels)
    assert len(wide.state()["head.0.covariance"]) <= 400 * 400


@rarely_compiled()
def test_votes_can_be_inputs_too() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=400)
    votes = np.column_stack([(labels + 1) % 3, rng.integers(3, size=(400, 2))])
    for learner in (SquaredHinge(), LeastSquares()):
        session = Fusion(learner.on(PerClass() + Thresholds()))
        assert session.learn(votes, labels).mistakes < 60, learner


def test_an_explanation_adds_up_to_the_scores() -> None:
    rows, labels = problem()
    for learner in LEARNERS:
        fusion = Fusion(learner)
        fusion.learn(attributes=rows, labels=labels)
        item = dict(enumerate(rows[0].tolist()))
        found = fusion.explain_one(attributes=item)
        scores = fusion.scores(attributes=[item])[0]
        np.testing.assert_allclose(list(found.scores.values()), scores, atol=1e-5)
        total = [sum(part.get(c, 0.0) for part in found.contributions.values()) for c in fusion.classes]
        np.testing.assert_allclose(total, scores, atol=1e-5)
        assert "(constant)" in found.contributions


@pytest.mark.parametrize(
    "text", [*map(repr, LEARNERS), "SquaredHinge(0.2).on(PerClass() + ScaledAttributes(unit=True))"]
)
def test_the_text_is_read_back(text: str) -> None:
    assert repr(parse(text)) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SquaredHinge(0.0), "requires 0 < eta <= 1000"),
        (lambda: SquaredHinge(float("nan")), "requires 0 < eta <= 1000"),
        (lambda: LeastSquares("cubic"), 'LeastSquares requires of'),
        (lambda: SquaredHinge().on(Votes()), "needs a weight per class"),
        (lambda: LeastSquares().on("Votes()"), "requires a source"),
        (lambda: LeastSquares("matrix").on(PerClass()), "learns on ScaledAttributes"),
        (lambda: RandomFeatures(12), "requires a multiple of 8"),
        (lambda: RandomFeatures("many"), "requires a multiple of 8"),
        (lambda: Averaged(SquaredHinge()), "requires a rule inside"),
        (lambda: Tempered(Mixture([SquaredHinge()])), "no committee"),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_it_has_no_rule() -> None:
    for learner in (SquaredHinge(), Tempered(SquaredHinge())):
        with pytest.raises(AttributeError, match="has no rule"):
            _ = learner.rule


@pytest.mark.parametrize("name", ["squares", "variances"])
def test_a_file_with_impossible_numbers_is_refused(name: str) -> None:
    from linmax.fusion.state_check import check_state

    fusion = Fusion(SquaredHinge() if name == "squares" else LeastSquares())
    rows, labels = problem(10)
    fusion.learn(attributes=rows, labels=labels)
    state = fusion.state()
    state[f"head.0.{name}"][0] = -1.0
    with pytest.raises(ValueError, match="negative"):
        check_state(fusion.runner, state)


def test_one_member_of_two_committees_keeps_one_temperature() -> None:
    """Whether the boards of two ensembles scale a member or it scales itself, the state is the same."""
    rows, labels = problem(100)
    member, other = Tempered(SquaredHinge()), LeastSquares()
    alone = Fusion(member)
    alone.learn(attributes=rows, labels=labels)
    shared = Fusion(Mixture((Stacked((member, other)), Mixture((member,)))))
    one_board = Fusion(Mixture((Stacked((member, other)), Mixture((member, other)))))
    for fusion in (shared, one_board):
        fusion.learn(attributes=rows, labels=labels)
        (heat,) = [array for name, array in fusion.state().items() if name.endswith(".heat")]
        (expected,) = [array for name, array in alone.state().items() if name.endswith(".heat")]
        np.testing.assert_allclose(heat, expected, rtol=1e-9)


def test_a_source_scaled_to_unit_length_is_the_default() -> None:
    assert SquaredHinge().source == ScaledAttributes(unit=True) == LeastSquares().source
    assert LeastSquares("matrix").source == ScaledAttributes()
