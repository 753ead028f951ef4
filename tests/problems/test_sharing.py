"""The three sets of 2006 are what the paper describes, and the same again at the same seed."""

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax.problems import AttributeData, _common, disjoint, penguin, shared
from tests.oracles import problems as slow

SETS = (shared, disjoint, penguin)
SEEDS = st.integers(0, 2**32)
Make = Callable[..., AttributeData]


def same(one: AttributeData, other: AttributeData) -> bool:
    return np.array_equal(one.attributes, other.attributes) and np.array_equal(one.labels, other.labels)


def credible(count: float, trials: int, p: float) -> bool:
    """Within five standard deviations of a binomial: a fair generator fails in about 6 of 10^7 checks."""
    return abs(count - trials * p) <= 5 * math.sqrt(trials * p * (1 - p))


def numbers(attributes: np.ndarray) -> np.ndarray:
    """The sixteen blocks of four, as binary numbers."""
    return (attributes.reshape(-1, 16, 4) == 1) @ np.array([8, 4, 2, 1])


@given(trials=st.integers(0, 30), seed=SEEDS)
def test_each_label_follows_from_its_row(trials: int, seed: int) -> None:
    for x, y in zip(*shared(trials, seed=seed), strict=True):
        assert slow.shared_label(x) == y
    for x, y in zip(*disjoint(trials, seed=seed), strict=True):
        assert slow.disjoint_labels(x) == [y]  # and no other class satisfies it
    for x, y in zip(*penguin(trials, seed=seed), strict=True):
        assert slow.penguin_label(x) == y


@pytest.mark.parametrize("make", SETS)
def test_a_table_is_of_8000_rows_of_64_signs_and_16_classes(make: Make) -> None:
    table = make()
    attributes, labels = table
    assert (table.attributes is attributes, table.labels is labels) == (True, True)
    assert (attributes.shape, labels.shape) == ((8000, 64), (8000,))
    assert (attributes.dtype, labels.dtype) == (np.float64, np.int64)
    assert set(np.unique(attributes)) == {-1.0, 1.0}
    for r in range(16):
        assert credible((labels == r).sum(), 8000, 1 / 16)


def test_where_nothing_else_is_said_every_block_is_uniform() -> None:
    attributes, labels = shared(20_000)
    drawn = numbers(attributes)
    for block, number in itertools.product(range(16), range(16)):
        assert credible((drawn[:, block] == number).sum(), 20_000, 1 / 16)
    birds = numbers(penguin(20_000).attributes)
    for block, number in itertools.product(range(1, 15), range(16)):
        assert credible((birds[:, block] == number).sum(), 20_000, 1 / 16)
    assert credible((labels[1:] == labels[:-1]).sum(), 19_999, 1 / 16)


def test_a_disjoint_block_is_uniform_over_what_redrawing_leaves() -> None:
    attributes, labels = disjoint(20_000)
    blocks = numbers(attributes)
    for block in range(16):
        others = blocks[labels != block, block]
        for number in range(15):
            assert credible((others == number).sum(), len(others), 1 / 15)


def test_a_penguin_says_nothing_where_the_others_differ_and_the_others_anything_but_penguin() -> None:
    attributes, labels = penguin(40_000)
    blocks, last = numbers(attributes), labels == 15
    for number in range(16):
        assert credible((blocks[last, 0] == number).sum(), int(last.sum()), 1 / 16)
    for number in range(15):
        assert credible((blocks[~last, 15] == number).sum(), int((~last).sum()), 1 / 15)


@pytest.mark.parametrize("make", SETS)
class TestSeeds:
    def test_one_seed_gives_one_table_and_another_another(self, make: Make) -> None:
        assert same(make(200, seed=3), make(200, seed=3))
        assert not np.array_equal(make(200, seed=3).attributes, make(200, seed=4).attributes)

    def test_a_shorter_stream_is_the_beginning_of_a_longer_one(self, make: Make) -> None:
        longer = make(200, seed=5)
        for cut in (0, 1, 7, 100):
            assert same(make(cut, seed=5), AttributeData(longer.attributes[:cut], longer.labels[:cut]))

    def test_the_size_of_a_block_changes_nothing(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = make(200, seed=6)
        for cells in (1, 333, 5000):
            monkeypatch.setattr(_common, "BLOCK_CELLS", cells)
            assert same(make(200, seed=6), whole)

    def test_the_state_of_numpy_is_neither_read_nor_moved(self, make: Make) -> None:
        np.random.seed(1)
        first, after = make(50, seed=7), np.random.random()
        np.random.seed(1)
        assert np.random.random() == after
        assert same(make(50, seed=7), first)


@pytest.mark.parametrize("make", SETS)
@pytest.mark.parametrize(
    ("options", "requirement"),
    [
        ({"trials": -1}, "an integer trials >= 0 (got -1)"),
        ({"trials": 1e3}, "an integer trials >= 0 (got 1000.0)"),
        ({"seed": -7}, "an integer seed >= 0 (got -7)"),
        ({"seed": None}, "an integer seed >= 0 (got None)"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(
    make: Make, options: dict[str, Any], requirement: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{make.__name__} requires {requirement}')}$"):
        make(**options)
