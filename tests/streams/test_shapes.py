"""What columns are for: experts, scores, votes one by one, attributes, ids; and what looks odd in them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from linmax import Fusion, Perceptron, Winnow
from linmax.experts import Attributes
from linmax.streams import data_warnings, open_stream, read_labels


def opened(text: str, name: str = "votes.csv", **options: Any) -> Any:
    file = io.BytesIO(text.encode())
    file.name = name
    return open_stream(file, **options)


def test_the_layout_is_one_line_to_check() -> None:
    stream = opened("id,size,gpt,bert,note,truth\n1,2,a,b,,a\n", attributes=["size"], experts=["gpt", "bert"])
    assert str(stream.schema) == (
        "votes.csv: CSV, wide: 2 experts (gpt, bert), label truth, id id, 1 attribute (size); ignored: note"
    )


def test_text_files_hold_text_whatever_it_looks_like() -> None:
    votes = "".join(f"{i % 3},{i % 2}\n" for i in range(200_000)) + "x,01\n"
    chunks = list(opened("ann,truth\n" + votes))
    assert len(chunks) > 1
    assert {str(chunk.votes.schema.field("ann").type) for chunk in chunks} == {"string"}
    assert set(chunks[0].labels.tolist()) == {"0", "1"}
    assert chunks[-1].labels[-1] == "01"


def test_columns_of_parquet_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    pa.parquet.write_table(pa.table({"ann": [1, None, 2], "truth": [1.0, None, 2.0]}), path)
    (chunk,) = open_stream(path)
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


def test_scores_come_with_the_names_of_experts_and_classes() -> None:
    (chunk,) = opened("m:v2:ham,m:v2:spam,truth\n.2,.8,spam\n,1,ham\n")
    assert chunk.votes.items == 2
    assert list(
        zip(chunk.votes.item, chunk.votes.expert, chunk.votes.label, chunk.votes.value, strict=True)
    ) == [
        (0, "m:v2", "ham", 0.2),
        (0, "m:v2", "spam", 0.8),
        (1, "m:v2", "spam", 1.0),
    ]


def test_scores_for_numbered_classes_go_with_numbered_labels(tmp_path: Path) -> None:
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


def test_the_rows_of_an_item_may_be_cut_by_a_piece() -> None:
    text = "item,expert,vote,truth\n1,ann,a,\n1,bob,b,a\n1,eve,,\n2,ann,a,b\n"
    for size in (1, 2, 3, 100):
        chunks = list(opened(text, chunk_size=size))
        assert [name for chunk in chunks for name in chunk.ids] == ["1", "2"]
        assert [label for chunk in chunks for label in chunk.labels] == ["a", "b"]
        assert chunks[0].votes.expert.tolist() == ["ann", "bob"]


def test_columns_of_the_long_shape_can_be_named() -> None:
    stream = opened("q,who,says\n1,ann,a\n", id="q", experts=["who", "says"], shape="long")
    assert str(stream.schema) == "votes.csv: CSV, long: each row an q/who/says, no label, id q"
    assert next(stream).votes.label.tolist() == ["a"]


def test_attributes_are_numbers_or_names() -> None:
    (chunk,) = opened("size,color,ann,truth\n1,red,a,a\n2.5,7,b,b\n", attributes=["size", "color"])
    assert chunk.attributes.to_pydict() == {"size": [1.0, 2.5], "color": ["red", "7"]}
    assert (
        Fusion(Perceptron().on(Attributes())).learn(attributes=chunk.attributes, labels=chunk.labels).trials
        == 2
    )


def test_svmlight_has_attributes_and_labels_and_no_votes() -> None:
    (chunk,) = opened("# made by hand\n1 qid:3 1:0.5 7:2 # first\n-1 2:1e-3\n", "a.svm")
    assert chunk.votes is None
    assert chunk.labels.tolist() == [1, -1]
    assert chunk.attributes == [{1: 0.5, 7: 2.0}, {2: 0.001}]
    fusion = Fusion(Perceptron().on(Attributes()))
    assert fusion.learn(attributes=chunk.attributes, labels=chunk.labels).trials == 2


def test_folding_makes_one_of_spam_and_spam() -> None:
    text = "Ann,truth\nSpam ,SPAM\n  ,ham\n"
    (chunk,) = opened(text, ignore_case=True)
    assert chunk.votes.to_pydict() == {"Ann": ["spam", None]}
    assert chunk.labels.tolist() == ["spam", "ham"]
    (chunk,) = opened(text)
    assert chunk.votes.to_pydict() == {"Ann": ["Spam ", "  "]}


def test_labels_that_come_later_are_joined_by_id(tmp_path: Path) -> None:
    path = tmp_path / "late.parquet"
    pa.parquet.write_table(pa.table({"id": [2, 3], "truth": ["b", None]}), path)
    late = read_labels(path)
    assert dict(late) == {"2": "b"}
    (chunk,) = opened("id,ann\n1,a\n2,b\n3,a\n")
    assert chunk.labels is None
    assert late.for_ids(chunk.ids).tolist() == [None, "b", None]
    jsonl = io.BytesIO(b'{"id": 2, "truth": "B "}')
    assert read_labels(jsonl, ignore_case=True) == {"2": "b"}


def said(rows: list[str]) -> list[str]:
    return data_warnings(opened("\n".join(["ann,truth", *rows])))


def test_a_good_file_is_passed_in_silence() -> None:
    assert said(["a,a", "b,b"] * 50) == []


def test_a_survey_takes_no_row_away() -> None:
    stream = opened("ann,truth\na,a\n")
    assert data_warnings(stream) == []
    assert stream.rows_read == 0
    assert next(stream).items == 1
    assert data_warnings(stream) == ["there are no rows"]


def test_votes_and_labels_that_hardly_meet_are_told() -> None:
    (sentence,) = said(["a,x", "b,y"] * 20)
    assert sentence.startswith("0 of 40 labels are ever voted for (votes are 'a', 'b', labels 'x', 'y')")


def test_values_that_differ_by_blanks_or_case_are_told() -> None:
    (sentence,) = said(["a,a", "b,b"] * 20 + ["A ,a"])
    assert sentence == "votes have 'A ' (1 time) beside 'a' (20 times); ignore_case=True makes them equal"


def test_an_id_among_experts_or_as_label_is_told() -> None:
    assert "expert 'ann' says 60 different things in 60 rows" in said([f"{i},{i % 2}" for i in range(60)])[-1]
    assert (
        "the label has 60 different values in 60 rows, like an id" in said([f"a,{i}" for i in range(60)])[-1]
    )


def test_rows_sorted_by_label_and_rows_without_one_are_told() -> None:
    sentences = said(["a,a"] * 20 + ["b,b"] * 20 + ["a,"])
    assert sentences[0] == "1 of the first 41 rows have no label: they are predicted only"
    assert sentences[1].startswith("rows are sorted by label")


def test_a_survey_reads_scores_and_dicts_too() -> None:
    assert "0 of 1 labels" in data_warnings(opened("ann:a,truth\n1,x\n"))[0]
    assert "0 of 1 labels" in data_warnings(opened('{"ann": {"a": 1}, "truth": "x"}\n', "v.jsonl"))[0]
