"""Results of promptfoo, two levels deep in its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from linmax.panels.panel import read_panel
from tests.panels.small_tables import draw_labels, experts_of, labels_of, vote

LABELS = draw_labels(60)
PROVIDERS = ("openai:gpt-4", "anthropic:claude")


def results(**variables: Any) -> list[dict[str, Any]]:
    """An answer of each provider to each test; the text of the test and the label are its variables."""
    found = []
    for seed, provider in enumerate(PROVIDERS):
        for i, (label, answer) in enumerate(zip(LABELS, vote(LABELS, 0.8, seed), strict=True)):
            named = {name: label if value is ... else value for name, value in variables.items()}
            found.append({
                "provider": {"id": provider, "label": ""}, "promptIdx": 0, "testIdx": i,
                "prompt": {"raw": f"Classify: ticket {i}", "label": "Classify"},
                "vars": {"text": f"ticket {i}", **named}, "response": {"output": answer, "cached": False},
                "testCase": {"vars": {}, "assert": [{"type": "equals", "value": label}]},
                "success": answer == label, "score": float(answer == label), "latencyMs": 100 + i,
            })  # fmt: skip
    return found


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    document = {"evalId": "eval-1", "results": {"version": 3, "results": records, "stats": {"successes": 9}}}
    path.write_text(json.dumps({**document, "config": {"providers": list(PROVIDERS)}}, indent=2))
    return path


def test_answers_are_votes_and_a_variable_is_the_label(tmp_path: Path) -> None:
    panel = read_panel([write(tmp_path / "results.json", results(expected=...))])
    assert experts_of(panel) == sorted(PROVIDERS)
    assert sorted(map(str, labels_of(panel))) == sorted(LABELS)
    assert panel.reading.problem is None


def test_an_assertion_is_the_label_if_no_variable_is(tmp_path: Path) -> None:
    panel = read_panel([write(tmp_path / "results.json", results())])
    assert sorted(map(str, labels_of(panel))) == sorted(LABELS)


def test_results_may_be_on_lines(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, results(label=...))))
    panel = read_panel([path])
    assert experts_of(panel) == sorted(PROVIDERS)
    assert sorted(map(str, labels_of(panel))) == sorted(LABELS)


def test_tests_without_a_label_are_noted(tmp_path: Path) -> None:
    records = [{**one, "testCase": {}} for one in results()]
    panel = read_panel([write(tmp_path / "results.json", records)])
    assert panel.reading.column("label") is None
    assert any("(text) has the name of a label; call it expected" in one.text for one in panel.warnings)
