"""Tables of a few rows are run row by row, with the results of a table."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

from linmax import (
    Averaged,
    BalancedWinnow,
    Fusion,
    Mixture,
    NaiveBayes,
    PassiveAggressive,
    Perceptron,
    Recycled,
    WeightedMajority,
    Winnow,
    WinnowSearch,
)
from linmax.experts import PerClass, Thresholds, Votes
from linmax.fusion.model_file import fingerprint
from linmax.runtime import single_item
from linmax.runtime.single_item import SingleItem
from tests.slow.thread_stress import stress

FEW = 100  # rows
CHANCE = np.random.default_rng(11)
LABELS = CHANCE.integers(3, size=400)
VOTES = np.where(CHANCE.random((400, 6)) < 0.5, LABELS[:, None], CHANCE.integers(-1, 3, (400, 6)))
TRUTH = np.where(CHANCE.random(400) < 0.9, LABELS, np.nan)  # some rows are only predicted
SIZES = (1, 2, FEW, 7, FEW + 1, 50, 139)
WIDE = Votes() + PerClass() + Thresholds()
ROW_BY_ROW = [
    Perceptron(), Averaged(Winnow(1.2)), BalancedWinnow(1.5), PassiveAggressive(0.5, slack=0.2), NaiveBayes(),
    Mixture([Perceptron(), NaiveBayes()]), Perceptron().on(WIDE), None,
]  # fmt: skip
AS_TABLES = [Recycled(Winnow(1.2), size=20), WeightedMajority(), WinnowSearch()]


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run few rows as users do."""
    monkeypatch.setattr(single_item, "FEW_ROWS", FEW)


def follow(fusion: Fusion, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """Learn the table in pieces; return all that can be seen of it."""
    guesses, mistakes, begin = [], 0, 0
    for size in sizes:
        rows = slice(begin, begin + size)
        run = fusion.learn(VOTES[rows], TRUTH[rows])
        guesses += run.guesses.tolist()
        mistakes += run.mistakes
        begin += size
    few = [fusion.predict(VOTES[row : row + 9]).tolist() for row in range(0, 90, 9)]
    return guesses, mistakes, fusion.trials, fusion.mistakes, few, fingerprint(fusion)


@pytest.mark.parametrize("learner", ROW_BY_ROW + AS_TABLES, ids=repr)
def test_few_rows_are_learned_as_in_a_table(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    own = SingleItem.run_rows

    def run_rows(self: SingleItem, batch: Any) -> Any:
        found = own(self, batch)
        rows.extend([] if found is None else [len(found)])
        return found

    monkeypatch.setattr(SingleItem, "run_rows", run_rows)
    found = follow(Fusion(learner, classes=range(3), experts=range(6)), SIZES)
    monkeypatch.setattr(SingleItem, "run_rows", lambda self, batch: None)
    table = follow(Fusion(learner, classes=range(3), experts=range(6)), (sum(SIZES),))
    assert found == table
    taken = [size for size in SIZES if size <= FEW] + [9] * 10
    assert rows == ([] if learner in AS_TABLES else taken)


def test_costs_decide_about_few_rows_as_in_a_table() -> None:
    costs = [[0, 1, 9], [1, 0, 1], [1, 3, 0]]
    found = [
        follow(Fusion(Winnow(1.2), classes=range(3), experts=range(6), mistake_costs=costs), sizes)
        for sizes in (SIZES, (sum(SIZES),))
    ]
    assert found[0] == found[1]


def test_what_is_new_takes_the_way_of_tables() -> None:
    fusion = Fusion(Perceptron())
    fusion.learn([["a", "b"], ["b", "a"]], ["a", "b"])
    fusion.learn([{"ann": "c", 0: "a"}], ["d"])
    assert (fusion.classes, fusion.experts) == (["a", "b", "c", "d"], [0, 1, "ann"])


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_comes_after_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    fusion = Fusion(Perceptron(), classes=range(3), experts=range(6))
    fusion.learn(VOTES[:5], LABELS[:5])
    own = SingleItem.run_rows

    def interrupted(self: SingleItem, batch: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return own(self, batch)

    monkeypatch.setattr(SingleItem, "run_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fusion.learn(VOTES[5:25], LABELS[5:25])
    assert fusion.trials == 25


@pytest.mark.parametrize("learner", ["Averaged(Winnow(1.2))", "recommended()"])
def test_threads_that_learn_few_rows_leave_the_state_of_one_thread(learner: str) -> None:
    found = stress(learner, most=30, threads=4)
    assert not found.errors
    assert found.same_state
