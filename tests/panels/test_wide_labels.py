"""Which column of a wide table holds the labels: its name and its values decide, or linmax asks."""

import random

import pytest

from tests.panels.small_tables import (
    CLASSES,
    draw_labels,
    experts_of,
    panel_columns,
    read_columns,
    roles_of,
    vote,
)

ITEMS = 60
LABELS = draw_labels(ITEMS)


@pytest.mark.parametrize(
    "name",
    [
        "human_label",
        "truth",
        "gold",
        "my_gold",
        "ground truth",
        "y",
        "Target",
        "GOLDEN:x",
        "Wahrheit",
        "vérité",
    ],
)
def test_the_label_is_known_by_its_name(name):
    columns = panel_columns()
    columns[name] = columns.pop("label")
    assert roles_of(read_columns(columns))[name] == "label"
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]


def test_two_truths_stop_with_the_option_to_type():
    columns = panel_columns() | {"gold_b": vote(LABELS, 0.95, 9)}
    panel = read_columns(columns)
    assert panel.chunk is None
    assert "label, gold_b; name one with --label" in panel.reading.problem
    assert panel.reading.suggestion == {"--label": "label"}


def test_with_the_label_named_the_other_truth_does_not_vote():
    columns = panel_columns() | {"gold_b": vote(LABELS, 0.95, 9)}
    assert experts_of(read_columns(columns, label="gold_b")) == ["m0", "m1", "m2"]


def test_labels_as_numbers_and_as_texts_are_read_in_the_words_of_the_votes():
    columns = panel_columns()
    codes = [CLASSES.index(one) for one in columns["label"]]
    panel = read_columns({"label": codes, "label_text": columns.pop("label"), **columns})
    assert roles_of(panel)["label_text"] == "label"
    assert experts_of(panel) == ["m0", "m1", "m2"]


def test_a_truth_of_another_question_is_not_the_label():
    columns = panel_columns() | {
        "target_language": [random.Random(i).choice(["de", "fr"]) for i in range(ITEMS)]
    }
    assert roles_of(read_columns(columns))["label"] == "label"


def test_without_the_name_of_a_label_it_asks_and_lists_the_columns():
    columns = panel_columns()
    columns["m9"] = columns.pop("label")
    panel = read_columns(columns)
    assert "no column of the open file has the name of a label" in panel.reading.problem
    assert "m9, m2, m1, m0" in panel.reading.problem


def test_an_empty_label_means_that_there_is_none():
    columns = panel_columns()
    del columns["label"]
    panel = read_columns(columns, label="")
    assert panel.chunk.raw_labels is None
    assert experts_of(panel) == ["m0", "m1", "m2"]


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ([f"2025-01-{i % 28 + 1:02d} 10:00" for i in range(ITEMS)], "dates or times"),
        ([i + 0.5 for i in range(ITEMS)], "numbers with decimals"),
        ([""] * ITEMS, "nothing"),
        ([f"item {i} is a long text with many words that no class has" for i in range(ITEMS)], "free text"),
    ],
)
def test_a_label_that_cannot_be_classes_is_refused_in_one_sentence(cells, what):
    panel = read_columns(panel_columns() | {"outcome": cells}, label="outcome")
    assert f"holds {what}" in panel.reading.problem
    assert "--label" in panel.reading.problem


def test_a_label_without_values_is_named_in_the_sentence():
    problem = read_columns(panel_columns() | {"label": [""] * ITEMS}).reading.problem
    assert "column 'label' of the open file holds nothing, which cannot be classes" in problem


def test_a_single_human_is_the_label_and_several_are_experts():
    columns = panel_columns()
    truth = columns.pop("label")
    assert roles_of(read_columns(columns | {"human": truth}))["human"] == "label"
    several = columns | {"human_1": vote(truth, 0.9, 7), "human_2": vote(truth, 0.9, 8), "gold": truth}
    assert experts_of(read_columns(several)) == ["human_1", "human_2", "m0", "m1", "m2"]


def test_a_column_called_correct_is_a_label_if_it_names_classes():
    columns = panel_columns()
    columns["correct"] = columns.pop("label")
    assert roles_of(read_columns(columns))["correct"] == "label"
