"""Labels with a column per class: one 1 in each row."""

import io
from dataclasses import replace

import pytest

from linmax.panels import load_table
from linmax.panels.panel import panel_of
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.roles.wide.one_hot import merge_one_hot
from tests.panels.small_tables import (
    CLASSES,
    as_csv,
    codes_of,
    draw_labels,
    experts_of,
    labels_of,
    panel_columns,
    read_columns,
    roles_of,
)
from tests.panels.test_join import read_files

ITEMS = 60
LABELS = draw_labels(ITEMS)


def one_hot(labels, name="truth_{}", cells=(0, 1)):
    return {
        name.format(one): [None if label is None else cells[label == one] for label in labels]
        for one in CLASSES
    }


def votes():
    columns = panel_columns(ITEMS)
    del columns["label"]
    return columns


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("truth_{}", (0, 1)),
        ("gold:{}", (0.0, 1.0)),
        ("{}_truth", ("False", "True")),
        ("human_label_{}", (0, 1)),
    ],
)
def test_a_column_of_0_and_1_per_class_is_one_label(name, cells):
    panel = read_columns(votes() | one_hot(LABELS, name, cells))
    assert experts_of(panel) == ["m0", "m1", "m2"]
    assert labels_of(panel) == LABELS
    assert codes_of(panel)["reading"] == "note"
    (label,) = panel.reading.columns("label")
    assert label.reason.startswith("made of ")


def test_rows_without_any_cell_have_no_label():
    labels = [*LABELS[:-5], *[None] * 5]
    assert labels_of(read_columns(votes() | one_hot(labels))) == labels


def test_columns_that_the_user_names_stay_as_they_are():
    columns = votes() | one_hot(LABELS) | {"label": LABELS}
    assert "truth_bug" in roles_of(read_columns(columns, label="label", ignore=("truth_*",)))


def test_an_expert_with_a_column_per_class_stays_an_expert_beside_a_label():
    panel = read_columns(votes() | one_hot(LABELS, "human_{}") | {"label": LABELS})
    assert experts_of(panel) == ["human", "m0", "m1", "m2"]


def test_two_people_that_disagree_in_a_few_rows_are_not_one_label():
    panel = read_columns({"label_1": [0, 1, 0], "label_2": [1, 0, 1], "ann": [0, 1, 1]})
    assert panel.reading.problem is not None
    assert panel.table.data.column_names == ["label_1", "label_2", "ann"]


def test_experts_with_a_score_per_class_are_read_beside_one_hot_labels():
    columns = {f"gpt4_{one}": [0.7 if label == one else 0.15 for label in LABELS] for one in CLASSES}
    panel = read_columns(columns | one_hot(LABELS))
    assert experts_of(panel) == ["gpt4"]
    assert labels_of(panel) == LABELS


def test_two_ones_in_a_row_are_refused_in_a_sentence_that_says_what_to_do():
    columns = votes() | one_hot(LABELS)
    columns["truth_bug"][:4] = columns["truth_billing"][:4] = [1] * 4
    problem = read_columns(columns).reading.problem
    assert "have 0 and 1, but not one 1 in each row" in problem
    assert "make one column of classes" in problem


def test_if_only_the_first_rows_are_in_memory_the_sentence_says_so():
    table = replace(load_table(io.BytesIO(as_csv(votes() | one_hot(LABELS)))), complete=False)
    panel = panel_of(merge_one_hot(table, PanelOptions()), PanelOptions())
    assert "are one label with a column per class, which needs a file that fits into memory" in (
        panel.reading.problem
    )


@pytest.mark.parametrize("key", ["id", "song"])
def test_a_file_of_labels_may_have_a_column_per_class(tmp_path, key):
    ids = [f"T{i:02d}" for i in range(ITEMS)]
    panel = read_files(tmp_path, {"votes.csv": {"id": ids, **votes()}}, {key: ids, **one_hot(LABELS, "{}")})
    assert labels_of(panel) == LABELS
