"""Shapes of tables (wide, scores, long), the roles that a caller names, attributes and ids."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax import Fusion, Perceptron, Winnow
from linmax.experts import Attributes
from linmax.streams import StreamError, open_stream


def opened(text: str, name: str = "votes.csv", label: str | None = "truth", **options: Any) -> Any:
    file = io.BytesIO(text.encode())
    file.name = name
    return open_stream(file, label=label, **options)


LONG = {"id": "item", "experts": ["expert", "vote"], "shape": "long"}


def test_a_schema_is_printed_as_one_line() -> None:
    stream = opened(
        "id,size,gpt,bert,note,truth\n1,2,a,b,,a\n", id="id", attributes=["size"], experts=["gpt", "bert"]
    )
    assert str(stream.schema) == (
        "votes.csv: CSV, wide: 2 experts (gpt, bert), label truth, id id, 1 attribute (size); ignored: note"
    )


def test_cells_of_csv_files_are_text_even_if_they_look_like_numbers() -> None:
    votes = "".join(f"{i % 3},{i % 2}\n" for i in range(200_000)) + "x,01\n"
    chunks = list(opened("ann,truth\n" + votes))
    assert len(chunks) > 1
    assert {str(chunk.votes.schema.field("ann").type) for chunk in chunks} == {"string"}
    assert set(chunks[0].labels.tolist()) == {"0", "1"}
    assert chunks[-1].labels[-1] == "01"


def test_columns_of_parquet_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    pa.parquet.write_table(pa.table({"ann": [1, None, 2], "truth": [1.0, None, 2.0]}), path)
    (chunk,) = open_stream(path, label="truth")
    assert chunk.labels.tolist() == [1, None, 2]
    assert Fusion(Winnow(1.2)).learn(chunk.votes, chunk.labels).trials == 2


def test_an_empty_cell_is_missing() -> None:
    (chunk,) = opened('ann,bob,truth\na,,a\n"",b,\n')
    assert chunk.votes.to_pydict() == {"ann": ["a", None], "bob": [None, "b"]}
    assert chunk.labels.tolist() == ["a", None]


def test_quotes_hold_commas_newlines_and_quotes() -> None:
    (chunk, *_) = opened('ann,truth\n"a,b","x\ny"\n"say ""a""",b"c\n')
    assert chunk.votes.to_pydict() == {"ann": ["a,b", 'say "a"']}
    assert chunk.labels.tolist() == ["x\ny", 'b"c']
    assert chunk.lines.tolist() == [2, 4]


def test_columns_expert_class_are_read_as_scores() -> None:
    (chunk,) = opened("m:v2:ham,m:v2:spam,truth\n.2,.8,spam\n,1,ham\n")
    assert chunk.votes.items == 2
    assert list(
        zip(chunk.votes.item, chunk.votes.expert, chunk.votes.label, chunk.votes.value, strict=True)
    ) == [
        (0, "m:v2", "ham", 0.2),
        (0, "m:v2", "spam", 0.8),
        (1, "m:v2", "spam", 1.0),
    ]


def test_classes_of_scores_are_integers_if_labels_are(tmp_path: Path) -> None:
    path = tmp_path / "votes.npz"
    np.savez(path, votes=np.array([[[0.1, 0.9], [np.nan, 0.4]]]), labels=[1])
    (chunk,) = open_stream(path)
    assert Fusion(Winnow(1.2)).learn(chunk.votes, chunk.labels).right == 1


def test_scores_in_json_are_objects() -> None:
    stream = opened('{"ann": {"a": 0.7, "b": null}, "truth": "a"}\n{"bob": "b", "truth": null}\n', "v.jsonl")
    assert stream.schema.shape == "scores"
    (chunk,) = stream
    assert chunk.votes == [{"ann": {"a": 0.7}}, {"bob": "b"}]
    assert chunk.labels.tolist() == ["a", None]


def test_the_rows_of_an_item_may_span_batches() -> None:
    text = "item,expert,vote,truth\n1,ann,a,\n1,bob,b,a\n1,eve,,\n2,ann,a,b\n"
    for size in (1, 2, 3, 100):
        chunks = list(opened(text, chunk_size=size, **LONG))
        assert [name for chunk in chunks for name in chunk.ids] == ["1", "2"]
        assert [label for chunk in chunks for label in chunk.labels] == ["a", "b"]
        assert chunks[0].votes.expert.tolist() == ["ann", "bob"]


def test_columns_of_the_long_shape_can_be_named() -> None:
    stream = opened("q,who,says\n1,ann,a\n", label="", id="q", experts=["who", "says"], shape="long")
    assert str(stream.schema) == "votes.csv: CSV, long: one row per q/who/says, no label, id q"
    assert next(stream).votes.label.tolist() == ["a"]


def test_attributes_are_numbers_or_names() -> None:
    (chunk,) = opened("size,color,ann,truth\n1,red,a,a\n2.5,7,b,b\n", attributes=["size", "color"])
    assert chunk.attributes.to_pydict() == {"size": [1.0, 2.5], "color": ["red", "7"]}
    assert (
        Fusion(Perceptron().on(Attributes())).learn(attributes=chunk.attributes, labels=chunk.labels).trials
        == 2
    )


