"""Profiles of columns: types, missing cells, counts."""

from dataclasses import replace

import pyarrow as pa
import pytest

from linmax.panels.roles.profile import MAX_VALUES, MISSING, profile_column, strip_missing


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        (["bug", "billing"], "text"),
        (["1", "2", "+3", "-4"], "integer"),
        (["1.0", "2.", "3.00"], "integer"),
        (["1.5", "2"], "number"),
        ([".5", "1e-3"], "number"),
        (["True", "FALSE", "true"], "boolean"),
        (["2025-01-31", "2025-02-01 10:00"], "time"),
        (["3/24/2016 17:57:02", "3/25/2016 07:01:00"], "time"),
        (["Mon Mar 25 07:39:42 PDT 2019"], "time"),
        (["", "NA", " nan "], "empty"),
        (["1", "x"], "text"),
        (["NONE", "None"], "text"),
        ([f"the {i}th ticket says that it does not work at all" for i in range(30)], "free text"),
        ([1, 2], "integer"),
        ([1.0, 2.0, None], "integer"),
        ([1.0, 2.5], "number"),
        ([True, None], "boolean"),
    ],
)
def test_the_type_of_a_column_is_that_of_its_values(cells, type):
    assert profile_column("c", pa.array(cells)).type == type


def test_one_text_among_many_numbers_makes_a_column_a_text():
    cells = [str(i) for i in range(2000)] + ["unknown"]
    assert profile_column("c", pa.array(cells)).type == "text"


def test_one_decimal_among_many_integers_makes_a_column_a_number():
    profile = profile_column("c", pa.array([str(i) for i in range(2000)] + ["0.5"]))
    assert (profile.type, profile.low, profile.high) == ("number", 0.0, 1999.0)


def test_counts_are_of_stripped_texts_and_the_most_frequent_come_first():
    profile = profile_column("c", pa.array(["b", " a", "a ", "NA", None, ""]))
    assert profile.counts == {"a": 2, "b": 1}
    assert list(profile.counts) == ["a", "b"]
    assert (profile.rows, profile.missing, profile.present, profile.distinct) == (6, 3, 3, 2)


def test_cells_that_mean_missing_are_those_of_the_user():
    cells = pa.array(["NA", "none", "a"])
    assert profile_column("c", cells, ("none",)).counts == {"NA": 1, "a": 1}


def test_nan_is_missing_in_a_column_of_floats():
    assert profile_column("c", pa.array([1.0, float("nan"), None])).missing == 2


def test_of_many_values_the_most_frequent_are_kept_and_all_are_counted():
    cells = [f"t{i}" for i in range(MAX_VALUES + 500)] + ["often"] * 3
    profile = profile_column("c", pa.array(cells))
    assert profile.distinct == MAX_VALUES + 501
    assert len(profile.counts) == MAX_VALUES
    assert profile.counts["often"] == 3
    assert profile.is_unique
    assert not profile.is_discrete


def test_a_dictionary_column_is_profiled_like_its_values():
    cells = pa.array(["a", "b", "a", None])
    plain, encoded = profile_column("c", cells), profile_column("c", cells.dictionary_encode())
    assert plain == encoded


def test_a_constant_has_one_value_in_all_rows():
    assert profile_column("c", pa.array(["a", "a"])).is_constant
    assert not profile_column("c", pa.array(["a", None])).is_constant


def test_none_is_not_a_missing_value_by_default():
    assert not {"none", "None", "NONE", "-", "?"} & set(MISSING)


@pytest.mark.parametrize(
    "cells",
    [
        ["b", " a", None, "a ", "NA", "b", "a", "c"],
        ["1", "2", " 2", "1.0", "", None, "+3"],
        [None, "NA"],
        ["True", "false", "True"],
    ],
)
def test_a_column_in_a_dictionary_has_the_profile_of_the_plain_column(cells):
    plain = pa.array(cells, pa.string())
    values = [*dict.fromkeys(cells), "unused"][::-1]  # in another order than they occur
    coded = pa.DictionaryArray.from_arrays([values.index(cell) for cell in cells], pa.array(values))
    expected = profile_column("ann", strip_missing(plain, MISSING))
    for column in (plain, coded, plain.dictionary_encode()):
        found = profile_column("ann", column)
        assert replace(found, merged=(), markers={}) == expected
        assert found.markers == ({"NA": 1} if "NA" in cells else {})
        assert list(found.counts.items()) == list(expected.counts.items())


def test_two_texts_that_differ_by_whitespace_around_them_are_kept_as_they_are_written():
    for column in (cells := pa.array(["b", " a", None, "NA", "NA ", "a", "b "])), cells.dictionary_encode():
        assert profile_column("ann", column).merged == ("b", "b ")
    assert profile_column("ann", pa.array([" a", "b", " a", "NA", ""])).merged == ()
