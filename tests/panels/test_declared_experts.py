"""Experts that the format of a file, or a file per expert, names: their names do not matter."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linmax.panels import panel as panel_module
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from tests.panels.small_tables import codes_of, experts_of, labels_of, panel_columns, roles_of, write_files

ITEMS = 300
NAMES = ("human", "rules_n", "is_correct")
CODES = {"billing": 0, "bug": 1, "feature": 2}


def votes_and_labels() -> tuple[dict[str, list[str]], list[str]]:
    columns = panel_columns(ITEMS)
    labels = columns.pop("label")
    return dict(zip(NAMES, columns.values(), strict=True)), labels


def arrays() -> tuple[np.ndarray, np.ndarray]:
    votes, labels = votes_and_labels()
    matrix = np.stack([[CODES[vote] for vote in column] for column in votes.values()], axis=1)
    return matrix, np.array([CODES[label] for label in labels])


def test_the_experts_of_an_archive_vote_whatever_their_names_are(tmp_path: Path) -> None:
    matrix, labels = arrays()
    np.savez(tmp_path / "v.npz", votes=matrix, labels=labels, experts=np.array(NAMES))
    panel = read_panel([tmp_path / "v.npz"])
    assert roles_of(panel) == {**dict.fromkeys(NAMES, "expert"), "labels": "label"}
    assert not panel.warnings


def test_experts_that_always_vote_alike_or_by_chance_are_experts_of_an_archive(tmp_path: Path) -> None:
    matrix, labels = arrays()
    matrix[:, 0] = 1
    matrix[:, 1:] = np.random.default_rng(1).integers(0, 3, (ITEMS, 2))
    np.savez(tmp_path / "v.npz", votes=matrix, labels=labels, experts=np.array(NAMES))
    panel = read_panel([tmp_path / "v.npz"])
    assert experts_of(panel) == sorted(NAMES)
    assert "chance-votes" not in codes_of(panel)


def test_an_expert_of_an_archive_is_not_taken_for_the_label(tmp_path: Path) -> None:
    matrix, _ = arrays()
    np.savez(tmp_path / "v.npz", votes=matrix, experts=np.array(NAMES))
    panel = read_panel([tmp_path / "v.npz"])
    assert panel.reading.column("label") is None
    assert str(panel.reading.problem).endswith("or pass --label '' if there is none")
    assert not panel.reading.suggestion
    panel = read_panel([tmp_path / "v.npz"], PanelOptions(label=""))
    assert experts_of(panel) == sorted(NAMES)
    panel = read_panel([tmp_path / "v.npz"], PanelOptions(label="human"))
    assert panel.reading.column("label") == "human"


def test_an_expert_of_an_archive_without_any_class_is_noted(tmp_path: Path) -> None:
    matrix, labels = arrays()
    matrix[:, 2] += 40
    np.savez(tmp_path / "v.npz", votes=matrix, labels=labels, experts=np.array(NAMES))
    panel = read_panel([tmp_path / "v.npz"])
    assert experts_of(panel) == ["human", "rules_n"]
    (found,) = panel.warnings
    assert found.code == "partial-votes"
    assert found.text.startswith("is_correct: the format says that these are experts")


@pytest.mark.parametrize("dtype", [int, float])
def test_scores_of_an_archive_are_scores_whatever_their_names_are(tmp_path: Path, dtype: type) -> None:
    matrix, labels = arrays()
    matrix[:, 0] %= 2  # never the last class
    scores = np.eye(3, dtype=dtype)[matrix] * (1 if dtype is int else 0.75)
    np.savez(tmp_path / "v.npz", votes=scores, labels=labels, experts=np.array(NAMES))
    panel = read_panel([tmp_path / "v.npz"])
    assert experts_of(panel) == sorted(NAMES)
    assert not panel.reading.columns("expert")


def json_rows(votes: dict[str, list[str]], labels: list[str]) -> list[dict[str, object]]:
    return [
        {"id": i, "votes": {name: column[i] for name, column in votes.items()}, "label": label}
        for i, label in enumerate(labels)
    ]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_votes_of_json_records_are_of_experts_whatever_their_names_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_streamed: bool
) -> None:
    if is_streamed:
        monkeypatch.setattr(panel_module, "CHUNK_SIZE", 100)
        monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    votes, labels = votes_and_labels()
    rows = json_rows(votes, labels)
    for row in rows[:150]:
        del row["votes"]["is_correct"]  # type: ignore[attr-defined]
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    panel = read_panel([tmp_path / "v.jsonl"])
    assert panel.complete is not is_streamed
    assert panel.reading.column("label") == "label"
    with panel.stream() as stream:
        seen = {name for chunk in stream for dicts in chunk.vote_dicts() for name in dicts}
    assert seen == set(NAMES)


def test_the_votes_of_json_records_do_not_contradict_a_file_of_labels(tmp_path: Path) -> None:
    votes, labels = votes_and_labels()
    rows = [{"id": row["id"], "votes": row["votes"]} for row in json_rows(votes, labels)]
    (tmp_path / "v.json").write_text(json.dumps(rows), encoding="utf-8")
    (gold,) = write_files(tmp_path, {"gold.csv": {"id": list(range(ITEMS)), "truth": labels}})
    panel = read_panel([tmp_path / "v.json"], PanelOptions(labels=gold))
    assert experts_of(panel) == sorted(NAMES)
    assert not panel.warnings


@pytest.mark.parametrize("column", ["prediction", "label"])
def test_a_file_per_expert_says_who_votes_if_there_is_a_file_of_labels(tmp_path: Path, column: str) -> None:
    votes, labels = votes_and_labels()
    ids = [f"t{i:03}" for i in range(ITEMS)]
    files = {f"{name}.csv": {"id": ids, column: own} for name, own in votes.items()}
    paths = write_files(tmp_path, {**files, "gold.csv": {"id": ids, "truth": labels}})
    panel = read_panel(paths)
    assert experts_of(panel) == sorted(["human", "rules_n", "is_correct"])
    assert labels_of(panel) == labels
    assert not panel.warnings
    panel = read_panel(paths[:3])  # without it, the file of a human has the labels
    assert panel.reading.column("label") == "human"
