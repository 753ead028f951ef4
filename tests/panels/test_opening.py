"""Compressed files, archives, remote paths, and everything that is no table."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax.panels.table import load_table
from linmax.streams import StreamError, open_stream

CSV = b"ann,truth\nham,spam\n"
ROWS = [{"ann": "ham", "truth": "spam"}]
PACKERS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_are_unpacked(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"votes.csv.{suffix}"
    path.write_bytes(PACKERS[suffix](CSV))
    assert load_table(path).data.to_pylist() == ROWS
    (chunk,) = open_stream(path, label="truth")
    assert chunk.labels.tolist() == ["spam"]


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_a_compressed_file_that_is_cut_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"votes.csv.{suffix}"
    data = PACKERS[suffix](b"ann,truth\n" + os.urandom(3000).hex().encode())
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(StreamError, match=rf"votes.csv.{suffix} is cut short"):
        load_table(path)


@pytest.mark.parametrize("suffix", ["bz2", "xz"])
def test_several_streams_in_one_file_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"votes.csv.{suffix}"
    path.write_bytes(PACKERS[suffix](CSV) + PACKERS[suffix](b"a,b\n"))
    assert len(load_table(path).data) == 2


def test_the_one_file_of_an_archive_is_read(tmp_path: Path) -> None:
    path = tmp_path / "votes.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/votes.csv", CSV)
        archive.writestr("__MACOSX/data/._votes.csv", b"junk")
    table = load_table(path)
    assert (table.data.to_pylist(), table.compression, table.file) == (ROWS, "zip", "votes.zip")
    (chunk,) = open_stream(path, label="truth")
    assert chunk.labels.tolist() == ["spam"]


def test_one_file_of_several_is_named(tmp_path: Path) -> None:
    path = tmp_path / "votes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.json", json.dumps(ROWS * 2))
    with pytest.raises(
        StreamError, match=r"votes.zip has 2 files \(a.csv, b.json\); name one as votes.zip#a.csv"
    ):
        load_table(path)
    assert load_table(f"{path}#b.json").data.to_pylist() == ROWS * 2
    with pytest.raises(StreamError, match=r"no file 'c.csv'; it has a.csv, b.json"):
        load_table(f"{path}#c.csv")


def test_binary_files_in_archives_are_read(tmp_path: Path) -> None:
    path = tmp_path / "votes.zip"
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [1, 2]}), buffer)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("votes.parquet", buffer.getvalue())
    assert load_table(path).data.to_pydict() == {"a": [1, 2]}


def test_an_archive_behind_a_password_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("votes.csv", CSV)
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of encryption in the header of the file
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(StreamError, match=r"votes.zip is protected by a password"):
        load_table(path)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
def test_a_bomb_is_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.limits.MIN_BOMB_BYTES", 1 << 20)
    data = b"ann,truth\n" + b"ham,spam\n" * 150_000
    path = tmp_path / f"votes.csv.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("votes.csv", data)
    else:
        path.write_bytes(PACKERS[kind](data))
    with pytest.raises(StreamError, match=r"unpacks to over \d+ MB, more than 100 times its size"):
        load_table(path)


def test_a_document_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.json"
    path.write_text(json.dumps(ROWS * 200_000), encoding="utf-8")
    with pytest.raises(StreamError, match=r"votes.json is one JSON document of over 1 MB"):
        load_table(path, limit_bytes=1 << 20)


def test_an_array_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.npy"
    np.save(path, np.zeros((1000, 300)))
    with pytest.raises(StreamError, match=r"has shape \(1000, 300\) and 2 MB; at most 1 MB"):
        load_table(path, limit_bytes=1 << 20)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("blank.csv", b"\n \n", "blank.csv is empty"),
        (
            "page.csv",
            b"<!DOCTYPE html>\n<html><body>Sign in, please</body></html>",
            "page.csv is an HTML page",
        ),
        ("feed.csv", b"<?xml version='1.0'?><a/>", "feed.csv is an XML file"),
        ("paper.csv", b"%PDF-1.4\n", "paper.csv is a PDF"),
        ("lfs.csv", b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer"),
        ("noise.csv", bytes(range(256)) * 20, "noise.csv is binary data of an unknown format"),
        ("noise", b"\x01\x02\x03\x04" * 20, "noise is binary data"),
        ("model.pkl", b"\x80\x04\x95" + b"abc" * 20, "is a Python pickle"),
        ("votes.tar", b"votes.csv".ljust(257, b"\0") + b"ustar\0" + bytes(200), "is a tar archive"),
        ("words", b"hello world\n", "words: unknown format; name it .csv"),
        ("mixed.csv", "a,b\né,é\n".encode() + b"\xe9,1\n", "mixed.csv, line 3: byte 0xe9 is not UTF-8"),
        ("nul.csv", b"a,b\n1,2\n" * 100 + b"\0,1\n", "line 201: a NUL byte"),
        ("odd.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "damaged UTF-16-LE text"),
    ],
)
def test_what_is_no_table_is_refused_with_one_sentence(
    tmp_path: Path, name: str, data: bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(StreamError, match=says) as caught:
        load_table(path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_folder_is_refused_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_bytes(CSV)
    with pytest.raises(StreamError, match=r"is a folder with votes.csv; name a file in it"):
        load_table(tmp_path)
    with pytest.raises(StreamError, match="there is no file"):
        load_table(tmp_path / "other.csv")


def test_names_like_magic_bytes_are_names(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    for name in ("ORCA", "BZh9", "PAR", "GIFT", "version"):
        path.write_text(f"{name},truth\na,b\n")
        assert load_table(path).data.column_names == [name, "truth"]


def test_remote_files_are_read() -> None:
    fsspec = pytest.importorskip("fsspec", reason="remote paths are read through fsspec")
    with fsspec.open("memory://bucket/votes.csv.gz", "wb") as file:
        file.write(gzip.compress(CSV))
    table = load_table("memory://bucket/votes.csv.gz")
    assert (table.data.to_pylist(), table.file) == (ROWS, "votes.csv.gz")
    (chunk,) = open_stream("memory://bucket/votes.csv.gz", label="truth")
    assert chunk.labels.tolist() == ["spam"]
    with pytest.raises(StreamError, match=r"there is no file 'memory://bucket/other.csv'"):
        load_table("memory://bucket/other.csv")
    with pytest.raises(StreamError, match=r"'nowhere://a.csv' cannot be opened"):
        load_table("nowhere://a.csv")


def test_without_fsspec_the_error_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        StreamError, match=r"requires fsspec, which is not installed: pip install 'fsspec\[s3\]'"
    ):
        load_table("s3://bucket/votes.csv")
