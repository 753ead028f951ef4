"""What abstains, who is who, and what is left alone."""

import copy
import subprocess
import sys
from enum import Enum, IntEnum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import Fusion, Perceptron
from linmax.inputs import Dense, Triplets, decode_classes, encode, read
from tests.oracles.inputs import fresh, seen, well_made


def test_scores_are_taken_as_they_are():
    values = np.array([[[0.5, 0.25], [1, 0]], [[0, 0], [np.nan, 3]], [[np.nan, np.nan], [0, -1]]])
    batch = read(values, ["b", "a", None], None, fresh("ab", ["ann", "bob"]))
    well_made(batch)
    assert batch.votes.values.tolist() == [[[0.5, 0.25], [1, 0]], [[0, 0], [0, 3]], [[0, 0], [0, -1]]]
    assert batch.labels.tolist() == [1, 0, -1]
    assert batch.known.tolist() == [2, 2, 2]
    assert batch.new_classes == batch.new_experts == []


def test_scores_without_classes_are_of_0_1_and_so_on_from_the_start():
    values = np.arange(12.0).reshape(2, 2, 3)
    learned = read(values, [7, 1], None, fresh())
    assert learned.new_classes == [0, 1, 2, 7]
    assert learned.new_experts == [0, 1]
    assert learned.labels.tolist() == [3, 1]
    assert learned.known.tolist() == [3, 4]
    assert learned.classes_seen == 4
    guessed = read(values, None, None, fresh())
    assert guessed.new_classes == []
    assert guessed.known.tolist() == [3, 3]
    assert decode_classes(np.array([2, 0]), fresh().classes, guessed.unknown_classes).tolist() == [2, 0]
    assert read(values, [None, None], None, fresh()).new_classes == []
    ignored = read(values, [0, 5], None, fresh(), on_new_class="ignore")
    assert ignored.votes.values.shape == (2, 2, 0)
    assert ignored.ignored == 4 + 2
    assert ignored.labels.tolist() == [-1, -1]


def test_scores_may_be_nested_lists_or_whole_numbers():
    lists = [[[1, 0], [0, None]]]
    for scores in (lists, np.array([[[1, 0], [0, 0]]]), np.array([[[True, False], [False, False]]])):
        batch = read(scores, None, None, fresh("ab"))
        assert isinstance(batch.votes, Dense)
        assert batch.votes.values.tolist() == [[[1, 0], [0, 0]]]


def test_minus_one_and_the_empty_text_abstain():
    assert read([[0, -1]], [0], None, fresh()).votes.codes.tolist() == [[0, -1]]
    assert read(np.array([["a", ""]]), ["a"], None, fresh()).votes.codes.tolist() == [[0, -1]]
    assert read([{"ann": -1, "bob": 2}], [2], None, fresh()).votes.expert.tolist() == [1]
    assert read(Triplets([0, 0], [1, 2], [-1, 5]), [5], None, fresh()).votes.expert.tolist() == [1]
    batch = read([[-1, -1]], [3], None, fresh())
    assert batch.new_classes == [3]
    assert batch.new_experts == [0, 1]  # those who abstain are there


def test_abstain_names_the_vote_that_abstains_instead():
    batch = read([[-1, 9], [1, 9]], [-1, 1], None, fresh(), abstain=9)
    assert batch.votes.codes.tolist() == [[0, -1], [1, -1]]
    assert batch.new_classes == [-1, 1]
    assert read([["n/a", ""]], None, None, fresh(["", "x"]), abstain="n/a").votes.codes.tolist() == [[-1, 0]]
    frame = pd.DataFrame({"a": ["no", "x"], "b": ["x", None]})
    assert read(frame, None, None, fresh("x"), abstain="no").votes.codes.tolist() == [[-1, 0], [0, -1]]


def test_with_abstain_none_only_what_is_missing_abstains():
    batch = read(np.array([[-1.0, np.nan], [1.0, -1.0]]), [-1, 1], None, fresh(), abstain=None)
    assert batch.votes.codes.tolist() == [[0, -1], [1, 0]]
    assert read([["", None]], ["x"], None, fresh(), abstain=None).new_classes == ["", "x"]


def test_a_class_with_a_score_never_abstains():
    batch = read([{"ann": {-1: 0.25, 1: 0.75}}], [-1], None, fresh())
    assert batch.new_classes == [-1, 1]
    batch = read(Triplets([0, 0], ["ann", "ann"], [-1, 1], [0.25, 0.75]), [-1], None, fresh())
    assert batch.votes.label.tolist() == [0, 1]


def test_true_is_not_one_when_it_comes_to_abstaining():
    assert read([[True, False]], None, None, fresh([False, True]), abstain=1).votes.codes.tolist() == [[1, 0]]


def test_an_unnamed_array_has_the_known_experts_or_numbers():
    assert read(np.zeros((1, 2), int), None, None, fresh([0], ["ann", "bob"])).new_experts == []
    assert read(np.zeros((1, 2), int), None, None, fresh([0])).new_experts == [0, 1]


