"""Tables in blocks: the same numbers as an array, at the memory of what was written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax.experts.base import Capacity
from linmax.kernels.blocks import (
    add_number,
    copy_first,
    eight_at,
    eight_or_first,
    exists,
    number_at,
    set_number,
)
from linmax.runtime import tables
from linmax.runtime.tables import BlockTable, GrowingTable, blocks_of, check_size, renumber, write_blocks
from tests.helpers.examples import examples

SHAPES = [(16,), (8, 24), (8, 16, 16)]
INDICES = sum(int(np.prod(shape)) for shape in SHAPES)


def written(cells: dict[int, float], columns: int = 1) -> BlockTable:
    table = BlockTable(SHAPES, columns, np.float64)
    table.reserve(len(cells), len(cells))
    for i, x in cells.items():
        set_number(table.column(0), i, x)
    return table


cells = st.dictionaries(st.integers(0, INDICES - 1), st.floats(0.5, 9.0), max_size=40)


@given(cells)
@examples(20)
def test_what_was_written_is_read_and_all_else_is_0(cells: dict[int, float]) -> None:
    table, array = written(cells), np.zeros(INDICES)
    array[list(cells)] = list(cells.values())
    assert (table.gather(np.arange(INDICES), 0) == array).all()
    assert [number_at(table.column(0), i) for i in range(INDICES)] == array.tolist()
    for i in range(0, INDICES, 8):
        assert (eight_at(table.column(0), i) == array[i : i + 8]).all()
    assert len(table.numbers()) == len({i // 8 for i in cells})


@given(cells, st.integers(0, 3), st.integers(0, 3))
@examples(20)
def test_growth_moves_no_number_within_its_array(cells: dict[int, float], more: int, classes: int) -> None:
    table, at = written(cells), 0
    shapes = [tuple(n + 8 * (more if axis == 0 else classes) for axis, n in enumerate(s)) for s in SHAPES]
    before = table.gather(np.arange(INDICES), 0)
    table.reshape(shapes)
    after = table.gather(np.arange(sum(int(np.prod(shape)) for shape in shapes)), 0)
    begin = 0
    for old, new in zip(SHAPES, shapes, strict=True):
        here = after[begin : begin + int(np.prod(new))].reshape(new)
        assert (here[tuple(map(slice, old))] == before[at : at + int(np.prod(old))].reshape(old)).all()
        at, begin = at + int(np.prod(old)), begin + int(np.prod(new))
    assert np.count_nonzero(after) == np.count_nonzero(before)


@given(cells)
@examples(20)
def test_equal_contents_have_equal_states(cells: dict[int, float]) -> None:
    table, backwards = written(cells), written(dict(reversed(cells.items())))
    backwards.fill(0)
    for one, other in zip(table.state(SHAPES, (0,)), backwards.state(SHAPES, (0,)), strict=True):
        assert np.array_equal(one, other)
    places, values = table.state(SHAPES, (0,))
    again = BlockTable(SHAPES, 1, np.float64)
    again.restore(places, SHAPES, (0,), values)
    assert (again.gather(np.arange(INDICES), 0) == table.gather(np.arange(INDICES), 0)).all()


@pytest.mark.parametrize("shape", [(3, 20), (2, 3, 8), (5,), (0, 4), (4, 0)])
def test_arrays_become_blocks_and_back(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    array = np.where(rng.random(shape) < 0.2, rng.random(shape), 0.0)
    places, (values,) = blocks_of([array])
    again = np.zeros(shape)
    write_blocks(places, values, again)
    assert (again == array).all()


def test_blocks_outside_of_a_smaller_shape_are_left_out() -> None:
    places, kept = renumber(np.array([0, 2, 5]), [(2, 24)], [(1, 24)])
    assert (places.tolist(), kept.tolist()) == ([0, 2], [0, 1])


def test_space_that_is_reserved_is_kept_until_it_is_used() -> None:
    table = BlockTable([(64, 64)], 1, np.float64)
    assert table.lacks(3, 3)
    assert table.reserve(3, 3)
    column = table.column(0)
    for i in (0, 700, 1400):
        assert not table.lacks(1, 1)
        add_number(column, i, 2.0)
    assert table.column(0).cells is column.cells
    assert table.lacks(1, 1)


def test_no_more_is_reserved_than_there_can_be() -> None:
    table = BlockTable([(8, 8)], 1, np.float64)
    table.fill(0)
    assert not table.reserve(1_000_000, 1_000_000)


def test_a_block_that_does_not_exist_reads_as_the_first() -> None:
    table = written({0: 7.0, 1: 5.0}, columns=2)
    table.reserve(1, 1)
    column = table.column(0)
    assert eight_or_first(column, 800)[:3].tolist() == [7.0, 5.0, 0.0]
    assert not exists(column, 800)
    copy_first(column, 803)
    assert exists(column, 800)
    assert eight_at(column, 800)[:3].tolist() == [7.0, 5.0, 0.0]
    assert eight_at(table.column(1), 800).tolist() == [0.0] * 8


def test_arrays_take_the_same_functions() -> None:
    array = np.zeros(16)
    add_number(array, 3, 2.0)
    copy_first(array, 9)
    assert (number_at(array, 3), exists(array, 9), eight_or_first(array, 8).tolist()) == (
        2.0,
        True,
        [0.0] * 8,
    )


@pytest.mark.parametrize("limit", [1 << 24, 200, 0])
def test_a_table_grows_from_an_array_into_blocks(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "DENSE", limit)
    table = GrowingTable(2, 1)
    table.resize((8, 8))
    if table.blocks is not None:
        table.blocks.reserve(9, 9)
    set_number(table.column(0), 10, 4.0)
    table.resize((16, 24))
    assert (table.blocks is None) == (limit > 384)
    assert table.gather(np.array([26, 27]), 0).tolist() == [4.0, 0.0]
    array = np.zeros((5, 5))
    array[1, 2] = 4.0
    state = table.state("x", (5, 5), 0)
    again = GrowingTable(2, 1)
    again.resize((8, 8))
    again.restore(state, "x", (5, 5), 0)
    assert again.gather(np.arange(64), 0).reshape(8, 8)[:5, :5].tolist() == array.tolist()


def test_sizes_are_checked_by_what_is_stored() -> None:
    check_size(20 * 5000**2, Capacity(20, 5000, 0, 0), in_blocks=True)
    for in_blocks, classes in ((False, 5000), (True, 20_000)):
        with pytest.raises(ValueError, match="is an id column taken for a label"):
            check_size(20 * classes**2, Capacity(20, classes, 0, 0), in_blocks)
