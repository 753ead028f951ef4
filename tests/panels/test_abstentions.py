"""Votes that abstain without being listed as missing: 0 beside -1 and 1, and a word that columns share."""

import random
from pathlib import Path

import pytest

from tests.helpers.files import table, values
from tests.panels.small_tables import codes_of, draw_labels, experts_of, read_columns, roles_of, vote


def rarely(votes, share, silent, seed):
    """Return votes of which most are replaced by what abstains."""
    rng = random.Random(seed)
    return [one if rng.random() < share else silent for one in votes]


def panel(classes, silent, items=200):
    labels = draw_labels(items, classes)
    columns = {f"f{i}": rarely(vote(labels, 0.9, i), 0.3 + 0.05 * i, silent, i) for i in range(3)}
    return {**columns, "label": labels}


@pytest.mark.parametrize("items", [30, 200])
def test_0_abstains_beside_labels_of_minus_1_and_1(items):
    columns = panel((-1, 1), 0, items)
    columns["only negative"] = [-1 if one == -1 else 0 for one in columns["f0"]]
    columns["only positive"] = [1 if one == 1 else 0 for one in columns["f1"]]
    found = read_columns(columns)
    assert experts_of(found) == ["f0", "f1", "f2", "only negative", "only positive"]
    assert "grave" not in codes_of(found).values()


def test_attributes_of_0_and_1_do_not_vote_where_no_column_has_minus_1_and_0():
    labels = draw_labels(200, (-1, 1))
    columns = {"a": vote(labels, 0.9, 1), "b": vote(labels, 0.8, 2), "label": labels}
    columns["smoker"] = rarely([1] * 200, 0.3, 0, 3)
    assert experts_of(read_columns(columns)) == ["a", "b"]


def test_0_is_a_class_if_it_is_a_label():
    columns = panel((-1, 1, 0), 0)
    found = read_columns(columns)
    assert found.classes.abstaining == frozenset()
    assert "votes-never-labels" not in codes_of(found)


def test_0_in_a_long_table_of_minus_1_and_1_is_a_note():
    columns = panel((-1, 1), 0)
    rows = [
        (i, name, columns[name][i], columns["label"][i]) for i in range(200) for name in ("f0", "f1", "f2")
    ]
    names = ("item", "annotator", "vote", "label")
    found = read_columns(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    assert found.reading.shape == "long"
    assert codes_of(found)["votes-never-labels"] == "note"


def test_a_word_that_columns_share_beside_classes_abstains():
    columns = panel(("ham", "spam"), "skip")
    columns["one"] = ["spam" if one == "spam" else "skip" for one in columns["f0"]]
    columns["colour"] = rarely(["spam"] * 200, 0.2, "red", 9)
    found = read_columns(columns)
    assert experts_of(found) == ["f0", "f1", "f2", "one"]
    assert codes_of(found)["votes-never-labels"] == "grave"  # until the user says what it means
    assert "votes-never-labels" not in codes_of(read_columns(columns, missing=("", "skip")))


def test_a_word_of_one_column_alone_does_not():
    columns = panel(("ham", "spam"), "skip")
    columns["f1"] = ["pass" if one == "skip" else one for one in columns["f1"]]
    columns["f2"] = vote(columns["label"], 0.9, 2)
    assert [name for name, role in roles_of(read_columns(columns)).items() if role == "expert"] == ["f2"]


@pytest.mark.parametrize(("classes", "silent"), [(("ham", "spam"), "skip"), (("1", "2", "3"), "9")])
def test_the_vote_that_abstain_names_does_not_count_against_a_column(tmp_path: Path, classes, silent):
    columns = panel(classes, silent)
    columns["f1"] = vote(columns["label"], 0.9, 1)
    columns["f2"] = vote(columns["label"], 0.8, 2)
    file = table(tmp_path / "votes.csv", [columns, *zip(*columns.values(), strict=True)])
    words = ("fuse", file, "--learner", "Winnow(1.2)")
    assert sorted(one["name"] for one in values(*words)["experts"]) == ["f1", "f2"]
    found = values(*words, "--abstain", silent)
    assert sorted(one["name"] for one in found["experts"]) == ["f0", "f1", "f2"]
    assert "votes-never-labels" not in [one["code"] for one in found["warnings"]]
