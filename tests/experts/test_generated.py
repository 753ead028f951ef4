"""Votes that sources generate from attributes: against their definitions, in any pieces, saved, limited."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linmax import Averaged, Fusion, Mixture, Perceptron, Recycled, Winnow, checks, load, parse
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Neighbours, ScaledAttributes, Source, Thresholds, ValueTables
from linmax.experts.neighbours import SUB_EXPERTS
from linmax.problems import calendar
from tests.oracles import generators as oracles

TOWNS, JOBS = ("Rome", "Oslo", "Bonn"), ("cook", "smith")


def numbers(trials: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three numbers, one of them mostly 0, with equal rows among them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(trials, 3)).round(1)
    rows[rng.random(trials) < 0.7, 2] = 0.0
    rows[trials // 2 :: 5] = rows[trials // 4]
    return rows, (rows[:, 0] > 0) + 2 * (rows[:, 1] > 1)


def people(trials: int = 60, seed: int = 0) -> tuple[list[dict[str, Any]], list[int]]:
    """Rows of texts and numbers; a column appears late, and values are missing."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for t in range(trials):
        row: dict[str, Any] = {"age": float(rng.integers(20, 60)), "town": str(rng.choice(TOWNS))}
        if rng.random() < 0.8:
            row["job"] = str(rng.choice(JOBS))
        if t > trials // 3:
            row["car"] = str(rng.choice(["no", "yes"]))
        rows.append(row)
    labels = [TOWNS.index(row["town"]) if row.get("job") == "cook" else int(rng.integers(3)) for row in rows]
    return rows, labels


def votes_of(source: Any, rows: Any, labels: Any) -> list[dict[tuple[Any, int], float]]:
    """What a source votes on each item, by the end of the key of a sub-expert and by class."""
    fusion = Fusion(Perceptron().on(source), classes=range(4))
    batch = fusion.read(attributes=rows, labels=[None if y < 0 else y for y in labels])
    fusion.runner.prepare(batch, learn=True)
    sources = fusion.runner.sources[0]
    names = {place[0]: key[1:] for key, place in source.keys(fusion.names, None)}
    found = sources.trials.data.generated[source]
    each: list[dict[tuple[Any, int], float]] = []
    for t in range(len(labels)):
        entries = range(int(found.indptr[t]), int(found.indptr[t + 1]))
        each.append({(names[int(found.expert[j])], int(found.label[j])): found.value[j] for j in entries})
    return each


def assert_same_votes(found: list[Any], expected: list[Any]) -> None:
    for t, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert ours == pytest.approx(theirs, abs=1e-6), t


@pytest.mark.parametrize("directions", [False, True])
@pytest.mark.parametrize("memory", [4, 1000])
def test_neighbours_vote_as_the_definition_says(memory: int, directions: bool) -> None:
    rows, labels = numbers()
    labels = np.where(np.arange(len(labels)) % 7 == 3, -1, labels)
    with interpreted():
        found = votes_of(Neighbours(memory, unit=directions), rows, labels)
    expected = oracles.neighbours(rows, labels.tolist(), memory, directions)
    assert_same_votes(found, [{((i,), c): x for (i, c), x in votes.items()} for votes in expected])
    assert not expected[0]
    assert {i for i, _ in expected[-1]} == set(SUB_EXPERTS)


@pytest.mark.parametrize(("order", "memory", "limit"), [(1, 5, 1000), (2, 2, 1000), (2, 5, 9), (3, 5, 1000)])
def test_tables_vote_as_the_definition_says(order: int, memory: int, limit: int) -> None:
    rows, labels = people()
    labels = [-1 if t % 7 == 3 else y for t, y in enumerate(labels)]
    with interpreted():
        found = votes_of(ValueTables(order, memory=memory, limit=limit), rows, labels)
    expected = oracles.value_tables(rows, labels, order, memory, limit)
    assert any(expected)
    assert_same_votes(found, expected)


def test_only_the_tables_of_the_first_columns_count() -> None:
    rows, labels = people()
    with interpreted():
        few, all_of_them = (votes_of(ValueTables(2, tables=n), rows, labels) for n in (2, 1000))
    assert {table for votes in few for table, _ in votes} == {("town", "job"), ("town", "car")}
    for ours, theirs in zip(few, all_of_them, strict=True):
        assert ours == {key: x for key, x in theirs.items() if key[0] != ("job", "car")}


def test_numbers_alone_have_no_tables() -> None:
    rows, labels = numbers(20)
    with interpreted():
        run = Fusion(Perceptron().on(ValueTables())).learn(attributes=rows, labels=labels)
    assert run.trials == 20


LEARNERS: dict[str, tuple[Any, Any]] = {
    "neighbours": (Averaged(Winnow(1.2)).on(Neighbours(20)), numbers),
    "tables": (Averaged(Recycled(Winnow(1.2), size=5)).on(ValueTables(1) + ValueTables(2, limit=12)), people),
    "a committee": (
        Mixture(
            [
                Perceptron(start="equal").on(ScaledAttributes() + Neighbours(20) + Neighbours(20, unit=True)),
                Recycled(Perceptron(), size=5).on(Neighbours(20)),
            ]
        ),
        numbers,
    ),
}


def as_dicts(rows: Any) -> list[dict[Any, Any]]:
    return rows if isinstance(rows, list) else [dict(enumerate(row.tolist())) for row in rows]


def assert_same_state(one: Fusion, other: Fusion) -> None:
    expected, found = one.state(), other.state()
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        assert array.tobytes() == found[name].tobytes(), name


