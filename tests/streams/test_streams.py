"""Panels in files: every format, compressed or not, is read alike, in chunks of any size."""

from __future__ import annotations

import gc
import gzip
import io
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax import Averaged, Fusion, Winnow
from linmax.problems import majority
from linmax.streams import StreamError, open_stream

VOTES, LABELS = majority(120, relevant=3, experts=4, classes=3, noise=0.1)
EXPERTS = ["ann", "bob", "eve", "joe"]
NAMES = np.array(["ham", "spam", "tea"])
ROWS = [
    {**dict(zip(EXPERTS, NAMES[row].tolist(), strict=True)), "truth": str(NAMES[label])}
    for row, label in zip(VOTES, LABELS, strict=True)
]
TABLE = pa.Table.from_pylist(ROWS)


def delimited(sign: str) -> bytes:
    lines = [[*EXPERTS, "truth"], *(list(row.values()) for row in ROWS)]
    return "".join(sign.join(line) + "\n" for line in lines).encode()


def long() -> bytes:
    lines = ["item,expert,vote,truth"]
    lines += [f"{i},{who},{row[who]},{row['truth']}" for i, row in enumerate(ROWS) for who in EXPERTS]
    return "\n".join(lines).encode()


def to_bytes(write: Callable[[Any], None]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def arrow(maker: Any) -> Callable[[Any], None]:
    def write(file: Any) -> None:
        with maker(file, TABLE.schema) as writer:
            for start in range(0, len(TABLE), 50):
                writer.write(TABLE.slice(start, 50))

    return write


FILES = {
    "votes.csv": delimited(","),
    "quoted.csv": delimited(",").replace(b"ham", b'"ham"'),
    "semicolons.csv": b"\xef\xbb\xbf" + delimited(";").replace(b"\n", b"\r\n"),
    "votes.tsv": delimited("\t"),
    "votes.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "boxed.jsonl": "".join(
        json.dumps({"truth": row["truth"], "votes": {who: row[who] for who in EXPERTS}}) + "\n"
        for row in ROWS
    ).encode(),
    "votes.parquet": to_bytes(lambda file: pa.parquet.write_table(TABLE, file, row_group_size=50)),
    "votes.arrow": to_bytes(arrow(pa.ipc.new_file)),
    "votes.arrows": to_bytes(arrow(pa.ipc.new_stream)),
    "votes.npy": to_bytes(
        lambda file: np.save(
            file, np.array([tuple(row.values()) for row in ROWS], [(n, "U4") for n in [*EXPERTS, "truth"]])
        )
    ),
    "votes.npz": to_bytes(
        lambda file: np.savez_compressed(file, votes=NAMES[VOTES], labels=NAMES[LABELS], experts=EXPERTS)
    ),
    "long.csv": long(),
}


LONG: dict[str, Any] = {"label": "truth", "id": "item", "experts": ["expert", "vote"], "shape": "long"}


def roles_in(name: str) -> dict[str, Any]:
    """Return the roles of the columns of one of these files."""
    if name == "long.csv":
        return LONG
    return {} if name.endswith(".npz") else {"label": "truth"}


def learned(path: Path, **options: Any) -> Fusion:
    fusion = Fusion(Averaged(Winnow(1.2)))
    for chunk in open_stream(path, **roles_in(path.name), **options):
        fusion.learn(chunk.votes, chunk.labels)
    return fusion


@pytest.fixture(scope="module")
def whole() -> Fusion:
    fusion = Fusion(Averaged(Winnow(1.2)), experts=EXPERTS)
    fusion.learn(NAMES[VOTES], NAMES[LABELS])
    return fusion


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path: Path = tmp_path / request.param
    path.write_bytes(FILES[request.param])
    return path


@pytest.mark.parametrize("chunk", [7, 65_536])
def test_every_format_in_chunks_of_any_size_teaches_the_same(file: Path, chunk: int, whole: Fusion) -> None:
    fusion = learned(file, chunk_size=chunk)
    assert fusion.trials == 120
    assert fusion.weights == whole.weights
    assert fusion.classes == whole.classes


def test_chunks_are_numbered_and_never_too_large(file: Path) -> None:
    stream = open_stream(file, chunk_size=16, **roles_in(file.name))
    at = 0
    for chunk in stream:
        assert chunk.first == at
        assert 0 < chunk.items <= 16
        at += chunk.items
        assert stream.rows_read == at
    assert at == 120
    assert stream.rows_total in (None, 120)
    assert (stream.rows_total == 120) == (file.suffix in (".parquet", ".npy", ".npz"))
    assert stream.bytes_read > 0
    assert stream.bytes_total == file.stat().st_size