def test_svmlight_has_attributes_and_labels_and_no_votes() -> None:
    (chunk,) = opened("# made by hand\n1 qid:3 1:0.5 7:2 # first\n-1 2:1e-3\n", "a.svm", label=None)
    assert chunk.votes is None
    assert chunk.labels.tolist() == [1, -1]
    assert chunk.attributes == [{1: 0.5, 7: 2.0}, {2: 0.001}]
    fusion = Fusion(Perceptron().on(Attributes()))
    assert fusion.learn(attributes=chunk.attributes, labels=chunk.labels).trials == 2


def test_ignore_case_makes_names_equal_that_differ_by_case_or_whitespace() -> None:
    text = "Ann,truth\nSpam ,SPAM\n  ,ham\n"
    (chunk,) = opened(text, ignore_case=True)
    assert chunk.votes.to_pydict() == {"Ann": ["spam", None]}
    assert chunk.labels.tolist() == ["spam", "ham"]
    (chunk,) = opened(text)
    assert chunk.votes.to_pydict() == {"Ann": ["Spam ", "  "]}


@pytest.mark.parametrize(
    ("text", "name"), [("ann,truth\na,b\n", "v.csv"), ('{"votes": {"ann": "a"}, "truth": "b"}\n', "v.jsonl")]
)
def test_a_file_is_refused_if_nobody_says_which_column_holds_the_labels(text: str, name: str) -> None:
    with pytest.raises(StreamError, match=rf"{name} has the columns .*truth; name that of the labels with"):
        opened(text, name, label=None)
    (chunk,) = opened(text, name, label="")
    assert chunk.labels is None
    (chunk,) = opened(text, name, label=None, experts=["ann"])
    assert chunk.vote_dicts() == [{"ann": "a"}]


def test_no_column_has_a_role_because_of_its_name() -> None:
    (chunk,) = opened("id,item,expert,vote,label,truth\n1,2,3,4,5,6\n")
    assert chunk.vote_dicts() == [{"id": "1", "item": "2", "expert": "3", "vote": "4", "label": "5"}]
    assert (chunk.ids, chunk.labels.tolist()) == (None, ["6"])


def test_a_table_without_votes_has_attributes() -> None:
    stream = opened("size,color,truth\n1,red,a\n", experts=[], attributes=["size"])
    assert str(stream.schema) == (
        "votes.csv: CSV, attributes: no votes, label truth, 1 attribute (size); ignored: color"
    )


def test_experts_can_be_selected_in_nested_votes() -> None:
    row = '{"votes": {"ann": "a", "bob": "b"}, "truth": "a"}\n'
    (chunk,) = opened(row, "v.jsonl", experts=["ann"])
    assert chunk.votes == [{"ann": "a"}]
    (chunk,) = opened(row, "v.jsonl")
    assert chunk.votes == [{"ann": "a", "bob": "b"}]


def test_the_shape_is_checked_for_every_format() -> None:
    for text, name in (
        ("ann,truth\n", "v.csv"),
        ('{"votes": {"ann": "a"}}\n', "v.jsonl"),
        ("1 1:2\n", "a.svm"),
    ):
        with pytest.raises(StreamError, match="shape must be 'wide', 'scores' or 'long'"):
            opened(text, name, shape="tall")


def test_the_lines_of_svmlight_files_count_comments_and_blank_lines() -> None:
    text = "# comment\n\n1 1:1\n   # indented comment\n2 1:1 # 3:3\r\n3 qid:7\n"
    (chunk,) = opened(text, "a.svm", label=None)
    assert chunk.lines.tolist() == [3, 5, 6]
    assert chunk.attributes == [{1: 1.0}, {1: 1.0}, {}]


@pytest.mark.parametrize("bad", [0, 1, 498, 499])
@pytest.mark.parametrize("row", ["1 x", "1 2:1 1:1", "x 1:1", "1 1:nan", "1e99 1:1"])
def test_the_first_bad_line_of_an_svmlight_file_is_reported(bad: int, row: str) -> None:
    rows = ["1 1:1"] * 500
    rows[bad] = rows[499] = row
    for size in (7, 1000):
        with pytest.raises(StreamError, match=rf"a\.svm, line {bad + 2}: "):
            list(opened("# header\n" + "\n".join(rows), "a.svm", label=None, chunk_size=size))


def test_svmlight_files_without_scikit_learn_are_refused_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"svmlight files requires .* pip install 'linmax\[sklearn\]'"):
        opened("1 1:1\n", "a.svm", label=None)


@pytest.mark.parametrize("shape", ["wide", "long"])
def test_nan_in_json_lines_is_missing_as_on_the_command_line(shape: str) -> None:
    if shape == "wide":
        rows = b'{"ann": NaN, "bob": {"a": 1, "b": NaN}, "y": "a"}\n{"ann": "b", "y": NaN}\n'
        (chunk,) = open_stream(io.BytesIO(rows), label="y")
        assert [chunk.vote_dict(t) for t in range(2)] == [{"bob": {"a": 1.0}}, {"ann": "b"}]
        assert chunk.labels.tolist() == ["a", None]
        return
    rows = b'{"i": 1, "who": "ann", "vote": "a", "y": "a"}\n{"i": 1, "who": "bob", "vote": NaN, "y": "a"}\n'
    (chunk,) = open_stream(io.BytesIO(rows), label="y", id="i", experts=["who", "vote"], shape="long")
    assert chunk.vote_dict(0) == {"ann": "a"}
