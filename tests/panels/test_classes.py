"""Classes: spellings, types, abstentions."""

import pyarrow as pa
import pytest

from linmax.panels.roles.classes import ClassNames


@pytest.mark.parametrize("vote", ["bug", " bug ", "Bug", "BUG\t"])
def test_case_and_whitespace_do_not_matter(vote):
    assert ClassNames(["bug", "fix"]).find(vote) == "bug"


@pytest.mark.parametrize("vote", ["1", "1.0", "1.00", "True", "TRUE", 1, 1.0, True])
@pytest.mark.parametrize("label", ["1", 1, 1.0, "1.0", "True", True])
def test_one_and_true_are_the_same_class_in_every_spelling(label, vote):
    classes = ClassNames([label])
    assert classes.find(vote) == classes.names[0]


def test_labels_that_differ_by_case_only_are_different_classes():
    classes = ClassNames(["us", "US", "Canada"])
    assert [classes.find(one) for one in ("us", "US", "Us", " canada")] == ["us", "US", None, "Canada"]


def test_1_and_true_are_different_classes_if_both_are_labels():
    classes = ClassNames(["1", "True", "0"])
    assert [classes.find(one) for one in ("1", "True", "1.0", "0.0")] == ["1", "True", None, "0"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [([1, 2], [1, 2]), ([1.0, 2.0], [1, 2]), ([True, False], ["True", "False"]), ([1, "a"], ["1", "a"])],
)
def test_all_classes_are_integers_or_all_are_texts(labels, names):
    found = ClassNames(labels).names
    assert found == names
    assert [type(one) for one in found] == [type(one) for one in names]


def test_further_classes_have_the_type_of_the_labels():
    assert ClassNames([0, 1], ["2"]).names == [0, 1, 2]
    assert ClassNames([0, 1], ["other"]).names == ["0", "1", "other"]
    assert ClassNames(["a"], ["A", "b"]).names == ["a", "b"]


def test_votes_that_name_no_class_abstain_unless_they_are_kept():
    classes = ClassNames(["a", "b"])
    votes = pa.array(["A", "refused", "NA", None, " b"])
    assert classes.encode(votes).to_pylist() == ["a", None, None, None, "b"]
    assert classes.encode(votes, keep=True).to_pylist() == ["a", "refused", None, None, "b"]


def test_votes_that_abstain_are_not_kept():
    classes = ClassNames([0, 1])
    assert classes.encode(pa.array([-1, 2, 1]), keep=True).to_pylist() == [-1, 2, 1]
    classes.abstaining = frozenset({"-1"})
    assert classes.encode(pa.array([-1, 2, 1]), keep=True).to_pylist() == [None, 2, 1]


def test_encoded_integers_stay_integers_and_encoded_texts_texts():
    assert ClassNames([0, 1]).encode(pa.array(["1.0", "x"])).dictionary.type == pa.int64()
    assert ClassNames(["0", "1"]).encode(pa.array([1.0, float("nan")])).to_pylist() == ["1", None]


def test_the_share_of_classes_is_of_cells_that_are_not_missing():
    assert ClassNames(["a"]).share({"a": 3, "b": 1, "NA": 100}) == 0.75
    assert ClassNames(["a"]).share({}) == 0.0


@pytest.mark.parametrize(
    ("labels", "votes"),
    [
        (["yes", "no"], ["Y", "N"]),
        (["Y", "N"], ["Yes", "no"]),
        (["True", "False"], ["T", "f"]),
        (["positive", "negative"], ["pos", "NEG"]),
        (["pos", "neg"], ["Positive", "negative"]),
        (["P", "N"], ["positive", "negative"]),
        (["positive", "negative", "neutral"], ["pos", "neg", "neu"]),
        (["entailment", "neutral", "contradiction"], ["e", "n", "c"]),
        (["benign", "malignant"], ["B", "M"]),
        (["1", "0"], ["Y", "N"]),
        (["1", "0"], ["t", "f"]),
    ],
)
def test_abbreviations_of_two_or_three_classes_are_understood(labels, votes):
    assert [ClassNames(labels).find(one) for one in votes] == labels


@pytest.mark.parametrize(
    ("labels", "votes"),
    [
        (["positive", "negative", "neutral"], ["n", "p", "ne"]),  # n is ambiguous, so is the style of p
        (["yes", "no", "not sure"], ["n"]),
        (["normal", "abnormal"], ["no", "not"]),
        (["Y", "N"], ["none", "nothing", "yesterday"]),
        (["billing", "bug", "feature"], ["b", "f"]),
        (["bug", "fix", "ask", "other"], ["a", "oth"]),  # four classes
    ],
)
def test_ambiguous_abbreviations_name_no_class(labels, votes):
    assert [ClassNames(labels).find(one) for one in votes] == [None] * len(votes)


def test_abbreviations_count_only_in_columns_of_them():
    classes = ClassNames(["benign", "malignant"])
    assert classes.share({"B": 5, "M": 5}) == 1.0
    assert classes.share({"F": 5, "M": 5}) == 0.0
    assert classes.share({"M": 5}) == 0.0