@pytest.mark.parametrize("which", LEARNERS)
def test_one_by_one_in_chunks_and_after_loading_it_is_the_same(which: str, tmp_path: Any) -> None:
    learner, make = LEARNERS[which]
    rows, labels = make(40)
    whole, single, pieces = (Fusion(learner, classes=range(4)) for _ in range(3))
    with interpreted():
        whole.learn(attributes=rows, labels=labels)
        for row, label in zip(as_dicts(rows), labels, strict=True):
            single.predict_one(None, attributes=row)
            single.learn_one(None, int(label), attributes=row)
        for begin in range(0, 40, 13):
            pieces.learn(attributes=rows[begin : begin + 13], labels=labels[begin : begin + 13])
            pieces.save(tmp_path / "model")
            pieces = load(tmp_path / "model")
    assert_same_state(whole, single)
    assert_same_state(whole, pieces)


@pytest.mark.parametrize("which", ["neighbours", pytest.param("tables", marks=pytest.mark.slow)])
def test_compiled_votes_are_the_interpreted_ones(which: str) -> None:
    learner, make = LEARNERS[which]
    rows, labels = make()
    fusions = []
    for context in (nullcontext(), interpreted()):
        with context:
            fusions.append(Fusion(learner, classes=range(4)))
            fusions[-1].learn(attributes=rows, labels=labels)
    assert_same_state(*fusions)


def test_sparse_rows_are_the_same_as_dense_ones() -> None:
    rows, labels = numbers()
    with interpreted():
        dense, other = (votes_of(Neighbours(), given, labels) for given in (rows, sparse.csr_array(rows)))
    assert dense == other


@pytest.mark.slow  # the tests above have the same claims on small data
@pytest.mark.parametrize("source", [Neighbours(20), Neighbours(20) + Thresholds(), ValueTables(1)], ids=repr)
def test_a_generated_source_passes_the_common_checks(source: Source) -> None:
    checks.check_learner(Averaged(Perceptron()).on(source))


def test_members_of_a_committee_share_one_memory() -> None:
    fusion = Fusion(Mixture([Perceptron().on(Neighbours()), Winnow(1.2).on(Neighbours())]))
    assert len(fusion.runner.generators.sources) == 1


def test_a_prediction_stores_nothing() -> None:
    rows, labels = people()
    fusion = Fusion(Perceptron().on(ScaledAttributes() + Neighbours() + ValueTables()))
    with interpreted():
        fusion.learn(attributes=rows[:30], labels=labels[:30])
        before = fusion.state()
        fusion.predict(attributes=rows[30:])
        fusion.predict(attributes=[{"unknown": "value", "job": "cook", "town": "Rome"}])
    after = fusion.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_memory_is_limited() -> None:
    fusion = Fusion(Perceptron().on(Neighbours(10) + ValueTables(limit=8)))
    rows, labels = people(20)
    with interpreted():
        for _ in range(12):
            fusion.learn(attributes=rows, labels=labels)
    neighbours, tables = fusion.runner.generators.generators
    assert len(neighbours.items.labels) < 60
    assert len(tables.cells.seen) <= 40
    assert len(fusion.state()["generate.0.labels"]) == 10
    assert len(fusion.state()["generate.1.seen"]) == 8


def test_weights_are_named_and_explained() -> None:
    meetings, rooms = calendar(30).task("location")
    fusion = Fusion(Perceptron(start="equal").on(Attributes() + Neighbours() + ValueTables(1)))
    with interpreted():
        fusion.learn(attributes=meetings, labels=rooms)
        explanation = fusion.explain_one(None, attributes=dict(enumerate(meetings[0].tolist())))
    assert fusion.weights["(neighbours)", "distance"] != 0.0
    assert ("(tables of 1)", 0) in fusion.weights
    assert {row.source for row in fusion.weight_table()} == {"Attributes", "Neighbours", "ValueTables"}
    assert {"(neighbours)", "(tables of 1)"} < set(explanation.contributions)
    for label, score in explanation.scores.items():
        total = sum(added.get(label, 0.0) for added in explanation.contributions.values())
        assert total == pytest.approx(score)


@pytest.mark.parametrize(
    "source", [Neighbours(), Neighbours(50, unit=True), ValueTables(3, memory=2, tables=9, limit=7)], ids=repr
)
def test_a_source_is_read_from_its_text(source: Source) -> None:
    assert parse(repr(Perceptron().on(source))) == Perceptron().on(source)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Neighbours(0), "1 <= memory <= 1000000 (got 0)"),
        (lambda: Neighbours(unit=1), "unit True or False (got 1)"),  # type: ignore[arg-type]
        (lambda: ValueTables(5), "1 <= order <= 4 (got 5)"),
        (lambda: ValueTables(limit=0), "1 <= limit <= 10000000 (got 0)"),
    ],
)
def test_a_wrong_option_is_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match="requires") as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("generate.0.labels", 9),
        ("generate.0.index", 99),
        ("generate.0.starts", 5),
        ("generate.1.members", 99),
        ("generate.1.labels", -1),
        ("generate.1.seen", 0),
        ("kept.generated.0.expert", 4),
        ("kept.generated.1.label", 3),
    ],
)
def test_a_damaged_memory_is_refused(name: str, value: int) -> None:
    learner = Recycled(Perceptron(), size=5).on(Neighbours() + ValueTables())
    fusion, other = Fusion(learner, classes=range(3)), Fusion(learner, classes=range(3))
    rows, labels = people(20)
    with interpreted():
        for one in (fusion, other):
            one.learn(attributes=rows, labels=labels)
    state = fusion.state()
    state[name] = state[name].copy()
    state[name].reshape(-1)[0] = value
    from linmax.fusion.state_check import check_state

    with pytest.raises(ValueError, match=name.rpartition(".")[2] if "starts" not in name else "starts"):
        check_state(other.runner, state)
