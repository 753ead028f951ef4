"""Labels with a column per class: one 1 in each row."""

import pytest

from tests.panels.small_tables import (
    CLASSES,
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


def test_two_ones_in_a_row_are_refused_in_a_sentence_that_says_what_to_do():
    columns = votes() | one_hot(LABELS)
    columns["truth_bug"][:4] = columns["truth_billing"][:4] = [1] * 4
    problem = read_columns(columns).reading.problem
    assert "have 0 and 1, but not one 1 in each row" in problem
    assert "make one column of classes" in problem


def test_a_file_of_labels_may_have_a_column_per_class(tmp_path):
    ids = [f"T{i:02d}" for i in range(ITEMS)]
    panel = read_files(tmp_path, {"votes.csv": {"id": ids, **votes()}}, {"id": ids, **one_hot(LABELS, "{}")})
    assert labels_of(panel) == LABELS
