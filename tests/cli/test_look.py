"""First contact: what `linmax look` shows, and what `linmax fuse` makes of files as people have them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from linmax.cli import app

CLASSES = ("billing", "bug", "feature")
EXPERTS = {"gpt4": 0.85, "claude": 0.8, "rules": 0.55}
Rows = list[list[str]]


def run(*words: Any, **options: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], **options)


def told(*words: Any, **options: Any) -> dict[str, Any]:
    result = run("fuse", *words, "--learner", "Winnow(1.3)", "--json", **options)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def codes(found: dict[str, Any], severity: str | None = None) -> set[str]:
    return {one["code"] for one in found["warnings"] if severity in (None, one["severity"])}


def panel(items: int = 240, seed: int = 0) -> tuple[list[str], Rows]:
    """The header and the rows of a table: an id, three experts and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    rows = []
    for t in range(items):
        votes = [truth[t] if rng.random() < good else rng.integers(0, 3) for good in EXPERTS.values()]
        rows.append([f"T{t:04}", *(CLASSES[vote] for vote in votes), CLASSES[truth[t]]])
    return ["ticket", *(f"{name}_label" for name in EXPERTS), "human_label"], rows


def write(path: Path, header: list[str], rows: Rows) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "lab.csv", *panel())


def test_look_shows_the_role_of_every_column_and_the_command(file: Path) -> None:
    output = run("look", file).output
    assert "lab.csv: CSV, 240 rows, one row per item" in output
    for words in (("ticket", "id"), ("gpt4_label", "expert"), ("human_label", "label")):
        assert any(line.split()[:2] == list(words) for line in output.splitlines()), words
    assert f"linmax fuse {file} --label human_label --id ticket" in output.replace("\n", " ")


def test_look_as_json_has_roles_types_examples_and_reasons(file: Path) -> None:
    found = json.loads(run("look", file, "--json").stdout)
    by_name = {one["column"]: one for one in found["columns"]}
    assert by_name["gpt4_label"]["role"] == "expert"
    assert set(by_name["gpt4_label"]["examples"]) == set(CLASSES)
    assert by_name["human_label"]["reason"] == "its name"
    assert found["problem"] is None
    assert found["command"].startswith("linmax fuse ")


def test_the_command_that_look_prints_reads_the_same(file: Path) -> None:
    import shlex

    command = json.loads(run("look", file, "--json").stdout)["command"]
    assert told(*shlex.split(command)[2:])["accuracy"] == told(file)["accuracy"]


def test_fuse_as_json_has_what_is_promised(file: Path) -> None:
    found = told(file)
    assert found["verdict"] in ("better", "no significant difference", "worse", "not judged")
    assert {"warnings", "schema", "items", "accuracy", "baselines"} <= set(found)
    assert found["items"] == 240
    assert {one["name"] for one in found["baselines"]} >= {"plurality", "best expert", "last label"}
    roles = {one["column"]: one["role"] for one in found["schema"]["columns"]}
    assert roles["human_label"] == "label"


def test_two_truths_stop_with_the_line_to_type(tmp_path: Path) -> None:
    header, rows = panel()
    file = write(tmp_path / "gold.csv", [*header[:-1], "gold_a", "gold_b"], [[*row, row[-1]] for row in rows])
    changed = [[*row[:-1], CLASSES[i % 3] if i % 9 == 0 else row[-1], row[-1]] for i, row in enumerate(rows)]
    write(file, [*header[:-1], "gold_a", "gold_b"], changed)
    result = run("fuse", file)
    assert result.exit_code == 2
    assert "gold_a, gold_b" in result.stderr
    assert "--label gold_" in result.stderr
    assert "Traceback" not in result.output
    found = told(file, "--label", "gold_b")
    roles = {one["column"]: one["role"] for one in found["schema"]["columns"]}
    assert roles["gold_a"] == "ignored"


def test_rows_sorted_by_label_are_shuffled_or_not_judged(tmp_path: Path) -> None:
    header, rows = panel()
    file = write(tmp_path / "sorted.csv", header, sorted(rows, key=lambda row: row[-1]))
    found = told(file)
    assert "shuffled" in codes(found, "note")
    assert found["verdict"] != "not judged"
    kept = told(file, "--in-order")
    assert "sorted-by-label" in codes(kept, "grave")
    assert kept["verdict"] == "not judged"
    piped = told("-", input=file.read_bytes())
    assert "order-unknown" in codes(piped, "grave")
    assert piped["verdict"] == "not judged"


