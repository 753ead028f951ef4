"""Columns that are read as votes, but say no more about the labels than chance does."""

import random

import numpy as np
import pyarrow as pa
import pytest

from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.evidence import Evidence
from tests.panels.small_tables import codes_of, experts_of, panel_columns, read_columns


def association(votes, labels):
    classes = ClassNames(sorted({*votes, *labels}))
    return Evidence(pa.table({"ann": votes, "y": labels})).association("ann", "y", classes)


def test_an_expert_that_takes_one_class_for_another_is_not_named():
    columns = panel_columns(300, ("ham", "news", "spam"))
    swap = {"ham": "spam", "spam": "ham", "news": "news"}
    rng = random.Random(2)
    swapped = [
        swap[one] if rng.random() < 0.7 else rng.choice([*swap]) for one in columns["label"]
    ]  # right in a third of the rows
    panel = read_columns(columns | {"confused": swapped})
    assert "confused" in experts_of(panel)
    assert "chance-votes" not in codes_of(panel)


def test_a_column_that_has_nothing_to_do_with_the_labels_is_named():
    rng = random.Random(2)
    columns = panel_columns(300, ("ham", "news", "spam"))
    panel = read_columns(columns | {"shelf": [rng.choice(("ham", "news", "spam")) for _ in range(300)]})
    (text,) = (one.text for one in panel.warnings if one.code == "chance-votes")
    assert text.startswith("shelf: ")


@pytest.mark.parametrize(
    ("votes", "labels"),
    [([0.5, 0.5], [0.3, 0.7]), ([0.9, 0.05, 0.05], [0.6, 0.3, 0.1]), ([0.02] * 50, [0.02] * 50)],
)
def test_the_association_of_random_votes_has_mean_0_and_deviation_1(votes, labels):
    rng = np.random.default_rng(0)
    found = [
        association(rng.choice(len(votes), 250, p=votes), rng.choice(len(labels), 250, p=labels))
        for _ in range(300)
    ]
    assert abs(np.mean(found)) < 0.25
    assert 0.8 < np.std(found) < 1.2


def test_constant_votes_are_associated_with_nothing():
    assert association([0] * 50, [0, 1] * 25) == 0.0
    assert association([0, 1], [0, 1]) == 0.0


def test_labels_of_one_class_are_not_agreed_with_by_chance():
    panel = read_columns(dict.fromkeys(("gpt", "claude", "truth"), ["a"] * 300))
    assert experts_of(panel) == ["claude", "gpt"]
    assert codes_of(panel) == {"single-class": "note"}
