"""Attributes of any size: numbers too large or too small, and sparse matrices that point outside."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from linmax.inputs import read
from linmax.inputs.numbers import to_float
from tests.oracles.inputs import fresh, rows_of, spelled_out

HUGE = {"1e+300": 1e300, "-2e+60": -2e60, "1e+400": 10**400, "-1e+5000": -(10**5000)}


@pytest.mark.parametrize("digits", HUGE)
def test_numbers_have_a_largest_size(digits):
    huge = HUGE[digits]

    def refused(attributes, shown):
        message = re.escape(f"attributes have {shown} in row 1, column 'b'; scale attributes to at most 1e60")
        with pytest.raises(ValueError, match=f"^{message}$"):
            rows_of(attributes, fresh(attributes=["a", "b"]))

    as_float = to_float(huge)  # an integer beyond all floats is the largest of them
    refused([{}, {"b": huge}], digits)
    refused([[0, 0], [0, huge]], as_float)
    refused(pd.DataFrame({"a": [0, 0], "b": pd.Series([0, huge], dtype=object)}), as_float)
    array = np.array([[0, 0], [0, as_float]])
    for attributes in (array, pl.DataFrame(array, schema=["a", "b"]), scipy.sparse.csc_array(array)):
        refused(attributes, as_float)


def test_tiny_numbers_are_0():
    array = np.array([[1e-300, 1e-60], [-1e60, -1e-61]])
    kept = array.copy()
    expected = [{1: 1e-60}, {0: -1e60}]
    for attributes in (array, array.tolist(), scipy.sparse.csr_array(array)):
        assert spelled_out(rows_of(attributes)) == expected
    assert spelled_out(rows_of([dict(enumerate(row)) for row in array.tolist()])) == expected
    assert (array == kept).all()


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_sparse_matrices_have_a_largest_width(form):
    matrix = scipy.sparse.coo_array((np.ones(2), ([0, 1], [0, 2**33 - 1])), shape=(2, 2**33)).asformat(form)
    with pytest.raises(
        ValueError, match=r"^attributes have 8,589,934,592 columns, more than 33,554,432; hash"
    ):
        rows_of(matrix)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_sparse_matrices_do_not_point_outside_of_themselves(form):
    name = "row" if form == "csc" else "column"
    for index in (-1, 3, 10**6):
        matrix = getattr(scipy.sparse, f"{form}_array")(np.eye(3))
        (matrix.coords[1] if form == "coo" else matrix.indices)[1] = index
        message = f"attributes are a sparse matrix of 3 {name}s with {name} {index}; indices start at 0"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            rows_of(matrix)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("indptr", [[0, 2, 1, 3], [0, 1, 2, 10**6], [1, 1, 2, 3], [0, 1, 3], [0, -1, 2, 3]])
def test_rows_of_sparse_matrices_follow_each_other(form, indptr):
    matrix = getattr(scipy.sparse, f"{form}_array")(np.eye(3))
    matrix.indptr = np.array(indptr, np.int32)
    message = (
        "attributes are a sparse matrix whose indptr does not ascend from 0 to its 3 values in 3 steps;"
        " build it again from (value, (row, column))"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        rows_of(matrix)


def test_what_is_beyond_the_end_of_a_sparse_matrix_does_not_count():
    matrix = scipy.sparse.csr_array(np.eye(3))
    matrix.indptr = np.array([0, 1, 1, 2], np.int32)
    matrix.indices[2], matrix.data[2] = 77, np.nan
    assert spelled_out(rows_of(matrix)) == [{0: 1}, {}, {1: 1}]
    message = r"^attributes must be numbers \(got a sparse matrix of complex128\); cast it$"
    with pytest.raises(ValueError, match=message):
        rows_of(scipy.sparse.csr_array(np.eye(2) * 1j))


def test_a_record_batch_is_a_table():
    batch = pa.record_batch({"size": [1.0, 2.0], "color": ["red", None]})
    expected = [{"size": 1, ("color", "red"): 1}, {"size": 2}]
    assert spelled_out(rows_of(batch)) == spelled_out(rows_of(pa.table(batch))) == expected
    assert read(pa.record_batch({"ann": [1, 2]}), None, None, fresh()).new_experts == ["ann"]
    twice = pa.record_batch([[1], [2]], names=["ann", "ann"])
    with pytest.raises(ValueError, match=r"^votes have two columns 'ann'; rename one$"):
        read(twice, None, None, fresh())


def test_pandas_sparse_columns_are_numbers():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 2])})
    assert spelled_out(rows_of(frame)) == [{}, {"a": 2}]
