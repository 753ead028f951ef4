"""Bad files: each is refused with one sentence that names the file, the place and the fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from linmax.streams import StreamError, open_stream

HOSTILE = Path(__file__).parent / "hostile_files"
EXPECTED = json.loads((HOSTILE / "expected.json").read_text(encoding="utf-8"))
LONG: dict[str, Any] = {"id": "item", "experts": ["expert", "vote"], "shape": "long"}


def test_every_hostile_file_has_an_expected_message() -> None:
    found = {path.name for path in HOSTILE.iterdir()} - {"expected.json", ".gitattributes"}
    assert found == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_file_is_refused_with_one_sentence(name: str) -> None:
    case = EXPECTED[name]
    with pytest.raises(StreamError) as caught:
        for _ in open_stream(HOSTILE / name, **{"label": "truth", **case.get("options", {})}):
            pass
    sentence = str(caught.value)
    assert case["says"] in sentence
    assert name in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300
    assert str(HOSTILE) not in sentence


def test_a_stream_that_has_failed_keeps_failing() -> None:
    stream = open_stream(HOSTILE / "unsorted.csv", chunk_size=1, **LONG)
    with pytest.raises(StreamError, match="line 4"):
        list(stream)
    with pytest.raises(StreamError, match="line 4"):
        next(stream)


def test_no_chunk_contains_rows_around_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(b"ann,truth\n" + b"a,a\n" * 10 + b"a\n" + b"a,a\n" * 10)
    with pytest.raises(StreamError, match=r"votes.csv, line 12: 1 cell where the header has 2"):
        assert next(open_stream(path, label="truth")) is None


def test_a_column_of_ids_is_refused_as_label(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("ann,truth\n" + "".join(f"a,{i}\n" for i in range(100_002)), encoding="utf-8")
    with pytest.raises(StreamError, match=r"ids.csv: by row 100002 'truth' has over 100000 different values"):
        list(open_stream(path, label="truth"))


def test_an_endless_row_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.streams.files.source.MAX_ROW_BYTES", 1 << 17)
    path = tmp_path / "votes.csv"
    path.write_bytes(b'ann,truth\na,a\n"b,' + b"x\n" * (1 << 21))
    with pytest.raises(StreamError, match="line 3: a row of over 0 MB; close its quote"):
        list(open_stream(path, label="truth"))


def test_deeply_nested_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b'{"ann": "a"}\n{"ann": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    with pytest.raises(StreamError, match=r"deep.jsonl, line 2: (nested too deep|'ann' is)"):
        list(open_stream(path, label="truth"))


def test_an_endless_item_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.streams.readers.long_format.MAX_ITEM_ROWS", 100)
    path = tmp_path / "votes.csv"
    path.write_text("item,expert,vote\n" + "".join(f"1,{i},a\n" for i in range(500)), encoding="utf-8")
    with pytest.raises(StreamError, match="line 2: an item of over 100 rows; name the column of items"):
        list(open_stream(path, chunk_size=50, **LONG))


def test_something_that_is_not_a_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match=r"there is no file 'nowhere.csv'"):
        open_stream("nowhere.csv")
    with pytest.raises(StreamError, match="is a folder"):
        open_stream(tmp_path)
    with pytest.raises(StreamError, match="got int"):
        open_stream(3)  # type: ignore[arg-type]
    with (tmp_path / "text.csv").open("w+") as file:
        file.write("ann,truth\n")
        file.seek(0)
        with pytest.raises(StreamError, match="open as text"):
            open_stream(file)  # type: ignore[arg-type]


def test_bad_options_are_refused_with_the_value() -> None:
    good = HOSTILE / "ragged.csv"
    with pytest.raises(StreamError, match=r"chunk_size must be an integer >= 1 \(got 0\)"):
        open_stream(good, chunk_size=0)
    with pytest.raises(StreamError, match=r"shape must be 'wide', 'scores' or 'long' \(got 'tall'\)"):
        open_stream(good, shape="tall")
    with pytest.raises(StreamError, match=r"attributes must be a list of columns \(got 'ann'\)"):
        open_stream(good, attributes="ann")
    with pytest.raises(StreamError, match="has no columns named expert:class"):
        open_stream(good, label="truth", shape="scores")
    with pytest.raises(StreamError, match="svmlight file, which has no columns to name"):
        open_stream(HOSTILE / "half.svm", label="truth")
