"""Attributes become numbers or names, whatever they come in."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from linmax.inputs import Nominal, Rows, SparseRows, read
from tests.helpers.examples import examples
from tests.oracles.inputs import commit, fresh, rows_of, spelled_out, well_made

COLORS = ["red", "blue", None]


def nominal_of(attributes, met=None):
    batch = read(None, None, attributes, fresh() if met is None else met, needs={"nominal"})
    well_made(batch)
    return batch


def test_numbers_are_rows():
    for attributes in (
        np.array([[1, 0], [2, 3]]),
        [[1.0, False], [2, 3]],
        np.array([[1, 0], [2, 3]], object),
    ):
        batch = rows_of(attributes)
        assert isinstance(batch.rows, Rows)
        assert batch.rows.values.tolist() == [[1, 0], [2, 3]]
        assert batch.new_attributes == [0, 1]
    assert rows_of(np.array([[True]])).rows.values.tolist() == [[1.0]]
    floats = np.ones((2, 3))
    assert rows_of(floats).rows.values is floats


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_are_arranged_by_name(kind):
    batch = rows_of(kind({"new": [7.5, 8], "b": [1, 2]}), fresh(attributes=["a", "b"]))
    assert batch.rows.values.tolist() == [[0, 1, 7.5], [0, 2, 8]]
    assert batch.new_attributes == ["new"]


def test_an_unnamed_array_has_the_known_attributes():
    batch = rows_of(np.array([[1, 2]]), fresh(attributes=["a", "b"]))
    assert batch.rows.values.tolist() == [[1, 2]]
    assert batch.new_attributes == []


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("make", ["array", "matrix"])
def test_sparse_matrices_stay_sparse(kind, make):
    dense = np.array([[0, 2.5, 0], [0, 0, 0], [1, 0, -3]])
    matrix = getattr(scipy.sparse, f"{kind}_{make}")(dense)
    batch = rows_of(matrix)
    assert isinstance(batch.rows, SparseRows)
    assert batch.rows.indptr.tolist() == [0, 1, 1, 3]
    assert batch.rows.index.tolist() == [1, 0, 2]
    assert batch.rows.value.tolist() == [2.5, 1, -3]
    assert batch.new_attributes == [0, 1, 2]


def test_sparse_matrices_with_duplicates_are_summed_in_a_copy():
    data, index, indptr = [1.0, 2.0, 0.0, 3.0, -3.0], [2, 0, 1, 1, 1], [0, 3, 5]
    matrix = scipy.sparse.csr_array((data, index, indptr), shape=(2, 3))
    batch = rows_of(matrix)
    assert spelled_out(batch) == [{0: 2.0, 2: 1.0}, {}]
    assert matrix.data.tolist() == data
    assert matrix.indices.tolist() == index


CELLS = {"size": st.sampled_from([0.0, 1.0, -2.5]), "color": st.sampled_from(COLORS), "big": st.booleans()}


@examples(10)
@given(st.lists(st.fixed_dictionaries(CELLS), max_size=6), st.integers(0, 6))
def test_a_nominal_cell_is_an_attribute_of_its_own(items, cut):
    want = [
        {
            name if not isinstance(x, str) else (name, x): 1.0 if isinstance(x, str) else float(x)
            for name, x in item.items()
            if x
        }
        for item in items
    ]
    columns = {name: [item[name] for item in items] for name in CELLS}
    frames = [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), items]
    if items:
        frames.append(pd.DataFrame(columns).astype({"color": "category"}))
    for frame in frames:
        assert spelled_out(rows_of(frame)) == want
        met, pieces = fresh(), []
        for piece in (frame[:cut], frame[cut:]):
            part = rows_of(piece, met)
            pieces += spelled_out(part, met)
            commit(met, part)
        assert pieces == want
        assert met.attributes.names == rows_of(frame).new_attributes


def test_new_attributes_are_numbered_row_by_row():
    frame = pl.DataFrame({"c": ["x", "y"], "n": [1, 0], "d": ["u", "u"]})
    batch = rows_of(frame)
    assert batch.new_attributes == ["n", ("c", "x"), ("d", "u"), ("c", "y")]
    assert spelled_out(batch) == [{"n": 1, ("c", "x"): 1, ("d", "u"): 1}, {("d", "u"): 1, ("c", "y"): 1}]


def test_nested_lists_may_mix_numbers_and_names():
    batch = rows_of([[1.5, "red"], [0, None], [2, "blue"]])
    assert spelled_out(batch) == [{0: 1.5, (1, "red"): 1}, {}, {0: 2, (1, "blue"): 1}]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_numbers_are_finite(odd):
    message = f"^attributes have {odd} in row 1, column 'b'; fill it in or drop the row$"
    columns = {"a": [1.0, 2.0], "b": [3.0, odd]}
    tables = [pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]
    tables += [[{"a": 1.0, "b": 3.0}, {"a": 2.0, "b": odd}], np.array([[1.0, 3.0], [2.0, odd]])]
    tables += [scipy.sparse.csr_array(np.array([[1.0, 3.0], [2.0, odd]]))]
    for attributes in tables:
        with pytest.raises(ValueError, match=message):
            rows_of(attributes, fresh(attributes=["a", "b"]))


def test_missing_numbers_are_refused_too():
    message = r"^attributes have nan in row 1, column 'a'; fill it in or drop the row$"
    frames = [pl.DataFrame({"a": [1, None]}), pd.DataFrame({"a": pd.array([1, None], "Int64")})]
    frames += [pd.DataFrame({"a": pd.array([True, None], "boolean")}), pa.table({"a": [1, None]})]
    for frame in frames:
        with pytest.raises(ValueError, match=message):
            rows_of(frame)


def test_attributes_are_numbers_or_names():
    message = r"^attributes must be numbers or text \(got \[1\]\)$"
    with pytest.raises(ValueError, match=message):
        rows_of([{"a": [1]}])
    array = np.empty((1, 1), object)
    array[0, 0] = [1]
    with pytest.raises(ValueError, match=message):
        rows_of(array)
    with pytest.raises(
        ValueError, match=r"^attributes must have one row per item and one column per attribute"
    ):
        rows_of(np.ones(3))


CELL = st.none() | st.sampled_from(["red", "blue", ""]) | st.integers(-3, 3)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=6), st.integers(0, 6))
def test_nominal_attributes_have_a_code_per_column_and_value(rows, cut):
    ids, want = {}, []
    for row in rows:
        pairs = [None if x is None else (name, x) for name, x in zip("abc", row, strict=True)]
        want.append([-1 if pair is None else ids.setdefault(pair, len(ids)) for pair in pairs])
    dicts = [dict(zip("abc", row, strict=True)) for row in rows]
    for attributes in (pd.DataFrame(dicts, columns=list("abc"), dtype=object), dicts):
        batch = nominal_of(attributes)
        assert isinstance(batch.nominal, Nominal)
        assert batch.nominal.codes.tolist() == want
        assert batch.new_values == list(ids)
        met = fresh()
        pieces = []
        for piece in (attributes[:cut], attributes[cut:]):
            part = nominal_of(piece, met)
            commit(met, part)
            pieces += part.nominal.codes.tolist()
        assert pieces == want


def test_nominal_attributes_may_be_numbers_of_any_type():
    for array in (
        np.array([[3, 4], [4, 4]]),
        np.array([[3.0, 4.0], [4.0, 4.0]]),
        np.array([[3, 4], [4, 4]], object),
    ):
        batch = nominal_of(array)
        assert batch.nominal.codes.tolist() == [[0, 1], [2, 1]]
        assert batch.new_values == [(0, 3), (1, 4), (0, 4)]
    batch = nominal_of(pl.DataFrame({"a": [True, None], "b": [None, 2]}))
    assert batch.nominal.codes.tolist() == [[0, -1], [-1, 1]]
    assert batch.new_values == [("a", True), ("b", 2)]
    assert nominal_of(np.array([["x", "y"]])).new_values == [(0, "x"), (1, "y")]


def test_nominal_attributes_are_names():
    with pytest.raises(ValueError, match=r"^nominal attributes must be whole numbers, .* \(got 0.5\)$"):
        nominal_of(np.array([[0.5]]))
    with pytest.raises(ValueError, match=r"^nominal attributes cannot be a sparse matrix"):
        nominal_of(scipy.sparse.csr_array(np.eye(2)))


def test_one_table_may_be_read_both_ways_beside_votes():
    batch = read([["a"], ["b"]], ["a", "b"], [[1, 2], [1, 3]], fresh(), needs={"votes", "rows", "nominal"})
    assert batch.votes.codes.tolist() == [[0], [1]]
    assert batch.rows.values.tolist() == [[1, 2], [1, 3]]
    assert batch.nominal.codes.tolist() == [[0, 1], [0, 2]]


def test_what_is_not_needed_is_not_read():
    batch = read([["a"]], ["b"], [[0.5]], fresh(), needs={"rows"})
    assert batch.votes is batch.nominal is None
    assert batch.new_experts == batch.new_values == []
    assert batch.new_classes == ["b"]
    assert batch.known.tolist() == [0]


def test_labels_alone_are_novel_at_first():
    batch = rows_of(np.ones((4, 1)), labels=["a", "a", None, "b"])
    assert batch.labels.tolist() == [0, 0, -1, 1]
    assert batch.known.tolist() == [0, 1, 1, 1]


def test_attributes_are_left_as_they_were():
    frame = pd.DataFrame({"n": [1.0, 2.0], "c": ["x", None]})
    dicts = [{"n": 1, "c": "x"}]
    array = np.array([[1, 2]])
    before = copy.deepcopy((frame, dicts, array))
    met = fresh()
    for attributes in (frame, dicts, array):
        read(None, None, attributes, met, needs={"rows", "nominal"})
    pd.testing.assert_frame_equal(frame, before[0])
    assert dicts == before[1]
    assert array.tolist() == before[2].tolist()
    assert len(met.attributes) == len(met.values) == 0


def test_empty_tables_are_fine():
    for attributes in ([], np.empty((0, 2)), pd.DataFrame({"a": []}), scipy.sparse.csr_array((0, 2))):
        assert rows_of(attributes).trials == 0
    for attributes in (np.empty((3, 0)), [{}, {}, {}], scipy.sparse.csr_array((3, 0)), [[], [], []]):
        batch = rows_of(attributes, fresh(attributes=["a"]))
        assert spelled_out(batch, fresh(attributes=["a"])) == [{}, {}, {}]
    assert nominal_of([[], []]).nominal.codes.shape == (2, 0)
    assert nominal_of([{}, {"a": 1}]).nominal.codes.tolist() == [[-1], [0]]