@pytest.mark.parametrize("name", ["votes.csv", "votes.jsonl", "votes.arrow", "votes.arrows", "votes.npy"])
@pytest.mark.parametrize("packing", ["gzip", "zstd", "gzip without its suffix"])
def test_compressed_files_are_decompressed(tmp_path: Path, name: str, packing: str, whole: Fusion) -> None:
    ending = {"gzip": ".gz", "zstd": ".zst"}.get(packing, "")
    path = tmp_path / (name + ending)
    data = FILES[name]
    path.write_bytes(pa.compress(data, "zstd", asbytes=True) if packing == "zstd" else gzip.compress(data))
    assert open_stream(path, label="truth").schema.compression == packing.split()[0]
    assert learned(path, chunk_size=50).weights == whole.weights


class Pipe(io.RawIOBase):
    """Bytes that arrive a few at a time and can be read once, as standard input."""

    def __init__(self, data: bytes) -> None:
        self.chunks: Iterator[bytes] = (data[i : i + 1000] for i in range(0, len(data), 1000))

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        chunk = next(self.chunks, b"")
        if len(chunk) > size:
            self.chunks = iter([chunk[size:], *self.chunks])
        return chunk[:size]


@pytest.mark.parametrize("name", ["votes.csv", "votes.tsv", "votes.jsonl", "votes.arrow", "votes.arrows"])
def test_the_format_of_standard_input_is_detected(
    name: str, monkeypatch: pytest.MonkeyPatch, whole: Fusion
) -> None:
    class Stdin:
        buffer = Pipe(FILES[name])

    monkeypatch.setattr(sys, "stdin", Stdin)
    stream = open_stream("-", label="truth")
    assert stream.schema.file == "standard input"
    assert stream.bytes_total is None
    fusion = Fusion(Averaged(Winnow(1.2)))
    for chunk in stream:
        fusion.learn(chunk.votes, chunk.labels)
    assert fusion.weights == whole.weights
    assert not Stdin.buffer.closed


def test_a_pipe_cannot_be_read_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = Pipe(FILES["votes.parquet"])

    monkeypatch.setattr(sys, "stdin", Stdin)
    with pytest.raises(StreamError, match="standard input: Parquet is read from its end, which a pipe hides"):
        open_stream("-", label="truth")


@pytest.mark.filterwarnings("ignore:Stored array in format 3.0")
def test_fields_of_an_array_may_have_names_in_any_script(tmp_path: Path) -> None:
    path = tmp_path / "votes.npy"
    np.save(path, np.array([(1, 1)], [("Łucja", "i4"), ("truth", "i4")]))
    assert open_stream(path, label="truth").schema.experts == ("Łucja",)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    head, body = FILES["votes.csv"].split(b"\n", 1)
    path.write_bytes(head + b"\n" + body * 6000)
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in open_stream(path, label="truth")]
    assert path.stat().st_size > 14 << 20
    assert max(held) < 8 << 20


def test_a_stream_closes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(FILES["votes.csv"])
    with open_stream(path, label="truth") as stream:
        next(stream)
    assert stream._source.raw.closed
    half = open_stream(path, chunk_size=1, label="truth")
    raw = half._source.raw
    next(half)
    del half
    gc.collect()
    assert raw.closed


def test_a_file_opened_by_the_caller_stays_open(file: Path) -> None:
    with file.open("rb") as given:
        list(open_stream(given, **roles_in(file.name)))
        gc.collect(1)  # the youngest objects; all would take half a second
        assert not given.closed


@pytest.mark.parametrize(
    ("groups", "most", "sizes"),
    [
        (50, 20, [17, 17, 16] * 2),  # a row group in equal parts, none across its border
        (50, 50, [50, 50]),
        (10, 35, [20, 20, 20, 20, 20]),  # small ones together
        (30, 1000, [100]),
    ],
)
def test_chunks_of_parquet_end_where_row_groups_end(
    tmp_path: Path, groups: int, most: int, sizes: list[int]
) -> None:
    path = tmp_path / "votes.parquet"
    codes = list(range(5)) * 20
    pa.parquet.write_table(pa.table({"ann": codes, "truth": codes}), path, row_group_size=groups)
    chunks = [*open_stream(path, chunk_size=most, label="truth")]
    assert [chunk.items for chunk in chunks] == sizes
    assert [code for chunk in chunks for code in chunk.labels.tolist()] == codes


