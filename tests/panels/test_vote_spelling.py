"""Votes of wide tables that abstain, are missing, or are spelled unlike the labels."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax.panels.panel import read_panel
from tests.panels.small_tables import (
    CLASSES,
    codes_of,
    labels_of,
    panel_columns,
    read_columns,
    write_files,
)

ITEMS = 60


def test_minus_one_abstains_if_it_is_no_label():
    columns = panel_columns(90, (0, 1, 2))
    columns["m0"] = [-1 if i % 2 else one for i, one in enumerate(columns["m0"])]
    panel = read_columns(columns)
    assert sum("m0" in one for one in panel.chunk.vote_dicts()) == 45


def test_minus_one_is_a_class_if_experts_say_it_where_the_label_is_minus_one():
    panel = read_columns(panel_columns(90, (-1, 0, 1)))
    assert sorted(panel.classes.names) == ["-1", "0", "1"]
    assert None not in labels_of(panel)


def test_minus_one_is_no_label_if_abstentions_have_nothing_to_do_with_it():
    columns = panel_columns(300, (0, 1, 2))
    rng = random.Random(5)
    for name in ("m0", "m1", "m2"):
        columns[name] = [-1 if rng.random() < 0.5 else one for one in columns[name]]
    columns["label"] = [-1 if rng.random() < 0.5 else one for one in columns["label"]]
    panel = read_columns(columns)
    assert sorted(panel.classes.names) == ["0", "1", "2"]
    assert None in labels_of(panel)


def test_without_labels_minus_one_abstains_beside_three_classes_and_is_a_class_of_a_scale():
    matrix = panel_columns(90, (0, 1, 2))
    matrix["m0"] = [-1 if i % 2 else one for i, one in enumerate(matrix["m0"])]
    matrix["m1"][0] = -1
    del matrix["label"]
    assert {one for votes in read_columns(matrix, label="").chunk.vote_dicts() for one in votes.values()} == {
        "0", "1", "2",
    }  # fmt: skip
    scale = panel_columns(90, (-1, 0, 1))
    del scale["label"]
    assert "-1" in read_columns(scale, label="").classes.names


def test_none_is_a_class_if_it_is_a_label():
    panel = read_columns(panel_columns(60, ("NONE", "A", "B")))
    assert "NONE" in panel.classes.names
    assert None not in labels_of(panel)


def test_a_refusal_abstains_and_is_counted():
    columns = panel_columns()
    columns["m0"][:2] = ["ERROR: timeout", "I cannot help"]
    panel = read_columns(columns)
    assert sum("m0" in one for one in panel.chunk.vote_dicts()) == ITEMS - 2
    assert codes_of(panel)["votes-never-labels"] == "note"


def test_a_class_that_only_votes_name_is_given_by_the_user():
    columns = panel_columns()
    columns["m0"][:2] = ["other", "NA"]
    panel = read_columns(columns, classes=("other", "NA"))
    assert [one["m0"] for one in panel.chunk.vote_dicts()[:2]] == ["other", "NA"]


@pytest.mark.parametrize("cell", ["NA", "n/a", "NULL", "nan", " ", "#N/A"])
def test_missing_cells_abstain_without_a_word(cell):
    columns = panel_columns()
    columns["m0"][0] = cell
    panel = read_columns(columns)
    assert "m0" not in panel.chunk.vote_dicts()[0]
    assert not panel.warnings


def test_the_user_lists_missing_cells():
    columns = panel_columns()
    columns["m0"][0] = columns["label"][0] = "?"
    panel = read_columns(columns, missing=("?",))
    assert panel.chunk.labels[0] is None
    assert "m0" not in panel.chunk.vote_dicts()[0]


def test_case_and_whitespace_of_votes_do_not_matter():
    columns = panel_columns()
    columns["m0"] = [f" {one.upper()} " for one in columns["m0"]]
    panel = read_columns(columns)
    assert {one["m0"] for one in panel.chunk.vote_dicts()} <= set(CLASSES)
    assert codes_of(panel)["spelling"] == "note"


def test_labels_that_differ_by_case_are_two_classes_unless_case_is_ignored():
    columns = panel_columns(60, ("us", "US", "Canada"))
    assert len(read_columns(columns).classes.names) == 3
    assert len(read_columns(columns, ignore_case=True).classes.names) == 2


def test_votes_1_0_and_true_are_votes_for_label_1():
    columns = panel_columns(60, (0, 1))
    columns["m0"] = [float(one) for one in columns["m0"]]
    columns["m1"] = [bool(one) for one in columns["m1"]]
    assert {one[name] for one in read_columns(columns).chunk.vote_dicts() for name in one} == {"0", "1"}


def with_spaces(labels):
    return [label + " " if i % 3 == 0 else label for i, label in enumerate(labels)]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_labels_that_differ_by_whitespace_around_them_are_one_class_and_noted(tmp_path, format):
    columns = panel_columns(ITEMS)
    expected = columns["label"]
    columns["label"] = with_spaces(expected)
    if format == "csv":
        panel = read_columns(columns)
    else:
        pq.write_table(pa.table(columns), tmp_path / "v.parquet")
        panel = read_panel([tmp_path / "v.parquet"])
    assert sorted(panel.classes.names) == sorted(CLASSES)
    assert labels_of(panel) == expected
    (found,) = panel.warnings
    assert (found.code, found.severity) == ("spelling", "note")
    assert found.text.endswith("around them, such as 'billing ' and 'billing', are one class")


def test_whitespace_around_all_labels_is_not_worth_a_note():
    columns = panel_columns(ITEMS)
    expected = columns["label"]
    panel = read_columns({**columns, "label": [f" {label} " for label in expected]})
    assert labels_of(panel) == expected
    assert not panel.warnings


def test_whitespace_around_labels_of_a_file_of_labels_is_noted(tmp_path):
    columns = panel_columns(ITEMS)
    ids, labels = [f"t{i:02}" for i in range(ITEMS)], columns.pop("label")
    tables = {"v.csv": {"id": ids, **columns}, "gold.csv": {"id": ids, "truth": with_spaces(labels)}}
    panel = read_panel(write_files(tmp_path, tables))
    assert labels_of(panel) == labels
    assert codes_of(panel) == {"spelling": "note"}


@pytest.mark.parametrize("shape", ["wide", "long"])
def test_labels_that_differ_by_whitespace_between_words_are_two_classes_and_noted(shape):
    columns = panel_columns(ITEMS, ("not sure", "sure"))
    columns["label"][0] = "not  sure"
    if shape == "long":
        rows = [(t, name) for t in range(ITEMS) for name in ("m0", "m1", "m2")]
        columns = {
            "task": [f"t{t}" for t, _ in rows],
            "worker": [name for _, name in rows],
            "answer": [columns[name][t] for t, name in rows],
            "truth": [columns["label"][t] for t, _ in rows],
        }
    panel = read_columns(columns)
    assert sorted(panel.classes.names) == ["not  sure", "not sure", "sure"]
    assert codes_of(panel)["label-spelling"] == "note"
    panel = read_columns(columns, ignore_case=True)
    assert len(panel.classes.names) == 2
    assert "label-spelling" not in codes_of(panel)


def test_case_of_votes_without_labels_can_be_ignored():
    columns = panel_columns(ITEMS)
    del columns["label"]
    columns["m0"] = [vote.title() for vote in columns["m0"]]
    columns["m1"][:3] = [vote.title() for vote in columns["m1"][:3]]
    panel = read_columns(columns, label="", ignore_case=True)
    assert len(panel.classes.names) == len(CLASSES)
