"""Columns of probabilities and confidences with a few bad cells are named; no expert is lost silently."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from linmax.cli import app
from linmax.panels.panel import Panel
from tests.panels.small_tables import as_csv, draw_labels, panel_columns, read_columns, vote


def found(panel: Panel, code: str = "missing-scores") -> list[tuple[str, str]]:
    return [(one.severity, one.text) for one in panel.warnings if one.code == code]


def probabilities(items: int = 300) -> dict[str, list[Any]]:
    """Columns of probabilities of class 1."""
    chance = random.Random(1)
    labels = draw_labels(items, (0, 1), seed=2)
    columns: dict[str, list[Any]] = {}
    for seed, name in enumerate(("ann", "bob", "eve")):
        votes = vote(labels, 0.8, seed, (0, 1))
        columns[name] = [round(0.5 * own + 0.49 * chance.random(), 3) for own in votes]
    return {**columns, "truth": labels}


def confidences(items: int = 300) -> dict[str, list[Any]]:
    chance = random.Random(3)
    columns = panel_columns(items, classes=("bug", "billing", "feature"))
    return {**columns, "m0_conf": [round(0.01 + 0.98 * chance.random(), 3) for _ in range(items)]}


@pytest.mark.parametrize("cell", ["error", "-", "93%", "inf", "1.2"])
@pytest.mark.parametrize("prefix", ["", "p_"])
def test_a_cell_that_spoils_probabilities_is_grave(cell: str, prefix: str) -> None:
    columns = {(prefix + name if name != "truth" else name): own for name, own in probabilities().items()}
    assert [one.role for one in read_columns(columns).reading.roles] == ["score"] * 3 + ["label"]
    columns[prefix + "ann"][170] = cell
    panel = read_columns(columns)
    assert [one.role for one in panel.reading.roles] == ["ignored", "score", "score", "label"]
    ((severity, text),) = found(panel)
    assert severity == "grave"
    assert f"'{prefix}ann' is not read as probabilities, because it has '{cell}'" in text


def test_an_attribute_beside_probabilities_is_none_of_them() -> None:
    columns = probabilities()
    columns["speed"] = [round(random.Random(i).random() * 1.05, 3) for i in range(300)]
    panel = read_columns(columns)
    assert [severity for severity, _ in found(panel)] == ["note"]
    columns["speed"] = [round(random.Random(i).random() * 3, 3) for i in range(300)]
    assert not found(read_columns(columns))


@pytest.mark.parametrize("name", ["weight_kg", "sentiment_score", "p_len", "rain_prob", "sample_weight"])
def test_attributes_beside_votes_are_no_probabilities(name: str) -> None:
    columns = panel_columns(300, classes=(0, 1))
    columns[name] = [round(random.Random(i).random() * 1.05, 3) for i in range(300)]
    assert not found(read_columns(columns))


def test_large_tables_are_read_as_small_ones() -> None:
    columns = probabilities(30_000)
    columns["humidity"] = [random.Random(i).random() * 1.05 for i in range(30_000)]
    assert [severity for severity, _ in found(read_columns(columns))] == ["note"]


def test_probabilities_may_be_rounded_above_one() -> None:
    columns = probabilities()
    columns["ann"][170] = 1.0000001
    panel = read_columns(columns)
    assert not found(panel)
    assert panel.chunk is not None
    assert panel.chunk.votes.value.max() == 1.0
    assert panel.chunk.votes.value.min() >= 0.0


def test_another_scale_than_that_of_confidences_is_noted() -> None:
    columns = confidences()
    columns["m0_score"] = [i % 106 for i in range(300)]
    del columns["m0_conf"]
    ((severity, text),) = found(read_columns(columns))
    assert severity == "note"
    assert "'m0_score' is not read as how sure 'm0' is" in text


def test_confidences_in_per_cent_may_be_low() -> None:
    columns = confidences()
    chance = random.Random(5)
    columns["m0_conf"] = [round(100 * chance.random(), 3) if i % 20 == 0 else 0 for i in range(300)]
    columns["m0_conf"][20] = 0.4
    panel = read_columns(columns)
    assert panel.reading.columns("confidence")
    assert not found(panel)


@pytest.mark.parametrize("cell", ["n.a.", 101, 95, -0.5])
def test_a_cell_that_spoils_confidences_is_grave(cell: Any) -> None:
    columns = confidences()
    assert read_columns(columns).reading.columns("confidence")
    columns["m0_conf"][170] = cell
    panel = read_columns(columns)
    assert not panel.reading.columns("confidence")
    ((severity, text),) = found(panel)
    assert severity == "grave"
    assert (
        f"'m0_conf' is not read as how sure 'm0' is, because it has '{cell}'; write numbers from 0 to 1"
        in text
    )


def test_confidences_that_are_not_read_are_noted() -> None:
    columns = confidences()
    columns["m0_conf"] = [f"{100 * value:.0f}%" for value in columns["m0_conf"]]
    ((severity, text),) = found(read_columns(columns))
    assert severity == "note"
    assert "%" in text
    columns["m0_conf"] = [value.rstrip("%") for value in columns["m0_conf"]]
    panel = read_columns(columns)
    assert panel.reading.columns("confidence")
    assert not found(panel)


@pytest.mark.parametrize("form", ["({})", "{}.", "**{}**", "Option {}", "Answer: {}", "The answer is {}."])
def test_short_classes_with_other_signs_are_noted(form: str) -> None:
    columns = panel_columns(90, classes=("A", "B", "C"))
    columns["m0"] = [form.format(own) for own in columns["m0"]]
    ((_, text),) = found(read_columns(columns), "partial-votes")
    assert "m0 (texts such as" in text


def test_a_text_that_only_contains_the_letter_of_a_class_is_not_noted() -> None:
    columns = panel_columns(90, classes=("A", "B", "C"))
    columns["comment"] = [f"a plan {i % 9} or two" for i in range(90)]
    assert not found(read_columns(columns), "partial-votes")


def test_a_class_without_letters_is_noted() -> None:
    columns = panel_columns(90, classes=("bug", "billing", "?"))
    ((_, text),) = found(read_columns(columns), "punctuation-class")
    assert text.startswith("'?': read as a class; pass --missing '?'")
    assert not found(read_columns(panel_columns(90, classes=("+", "-"))), "punctuation-class")


def test_votes_without_an_expert_or_an_item_are_counted() -> None:
    columns = panel_columns(60, classes=("bug", "billing"))
    rows = [
        (f"t{i}" if i % 20 else "", name if i % 15 else "", columns[name][i], columns["label"][i])
        for i in range(60)
        for name in ("m0", "m1", "m2")
    ]
    item, worker, answer, gold = map(list, zip(*rows, strict=True))
    panel = read_columns({"item": item, "worker": worker, "answer": answer, "gold": gold})
    left_out = sum(not (one and who) for one, who in zip(item, worker, strict=True))
    ((_, text),) = found(panel, "nameless-votes")
    assert text == f"{left_out} votes have no expert or no item, and are left out"


def write(file: Path, columns: dict[str, list[Any]]) -> str:
    file.write_bytes(as_csv(columns))
    return str(file)


def test_a_model_of_probabilities_refuses_percentages(tmp_path: Path) -> None:
    columns = probabilities()
    model = str(tmp_path / "model.linmax")
    learner = ["--learner", "Averaged(Winnow(1.2))", "--save", model]
    assert CliRunner().invoke(app, ["fuse", write(tmp_path / "a.csv", columns), *learner]).exit_code == 0
    assert CliRunner().invoke(app, ["predict", model, write(tmp_path / "a.csv", columns)]).exit_code == 0
    columns["ann"] = [100 * value for value in columns["ann"]]
    result = CliRunner().invoke(app, ["predict", model, write(tmp_path / "b.csv", columns)])
    assert result.exit_code == 2
    assert "b.csv, line 2: 'ann' is" in result.stderr
    assert "and is read as probabilities of class 1, from 0 to 1" in result.stderr


def test_a_model_with_confidences_refuses_negative_ones(tmp_path: Path) -> None:
    columns = confidences()
    model = str(tmp_path / "model.linmax")
    learner = ["--learner", "Averaged(Winnow(1.2))", "--save", model]
    assert CliRunner().invoke(app, ["fuse", write(tmp_path / "a.csv", columns), *learner]).exit_code == 0
    columns["m0_conf"][170] = -3
    result = CliRunner().invoke(app, ["predict", model, write(tmp_path / "b.csv", columns)])
    assert result.exit_code == 2
    assert "line 172: 'm0_conf' is -3, and is read as how sure m0 is, from 0 to 1" in result.stderr


@pytest.mark.parametrize(
    "words", [["--panel", "{file}"], ["--certify", "Winnow(1.2)", "{file}", "-o", "{out}"]]
)
def test_bounds_tell_what_may_be_wrong_with_the_panel(tmp_path: Path, words: list[str]) -> None:
    columns = {"id": [i // 2 for i in range(60)], **panel_columns(60, classes=("bug", "billing"))}
    file, out = write(tmp_path / "votes.csv", columns), str(tmp_path / "certificate.json")
    result = CliRunner().invoke(app, ["bounds", *(word.format(file=file, out=out) for word in words)])
    assert "linmax: warning: 30 rows of votes.csv repeat an id in 'id'" in result.stderr
