"""Counts of votes per class: read as scores if classes are named, never as votes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.panels.small_tables import codes_of, read_columns, roles_of


def counted(names: tuple[str, str], labels: tuple[Any, Any]) -> dict[str, list[Any]]:
    """How many of two or three experts vote for each of two classes, and the label."""
    rng = random.Random(3)
    columns: dict[str, list[Any]] = {"id": [], names[0]: [], names[1]: [], "label": []}
    for i in range(80):
        experts, truth = rng.choice((2, 3)), rng.randrange(2)
        right = sum(rng.random() < 0.7 for _ in range(experts))
        counts = (right, experts - right) if truth == 0 else (experts - right, right)
        for name, value in zip(columns, (i, *counts, labels[truth]), strict=True):
            columns[name].append(value)
    return columns


@pytest.mark.parametrize("name", ["votes_{}", "n_{}", "count_{}", "{}_votes"])
@pytest.mark.parametrize("labels", [("bug", "feature"), (1, 0)])
def test_counts_with_the_name_of_a_class_are_scores(name: str, labels: tuple[Any, Any]) -> None:
    columns = (name.format(labels[0]), name.format(labels[1]))
    panel = read_columns(counted(columns, labels))
    assert [roles_of(panel)[column] for column in columns] == ["score", "score"]
    assert codes_of(panel)["single-expert"] == "note"
    assert any("give the vote of each expert" in one.text for one in panel.warnings)


@pytest.mark.parametrize("columns", [("upvotes", "downvotes"), ("yes_votes", "no_votes"), ("n_pos", "n_neg")])
def test_counts_without_classes_are_no_votes(columns: tuple[str, str]) -> None:
    problem = read_columns(counted(columns, (1, 0))).reading.problem
    assert problem is not None
    assert "count votes, linmax needs the vote of each expert instead" in problem
