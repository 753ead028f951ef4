"""Exports of Label Studio and sample logs of lm-evaluation-harness."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from linmax.panels.joins.expert_names import expert_names
from linmax.panels.table import RawTable, load_table
from linmax.streams import StreamError


def load(records: list[Any], name: str) -> RawTable:
    lines = name.partition("#")[0].endswith("l")
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    file = io.BytesIO(text.encode())
    file.name = name
    return load_table(file)


def annotation(by: Any, value: dict[str, Any], **more: Any) -> dict[str, Any]:
    result = [{"from_name": "kind", "type": "choices", "value": value}]
    return {"completed_by": by, "result": result, **more}


def test_annotations_are_votes_of_their_annotators() -> None:
    tasks = [
        {
            "id": 7,
            "annotations": [
                annotation(3, {"choices": ["bug"]}),
                annotation({"email": "ann@x.org", "id": 4}, {"choices": ["fix", "bug"]}),
                annotation("bob", {"rating": 4}),
                annotation(5, {"taxonomy": [["a", "b"]]}),
                annotation(6, {"choices": ["bug"]}, was_cancelled=True),
            ],
            "predictions": [{"model_version": "v1", "result": annotation(0, {"choices": ["bug"]})["result"]}],
            "ground_truth": "bug",
        },
        {"id": 8, "annotations": [annotation(3, {"choices": []})]},
    ]
    table = load(tasks, "tasks.json")
    assert table.data["expert"].to_pylist() == ["3", "ann@x.org", "bob", "5", "v1"]
    assert table.data["vote"].to_pylist() == ["bug", "bug | fix", "4", "a / b", "bug"]
    assert set(table.data["truth"].to_pylist()) == {"bug"}
    assert table.hints == {"shape": "long", "columns": ("item", "expert", "vote"), "label": "truth"}
    assert "not read: 1 cancelled annotation, 1 choices result" in table.notes


def test_the_annotation_marked_as_truth_does_not_vote() -> None:
    tasks = [
        {
            "id": i,
            "annotations": [
                annotation(1, {"choices": ["a"]}),
                annotation(2, {"choices": ["b"]}, ground_truth=True),
            ],
        }
        for i in range(2)
    ]
    table = load(tasks, "tasks.json")
    assert table.data.to_pylist()[0] == {"item": 0, "expert": "1", "vote": "a", "truth": "b"}
    assert len(table.data) == 2


def test_an_export_without_truth_has_no_such_column() -> None:
    table = load([{"id": 1, "annotations": [annotation(1, {"choices": ["a"]})]}], "tasks.json")
    assert table.data.column_names == ["item", "expert", "vote"]
    assert "label" not in table.hints


def test_one_of_several_questions_is_read(tmp_path: Any) -> None:
    task = annotation(1, {"choices": ["a"]})
    task["result"].append({"from_name": "tone", "type": "choices", "value": {"choices": ["x"]}})
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{"id": 1, "annotations": [task]}]))
    table = load_table(path)
    assert table.data["vote"].to_pylist() == ["a"]
    assert "the question 'kind' is read; for another (tone) write tasks.json#tone" in table.notes
    assert load_table(f"{path}#tone").data["vote"].to_pylist() == ["x"]
    with pytest.raises(StreamError, match=r"no question 'size'; it has kind, tone"):
        load_table(f"{path}#size")


def test_regions_are_no_votes() -> None:
    region = annotation(1, {"start": 0, "end": 3, "labels": ["PER"]})
    with pytest.raises(StreamError, match="Label Studio export without votes"):
        load([{"id": 1, "annotations": [region]}], "tasks.json")


def test_the_flat_export_is_long_too() -> None:
    rows = [
        {
            "id": i,
            "text": f"t{i}",
            "annotator": a,
            "annotation_id": 2 * i + a,
            "kind": "xy"[a],
            "lead_time": a,
        }
        for i in range(3)
        for a in range(2)
    ]
    assert load(rows, "min.json").hints == {"shape": "long", "columns": ("id", "annotator", "kind")}


def sample(i: int, **more: Any) -> dict[str, Any]:
    return {"doc_id": i, "doc": {"q": "?"}, "target": i % 2, "arguments": [["p", "a"]], "acc": 1.0, **more}


@pytest.mark.parametrize(
    "responses",
    [
        {"filtered_resps": [[-1.5, False], [-0.5, True]]},
        {"filtered_resps": [["-1.5", "False"], ["-0.5", "True"]]},
        {"filtered_resps": [-1.5, -0.5]},
        {"resps": [[[-1.5, False]], [[-0.5, True]]]},
    ],
)
def test_likelihoods_of_choices_are_scores(responses: dict[str, Any]) -> None:
    table = load([sample(i, **responses) for i in range(3)], "samples_gpt4.jsonl")
    assert table.data.to_pylist()[1] == {"doc_id": 1, "target": 1, "score:0": -1.5, "score:1": -0.5}
    assert table.expert == "gpt4"
    assert table.hints["id"] == "doc_id"
    assert table.hints["label"] == "target"
    assert "acc" not in table.data.column_names


@pytest.mark.parametrize(
    ("target", "doc"),
    [
        ("1", {}),
        ("B", {}),
        ("(B)", {}),
        (" dog", {"choices": ["cat", "dog"]}),
        ("B", {"choices": {"label": ["A", "B"]}}),
    ],
)
def test_targets_are_indices_of_choices(target: Any, doc: dict[str, Any]) -> None:
    records = [sample(0, filtered_resps=[[-1, False], [-2, False]], target=target, doc=doc)]
    assert load([*records, {**records[0], "doc_id": 1}], "samples_a.jsonl").data["target"].to_pylist() == [
        1,
        1,
    ]


def test_generated_answers_are_votes() -> None:
    records = [sample(i, resps=[["The answer is 4"]], filtered_resps=["4 "], target="4") for i in range(2)]
    table = load(records, "samples_a.jsonl")
    assert table.data.to_pylist()[0] == {"doc_id": 0, "target": "4", "vote": "4"}


def test_one_filter_is_read() -> None:
    records = [
        sample(i, filtered_resps=[name], filter=name, target="4")
        for i in range(2)
        for name in ("strict", "loose")
    ]
    table = load(records, "samples_a.jsonl")
    assert table.data["doc_id"].to_pylist() == [0, 1]
    assert table.data["vote"].to_pylist() == ["strict", "strict"]
    assert "the filter 'strict' is read; for another (loose) write samples_a.jsonl#loose" in table.notes


def test_a_task_with_one_choice_is_refused() -> None:
    with pytest.raises(StreamError, match="1 choice per item"):
        load([sample(i, filtered_resps=[[-1.5, False]]) for i in range(2)], "samples_a.jsonl")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["samples_gpt4.jsonl.gz", "samples_claude.jsonl.gz"], ["gpt4", "claude"]),
        (["out/gpt-4_preds.csv", "out/gpt-3.5_preds.csv"], ["4", "3.5"]),
        (["a/llama-3.1/votes.csv", "a/mistral/votes.csv"], ["llama-3.1", "mistral"]),
        (["gpt4.csv", "claude.csv"], ["gpt4", "claude"]),
        (
            ["m1/samples_arc_2024-06-28T00-00-00.12.jsonl", "m2/samples_arc_2024-06-28T00-05-00.12.jsonl"],
            ["m1", "m2"],
        ),
        (["same.csv", "same.csv"], ["same 1", "same 2"]),
        (["samples_gpt4_2024-06-28T00-00-00.jsonl"], ["gpt4"]),
        (["run_a.csv", "run_a_b.csv"], ["run_a", "run_a_b"]),
    ],
)
def test_experts_are_named_after_what_varies(files: list[str], names: list[str]) -> None:
    assert expert_names(files) == names
