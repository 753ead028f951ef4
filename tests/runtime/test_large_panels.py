"""Panels with so many experts and classes that most cells of a table stay empty."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Logistic, NaiveBayes, load
from linmax._jit import compilation
from linmax.experts import PerClass, Thresholds, Votes
from linmax.fusion.state_check import check_state
from linmax.kernels.forms.class_votes import smallest_share
from linmax.runtime import tables as block_table

ADAPTING = Logistic(0.3, decay="adagrad", start="equal").on(Votes() + PerClass() + Thresholds())
CLASSES = [f"c{i}" for i in range(20)]


def panel(trials: int, experts: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return votes and labels of experts that err, each with its own confusions."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=trials)
    confusions = np.array([rng.permutation(classes) for _ in range(experts)])
    dice = rng.random((trials, experts))
    errors = np.where(
        dice < 0.7, confusions[np.arange(experts), labels[:, None]], rng.integers(classes, size=dice.shape)
    )
    return np.where(dice < 0.4, labels[:, None], errors).astype(np.int32), labels


def rows(trials: int = 24, seed: int = 0) -> tuple[list[dict[Any, Any]], list[str]]:
    votes, labels = panel(trials, 5, len(CLASSES), seed)
    items = [{f"e{i}": CLASSES[a] for i, a in enumerate(row) if (t + i) % 7} for t, row in enumerate(votes)]
    for item in items[1::5]:
        item["e1"] = {CLASSES[3]: 0.5, CLASSES[17]: 0.25}  # scores instead of a label
    return items, [CLASSES[y] for y in labels]


def arrays(fusion: Fusion, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Return the state as arrays, however it is stored."""
    monkeypatch.setattr(block_table, "DENSE", 1 << 24)
    return {name: array.tolist() for name, array in fusion.state().items()}


def learn(fusion: Fusion, how: str, items: list[Any], labels: list[str]) -> list[Any]:
    if how == "at once":
        return list(fusion.learn(items, labels).guesses)
    if how == "in chunks":
        cuts = range(0, len(items), 7)
        return [
            guess for at in cuts for guess in fusion.learn(items[at : at + 7], labels[at : at + 7]).guesses
        ]
    guesses = []
    for item, label in zip(items, labels, strict=True):
        fusion.predict_one(item)
        guesses.append(fusion.learn_one(item, label))
    return guesses