def test_absent_experts_abstain_and_new_ones_follow_the_known_ones():
    frame = pl.DataFrame({"eve": ["x"], "bob": ["y"]})
    batch = read(frame, None, None, fresh("xy", ["ann", "bob", "cid"]))
    assert batch.votes.codes.tolist() == [[-1, 1, -1, 0]]
    assert batch.new_experts == ["eve"]
    assert batch.experts_seen == 4


def test_numpy_names_become_python_objects():
    batch = read([{np.str_("ann"): np.int64(3), np.int64(4): np.float32(5)}], [np.int8(3)], None, fresh())
    assert [type(name) for name in batch.new_classes + batch.new_experts] == [int, int, str, int]
    batch = read(np.array([["x"]]), np.array(["y"]), None, fresh())
    assert [type(name) for name in batch.new_classes] == [str, str]


def test_empty_inputs_are_fine():
    for votes in (
        [],
        np.empty((0, 3), int),
        pd.DataFrame({"a": []}),
        Triplets([], [], []),
        np.empty((0, 2, 2)),
    ):
        assert read(votes, [], None, fresh()).trials == 0
        assert read(votes, None, None, fresh()).trials == 0
    for votes in (np.empty((3, 0)), [[], [], []], [{}, {}, {}], Triplets([], [], [], items=3)):
        batch = read(votes, ["a", "b", "a"], None, fresh(experts=["ann"]))
        well_made(batch)
        assert batch.labels.tolist() == [0, 1, 0]
        assert batch.known.tolist() == [0, 1, 2]
        assert seen(batch).votes == [set()] * 3
    assert read(np.empty((3, 0)), None, None, fresh(experts=["ann"])).votes.codes.tolist() == [[-1]] * 3
    assert read(np.empty((3, 0, 2)), None, None, fresh("ab", ["ann"])).votes.values.shape == (3, 1, 2)


def test_codes_that_are_there_already_are_not_copied():
    votes = np.array([[0, -1], [1, 2]], np.int32)
    assert read(votes, [1, 0], None, fresh(range(3))).votes.codes is votes
    assert read(votes, [1, 0], None, fresh()).votes.codes is votes  # they appear in this order
    assert read(votes, None, None, fresh([2, 1, 0])).votes.codes is not votes
    scores = np.ones((1, 2, 3))
    assert read(scores, None, None, fresh("abc")).votes.values is scores


def test_what_is_read_is_left_as_it_was():
    ints = np.array([[0, 5], [-1, 3]], np.int32)
    objects = np.array([["a", None], ["b", "a"]], object)
    scores = np.array([[[0.5, np.nan]]])
    dicts = [{"ann": "a", "bob": {"b": 0.0, "c": 1}}]
    triplets = Triplets(np.array([1, 0]), np.array(["b", "a"]), np.array([3, 3]), np.array([0.0, 1.0]))
    frame = pd.DataFrame({"a": pd.Categorical(["x", None]), "b": ["y", "x"]})
    for votes in (ints, objects, scores, dicts, triplets, frame):
        before = copy.deepcopy(votes)
        for truth in (None, [None] * len(votes) if votes is not triplets else [None, None]):
            met = fresh()
            read(votes, truth, None, met)
            assert len(met.classes) == len(met.experts) == 0
        if isinstance(votes, pd.DataFrame):
            pd.testing.assert_frame_equal(votes, before)
        elif isinstance(votes, Triplets):
            assert all(np.array_equal(a, b) for a, b in zip(votes[:4], before[:4], strict=True))
        elif isinstance(votes, list):
            assert votes == before
        else:
            np.testing.assert_array_equal(votes, before)


def test_read_only_votes_are_copied_so_that_kernels_see_one_type():
    votes = np.array([[0, 1]], np.int32)
    votes.flags.writeable = False
    assert read(votes, None, None, fresh(range(2))).votes.codes.flags.writeable


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")])
def test_anything_missing_abstains_and_is_no_label(missing):
    batch = read([["a", missing]], [missing], None, fresh("a"))
    assert batch.votes.codes.tolist() == [[0, -1]]
    assert batch.labels.tolist() == [-1]


@pytest.mark.parametrize(
    "labels",
    [
        np.array([2, 0, 2]), np.array([2.0, 0.0, 2.0]), [2, 0, 2], (2, 0, 2), np.array([2, 0, 2], ">i8"),
        pd.Series([2, 0, 2], index=[5, 6, 7]), pl.Series([2, 0, 2]), pa.array([2, 0, 2]),
        pa.chunked_array([[2], [0, 2]]), pd.Series([2, 0, 2], dtype="Int8"), pd.Categorical([2, 0, 2]),
        np.array([2, 0, 2], np.uint8), pd.Series([2, 0, 2], dtype="int64[pyarrow]"),
        np.ma.masked_array([2, 0, 2]),
    ],
)  # fmt: skip
def test_labels_may_come_in_many_ways(labels):
    batch = read([[2], [0], [0]], labels, None, fresh())
    assert batch.new_classes == [2, 0]
    assert batch.labels.tolist() == [0, 1, 0]
    assert [type(name) for name in batch.new_classes] == [int, int]


