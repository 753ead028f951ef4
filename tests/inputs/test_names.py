"""Codes become names again, also those of classes that were met in one trial only."""

import numpy as np
import pytest

from linmax.inputs import NameIndex, UnknownClasses, decode_classes, read
from tests.oracles.inputs import commit, fresh


def test_an_unknown_class_is_named_in_its_own_trial_only():
    batch = read([["x", "y"], ["a", "a"], ["y", "z"]], None, None, fresh("a"))
    assert batch.votes.codes.tolist() == [[1, 2], [0, 0], [1, 2]]
    assert batch.known.tolist() == [3, 1, 3]
    assert batch.new_classes == []
    assert batch.classes_seen == 3
    assert [batch.unknown_classes.name(t, 1) for t in range(3)] == ["x", None, "y"]
    assert [batch.unknown_classes.name(0, code) for code in (-1, 0, 1, 2, 3)] == [None, None, "x", "y", None]
    names = decode_classes(np.array([2, 0, 1]), fresh("a").classes, batch.unknown_classes)
    assert names.tolist() == ["y", "a", "y"]


def test_an_unknown_class_keeps_its_name_when_another_class_gets_its_code_later():
    met = fresh()
    batch = read([["x"], ["y"], ["x"]], [None, "y", None], None, met)
    assert batch.votes.codes.tolist() == [[0], [0], [1]]
    assert batch.known.tolist() == [1, 1, 2]
    commit(met, batch)
    assert met.classes.names == ["y"]
    assert decode_classes(np.array([0, 0, 1]), met.classes, batch.unknown_classes).tolist() == ["x", "y", "x"]


def test_a_class_is_unknown_until_a_labelled_trial_has_it():
    batch = read([["x"], ["x"], ["x"]], [None, "a", None], None, fresh())
    assert batch.votes.codes.tolist() == [[0], [0], [0]]
    assert batch.unknown_classes.row.tolist() == [0]
    assert batch.new_classes == ["x", "a"]
    assert batch.known.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("names", "kind"),
    [([3, -1], np.dtype(np.int64)), (["ham", "eggs"], np.dtype("<U4")), ([True, False], np.dtype(bool))],
)
def test_names_have_the_type_of_their_kind(names, kind):
    index = NameIndex(names, what="class")
    named = decode_classes(np.array([1, 0, 1], np.int32), index)
    assert named.tolist() == [names[1], names[0], names[1]]
    assert named.dtype == kind
    assert decode_classes(np.empty(0, np.int32), index).dtype == kind
    silent = decode_classes(np.array([0, -1]), index)
    assert silent.dtype == object
    assert silent.tolist() == [names[0], None]
    assert type(silent[0]) is type(names[0])


def test_with_no_class_known_nothing_is_named():
    named = decode_classes(np.array([-1, -1]), NameIndex(what="class"))
    assert named.dtype == object
    assert named.tolist() == [None, None]
    assert decode_classes(np.empty(0, np.int32), NameIndex(what="class")).tolist() == []


def test_long_names_of_unknown_classes_are_not_cut():
    batch = read([["a"], ["a very long name"]], None, None, fresh("a"))
    codes = np.array([0, 1])
    assert decode_classes(codes, fresh("a").classes, batch.unknown_classes).tolist() == [
        "a",
        "a very long name",
    ]
    names = np.array(["a", "?"])
    assert batch.unknown_classes.fill(names, codes).tolist() == ["a", "a very long name"]
    assert names.tolist() == ["a", "?"]


def test_numbers_beyond_64_bits_keep_their_value():
    big = 2**70
    batch = read([[big, -1]], [1], None, fresh())
    assert batch.new_classes == [big, 1]
    assert decode_classes(np.array([0]), NameIndex(batch.new_classes, what="class")).tolist() == [big]


def test_names_keep_a_nul_at_their_end():
    index = NameIndex(["a", "b\0"], what="class")
    assert decode_classes(np.array([1, 0]), index).tolist() == ["b\0", "a"]
    batch = read([["a"], ["b\0"]], None, None, fresh("a"))
    assert decode_classes(np.array([0, 1]), fresh("a").classes, batch.unknown_classes).tolist() == [
        "a",
        "b\0",
    ]
    assert batch.unknown_classes.fill(np.array(["a", "?"]), np.array([0, 1])).tolist() == ["a", "b\0"]


def test_unknown_classes_are_found_in_any_trial():
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 9, size=(500, 4))
    batch = read(votes, None, None, fresh([3, 5]))
    column = rng.integers(0, 4, size=500)
    rows = np.arange(500)
    named = decode_classes(batch.votes.codes[rows, column], fresh([3, 5]).classes, batch.unknown_classes)
    assert (named == votes[rows, column]).all()


def test_without_unknown_classes_no_code_has_a_name():
    none = np.empty(0, np.int64)
    assert UnknownClasses(none, none, none, []).name(0, 0) is None
    names = np.array(["a"])
    assert UnknownClasses(none, none, none, []).fill(names, np.array([0])) is names


@pytest.mark.parametrize(
    "nan", [float("nan"), np.float64("nan"), np.float32("nan")], ids=lambda nan: type(nan).__name__
)
def test_nan_is_not_a_name(nan):
    with pytest.raises(
        ValueError, match=r"^nan cannot be the name of an expert or attribute; use text or a number$"
    ):
        NameIndex(["ann", nan], what="expert")
    with pytest.raises(ValueError, match="nan cannot be the name"):
        read([{nan: "a"}], ["a"], None, fresh())
    with pytest.raises(ValueError, match="nan cannot be the name"):
        read(None, ["a"], [{nan: 1.0}], fresh(), needs={"rows"})