def test_a_column_made_from_the_label_gives_no_verdict(tmp_path: Path) -> None:
    header, rows = panel()
    leak = [[*row[:-1], row[-1], row[-1]] for row in rows]
    file = write(tmp_path / "leak.csv", [*header[:-1], "queue", "human_label"], leak)
    found = told(file)
    assert "possible-leak" in codes(found, "grave")
    assert found["verdict"] == "not judged"
    assert told(file, "--ignore", "queue")["verdict"] != "not judged"


def test_repeated_ids_give_no_verdict(tmp_path: Path) -> None:
    header, rows = panel()
    file = write(tmp_path / "twice.csv", header, [*rows, *rows[:100]])
    found = told(file)
    assert "repeated-ids" in codes(found, "grave")
    assert found["verdict"] == "not judged"


def test_a_vote_that_is_never_a_label_abstains_unless_it_is_named(tmp_path: Path) -> None:
    header, rows = panel()
    for row in rows[::12]:
        row[1] = "I cannot help with that."
    file = write(tmp_path / "refuse.csv", header, rows)
    found = told(file)
    assert "votes-never-labels" in codes(found, "note")
    assert sorted(found["classes"]) == sorted(CLASSES)
    named = told(file, "--classes", "I cannot help with that.")
    assert len(named["classes"]) == 4


def test_labels_of_another_file_are_joined_and_counted(tmp_path: Path) -> None:
    header, rows = panel()
    votes = write(tmp_path / "votes.csv", header[:-1], [row[:-1] for row in rows])
    truth = write(tmp_path / "truth.csv", ["key", "answer"], [[row[0], row[-1]] for row in rows[::-1]])
    whole = told(write(tmp_path / "whole.csv", header, rows))
    for words in (
        (votes, truth),
        (votes, "--labels", truth),
        (votes, "--labels", truth, "--labels-id", "key"),
    ):
        found = told(*words)
        assert found["accuracy"] == whole["accuracy"]
        assert found["schema"]["joins"][0]["matched"] == 240
    other = write(tmp_path / "other.csv", ["key", "answer"], [["x" + row[0], row[-1]] for row in rows])
    result = run("fuse", votes, other, "--learner", "Winnow(1.3)")
    assert result.exit_code == 2
    assert "--labels-id" in result.stderr


def test_a_model_reads_new_files_like_its_own(file: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.linmax"
    told(file, "--save", model)
    header, rows = panel(30, seed=1)
    bare = write(tmp_path / "bare.csv", header[:-1], [row[:-1] for row in rows])
    more = write(
        tmp_path / "more.csv", [*header[:-1], "queue", "team"], [[*row[:-1], "bug", "bug"] for row in rows]
    )
    first, second = run("predict", model, bare), run("predict", model, more)
    assert first.stdout == second.stdout
    assert "does not know 2 columns (queue, team)" in second.stderr
    (head, row, *_) = csv.reader(io.StringIO(first.stdout))
    shares = [float(cell) for name, cell in zip(head, row, strict=True) if name.startswith("p_")]
    assert {name for name in head if name.startswith("p_")} == {f"p_{name}" for name in CLASSES}
    assert sum(shares) == pytest.approx(1.0, abs=1e-5)


def test_without_labels_there_is_an_estimate_and_no_verdict(tmp_path: Path) -> None:
    _header, rows = panel()
    long = [[row[0], name, vote] for row in rows for name, vote in zip(EXPERTS, row[1:4], strict=True)]
    file = write(tmp_path / "long.csv", ["task", "worker", "label"], long)
    result = run("fuse", file)
    assert result.exit_code == 0
    assert "There are no labels" in result.output
    assert "ESTIMATE" in result.output
    assert json.loads(run("fuse", file, "--json").stdout)["verdict"] == "not judged"
    refused = run("fuse", file, "--save", tmp_path / "m")
    assert refused.exit_code == 2
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("command", ["look", "fuse"])
def test_a_dead_end_is_one_sentence(command: str, tmp_path: Path) -> None:
    page = tmp_path / "page.csv"
    page.write_text("<!DOCTYPE html><html><body>not found</body></html>")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    for path in (page, empty, tmp_path / "none.csv", tmp_path):
        result = run(command, path)
        assert result.exit_code == 2, path
        assert result.stderr.startswith("linmax: ")
        assert len(result.stderr.splitlines()) == 1


def test_a_lean_learner_is_taken_for_many_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 150, 700)
    votes = np.where(rng.random((700, 3)) < 0.8, truth[:, None], rng.integers(0, 150, (700, 3)))
    rows = [[*(f"c{vote}" for vote in row), f"c{label}"] for row, label in zip(votes, truth, strict=True)]
    file = write(tmp_path / "many.csv", ["a", "b", "c", "truth"], rows)
    found = json.loads(run("fuse", file, "--json").stdout)
    assert found["learner"] == "Logistic(0.1, start='equal')"
    assert "lean-learner" in codes(found, "note")
