"""Attributes that are standardised on-line: against the definition, in every format and in any chunks."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linmax import Averaged, Fusion, Logistic, Perceptron, Recycled, load
from linmax._jit.compilation import interpreted
from linmax.experts import ScaledAttributes, Votes
from linmax.runtime.sources import Scaling
from tests.oracles.attributes import standardised, unit

PLAIN = Averaged(Perceptron()).on(ScaledAttributes())


def some_rows(trials: int = 40, seed: int = 0) -> np.ndarray:
    """Columns of all kinds: centred, far from 0, rarely not 0, constant, all 0, and one that fades out."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((trials, 7))
    rows[:, 0] = rng.normal(size=trials)
    rows[:, 1] = 1e6 + rng.normal(size=trials)
    rows[:, 2] = rng.normal(5, 1, trials) * (rng.random(trials) < 0.2)
    rows[:, 3] = 3.0
    rows[:, 5] = rng.integers(2, size=trials)
    rows[: trials // 3, 6] = rng.normal(2, 1, trials // 3)
    return rows


def scaled_by(rows: np.ndarray, *, unit: bool = False, labels: np.ndarray | None = None) -> np.ndarray:
    """What the kernel makes of rows, as a matrix with the constant in column 0."""
    fusion = Fusion(Perceptron().on(ScaledAttributes()))
    fusion.names.attributes.extend(range(rows.shape[1]))
    scaling = Scaling(fusion.names)
    scaling.resize(fusion.runner.parts and _sizes(rows.shape[1]))
    batch = fusion.read(attributes=rows)
    labels = np.zeros(len(rows), dtype=np.int32) if labels is None else labels
    found = scaling.scale(batch.rows, labels)
    matrix = sparse.csr_array(
        (found.unit if unit else found.value, found.index, found.indptr), shape=(len(rows), rows.shape[1] + 1)
    )
    return np.asarray(matrix.toarray())


def _sizes(attributes: int) -> Any:
    from linmax.experts.base import Capacity

    return Capacity(0, 2, attributes, 0)


def test_rows_are_standardised_as_the_definition_says() -> None:
    rows = some_rows()
    np.testing.assert_allclose(scaled_by(rows), standardised(rows), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(scaled_by(rows, unit=True), unit(standardised(rows)), rtol=1e-6, atol=1e-8)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 0.5, 1e3]), min_size=3, max_size=3),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_any_mixture_of_zeros_is_standardised_as_the_definition_says(rows: list[list[float]]) -> None:
    with interpreted():
        np.testing.assert_allclose(
            scaled_by(np.array(rows)), standardised(np.array(rows)), rtol=1e-9, atol=1e-12
        )


def test_a_column_far_from_zero_loses_no_precision() -> None:
    rng = np.random.default_rng(0)
    small = rng.normal(size=(200, 1))
    near, far = scaled_by(small), scaled_by(small + 2.0**40)
    assert np.abs(near[1:, 1] - far[1:, 1]).max() < 2e-3  # the rows themselves keep 2^-12 of the deviation


def test_a_prediction_counts_the_item_and_stores_nothing() -> None:
    fusion = Fusion(PLAIN)
    rows = some_rows()
    fusion.learn(attributes=rows[:20], labels=[0, 1] * 10)
    before = fusion.state()
    fusion.predict(attributes=rows[20:])
    after = fusion.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert before["scale.items"][0] == 20
    first = fusion.scores(attributes=rows[20:21])
    np.testing.assert_array_equal(first, fusion.scores(attributes=rows[20:])[:1])


def as_dicts(rows: np.ndarray) -> list[dict[int, float]]:
    return [dict(enumerate(row.tolist())) for row in rows]


