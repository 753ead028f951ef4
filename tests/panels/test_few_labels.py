"""Tables with few labels, or none: who votes, and what is a class."""

import random

import pytest

from tests.panels.small_tables import (
    CLASSES,
    codes_of,
    draw_labels,
    experts_of,
    panel_columns,
    read_columns,
    roles_of,
    vote,
)


def known(columns, rows):
    """Return columns with labels in these rows only."""
    kept = set(rows)
    return {**columns, "label": [one if i in kept else None for i, one in enumerate(columns["label"])]}


def test_an_expert_that_mostly_says_what_was_no_label_yet_votes():
    columns = {"gpt4": ["a", "b", "a"], "claude": ["a", "a", "b"], "truth": ["b", "b", None]}
    assert experts_of(read_columns(columns)) == ["claude", "gpt4"]
    assert experts_of(read_columns({"gpt4": ["a", "b", "a"], "truth": ["b", "b", None]})) == ["gpt4"]


@pytest.mark.parametrize("classes", [("ham", "news", "spam"), (1, 2, 3), (1, 2, 3, 4, 5)])
def test_with_labels_of_one_class_the_experts_vote_for_all(classes):
    columns = panel_columns(200, classes)
    first = [i for i, one in enumerate(columns["label"]) if one == classes[-1]][:10]
    panel = read_columns(known(columns, first))
    assert experts_of(panel) == ["m0", "m1", "m2"]
    assert sorted(panel.classes.names) == sorted(map(str, classes))


def test_with_few_labels_ids_attributes_and_columns_of_other_values_do_not_vote():
    rng = random.Random(4)
    columns = panel_columns(200, ("0", "1", "2"))
    extra = {
        "customer_id": [rng.randint(0, 60) for _ in range(200)],
        "fold": [i % 3 for i in range(200)],
        "width": [rng.randint(0, 99) for _ in range(200)],
        "height": [rng.randint(0, 99) for _ in range(200)],
        "from": [rng.choice(["north", "south"]) for _ in range(200)],
        "to": [rng.choice(["north", "south"]) for _ in range(200)],
        "acc": [rng.randint(0, 1) for _ in range(200)],
    }
    first = [i for i, one in enumerate(columns["label"]) if one == "1"][:10]
    assert experts_of(read_columns(known(columns | extra, first))) == ["m0", "m1", "m2"]


def test_counts_do_not_become_classes_in_a_small_table_with_all_labels():
    rng = random.Random(4)
    counts = {name: [rng.choice([0, 0, 0, 1, 2, 3, 4, 5]) for _ in range(40)] for name in ("sibsp", "parch")}
    assert experts_of(read_columns(panel_columns(40, (0, 1)) | counts)) == ["m0", "m1", "m2"]


def test_minus_one_abstains_with_few_labels_too():
    columns = panel_columns(90, (0, 1, 2))
    for name in ("m0", "m1"):
        columns[name] = [-1 if i % 2 else one for i, one in enumerate(columns[name])]
    panel = read_columns(known(columns, range(20)))
    assert sum("m0" in one for one in panel.chunk.vote_dicts()) == 45


def test_minus_one_is_a_class_of_a_scale_of_which_one_class_was_labelled():
    columns = panel_columns(90, (-1, 0, 1))
    first = [i for i, one in enumerate(columns["label"]) if one == 1][:10]
    panel = read_columns(known(columns, first))
    assert sorted(panel.classes.names) == ["-1", "0", "1"]


def test_with_many_labels_a_value_that_is_never_a_label_is_no_class():
    columns = panel_columns(200)
    for name in ("m0", "m1"):
        columns[name][:5] = ["I refuse"] * 5
    panel = read_columns(columns)
    assert sorted(panel.classes.names) == sorted(CLASSES)
    assert codes_of(panel)["votes-never-labels"] == "note"


def test_without_labels_a_truth_does_not_vote_and_is_named():
    columns = panel_columns(60)
    columns["gold"] = columns.pop("label")
    panel = read_columns(columns, label="")
    assert experts_of(panel) == ["m0", "m1", "m2"]
    (role,) = (one for one in panel.reading.roles if one.name == "gold")
    assert (role.role, role.reason) == ("ignored", "its name says that it is a truth")
    (text,) = (one.text for one in panel.warnings if one.code == "ignored-truth")
    assert text.startswith("gold: ")


def test_without_labels_a_truth_that_is_named_as_an_expert_votes():
    panel = read_columns(panel_columns(60), label="", experts=("m0", "label"))
    assert experts_of(panel) == ["label", "m0"]
    assert "ignored-truth" not in codes_of(panel)


def test_without_labels_several_humans_are_experts():
    labels = draw_labels(60)
    columns = {f"human_{i}": vote(labels, 0.8, i) for i in range(3)}
    panel = read_columns(columns, label="")
    assert set(roles_of(panel).values()) == {"expert"}
    assert not panel.warnings
