"""Files of predictions: the same rows in every format, and no file after an error."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax.streams import Chunk, open_stream
from linmax.streams.predictions import PredictionWriter

ODD = ["plain", "a, b", 'say "ham"', "two\nlines", "tab\there", ""]


def chunks(rows: int = 6, *, ids: bool = True, size: int = 2) -> Iterator[Chunk]:
    lines = [f"{7 + i},ham\n" if ids else "ham,ham\n" for i in range(rows)]
    text = ("id,ann\n" if ids else "ann,bob\n") + "".join(lines)
    return open_stream(io.BytesIO(text.encode()), chunk_size=size, label="", id="id" if ids else "")


def write(path: Path, names: list[Any], **options: Any) -> None:
    truths = options.pop("truths", None)
    with PredictionWriter(path) as writer:
        for chunk in chunks(len(names), **options):
            some = slice(chunk.first, chunk.first + chunk.items)
            margins = np.array([np.nan if i == 0 else i / 4 for i in range(len(names))])
            writer.write(
                chunk, np.array(names[some], object), margins[some], None if truths is None else truths[some]
            )


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path).to_pylist()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_value_is_read_back_as_it_was_written(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"guesses{ending}"
    write(path, ODD, truths=np.array([None, *ODD[1:]], object))
    rows = read(path)
    assert list(rows[0]) == ["row", "id", "guess", "margin", "truth"]
    assert [row["guess"] for row in rows] == ODD
    assert [int(row["row"]) for row in rows] == [2, 3, 4, 5, 6, 7]
    assert [row["id"] for row in rows] == ["7", "8", "9", "10", "11", "12"]
    assert [row["margin"] in (None, "") for row in rows] == [True, *[False] * 5]  # NaN is empty
    assert [float(row["margin"]) for row in rows[1:]] == [0.25, 0.5, 0.75, 1.0, 1.25]
    assert rows[0]["truth"] in (None, "")


def test_values_are_quoted_only_if_necessary(tmp_path: Path) -> None:
    write(tmp_path / "g.csv", ["ham", "spam"], ids=False)
    assert (tmp_path / "g.csv").read_text() == "row,guess,margin\n2,ham,\n3,spam,0.25\n"


@pytest.mark.parametrize("names", [[True, False], [3, 2], [2**70, 1], [None, None], [None, "a"]])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_classes_of_any_kind_can_be_written(names: list[Any], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"g{ending}"
    write(path, names)
    found = [row["guess"] for row in read(path)]
    if ending == ".csv":
        texts = [str(name).lower() if isinstance(name, bool) else str(name) for name in names]
        assert found == ["" if name is None else text for name, text in zip(names, texts, strict=True)]
    elif 2**70 in names:
        assert found == [str(name) for name in names]  # larger than any column of whole numbers holds
    else:
        assert found == names


def test_a_parquet_file_accepts_names_after_missing_predictions(tmp_path: Path) -> None:
    write(tmp_path / "g.parquet", [None, None, "ham", "spam"])
    assert [row["guess"] for row in read(tmp_path / "g.parquet")] == [None, None, "ham", "spam"]


def test_a_parquet_file_refuses_a_change_of_type(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot hold a guess of type string beside int64; write \.csv"):
        write(tmp_path / "g.parquet", [1, 2, "ham", "spam"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_without_rows_an_empty_table_is_written(ending: str, tmp_path: Path) -> None:
    with PredictionWriter(tmp_path / f"g{ending}"):
        pass
    assert read(tmp_path / f"g{ending}") == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_error_leaves_the_old_file_and_no_other(
    error: type[BaseException], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"g{ending}"
    path.write_text("before")

    def broken(self: Any, *rest: Any) -> None:
        if self.rows == 4:
            raise error
        original(self, *rest)

    original = PredictionWriter.write
    monkeypatch.setattr(PredictionWriter, "write", broken)
    with pytest.raises(error):
        write(path, ["ham"] * 6)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "before"


def test_the_file_appears_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    with PredictionWriter(path) as writer:
        for chunk in chunks():
            writer.write(chunk, np.array(["ham"] * chunk.items), np.zeros(chunk.items))
            assert not path.exists()
    assert [one.name for one in tmp_path.iterdir()] == ["g.csv"]


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "g.csv").symlink_to(tmp_path / "real.csv")
    write(tmp_path / "g.csv", ["ham"])
    assert (tmp_path / "g.csv").is_symlink()
    assert read(tmp_path / "real.csv")[0]["guess"] == "ham"


def test_a_full_disk_is_reported_with_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, table: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("linmax.streams.predictions._CsvWriter.write", full)
    with pytest.raises(ValueError, match=r"cannot write .*g\.csv: No space left on device"):
        write(tmp_path / "g.csv", ["ham"])
    assert list(tmp_path.iterdir()) == []


def test_a_bad_name_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    for name, sentence in {
        "g.txt": "its name must end in .csv, .tsv, .jsonl or .parquet",
        "nowhere/g.csv": "there is no folder",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            PredictionWriter(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="it is not a file; use another name"):
        PredictionWriter(tmp_path / "folder.csv")


@pytest.mark.parametrize("path", [None, "-"])
def test_standard_output_is_csv(path: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with PredictionWriter(path) as writer:
        for chunk in chunks(2, ids=False):
            writer.write(chunk, np.array(["hám", "a,b"]), np.array([0.5, 1.0]))
    assert capsys.readouterr().out == 'row,guess,margin\n2,"hám",0.5\n3,"a,b",1\n'


def test_a_standard_output_that_takes_parts_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Parts(io.RawIOBase):
        """A file that writes at most seven bytes at a time, as an unbuffered pipe may."""

        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, content: Any) -> int:
            self.content += bytes(content[:7])
            return min(len(content), 7)

    raw = Parts()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=raw, flush=lambda: None))
    with PredictionWriter(None) as writer:
        for chunk in open_stream(io.BytesIO(b"id,ann\n7,ham\n8,spam\n"), label="", id="id"):
            writer.write(chunk, np.array(["ham", "spam"]), np.array([0.5, np.nan]))
    assert raw.content == b"row,id,guess,margin\n2,7,ham,0.5\n3,8,spam,\n"
