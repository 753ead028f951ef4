"""Scores that cannot be read, and other refusals beyond names and shapes."""

import copy
import math
import pickle
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from linmax.inputs import DEFAULT, NameIndex, Triplets, read
from linmax.inputs.abstain import check_abstain
from linmax.inputs.numbers import to_float
from tests.oracles.inputs import fresh, refuses


def test_scores_are_finite():
    for odd in ("inf", "nan"):
        message = f"item 1: expert 'ann' gives 'spam' the score {odd}; scores must be finite"
        refuses(message, [{}, {"ann": {"spam": float(odd)}}])
        refuses(message, Triplets([0, 1], ["ann", "ann"], ["spam", "spam"], [1.0, float(odd)]))
    scores = np.zeros((2, 2, 2))
    scores[1, 1, 0] = -np.inf
    met = fresh(["ham", "spam"], ["ann", "bob"])
    refuses("item 1: expert 'bob' gives 'ham' the score -inf; scores must be finite", scores, met=met)
    refuses("item 1: expert 1 gives 0 the score -inf; scores must be finite", scores)
    refuses(
        "votes with three dimensions must be numbers, the scores of classes (got <U1)",
        np.full((1, 1, 1), "a"),
    )


@pytest.mark.parametrize("odd", ["many", "1", Decimal("0.5"), None, np.array(1.0), 1j, np.complex128(1)])
def test_scores_are_numbers(odd):
    message = f"item 0: expert 'ann' gives 'spam' the score {odd!r}; scores must be numbers (int or float)"
    refuses(message, [{"ann": {"spam": odd}}])
    cube = np.zeros((1, 2, 2), object)
    cube[0, 0, 1] = odd
    met = fresh(["ham", "spam"], ["ann", "bob"])
    values = np.array([0, odd, 0], object)[1:2]
    values[0] = odd
    if odd is None:  # as NaN: it abstains in an array, and is an error in triplets
        assert not read(cube, None, None, met).votes.values.any()
        refuses(
            "item 0: expert 'ann' gives 'spam' the score nan; scores must be finite",
            Triplets([0], ["ann"], ["spam"], values),
        )
    else:
        refuses(message, cube, met=met)
        refuses(
            f"triplets need values that are numbers (got {odd!r}); use int or float",
            Triplets([0], ["ann"], ["spam"], values),
        )


HUGE = {
    "1e+300": 1e300, "-1e+61": -1e61, "2e+60": np.float64(2e60),
    "1e+61": 10**61, "1e+400": 10**400, "-1e+5000": -(10**5000),
}  # fmt: skip


@pytest.mark.parametrize("digits", HUGE)
def test_scores_have_a_largest_size(digits):
    huge = HUGE[digits]

    def message(shown):
        return f"item 3: expert 'ann' gives 'spam' the score {shown}; scale scores to at most 1e60"

    met = fresh(["ham", "spam"], ["ann", "bob"])
    refuses(message(digits), [{}, {}, {}, {"ann": {"spam": huge}}])
    cube = np.zeros((4, 2, 2), object)
    cube[3, 0, 1] = huge
    refuses(message(digits), cube, met=met)
    as_float = to_float(huge)  # an integer beyond all floats is the largest of them
    refuses(message(as_float), Triplets([0, 3], ["ann"] * 2, ["ham", "spam"], [1, huge]))
    cube[3, 0, 1], cube[0, 0, 0] = as_float, np.nan
    refuses(message(as_float), cube.astype(float), met=met)
    for form in ([{"ann": {"spam": -1e60}}], Triplets([0], ["ann"], ["spam"], [-1e60])):
        assert read(form, None, None, fresh()).votes.value.tolist() == [-1e60]


def test_a_long_double_beyond_all_floats_is_refused():
    if np.finfo(np.longdouble).max > 1e300 * np.longdouble(1e300):
        cube = np.full((1, 1, 1), np.longdouble(10) ** 400)
        refuses("item 0: expert 0 gives 0 the score 1e+400; scale scores to at most 1e60", cube)