@pytest.mark.parametrize("learner", [ADAPTING, NaiveBayes(), None], ids=["adagrad", "tables", "default"])
@pytest.mark.parametrize("how", ["at once", "in chunks", "one by one"])
def test_blocks_learn_what_arrays_learn(learner: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    items, labels = rows()
    found = []
    with compilation.interpreted():
        for limit in (1 << 24, 500, 0):  # arrays; blocks after some growth; blocks
            monkeypatch.setattr(block_table, "DENSE", limit)
            fusion = Fusion(learner)
            guesses = learn(fusion, how, items, labels)
            assert any(owner.in_blocks for owner in fusion.runner._learners) == (limit < 1 << 24)
            scores = fusion.scores(items[:9]).tolist()
            explained = fusion.explain_one(items[3])
            found.append((guesses, scores, explained.scores, arrays(fusion, monkeypatch)))
    assert found[1] == found[0]
    assert found[2] == found[0]


# blocks of the largest table, and of all tables
@pytest.mark.parametrize(
    ("learner", "dense"),
    [
        (ADAPTING, 3500),
        (ADAPTING, 0),
        pytest.param(NaiveBayes(), 3500, marks=pytest.mark.slow),
        (NaiveBayes(), 0),
    ],
    ids=repr,
)
def test_compiled_blocks_are_interpreted_blocks(
    learner: Any, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_table, "DENSE", dense)
    votes, labels = panel(25, 40, 10)
    votes[::3, 4] = -1
    compiled, interpreted = (Fusion(learner, classes=range(10)) for _ in range(2))
    compiled.learn(votes, labels)
    with compilation.interpreted():
        interpreted.learn(votes, labels)
    assert arrays(compiled, monkeypatch) == arrays(interpreted, monkeypatch)
    assert compiled.runner._learners[0].in_blocks


@pytest.mark.parametrize("learner", [ADAPTING, NaiveBayes(), None], ids=["adagrad", "tables", "default"])
@pytest.mark.parametrize(("saved", "loaded"), [(0, 0), (0, 1 << 24), (1 << 24, 0)])
def test_a_model_is_resumed_however_it_is_stored(
    learner: Any, saved: int, loaded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, labels = rows()
    with compilation.interpreted():
        whole = Fusion(learner)
        learn(whole, "at once", items, labels)
        monkeypatch.setattr(block_table, "DENSE", saved)
        fusion = Fusion(learner)
        learn(fusion, "at once", items[:13], labels[:13])
        fusion.save(tmp_path / "m")
        monkeypatch.setattr(block_table, "DENSE", loaded)
        fusion = load(tmp_path / "m")
        learn(fusion, "at once", items[13:], labels[13:])
        assert arrays(fusion, monkeypatch) == arrays(whole, monkeypatch)


def test_blocks_in_a_file_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_table, "DENSE", 0)
    with compilation.interpreted():
        fusion = Fusion()
        learn(fusion, "at once", *rows(20))
        good = fusion.state()
        for name in [name for name in good if name.endswith("places")]:
            descending, outside = good[name][::-1].copy(), good[name] + 10**6
            for bad, sentence in ((descending, "does not ascend"), (outside, "places")):
                with pytest.raises(ValueError, match=sentence):
                    check_state(fusion.runner, good | {name: bad})


def test_weights_in_blocks_are_those_that_were_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    items, labels = rows(15)
    with compilation.interpreted():
        everything = Fusion(ADAPTING)
        learn(everything, "at once", items, labels)
        monkeypatch.setattr(block_table, "DENSE", 0)
        fusion = Fusion(ADAPTING)
        learn(fusion, "at once", items, labels)
        expected = everything.weights
        assert fusion.weights.items() <= expected.items()
        assert {key for key, weight in expected.items() if weight} <= fusion.weights.keys()
        tables = Fusion(NaiveBayes())
        learn(tables, "at once", items, labels)
        monkeypatch.setattr(block_table, "DENSE", 1 << 24)
        in_arrays = Fusion(NaiveBayes())
        learn(in_arrays, "at once", items, labels)
        found, expected = tables.weights, in_arrays.weights
        assert found.keys() < expected.keys()
        assert found == pytest.approx({key: expected[key] for key in found}, abs=1e-12)


def test_dense_scores_of_0_make_no_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_table, "DENSE", 0)
    scores = np.zeros((1, 4, 40))
    scores[0, :, 7] = 0.5
    with compilation.interpreted():
        fusion = Fusion(ADAPTING, classes=range(40))
        table = fusion.runner.rule_runs[0].table
        before = len(table.numbers())
        fusion.learn(scores, [9])
    assert len(fusion.runner.rule_runs[0].table.numbers()) <= before + 4 * 5


def test_a_trial_changes_few_weights_of_many_classes() -> None:
    assert [smallest_share(k) for k in (2, 100)] == [1e-4, 1e-4]
    assert smallest_share(300) == pytest.approx(9e-4)
    assert [smallest_share(k) for k in (1000, 5000)] == [1e-2, 1e-2]


@pytest.mark.parametrize(
    ("experts", "classes", "megabytes"),
    [
        pytest.param(45, 700, 150, marks=pytest.mark.slow),  # more than 128 classes have kernels of their own
        pytest.param(20, 5000, 400, marks=pytest.mark.slow),
        (45, 128, 60),
        (20_000, 5, 150),
        (1000, 100, 300),
    ],
)
def test_the_default_takes_memory_for_what_it_learns(experts: int, classes: int, megabytes: int) -> None:
    votes, labels = panel(12, experts, classes)
    Fusion(classes=range(classes), experts=range(experts)).learn(votes[:1], labels[:1])  # compiles
    tracemalloc.start()
    try:
        fusion = Fusion(classes=range(classes), experts=range(experts))
        fusion.learn(votes, labels)
        assert fusion.trials == 12
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
    finally:
        tracemalloc.stop()