FORMATS: dict[str, Any] = {
    "array": lambda rows: rows,
    "sparse": sparse.csr_array,
    "dicts": as_dicts,
    "chunks of 7": lambda rows: rows,
}


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize(
    "learner", [PLAIN, Recycled(Perceptron(), size=5).on(ScaledAttributes(unit=True))], ids=str
)
def test_every_format_and_every_chunk_gives_the_same_state(how: str, learner: Any) -> None:
    rows, labels = some_rows(), np.arange(40) % 3
    one_by_one, other = (Fusion(learner, classes=range(3)) for _ in range(2))
    size = 7 if how == "chunks of 7" else len(rows)
    with nullcontext() if learner is PLAIN else interpreted():  # a kernel that nothing else needs
        for row, label in zip(as_dicts(rows), labels.tolist(), strict=True):
            one_by_one.learn_one(None, label, attributes=row)
        for begin in range(0, len(rows), size):
            part = slice(begin, begin + size)
            other.learn(attributes=FORMATS[how](rows[part]), labels=labels[part])
    expected, found = one_by_one.state(), other.state()
    if how == "array":  # dicts name the attributes that are always 0 later
        assert expected.keys() == found.keys()
    for name, array in expected.items():
        assert array.tobytes() == found[name].tobytes(), name


def test_compiled_and_interpreted_are_the_same() -> None:
    rows, labels = some_rows(), np.arange(40) % 3
    compiled, python = Fusion(PLAIN), Fusion(PLAIN)
    compiled.learn(attributes=rows, labels=labels)
    with interpreted():
        python.learn(attributes=rows, labels=labels)
    expected, found = compiled.state(), python.state()
    assert all(expected[name].tobytes() == found[name].tobytes() for name in expected)


def test_texts_are_indicators_and_stay_as_they_are() -> None:
    rows = [{"town": "Rome", "age": 30.0}, {"town": "Oslo", "age": 40.0}, {"town": "Rome"}, {"town": "Bonn"}]
    fusion = Fusion(Perceptron().on(ScaledAttributes()))
    fusion.learn(attributes=rows, labels=["a", "b", "a", "b"])
    assert {key[1] for key in fusion.weights if key[0] == "attribute"} == {
        "age", ("town", "Rome"), ("town", "Oslo"), ("town", "Bonn"),
    }  # fmt: skip
    assert fusion.state()["scale.mean"][fusion.names.attributes.codes["town", "Rome"]] == 1.0


def test_a_model_file_keeps_the_statistics(tmp_path: Any) -> None:
    rows, labels = some_rows(), np.arange(40) % 3
    learner = Recycled(Perceptron(), size=5).on(ScaledAttributes())
    with interpreted():  # a kernel that nothing else needs
        fusion = Fusion(learner)
        fusion.learn(attributes=rows[:30], labels=labels[:30])
        fusion.save(tmp_path / "model.linmax")
        again = load(tmp_path / "model.linmax")
        for one in (fusion, again):
            one.learn(attributes=rows[30:], labels=labels[30:])
    expected, found = fusion.state(), again.state()
    assert expected.keys() == found.keys()
    assert all(expected[name].tobytes() == found[name].tobytes() for name in expected)


@pytest.mark.parametrize(
    ("name", "value"), [("scale.items", -1), ("scale.nonzeros", 99), ("scale.squares", -1.0)]
)
def test_statistics_of_no_columns_are_refused(tmp_path: Any, name: str, value: float) -> None:
    from linmax.fusion.state_check import check_state

    fusion = Fusion(PLAIN)
    fusion.learn(attributes=some_rows(10), labels=[0, 1] * 5)
    state = fusion.state()
    state[name][0] = value
    with pytest.raises(ValueError, match=r"out of range|not those of any columns"):
        check_state(fusion.runner, state)


def test_it_adds_up_with_votes() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=300)
    votes = np.where(rng.random((300, 4)) < 0.4, labels[:, None], rng.integers(3, size=(300, 4)))
    rows = rng.normal(size=(300, 3)) + 2 * np.eye(3)[labels]
    rule = Logistic(0.3)
    with interpreted():  # a kernel that nothing else needs
        both = Fusion(rule.on(Votes() + ScaledAttributes())).learn(votes, labels, attributes=rows).mistakes
    alone = Fusion(rule.on(ScaledAttributes())).learn(attributes=rows, labels=labels).mistakes
    assert both < alone < 150


@pytest.mark.parametrize("bad", [1, "yes", None])
def test_the_option_is_checked(bad: Any) -> None:
    with pytest.raises(ValueError, match="requires unit True or False"):
        ScaledAttributes(unit=bad)


def test_attributes_are_asked_for() -> None:
    with pytest.raises(ValueError, match="needs attributes; pass attributes="):
        Fusion(PLAIN).learn([["a"]], ["a"])