def test_tiny_scores_are_no_scores():
    for tiny in (1e-300, -1e-61, 5e-324):
        form = [{"ann": {"spam": tiny, "ham": 1e-60, "eggs": 0.5}}]
        met = fresh(["spam", "ham", "eggs"])
        assert read(form, None, None, met).votes.label.tolist() == [1, 2]
        votes = Triplets([0] * 3, ["ann"] * 3, ["spam", "ham", "eggs"], np.array([tiny, 1e-60, 0.5]))
        assert read(votes, None, None, met).votes.label.tolist() == [1, 2]
        cube = np.array([[[tiny, 1e-60, np.nan]]])
        assert read(cube, None, None, met).votes.values.tolist() == [[[0, 1e-60, 0]]]
        assert cube[0, 0, 0] == tiny  # the caller's stays as it is


def test_columns_that_their_library_cannot_convert_are_to_be_cast():
    big = pl.DataFrame({"a": [1, 2], "ann": pl.Series([1, None], dtype=pl.Int128)})
    pairs = pl.DataFrame({"ann": [{"x": 1, "y": 2}]})
    for frame, kind in ((big, "Int128"), (pairs, pairs["ann"].dtype)):
        cure = f"column 'ann' of type {kind}; cast it to int64, float64 or text"
        refuses(f"votes have {cure}", frame)
        refuses(f"attributes have {cure}", None, None, frame, needs={"rows"})
        refuses(f"nominal attributes have {cure}", None, None, frame, needs={"nominal"})
    labels = pl.Series([1], dtype=pl.Int128)
    refuses("labels have a column of type Int128; cast it to int64, float64 or text", [[1]], labels)
    refuses(
        "triplets need a column of numbers as item (got Series); cast it to a type that numpy has",
        Triplets(labels, ["ann"], ["a"]),
    )


def test_experts_are_a_list_of_names():
    with pytest.raises(ValueError, match=r"^experts must be a list of names \(got 5\)$"):
        NameIndex(5, what="expert")
    with pytest.raises(ValueError, match=r"^classes must be a list of names \(got True\)$"):
        NameIndex(True, what="class")
    names = r"^experts must be a list of names, such as texts or numbers \(got \[1\] in it\)$"
    with pytest.raises(ValueError, match=names):
        NameIndex([[1]], what="expert")
    with pytest.raises(
        ValueError, match=r"^classes must be whole numbers, text or true/false \(got \[1\]\)$"
    ):
        NameIndex([[1]], what="class")


@pytest.mark.parametrize("odd", [[1], object(), 0.5, np.array(1), np.float64(0.5)])
def test_one_label_abstains(odd):
    said = odd.item() if isinstance(odd, np.generic) else odd
    message = f"abstain must be one whole number, one text, true/false or None (got {said!r})"
    refuses(message, [[1]], [1], abstain=odd)


def test_the_default_abstention_is_one_object():
    assert copy.deepcopy(DEFAULT) is copy.copy(DEFAULT) is DEFAULT
    assert pickle.loads(pickle.dumps([DEFAULT]))[0] is DEFAULT
    assert check_abstain(DEFAULT) is DEFAULT
    for plain, given in ((0, np.int64(0)), ("no", np.str_("no")), (None, float("nan")), (2, 2.0)):
        assert check_abstain(given) == plain
        assert type(check_abstain(given)) is type(plain)
    assert read([[0, 1]], [1], None, fresh(), abstain=np.int64(0)).votes.codes.tolist() == [[-1, 0]]


def test_scores_are_of_the_known_classes():
    refuses("votes score 4 classes but 3 are known; pass classes=", np.zeros((1, 1, 4)), met=fresh("abc"))
    refuses("votes score 2 classes without naming them; pass classes=", np.zeros((1, 1, 2)), ["ham"])


