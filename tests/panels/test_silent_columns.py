"""Columns of wide tables that must not vote: results, ids, times, texts, counts, flags and leaks."""

import random

import pytest

from tests.panels.small_tables import (
    codes_of,
    draw_labels,
    experts_of,
    panel_columns,
    read_columns,
    roles_of,
    vote,
)

ITEMS = 60


@pytest.mark.parametrize("name", ["acc", "is_correct", "m0_correct", "exact_match", "m0 is wrong"])
def test_columns_that_say_who_was_right_never_vote(name):
    columns = panel_columns(200, ("0", "1"))
    columns[name] = [int(a == b) for a, b in zip(columns["m0"], columns["label"], strict=True)]
    assert roles_of(read_columns(columns))[name] == "ignored"


@pytest.mark.parametrize("name", ["majority_vote", "consensus", "aggregated"])
def test_votes_that_are_made_from_the_others_do_not_vote(name):
    columns = panel_columns()
    columns[name] = columns["m0"]
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]


def test_ids_times_texts_decimals_and_constants_never_vote():
    extra = {
        "key": [f"T{i}" for i in range(ITEMS)],
        "created": [f"2025-01-01 10:{i:02d}" for i in range(ITEMS)],
        "said": [f"hello, this is ticket {i} and it is about a bug in it" for i in range(ITEMS)],
        "price": [i + 0.25 for i in range(ITEMS)],
        "version": ["bug"] * ITEMS,
        "nothing": [""] * ITEMS,
    }
    roles = roles_of(read_columns(extra | panel_columns()))
    assert [roles[name] for name in extra] == ["id", "time", *["ignored"] * 4]


def test_in_a_few_rows_an_expert_may_always_say_the_same():
    columns = {"gpt4": ["a", "b"], "claude": ["b", "b"], "truth": ["a", "b"]}
    assert experts_of(read_columns(columns)) == ["claude", "gpt4"]


def test_integers_that_are_attributes_do_not_vote():
    rng = random.Random(0)
    columns = panel_columns(300, (1, 2, 3)) | {
        "age": [rng.randint(1, 90) for _ in range(300)],
        "year": [rng.choice([2019, 2020]) for _ in range(300)],
    }
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]


@pytest.mark.parametrize("name", ["fold", "num_images", "is_vip", "has_link", "age group", "turn"])
def test_counts_flags_and_folds_do_not_vote_unless_they_are_named(name):
    columns = panel_columns(60, (0, 1)) | {name: [i % 2 for i in range(60)]}
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]
    assert experts_of(read_columns(columns, experts=("m0", name))) == sorted(["m0", name])


def test_flags_that_are_named_like_the_label_vote():
    labels = draw_labels(60, (0, 1))
    columns = {
        "is_spam_gpt4": vote(labels, 0.8, 1),
        "is_spam_claude": vote(labels, 0.8, 2),
        "is_spam": labels,
    }
    assert experts_of(read_columns(columns, label="is_spam")) == ["is_spam_claude", "is_spam_gpt4"]


def test_columns_that_agree_with_labels_by_chance_only_are_listed():
    columns = panel_columns(300, (0, 1, 2)) | {"shelf": [i % 3 for i in range(300)]}
    panel = read_columns(columns)
    assert codes_of(panel) == {"chance-votes": "note"}
    assert panel.warnings[0].text.startswith("shelf: ")
    assert not read_columns(columns, ignore=("shelf",)).warnings


def test_a_poor_expert_of_a_series_is_not_doubted():
    columns = panel_columns(300, (0, 1, 2)) | {"m9": [i % 3 for i in range(300)]}
    panel = read_columns(columns)
    assert "m9" in experts_of(panel)
    assert not panel.warnings


def test_random_votes_are_votes_if_nobody_does_better():
    rng = random.Random(3)
    columns = {name: [rng.randint(0, 1) for _ in range(300)] for name in ("ann", "bob", "label")}
    assert experts_of(read_columns(columns)) == ["ann", "bob"]


def test_if_all_votes_agree_by_chance_only_they_may_be_attributes():
    rng = random.Random(3)
    columns = {
        name: [rng.choice(("Yes", "No")) for _ in range(300)] for name in ("partner", "phone", "churn")
    }
    panel = read_columns(columns)
    assert codes_of(panel)["chance-votes"] == "grave"
    assert "chance-votes" not in codes_of(read_columns(columns, experts=("partner", "phone")))


def test_an_expert_that_is_nearly_always_right_may_be_a_leak():
    columns = panel_columns(100)
    panel = read_columns(columns | {"predicted": columns["label"]})
    assert codes_of(panel)["possible-leak"] == "grave"
    assert "possible-leak" not in codes_of(read_columns(columns))


def test_repeated_ids_are_a_grave_warning():
    columns = {"ticket": [f"T{i % 50}" for i in range(ITEMS)], **panel_columns()}
    panel = read_columns(columns)
    assert codes_of(panel)["repeated-ids"] == "grave"
    assert "repeated-ids" not in codes_of(read_columns(columns, id=""))


def test_items_that_all_occur_three_times_are_a_grave_warning():
    columns = {name: values * 3 for name, values in panel_columns().items()}
    columns["item_id"] = [f"T{i % ITEMS}" for i in range(3 * ITEMS)]
    assert codes_of(read_columns(columns))["repeated-ids"] == "grave"


def test_an_id_that_counts_like_a_class_does_not_vote():
    columns = {"id": list(range(ITEMS)), **panel_columns(ITEMS, (1, 2, 3, 4, 5))}
    assert roles_of(read_columns(columns))["id"] == "id"