def test_chunks_of_wide_tables_have_fewer_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.streams.stream.MAX_CELLS", 60)
    monkeypatch.setattr("linmax.streams.stream.MIN_ROWS", 4)
    for experts, rows in ((1, 25), (5, 10), (29, 4)):  # 30, 10 and 4 at most, in equal parts
        path = tmp_path / f"{experts}.parquet"
        columns = {f"m{i}": [0] * 100 for i in range(experts)} | {"truth": [0] * 100}
        pa.parquet.write_table(pa.table(columns), path)
        assert {chunk.items for chunk in open_stream(path, label="truth")} == {rows}


def test_small_row_groups_with_different_dictionaries_become_one_chunk(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    words = [f"class {i % 7}" for i in range(100)]
    pa.parquet.write_table(pa.table({"ann": words, "truth": words}), path, row_group_size=1)
    (chunk,) = open_stream(path, label="truth")
    assert chunk.labels.tolist() == words
    assert [item["ann"] for item in chunk.vote_dicts()] == words
    assert [chunk.items for chunk in open_stream(path, chunk_size=30, label="truth")] == [30, 30, 30, 10]


def test_archives_are_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "votes.npz"
    np.savez_compressed(path, votes=np.zeros((3_000_000, 10), np.int8), labels=np.zeros(3_000_000, np.int8))
    tracemalloc.start()
    rows = sum(chunk.items for chunk in open_stream(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 3_000_000
    assert peak < 8 << 20


@pytest.mark.parametrize("rows_before", [0, 3, 1000])
def test_a_bad_row_is_reported_with_its_line_after_newlines_and_returns_in_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_before: int
) -> None:
    monkeypatch.setattr("linmax.streams.files.source.BLOCK_SIZE", 500)
    path = tmp_path / "votes.csv"
    path.write_bytes(b"\n\r\nann,truth\n" + b'"a\nb",c\n\n"a\rb",c\r\n' * rows_before + b"a,b,c\nd,e\n")
    line = 4 + 4 * rows_before
    with pytest.raises(StreamError, match=f"votes.csv, line {line}: 3 cells where the header has 2"):
        list(open_stream(path, label="truth"))


@pytest.mark.parametrize(
    ("score", "hint"),
    [
        ("1e70", "the score 1e+70; scale scores to at most 1e60"),
        ("9" * 80, "; scale scores to at most 1e60"),
        ('"much"', "the score 'much'; write a finite number"),
    ],
)
def test_a_score_out_of_range_is_named_with_what_to_do(tmp_path: Path, score: str, hint: str) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text(f'{{"label": "a", "ann": {{"a": {score}, "b": 1}}, "bob": "b"}}\n', encoding="utf-8")
    with pytest.raises(StreamError) as error, open_stream(path, label="label") as stream:
        list(stream)
    assert hint in str(error.value)


def test_a_slip_in_a_column_of_numbers_is_an_error_and_a_code_is_text() -> None:
    slip = "\n".join(["size,truth", *(f"{i / 7:.3f},{'ab'[i % 2]}" for i in range(200)), "oops,a"])
    with pytest.raises(
        StreamError, match=r"line 202: the attribute 'size' is 'oops', and a number in 200 of 201 rows"
    ):
        list(open_stream(io.BytesIO(slip.encode()), label="truth", attributes=("size",)))
    codes = "\n".join(["code,truth", *(f"{'A' if i % 20 == 0 else ''}{i},{'ab'[i % 2]}" for i in range(200))])
    (chunk,) = open_stream(io.BytesIO(codes.encode()), label="truth", attributes=("code",))
    assert chunk.attributes.column("code")[0].as_py() == "A0"


@pytest.mark.parametrize("name", ["y", "truth", "label"])
def test_labels_of_an_archive_may_have_another_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "votes.npz"
    np.savez(path, votes=np.eye(3, dtype=np.int64), **{name: np.arange(3)})
    (chunk,) = open_stream(path)
    assert chunk.labels.tolist() == [0, 1, 2]
    np.savez(path, votes=np.eye(3, dtype=np.int64), labels=np.zeros(3, np.int64), **{name: np.arange(3)})
    (chunk,) = open_stream(path)
    assert chunk.labels.tolist() == [0, 0, 0]
