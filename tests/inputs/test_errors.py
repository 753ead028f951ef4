"""Every refusal is one sentence with the value and the cure."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from linmax.inputs import NameIndex, Triplets, read
from tests.oracles.inputs import fresh, refuses


def test_a_name_is_added_once():
    with pytest.raises(ValueError, match=r"^expert 'gpt' is named twice$"):
        NameIndex(["gpt", "bert", "gpt"], what="expert")
    index = NameIndex(["ann"], what="expert")
    with pytest.raises(ValueError, match=r"^expert 'ann' is named twice$"):
        index.extend(["bob", "ann"])
    assert index.names == ["ann"]
    with pytest.raises(ValueError, match=r"^classes mix text \('a'\) and numbers \(1\): use one kind$"):
        NameIndex(["a", 1], what="class")
    with pytest.raises(ValueError, match=r"^classes must be whole numbers, text or true/false \(got None\)$"):
        NameIndex([None], what="class")


def test_what_is_needed_must_be_there():
    refuses("this learner needs votes; pass votes=", None, [1])
    refuses("this learner needs attributes; pass attributes=", [[1]], [1], needs={"votes", "rows"})
    refuses("this learner needs attributes; pass attributes=", None, [1], needs={"nominal"})
    refuses('on_new_class must be "add", "error" or "ignore" (got \'warn\')', [[1]], [1], on_new_class="warn")


def test_all_parts_have_as_many_items():
    votes = [[0]] * 5
    refuses("votes have 5 items but labels have 4; pass one row per item", votes, [0] * 4)
    refuses(
        "votes have 5 items but attributes have 3; pass one row per item", votes, [0] * 5, np.ones((3, 2))
    )
    refuses(
        "attributes have 3 items but labels have 4; pass one row per item",
        None,
        [0] * 4,
        np.ones((3, 2)),
        needs={"rows"},
    )
    refuses("votes have 2 items but labels have 4; pass one row per item", [{}, {}], [0] * 4)
    refuses(
        "votes have 3 items but labels have 4; pass one row per item", Triplets([2], ["ann"], [0]), [0] * 4
    )
    refuses(
        "votes have 2 items but labels have 1; pass one row per item",
        pd.DataFrame({"a": [1, 2]}),
        pl.Series([0]),
    )
    # also of what is not needed
    refuses(
        "votes have 5 items but attributes have 3; pass one row per item",
        votes,
        None,
        np.ones((3, 2)),
        needs={"rows"},
    )


def test_votes_have_a_row_per_item_and_a_column_per_expert():
    flat = (
        "votes must have one row per item and one column per expert (got 1 dimension);"
        " use votes[:, None] for one expert or votes[None, :] for one item"
    )
    for votes in (np.array([0, 1]), pd.Series([0]), pl.Series([0]), pa.chunked_array([[0]])):
        refuses(flat, votes)
    bare = "votes of an item must be a dict, or a list in the order of the experts (got {})"
    refuses(f"{bare.format(0)}; write [votes] for one item", [0, 1])
    for item, said in (("x", "'x'"), (np.array(5), "5"), (np.str_("x"), "'x'"), ({1}, "a set")):
        refuses(bare.format(said), [item])  # as predict_one passes it on
    refuses("votes must be an array, a data frame or a list (got 5)", np.array(5))
    refuses(
        "attributes of an item must be a dict, or a list in the order of the attributes (got 'x')",
        None, None, ["x"], needs={"rows"},
    )  # fmt: skip
    shape = "votes must have one row per item and one column per expert (got shape (1, 1, 1, 1))"
    refuses(shape, np.ones((1, 1, 1, 1)))
    refuses("votes must have rows of one length (got 1 and 2)", [[0, 1], [0]])
    refuses("votes must be a list of dicts, one per item (got one dict); write [votes]", {"ann": 1})
    refuses("votes must be dicts for all items or for none (got 1 of 2)", [{"ann": 1}, [1]])
    refuses("votes must be an array, a data frame or a list (got 'spam')", "spam")
    refuses("votes must be an array, a data frame or a list (got a set)", {1, 2})
    refuses("votes must be a data frame (got a lazy one); call .collect() first", pl.LazyFrame({"a": [1]}))
    refuses(
        "votes cannot be a sparse matrix, whose zeros would be votes for 0; pass Triplets",
        scipy.sparse.csr_array(np.eye(2)),
    )


def test_labels_are_a_list():
    refuses(
        "labels must be a list, one per item (got shape (2, 1)); use .ravel()", [[0], [1]], np.ones((2, 1))
    )
    refuses("labels must be a list, one per item (got shape (1, 2))", [[0]], [[0, 1]])
    message = "labels must be a list, one per item (got {})"
    refuses(f"{message.format('shape (2, 1)')}; take each out of its list", [[0], [1]], [[0], [1]])
    for library in (pd.DataFrame, pl.DataFrame, pa.table):
        refuses(f"{message.format('a data frame')}; pass its column 'y'", [[0], [1]], library({"y": [0, 1]}))
        refuses(
            f"{message.format('a data frame')}; pass one of its columns", [[0]], library({"y": [0], "z": [1]})
        )
    refuses("labels must be an array, a data frame or a list (got 'spam')", [["spam"]], "spam")


def test_columns_are_named_once():
    frame = pd.DataFrame([[1, 2]], columns=["ann", "ann"])
    refuses("votes have two columns 'ann'; rename one", frame)
    refuses("votes have two columns 'ann'; rename one", pa.table([[1], [2]], names=["ann", "ann"]))
    refuses("attributes have two columns 'ann'; rename one", None, None, frame, needs={"rows"})


def test_nameless_columns_keep_their_number():
    message = (
        "votes have 3 columns but 2 experts are known ('ann', 'bob');"
        " name the columns: pass a data frame or dicts"
    )
    for votes in (np.zeros((1, 3), int), [[0, 0, 0]], np.zeros((1, 3, 2))):
        refuses(message, votes, met=fresh(range(2), ["ann", "bob"]))
    message = "attributes have 3 columns but 2 attributes are known (0, 1);"
    for attributes in (np.zeros((1, 3)), scipy.sparse.csr_array(np.zeros((1, 3)))):
        refuses(
            f"{message} name the columns: pass a data frame or dicts",
            None, None, attributes, fresh(attributes=[0, 1]), needs={"rows"},
        )  # fmt: skip


def test_a_minus_one_that_is_a_label_does_not_abstain_silently():
    message = (
        "votes contain -1, which is also a label:"
        " pass abstain= (the value that abstains, or None if none does)"
    )
    tables = (
        [[1, -1]], np.array([[1, -1]]), np.array([[1.0, -1.0]]), pd.DataFrame({"a": [1], "b": [-1]}),
        [{"ann": -1}], Triplets([0], ["ann"], [-1]),
    )  # fmt: skip
    for votes in tables:
        refuses(message, votes, [-1])
        refuses(message, votes, [1], met=fresh([1, -1]))
        refuses(message, votes, met=fresh([1, -1]))
        assert read(votes, [-1], None, fresh(), abstain=None).labels.tolist() != [-1]
        assert read(votes, [-1], None, fresh(), abstain=0).labels.tolist() != [-1]
    assert read([[1, 1]], [-1], None, fresh()).new_classes == [1, -1]  # no_unknown_classes votes -1
    assert read(np.array([[-2, 1]]), [-1], None, fresh([-1])).new_classes == [-2, 1]
    refuses(message.replace("-1", "''"), [["a", ""]], [""])


def test_names_of_classes_are_of_one_kind():
    refuses("labels mix text ('spam') and numbers (3): use one kind", [[None], [None]], [3, "spam"])
    refuses("votes mix text ('spam') and numbers (3): use one kind", [["spam", 3]])
    refuses("votes and labels mix text ('ham') and numbers (3): use one kind", [["ham"]], [3])
    refuses("classes and votes mix text ('ham') and numbers (3): use one kind", [["ham"]], met=fresh([3]))
    refuses("classes and labels mix text ('a') and numbers (3): use one kind", [[""]], [3], met=fresh("a"))
    refuses("votes and labels mix numbers (1) and true/false (True): use one kind", [[1]], [True])
    refuses("votes mix numbers (1) and true/false (True): use one kind", [[1, True]])
    refuses("votes mix numbers (1) and true/false (True): use one kind", [[True, 1.0]])
    refuses("votes and labels mix numbers (1) and true/false (False): use one kind", np.array([[False]]), [1])
    frame = pl.DataFrame({"a": ["x"], "b": [7]})
    refuses("votes mix text ('x') and numbers (7): use one kind", frame)
    refuses("votes mix text ('x') and numbers (7): use one kind", [{"a": "x", "b": 7}])
    refuses("votes and labels mix text ('x') and numbers (7): use one kind", [{"a": "x"}], [7])
    refuses("classes and votes mix text ('x') and numbers (7): use one kind", [{"a": "x"}], met=fresh([7]))
    refuses("classes and labels mix text ('x') and numbers (7): use one kind", [{}], ["x"], met=fresh([7]))
    refuses("labels mix numbers (1) and true/false (True): use one kind", [{}, {}], [1, True])
    refuses("votes and labels mix text ('x') and numbers (7): use one kind", Triplets([0], ["a"], ["x"]), [7])


def test_abstaining_votes_are_of_no_kind():
    assert read(np.full((1, 2), -1), ["spam"], None, fresh()).new_classes == ["spam"]
    assert read([["spam", -1]], ["spam"], None, fresh()).votes.codes.tolist() == [[0, -1]]
    assert read([[True, float("nan")]], None, None, fresh([True])).votes.codes.tolist() == [[0, -1]]


@pytest.mark.parametrize("odd", [0.5, float("inf"), b"spam", ("a", 1), 1j])
def test_labels_are_whole_numbers_text_or_truth(odd):
    words = f"must be whole numbers, text or true/false (got {odd!r})"
    cure = "; scores go into an array of shape (items, experts, classes), triplets or dicts"
    refuses(f"labels {words}", [["a"]], np.array([odd, None], object)[:1])
    array = np.empty((1, 1), object)
    array[0, 0] = odd
    refuses(f"votes {words}{cure}", array)
    refuses(f"votes {words}{cure}", [{"ann": odd}])
    if not isinstance(odd, tuple):
        refuses(f"votes {words}{cure}", np.array([[odd]]))


def test_dates_and_lists_are_no_labels():
    day = np.datetime64("2020-02-01", "D")
    refuses(
        "labels must be whole numbers, text or true/false (got datetime.date(2020, 2, 1))", [["a"]], [day]
    )
    array = np.empty((1, 1), object)
    array[0, 0] = [1, 2]
    cure = "; scores go into an array of shape (items, experts, classes), triplets or dicts"
    refuses(f"votes must be whole numbers, text or true/false (got [1, 2]){cure}", array)
