"""Sorted labels are recognized by their blocks; streams in which neighbours are alike are not sorted."""

from __future__ import annotations

import csv
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from linmax.inputs.label_order import Block, label_order, runs_test

DATA = Path(__file__).parents[3] / "shared" / "data"


def stored(name: str) -> Any:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is missing")
    return np.load(path, allow_pickle=False)["y"]


def markov(rows: int, classes: int, stay: float, seed: int) -> Any:
    """Labels of which each equals the one before with probability `stay`, and is drawn otherwise."""
    rng = np.random.default_rng(seed)
    drawn, stays = rng.integers(classes, size=rows), rng.random(rows) < stay
    last = np.maximum.accumulate(np.where(stays & (np.arange(rows) > 0), 0, np.arange(rows)))
    return drawn[last]


def displaced(labels: Any, rows: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    found = list(labels)
    for _ in range(rows):
        found.insert(int(rng.integers(len(found))), found.pop(int(rng.integers(len(found)))))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rows", [0, 3, 10, 25])
def test_sorted_labels_with_some_displaced_rows_are_sorted(rows: int, seed: int) -> None:
    for sizes in ((200, 200, 200), (290, 190, 120), (50, 550), (30,) * 20):
        labels = displaced(np.repeat(np.arange(len(sizes)), sizes), rows, seed)
        if rows <= 10 or len(sizes) < 20:
            assert label_order(labels).sorted, (sizes, rows)


def test_two_blocks_of_a_class_and_two_sorted_files_in_one_are_sorted() -> None:
    assert label_order(["a"] * 100 + ["b"] * 50 + ["a"] * 100 + ["c"] * 50).sorted
    assert label_order((["a"] * 100 + ["b"] * 50 + ["c"] * 50) * 2).sorted
    assert label_order(["a"] * 300 + ["b"] * 300).sorted
    rare = np.repeat([0, 1], 300)
    rare[[40, 130, 290, 410, 555]] = 2  # a rare class is everywhere, and the others are sorted
    assert label_order(rare).sorted


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("rows", [100, 600, 5000])
def test_shuffled_labels_are_neither_sorted_nor_dependent(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for shares in ((0.5, 0.5), (0.3, 0.3, 0.4), (0.99, 0.01), (0.9, 0.05, 0.05), (0.05,) * 20):
        order = label_order(rng.choice(len(shares), rows, p=np.array(shares) / sum(shares)))
        assert not order.sorted
        assert not order.dependent


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stay", [0.5, 0.8, 0.9, 0.95])
def test_streams_in_which_neighbours_are_alike_are_dependent_and_not_sorted(stay: float, seed: int) -> None:
    for rows, classes in ((600, 3), (2000, 2), (5000, 3), (20_000, 7)):
        order = label_order(markov(rows, classes, stay, seed))
        assert not order.sorted, (rows, classes)
        assert order.dependent, (rows, classes)
        assert abs(order.last_label_accuracy - (stay + (1 - stay) / classes)) < 0.1


def test_rare_faults_that_come_in_bursts_are_dependent_and_not_sorted() -> None:
    for rows, burst, bursts in ((2000, 10, 10), (100_000, 50, 100), (2000, 5, 20)):
        labels = np.zeros(rows, int)
        for begin in np.linspace(100, rows - 100, bursts).astype(int):
            labels[begin : begin + burst] = 1
        order = label_order(labels)
        assert not order.sorted
        assert order.dependent


@pytest.mark.parametrize(
    "name",
    ["uci_streams/satimage.npz", "covtype/covtype_first20k.npz", "enron/kaminski_v_folders.npz"],
)
def test_real_streams_that_a_runs_test_rejects_are_dependent_and_not_sorted(name: str) -> None:
    order = label_order(stored(name))
    assert not order.sorted
    assert order.dependent
    assert order.p_value < 1e-6


@pytest.mark.parametrize(
    "name", ["uci_streams/texture.npz", "yaleb/yaleb_32x32.npz", "enron/beck_s_correspondents.npz"]
)
def test_real_files_that_are_sorted_by_class_are_sorted(name: str) -> None:
    assert label_order(stored(name)).sorted


@pytest.mark.parametrize(
    "name", ["letter/letter.npz", "uci_streams/penbased.npz", "mmlu_pro_votes/mmlu_pro_votes.npz"]
)
def test_real_files_in_random_order_are_neither(name: str) -> None:
    order = label_order(stored(name))
    assert not order.sorted
    assert not order.dependent


@pytest.mark.parametrize(("name", "is_sorted"), [("sorted", True), ("nearly", True), ("NA", False)])
def test_files_of_the_corpus(name: str, is_sorted: bool) -> None:
    path = DATA / "shapes" / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    with path.open(encoding="utf-8") as file:
        labels = [row["truth"] for row in csv.DictReader(file)]
    assert label_order(labels).sorted == is_sorted


def test_runs_are_those_of_a_loop_and_missing_labels_are_skipped() -> None:
    labels = ["a", None, "a", "", "b", float("nan"), "b", "c", "a"]
    order = label_order(labels)
    present = [one for one in labels if isinstance(one, str) and one]
    blocks = [(name, len(list(run))) for name, run in groupby(present)]
    assert (order.rows, order.classes, order.runs) == (6, 3, len(blocks))
    assert order.largest_blocks[:2] == [Block("a", 0, 2), Block("b", 2, 2)]
    assert order.last_label_accuracy == 2 / 5
    assert label_order(pa.array(["a", None, "b"])).rows == 2
    assert label_order(np.array([1.0, math.nan, 1.0])).rows == 2
    assert label_order([]).rows == 0
    assert not label_order(["a"] * 50).sorted
    assert not label_order(["a"] * 50).dependent
    assert not label_order(["a", "a", "b", "b"]).sorted  # too few to say


def test_the_mean_and_the_probability_of_runs_are_those_of_shuffled_labels() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [30, 50, 20])
    runs = np.array([1 + np.count_nonzero(np.diff(rng.permutation(labels))) for _ in range(20_000)])
    expected, p = runs_test(np.array([30, 50, 20]), 55)
    assert abs(runs.mean() - expected) < 0.1
    assert abs((runs <= 55).mean() - p) < 0.01


def test_a_million_labels_take_less_than_a_second() -> None:
    order = label_order(markov(1_000_000, 50, 0.3, 0))
    assert order.dependent
