"""Votes in lists: of objects, beside a list of experts, or as texts with commas."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions


def items(seed: int = 0) -> list[tuple[str, dict[str, str]]]:
    """Labels, and the votes of two or three of four annotators."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(80):
        truth = rng.choice(["tech", "sales"])
        who = rng.choice(["ann", "bob", "eve", "joe"], size=rng.integers(2, 4), replace=False)
        votes = {
            str(name): str(truth if rng.random() < 0.8 else rng.choice(["tech", "sales"])) for name in who
        }
        found.append((str(truth), votes))
    return found


def objects(truth: str, votes: dict[str, str]) -> dict[str, Any]:
    return {"gold": truth, "responses": [{"user_id": name, "value": vote} for name, vote in votes.items()]}


def deeper(truth: str, votes: dict[str, str]) -> dict[str, Any]:
    parts = [{"value": vote, "user_id": name} for name, vote in votes.items()]
    return {"fields": {"text": "..."}, "gold": truth, "responses": {"label": parts}}


def lists(truth: str, votes: dict[str, str]) -> dict[str, Any]:
    return {"gold": truth, "annotators": list(votes), "labels": list(votes.values())}


def texts(truth: str, votes: dict[str, str]) -> dict[str, Any]:
    return {"hard_label": truth, "annotators": ",".join(votes), "annotations": ",".join(votes.values())}


@pytest.mark.parametrize("form", [objects, deeper, lists, texts])
@pytest.mark.parametrize("kind", ["json", "jsonl", "by id", "parquet"])
def test_votes_in_lists_are_read_one_by_one(form: Any, kind: str, tmp_path: Path) -> None:
    records = [form(*item) for item in items()]
    path = tmp_path / (
        "votes.parquet" if kind == "parquet" else f"votes.{'jsonl' if kind == 'jsonl' else 'json'}"
    )
    if kind == "parquet":
        if form is texts:
            pytest.skip("only lists are looked into in typed files")
        pq.write_table(pa.Table.from_pylist(records), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        by_id = {str(i): record for i, record in enumerate(records)}
        path.write_text(json.dumps(records if kind == "json" else by_id))
    panel = read_panel([path], PanelOptions())
    assert panel.reading.problem is None
    assert panel.chunk is not None
    assert panel.chunk.labels.tolist() == [truth for truth, _ in items()]
    assert panel.chunk.vote_dicts() == [votes for _, votes in items()]
    assert any("one row per vote" in one.text for one in panel.warnings)


def test_lists_that_are_no_votes_stay_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "wide.json"
    rows = [
        {"ann": "a", "bob": "b", "tags": ["x", "y"], "truth": "a"},
        {"ann": "b", "bob": "b", "truth": "b"},
    ]
    path.write_text(json.dumps(rows * 10))
    panel = read_panel([path], PanelOptions())
    assert panel.reading.shape == "wide"


def test_lists_without_experts_are_no_votes_and_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their order may mean nothing, so that they are not read as votes by position."""
    rows = [{"gold": truth, "votes": list(votes.values())} for truth, votes in items()]
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "if the lists in votes are votes, write a column for each expert" in problem([path])
    named = problem([path], PanelOptions(experts=("votes",)))
    assert "'votes' of votes.jsonl is named by --experts, but its values" in named
    nested = "".join(json.dumps(objects(truth, votes)) + "\n" for truth, votes in items())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(nested.encode())))
    assert "lists with the expert of each vote can be read from files" in problem(["-"])


def problem(paths: list[Any], options: PanelOptions | None = None) -> str:
    return str(read_panel(paths, options).reading.problem)