def test_each_expert_votes_once():
    message = "item 3: expert 'ann' has two votes; keep one"
    refuses(message, Triplets([3, 1, 3], ["ann", "ann", "ann"], ["a", "b", "b"]))
    refuses(message, Triplets([3, 3, 3], ["ann", "bob", "ann"], ["a", "a", "a"], [1.0, 1.0, 0.0]))
    assert len(read(Triplets([3, 3], ["ann"] * 2, ["a", "b"], [1, 2]), None, None, fresh()).votes.label) == 2


def test_triplets_are_columns_of_one_length():
    refuses(
        "triplets need columns of one length (got item 2, expert 1, label 2, value 2)",
        Triplets([0, 1], ["ann"], ["a", "b"]),
    )
    refuses("triplets need a whole number of items (got items=2.5)", Triplets([0], ["ann"], ["a"], items=2.5))
    refuses("triplets need items that are row numbers (got -1)", Triplets([-1], ["ann"], ["a"]))
    refuses(
        "triplets need items that are row numbers (got <U1 of shape (1,))", Triplets(["x"], ["ann"], ["a"])
    )
    refuses(
        "triplets name item 1000000000000 in 1 rows; number items from 0 on, or pass items=",
        Triplets([10**12], ["ann"], ["a"]),
    )
    assert read(Triplets([10**6 + 99], ["ann"], ["a"]), None, None, fresh()).trials == 10**6 + 100
    assert (
        read(Triplets([2 * 10**6], ["ann"], ["a"], items=3 * 10**6), None, None, fresh()).trials == 3 * 10**6
    )
    refuses(
        "triplets need items that are row numbers (got 9223372036854775808)",
        Triplets(np.array([2**63], np.uint64), ["ann"], ["a"]),
    )
    refuses("triplets name item 5, but items=3; items count from 0", Triplets([5], ["ann"], ["a"], items=3))
    refuses(
        "triplets need an expert in every row (row 1 has none)", Triplets([3, 0], ["ann", None], ["a", "b"])
    )
    refuses(
        "triplets need values that are numbers (got <U1 of shape (1,))", Triplets([0], ["ann"], ["a"], ["x"])
    )


def test_an_unknown_class_is_refused_by_name():
    def message(name):
        return (
            f"class {name!r} is not among the classes ('ham', 'spam');"
            ' add it to classes= or use on_new_class="add"'
        )

    met = fresh(["ham", "spam"])
    for votes in (
        [["eggs", "tea"]],
        [{"ann": "eggs", "bob": "tea"}],
        Triplets([0, 0], [1, 2], ["eggs", "tea"]),
    ):
        refuses(message("eggs"), votes, ["ham"], met=met, on_new_class="error")
        refuses(message("eggs"), votes, met=met, on_new_class="error")
    for votes in ([["ham"], ["eggs"]], [{"ann": "ham"}, {"ann": "eggs"}]):
        refuses(message("tea"), votes, ["tea", "ham"], met=met, on_new_class="error")
    array = np.array([[0, 3]])  # 1 and 2 are between, but no_unknown_classes votes for them
    assert read(array, [0], None, fresh([0, 3]), on_new_class="error").votes.codes.tolist() == [[0, 1]]
    refuses(
        'class 0 is not among the classes (); add it to classes= or use on_new_class="add"',
        np.zeros((1, 1, 2)), [0], on_new_class="error",
    )  # fmt: skip
    many = fresh(range(20))
    shown = "class 20 is not among the classes (0, 1, 2, 3, 4, 5, 6, 7, ...);"
    refuses(f'{shown} add it to classes= or use on_new_class="add"', [[20]], met=many, on_new_class="error")


def test_an_error_of_an_item_reaches_another_process_whole():
    with pytest.raises(ValueError, match=r"^item 1: expert 'ann' gives 'a' the score inf") as caught:
        read([{"ann": {"a": 1.0}}, {"ann": {"a": math.inf}}], None, None, fresh())
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.item, str(again)) == (type(caught.value), 1, str(caught.value))