@given(st.lists(st.lists(st.sampled_from([*"abc", None]), min_size=2, max_size=2), min_size=1, max_size=5))
def test_text_of_numpys_own_kind_is_text(rows):
    kind = np.dtypes.StringDType(na_object=None)
    want = seen(read(rows, None, None, fresh("a")))
    assert seen(read(np.array(rows, dtype=kind), None, None, fresh("a"))) == want


def test_arrays_need_no_data_frames():
    script = (
        "import sys, numpy as np\n"
        "from linmax.inputs import Names, Triplets, read\n"
        "read(np.array([['a', 'b']]), ['a'], None, Names())\n"
        "read([{'ann': 'a'}], ['a'], [{'x': 1}], Names(), needs={'votes', 'rows'})\n"
        "read(Triplets(np.array([0]), ['ann'], ['a']), ['a'], None, Names())\n"
        "assert not {'pandas', 'polars', 'pyarrow', 'narwhals'} & set(sys.modules), 'imported'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


class Mail(str, Enum):  # noqa: UP042 - its text is "Mail.HAM"
    HAM = "ham"
    SPAM = "spam"


class Number(IntEnum):
    ONE = 1
    TWO = 2


class Bare(Enum):
    HAM = "ham"
    TWO = 2


@pytest.mark.parametrize(("one", "two"), [(Mail.HAM, Mail.SPAM), (Number.ONE, Number.TWO)])
def test_members_of_an_enum_are_their_values(one, two):
    plain = [one.value, two.value]
    forms = ([[one, two]], [{0: one, 1: two}], Triplets([0, 0], [0, 1], [one, two]))
    for votes in (*forms, np.array([[one, two]], object), pd.DataFrame({0: [one], 1: [two]}, dtype=object)):
        batch = read(votes, [two], None, fresh())
        assert batch.new_classes == plain
        assert list(map(type, batch.new_classes)) == list(map(type, plain))
        assert batch.labels.tolist() == [1]
        assert not read(votes, [one], None, fresh([one, two]), on_new_class="error").new_classes
    assert read([{0: {one: 0.5, two: 0.2}}], [one], None, fresh()).new_classes == plain
    assert read([[one, two]], [two], None, fresh(), abstain=one).votes.codes.tolist() == [[-1, 0]]


def test_a_member_and_its_value_are_one_name():
    assert read([[Bare.HAM, "ham"]], ["ham"], None, fresh()).votes.codes.tolist() == [[0, 0]]
    frame = pd.DataFrame({"a": pd.Categorical([Bare.HAM, "ham", None], categories=[Bare.HAM, "ham"])})
    assert read(frame, None, None, fresh(["ham"])).votes.codes.tolist() == [[0], [0], [-1]]
    row = {"size": Number.TWO, "kind": Mail.HAM}
    batch = read(None, None, [row], fresh(), needs={"rows", "nominal"})
    assert batch.new_attributes == ["size", ("kind", "ham")]
    assert batch.rows.value.tolist() == [2, 1]
    assert batch.new_values == [("size", 2), ("kind", "ham")]


def test_half_floats_are_votes_too():
    votes = np.array([[0, 65504, np.nan, -3]], np.float16)
    batch = read(votes, [0], None, fresh())
    assert batch.new_classes == [0, 65504, -3]
    with pytest.raises(ValueError, match=r"true/false \(got inf\)"):
        read(np.array([[1, np.inf]], np.float16), [0], None, fresh())


def test_one_item_may_be_a_list_or_a_series():
    for item in ([0, 2], (0, 2), np.array([0, 2]), pd.Series([0, 2]), pl.Series([0, 2])):
        assert read([item], None, None, fresh(range(3))).votes.codes.tolist() == [[0, 2]]


@pytest.mark.parametrize("kind", ["i1", "u1", ">i2", "i4", "u4", "i8", "u8"])
@given(st.lists(st.integers(-3, 100), min_size=1, max_size=40), st.integers(1, 9), st.booleans())
def test_the_least_and_the_largest_code_are_found_in_blocks(
    kind: str, codes: list[int], block: int, reversed_order: bool
) -> None:
    array = np.array([abs(code) for code in codes] if "u" in kind else codes, kind)
    array = array[::-1] if reversed_order else array
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "BLOCK_SIZE", block)
        assert encode.min_max(array) == (int(array.min()), int(array.max()))


@pytest.mark.parametrize("labels", [[0, 1, 1], [0, None, 1], [0, 2, 1], [None, None, None]])
def test_labels_of_known_classes_are_counted(labels: list[int | None]) -> None:
    batch = Fusion(Perceptron(), classes=[0, 1]).read([[0, 1]] * 3, labels)
    expected = [label in (0, 1) for label in labels]
    assert batch.counted is None if all(expected) else batch.counted.tolist() == expected
