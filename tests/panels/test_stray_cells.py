"""Totals below a table and stray cells: they are named in a note, and no expert is lost because of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from linmax.panels.panel import Panel
from tests.panels.small_tables import codes_of, draw_labels, experts_of, panel_columns, read_columns, vote


def said(panel: Panel) -> str:
    return " ".join(one.text for one in panel.warnings)


def with_row(columns: dict[str, list[Any]], *cells: Any) -> dict[str, list[Any]]:
    return {name: [*own, cell] for (name, own), cell in zip(columns.items(), cells, strict=True)}


def numbered(items: int = 60) -> dict[str, list[Any]]:
    return {"id": [f"t{i}" for i in range(items)], **panel_columns(items, classes=(0, 1, 2))}


@pytest.mark.parametrize("word", ["TOTAL", "Mean:", "Summe", "Grand total"])
def test_a_row_that_sums_up_the_others_is_not_read(word: str) -> None:
    panel = read_columns(with_row(numbered(30), word, 0.8, 0.7, 0.6, ""))
    assert experts_of(panel) == ["m0", "m1", "m2"]
    assert panel.chunk is not None
    assert panel.chunk.items == 30
    assert f"line 32 ({word!r}) sums up the rows above and is not read" in said(panel)


def test_a_class_may_be_called_total() -> None:
    columns = panel_columns(60, classes=("total", "partial"))
    assert columns["label"].count("total") > 1
    panel = read_columns({name: [*own, "total"] for name, own in columns.items()})
    assert panel.chunk is not None
    assert panel.chunk.items == 61


def test_a_mean_without_a_name_does_not_turn_votes_into_decimals() -> None:
    panel = read_columns(with_row(numbered(), "", 0.8, 0.7, 0.6, 0.5))
    assert experts_of(panel) == ["m0", "m1", "m2"]
    assert "0.8 in 'm0', a column of whole numbers, is no vote and is not read" in said(panel)
    assert [str(name) for name in panel.classes.names] == ["0", "1", "2"]


def test_columns_with_many_decimals_keep_them() -> None:
    columns = numbered()
    columns["speed"] = [random.Random(i).choice((1, 2, 0.5)) for i in range(60)]
    assert "speed" not in said(read_columns(columns))


def test_votes_among_many_different_refusals_are_no_free_text() -> None:
    labels = draw_labels(200)
    votes = vote(labels, 0.8, 1)
    for i in range(0, 200, 5):
        votes[i] = f"I am sorry, but I cannot answer this question about the ticket number {i} today."
    panel = read_columns({"gpt": votes, "bert": vote(labels, 0.7, 2), "label": labels})
    assert experts_of(panel) == ["bert", "gpt"]
    assert "40 votes are never a label and abstain" in said(panel)


def test_a_column_with_too_few_classes_to_vote_is_named() -> None:
    labels = draw_labels(200)
    votes = vote(labels, 0.8, 1)
    votes[60:] = ["unsure"] * 140
    panel = read_columns({"gpt": votes, "bert": vote(labels, 0.7, 2), "label": labels})
    assert codes_of(panel)["partial-votes"] == "note"
    assert "gpt (30% of the values are classes)" in said(panel)


def test_yes_and_no_do_not_vote_for_1_and_0_unless_they_are_named() -> None:
    columns = panel_columns(60, classes=(0, 1))
    columns["m0"] = ["yes" if one else "no" for one in columns["m0"]]
    panel = read_columns(columns)
    assert experts_of(panel) == ["m1", "m2"]
    assert "m0 (no, yes are other words for the classes)" in said(panel).replace("yes, no", "no, yes")
    named = read_columns(columns, experts=("m0", "m1", "m2"))
    assert experts_of(named) == ["m0", "m1", "m2"]
    assert "never a label" not in said(named)


def test_answers_in_whole_sentences_are_named() -> None:
    columns = panel_columns(60)
    columns["m0"] = [f"The answer is {one}." for one in columns["m0"]]
    panel = read_columns(columns)
    assert experts_of(panel) == ["m1", "m2"]
    assert "mention classes, but are no classes" in said(panel)


def test_names_of_columns_between_the_rows_of_joined_files_are_not_read() -> None:
    columns = {"id": [f"t{i}" for i in range(60)], **panel_columns(60)}
    panel = read_columns({name: [*own[:30], name, *own[30:]] for name, own in columns.items()})
    assert panel.chunk is not None
    assert panel.chunk.items == 60
    assert "the names of the columns are repeated in line 32, which is not read" in said(panel)
    assert sorted(panel.classes.names) == sorted(set(columns["label"]))
