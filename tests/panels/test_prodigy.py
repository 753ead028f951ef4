"""Exports of Prodigy: the chosen option is the vote, not whether the task was accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from linmax.panels.panel import Panel, read_panel
from tests.panels.small_tables import draw_labels, experts_of, labels_of, vote

LABELS = draw_labels(60)
OPTIONS = [{"id": name, "text": name} for name in sorted(set(LABELS))]


def read(path: Path, records: list[dict[str, Any]]) -> Panel:
    path.write_text("\n".join(map(json.dumps, records)))
    return read_panel([path])


def tasks(**more: Any) -> list[dict[str, Any]]:
    return [
        {
            "text": f"ticket {i}", "_input_hash": 1000 + i, "_task_hash": -i, "options": OPTIONS,
            "accept": [one], "answer": "accept" if i % 10 else "ignore", "_annotator_id": f"db-{name}",
            **{key: LABELS[i] if value is ... else value for key, value in more.items()},
        }
        for seed, name in enumerate(("ann", "bob", "eve"))
        for i, one in enumerate(vote(LABELS, 0.8, seed))
    ]  # fmt: skip


def test_the_chosen_option_is_the_vote(tmp_path: Path) -> None:
    panel = read(tmp_path / "db.jsonl", tasks(gold=...))
    assert experts_of(panel) == ["db-ann", "db-bob", "db-eve"]
    assert sorted(map(str, labels_of(panel))) == sorted(LABELS)
    assert sorted(panel.classes.names) == sorted(set(LABELS))
    assert any("18 tasks were ignored or rejected: they have no vote" in one.text for one in panel.warnings)


def test_without_options_accept_and_reject_are_the_votes(tmp_path: Path) -> None:
    records = [
        {key: value for key, value in one.items() if key not in ("options", "accept")}
        | {"label": "bug", "answer": "accept" if one["accept"] == ["bug"] else "reject"}
        for one in tasks()
    ]
    panel = read(tmp_path / "db.jsonl", records)
    assert sorted(panel.classes.names) == ["accept", "reject"]
    assert panel.reading.column("label") is None


def test_several_options_of_a_task_are_a_grave_warning(tmp_path: Path) -> None:
    records = [{**one, "accept": ["bug", "billing"] if i % 3 else ["bug"]} for i, one in enumerate(tasks())]
    records = [
        {**one, "accept": ["billing"] if i % 4 == 0 else one["accept"]} for i, one in enumerate(records)
    ]
    panel = read(tmp_path / "db.jsonl", records)
    assert any(one.code == "several-labels" and one.severity == "grave" for one in panel.warnings)
