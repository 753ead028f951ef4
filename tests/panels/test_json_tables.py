"""JSON files in the shapes in which people have them."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pytest

from linmax.panels.table import RawTable, load_table
from linmax.panels.whole_files.json_tables import read_document
from linmax.streams import StreamError

ROWS = [{"ann": "ham", "y": 1}, {"ann": "spam", "y": 2}]


def load(document: Any, name: str = "votes.json", **options: Any) -> RawTable:
    text = document if isinstance(document, str) else json.dumps(document)
    file = io.BytesIO(text.encode())
    file.name = name
    return load_table(file, **options)


@pytest.mark.parametrize(
    "document",
    [
        ROWS,
        {"data": ROWS},
        {"version": 1, "data": ROWS, "tags": []},
        {"status": "ok", "response": {"rows": ROWS}},
        {"ann": ["ham", "spam"], "y": [1, 2]},
        {"ann": {"0": "ham", "1": "spam"}, "y": {"0": 1, "1": 2}},
        {"columns": ["ann", "y"], "index": [0, 1], "data": [["ham", 1], ["spam", 2]]},
        [["ann", "y"], ["ham", 1], ["spam", 2]],
        "\n".join(map(json.dumps, ROWS)),
        "\ufeff" + json.dumps(ROWS),
        json.dumps(ROWS, indent=1),
        json.dumps({"data": ROWS}, indent=1),
    ],
)
def test_the_usual_shapes_are_the_same_table(document: Any) -> None:
    table = load(document)
    assert table.data.to_pylist() == ROWS
    assert table.data.schema.types == [pa.string(), pa.int64()]


def test_lines_of_objects_keep_their_lines() -> None:
    table = load('{"a": 1}\n\n{"b": 2}\n', "votes.jsonl")
    assert (table.lines.tolist(), table.unit) == ([1, 3], "line")
    assert table.data.to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": 2}]


def test_a_list_in_a_file_called_jsonl_is_read() -> None:
    assert load(ROWS, "votes.jsonl").data.to_pylist() == ROWS


def test_objects_by_id_get_a_column_of_ids() -> None:
    table = load({"t1": {"ann": "ham", "y": 1}, "t2": {"ann": "spam"}, "t3": {"y": 3}})
    assert table.data.to_pylist()[1] == {"id": "t2", "ann": "spam", "y": None}
    assert load({"0": {"ann": "x"}, "1": {"ann": "y"}}).data["id"].to_pylist() == [0, 1]


def test_many_plain_values_by_id_are_a_column() -> None:
    table = load({f"t{i}": "ham" for i in range(60)})
    assert table.data.to_pylist()[0] == {"id": "t0", "value": "ham"}


def test_nested_objects_become_columns_with_dots() -> None:
    table = load([{"votes": {"gpt4": "a", "claude": {"x": 0.5}}, "tags": ["p", 1], "none": []}])
    assert table.data.to_pylist() == [
        {"votes.gpt4": "a", "votes.claude.x": 0.5, "tags": '["p", 1]', "none": None}
    ]


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ([1, None], pa.int64(), [1, None]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([True, None], pa.bool_(), [True, None]),
        ([1, "1"], pa.string(), ["1", "1"]),
        ([True, "x", 1.5], pa.string(), ["true", "x", "1.5"]),
        ([2**70, 1], pa.string(), [str(2**70), "1"]),
        ([None, None], pa.string(), [None, None]),
        ([float("nan"), 1.5], pa.float64(), [None, 1.5]),
    ],
)
def test_types_stay_where_they_are_uniform(values: list[Any], kind: Any, read: list[Any]) -> None:
    column = load([{"id": i, "a": value} for i, value in enumerate(values)]).data["a"]
    assert column.type == kind
    assert column.to_pylist() == read


def test_a_list_of_values_is_one_column() -> None:
    assert load(["ham", "spam"]).data.to_pylist() == [{"column 1": "ham"}, {"column 1": "spam"}]


def test_one_of_several_lists_is_named(tmp_path: Any) -> None:
    path = tmp_path / "votes.json"
    path.write_text(json.dumps({"train": ROWS, "test": ROWS[:1]}))
    with pytest.raises(
        StreamError, match=r"several lists of objects \(train, test\); name one as votes.json#train"
    ):
        load_table(path)
    assert load_table(f"{path}#test").data.to_pylist() == ROWS[:1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[{"a": 1},\n {"a": 2},\n {"a"', "line 3: the JSON text ends too early"),
        ('[{"a": 1},\n {"a": tru},\n {"a": 3}]', "line 2: not valid JSON from column 8"),
        ('[{"a": "x\n', "line 1: "),
        ("[]", "empty JSON list"),
        ("{}", "empty JSON object"),
        ("[{}, {}]", "has no rows"),
        ('[{"a": 1}, 7]', "entry 2 of the list is 7"),
        ("[[1, 2], [1]]", "entry 2 of the list has 1 values and the first 2"),
        ('{"a": [1, 2], "b": [1]}', r"lists of different lengths \(a 2, b 1\)"),
        ('[{"a": 1, "a": 2}]', "two values for 'a'"),
        ('[{"a.b": 1, "a": {"b": 2}}]', "two values for 'a.b'"),
        ('[{"a": "\\ud800"}]', "surrogate"),
        ('[{"a": ' + "9" * 5000 + "}]", "a number too long"),
        ("[" * 100_000, "nested too deep"),
        ('[{"a": 1}] [{"a": 2}]', "more text after the end"),
        ("ann,y\n1,2\n", "ends like JSON but begins like CSV"),
    ],
)
def test_bad_json_is_refused_with_one_sentence(text: str, says: str) -> None:
    with pytest.raises(StreamError, match=says) as caught:
        load(text)
    assert str(caught.value).startswith("votes.json")
    assert "\n" not in str(caught.value)


def test_a_bad_line_is_reported_with_its_number() -> None:
    with pytest.raises(StreamError, match=r"votes.jsonl, line 3: not valid JSON"):
        load('{"a": 1}\n{"a": 2}\n{"a": x}\n', "votes.jsonl")
    with pytest.raises(StreamError, match=r"line 2: 7 is not an object; write {...} on each line"):
        load('{"a": 1}\n7\n', "votes.jsonl")


def test_keys_that_vary_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StreamError, match=r"over 10000 columns \(k0, k1, k2, ...\) by record 10001"):
        load([{f"k{i}": 1} for i in range(10_100)])
    monkeypatch.setattr("linmax.panels.whole_files.records.MAX_SPARSE_CELLS", 1000)
    with pytest.raises(StreamError, match="100 records with 100 different keys"):
        load([{f"k{i}": 1} for i in range(100)])


def test_a_short_list_below_the_names_is_refused() -> None:
    with pytest.raises(StreamError, match="entry 2 of the list has 1 values and the first 2"):
        load([["ann", "y"], [1]])


def test_votes_by_expert_and_id_are_columns() -> None:
    votes = {name: {f"T{i}": "bug" for i in range(9)} for name in ("gpt4", "claude", "truth")}
    table = load(votes)
    assert table.data.column_names == ["id", "gpt4", "claude", "truth"]
    assert table.data["id"].to_pylist() == [f"T{i}" for i in range(9)]


def test_columns_have_one_type() -> None:
    table = load({"ann": {"x": "ham", "y": "spam"}, "share": {"x": 0.5, "y": 1.5}, "id": {"x": 1, "y": 2}})
    assert table.data.to_pylist()[0] == {"key": "x", "ann": "ham", "share": 0.5, "id": 1}


def test_labels_beside_an_object_of_predictions_are_read() -> None:
    document = {"labels": ["a", "b"], "predictions": {"gpt": ["a", "a"], "bert": ["b", "b"]}}
    found = read_document(document, "a.json", header=True).data
    assert found.to_pylist()[1] == {"labels": "b", "predictions.gpt": "a", "predictions.bert": "b"}
