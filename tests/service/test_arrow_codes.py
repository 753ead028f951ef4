"""Columns of Arrow as codes: they are those of a slow loop over the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linmax.service.http import arrow_codes
from linmax.service.http.arrow_codes import (
    ABSENT,
    FEW,
    INVALID,
    LARGEST_FLOAT,
    SHORT,
    ColumnCodes,
    split_short,
)

TEXTS = st.lists(
    st.none() | st.sampled_from(["a", "b", "", "ü", "spam", "spam\0", "12345678", "123456789", "🍎🍎"]),
    min_size=1,
    max_size=60,
)


def loop(columns: list[list[Any]]) -> tuple[list[list[int]], dict[tuple[type, Any], int]]:
    """Give each different value a code; null and NaN abstain, fractions and huge floats are no classes."""
    codes: dict[tuple[type, Any], int] = {}
    found = []
    for column in columns:
        row = []
        for value in column:
            if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_FLOAT:
                value = int(value)
            if value is None or value != value:
                row.append(ABSENT)
            elif isinstance(value, float):
                row.append(INVALID)
            else:
                row.append(codes.setdefault((type(value), value), len(codes)))
        found.append(row)
    return found, codes


def check(columns: list[Any], rows: int) -> None:
    classes = ColumnCodes(pa)
    codes = classes.encode_all(columns, rows)
    expected, by_value = loop([column.to_pylist() for column in columns])
    names = {code: key for key, code in by_value.items()}
    assert set(by_value) == {(type(value), value) for value in classes.values}
    for row, wanted in zip(codes.tolist(), expected, strict=True):
        for code, other in zip(row, wanted, strict=True):
            assert (code < 0 and code == other) or names[other][1] == classes.values[code]


@given(texts=TEXTS, large=st.booleans(), start=st.integers(0, 5))
@example(texts=["", ""], large=False, start=0)
@example(texts=[None], large=True, start=0)
def test_short_texts_are_those_of_a_loop(texts: list[Any], large: bool, start: int) -> None:
    texts = texts + texts[:1] * start
    array = pa.array(texts, pa.large_string() if large else pa.string()).slice(start)
    given_texts = array.to_pylist()
    different = {text for text in given_texts if text is not None}
    hard = any(len(text.encode()) > SHORT or "\0" in text for text in different)
    found = split_short(array)
    if hard or len(different) > FEW:
        assert found is None
        return
    assert found is not None
    places, values = found
    assert [None if place < 0 else values[place] for place in places.tolist()] == given_texts
    assert set(values) == different


def test_many_different_texts_are_left_to_arrow() -> None:
    assert split_short(pa.array(list("abcdefgh"))) is not None
    assert split_short(pa.array(list("abcdefghi"))) is None


COLUMNS = {
    "text": [["a", "b", None, "a"], ["b", "", "c", "c"]],
    "large text": [["spam", "ham", None, "ham"], ["eggs", "spam", "spam", None]],
    "numbers": [[1, 2, None, 1], [2, 3, 3, 3]],
    "floats": [[1.0, 0.5, None, float("nan")], [2.0, 1.0, 2.0**60, 1.0]],
    "truth": [[True, None, False, True], [False, False, True, True]],
}


@pytest.mark.parametrize("many", [1, 100], ids=["all by Arrow", "short texts"])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("kinds", [[kind] for kind in COLUMNS] + [list(COLUMNS)], ids="+".join)
def test_columns_are_those_of_a_loop(
    kinds: list[str], dictionary: bool, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_codes, "MANY", 100)
    columns = []
    for kind in kinds:
        for values in COLUMNS[kind]:
            array = pa.array(values * many, pa.large_string() if kind == "large text" else None)
            array = array.dictionary_encode() if dictionary else array
            columns.append(pa.chunked_array([array.slice(0, 3), array.slice(3)]))
    check(columns, 4 * many)


def test_dictionaries_that_together_are_too_large_for_their_type() -> None:
    """As of categoricals of pandas, which have codes of one byte as long as these are enough."""
    small = [
        pa.DictionaryArray.from_arrays(
            pa.array([*range(100), None], pa.int8()), [f"{name} {i}" for i in range(100)]
        )
        for name in "ab"
    ]
    check([pa.chunked_array([one]) for one in small], 101)
    check([pa.chunked_array(small), pa.chunked_array(small[::-1])], 202)
    check([pa.chunked_array(small)], 202)


@pytest.mark.parametrize("kind", [pa.null(), pa.float16(), pa.string()], ids=str)
@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_dictionaries_without_rows(kind: Any, chunks: int) -> None:
    empty = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([], kind))
    column = pa.chunked_array([empty] * chunks, empty.type)
    for columns in ([column], [column, column]):
        assert ColumnCodes(pa).encode_all(columns, 0).shape == (len(columns), 0)
    assert ColumnCodes(pa).encode(column).shape == (0,)


def test_no_rows_and_no_columns() -> None:
    assert ColumnCodes(pa).encode_all([], 5).shape == (0, 5)
    empty = pa.chunked_array([], pa.string())
    assert ColumnCodes(pa).encode_all([empty, empty], 0).shape == (2, 0)
    nulls = pa.chunked_array([pa.nulls(3)])
    assert np.array_equal(ColumnCodes(pa).encode_all([nulls, nulls], 3), np.full((2, 3), ABSENT))
