"""Parquet, Arrow, NumPy's arrays and svmlight, as plain columns."""

from __future__ import annotations

import datetime
import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from linmax.panels.table import load_table
from linmax.streams import StreamError

WHEN = datetime.datetime(2025, 1, 31, 17, 9)
TABLE = pa.table(
    {
        "small": pa.array([1, None], pa.int8()),
        "large": pa.array([2**64 - 1, 1], pa.uint64()),
        "float": pa.array([0.5, float("nan")], pa.float32()),
        "kind": pa.array(["a", None]).dictionary_encode(),
        "yes": [True, None],
        "day": [datetime.date(2025, 1, 31), None],
        "when": pa.array([WHEN, None], pa.timestamp("us", "UTC")),
        "price": [Decimal("1.5"), None],
        "tags": [["a"], []],
        "nested": [{"x": 1, "y": {"z": "b"}}, None],
        "bytes": [b"abc", b"d"],
        "nothing": pa.nulls(2),
    }
)
PLAIN = {
    "small": [1, None],
    "large": [str(2**64 - 1), "1"],
    "float": [0.5, None],
    "kind": ["a", None],
    "yes": [True, None],
    "day": ["2025-01-31", None],
    "when": ["2025-01-31T17:09:00", None],
    "price": [1.5, None],
    "nested.x": [1, None],
    "nested.y.z": ["b", None],
    "bytes": ["abc", "d"],
    "nothing": [None, None],
}


@pytest.mark.parametrize("suffix", ["parquet", "feather", "arrow", "parquet.gz"])
def test_typed_columns_become_plain(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"votes.{suffix}"
    if suffix == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
            writer.write_table(TABLE)
    elif suffix == "feather":
        pyarrow.feather.write_feather(TABLE, path)
    else:
        pyarrow.parquet.write_table(TABLE, path)
        if suffix.endswith("gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    table = load_table(path)
    assert table.data.to_pydict() == PLAIN
    assert set(map(str, table.data.schema.types)) == {"int64", "string", "double", "bool"}
    assert "dates and times are read as text: day, when" in table.notes
    assert "columns of lists are dropped: tags" in table.notes
    assert (table.lines.tolist(), table.unit) == ([1, 2], "row")


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_is_columns_with_numbers(tmp_path: Path, order: str) -> None:
    path = tmp_path / "L.npy"
    np.save(path, np.array([[0, -1], [1, 0], [2, 2]], np.int8, order=order))  # type: ignore[call-overload]
    assert load_table(path).data.to_pydict() == {"column 1": [0, 1, 2], "column 2": [-1, 0, 2]}


def test_a_vector_is_one_column(tmp_path: Path) -> None:
    path = tmp_path / "Y.npy"
    np.save(path, np.array(["ham", ""]))
    assert load_table(path).data.to_pydict() == {"column 1": ["ham", None]}
    np.save(path, np.array([("a", 1.5)], [("ann", "U3"), ("y", "f4")]))
    assert load_table(path).data.to_pydict() == {"ann": ["a"], "y": [1.5]}
    np.save(path, np.zeros((2, 2, 2)))
    with pytest.raises(StreamError, match=r"Y.npy has shape \(2, 2, 2\); save one or two dimensions"):
        load_table(path)
    np.save(path, np.array([{}], object), allow_pickle=True)
    with pytest.raises(StreamError, match="pickled objects"):
        load_table(path)


def test_arrays_of_one_length_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, L=np.array([[0, 1], [1, 1]]), Y=np.array([0, 1]), scale=np.float64(3))
    assert load_table(path).data.to_pydict() == {"L 1": [0, 1], "L 2": [1, 1], "Y": [0, 1]}
    np.savez(path, L=np.zeros((3, 2)), Y=np.zeros(2))
    with pytest.raises(StreamError, match=r"arrays of different lengths \(L 3, Y 2\)"):
        load_table(path)


def test_an_archive_with_votes_names_the_roles(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, votes=np.array([[0, 1]]), experts=np.array(["ann", "bob"]), labels=np.array([1]))
    table = load_table(path)
    assert table.data.to_pydict() == {"ann": [0], "bob": [1], "labels": [1]}
    assert table.hints == {"label": "labels", "experts": ("ann", "bob")}


def test_svmlight_is_a_label_and_attributes(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    path = tmp_path / "data.svm"
    path.write_text("1 2:0.5 7:1\n0 2:1\n")
    table = load_table(path)
    assert table.data.to_pydict() == {"label": [1, 0], "2": [0.5, 1.0], "7": [1.0, 0.0]}
    assert table.hints == {"label": "label", "attributes": ("2", "7")}


def test_texts_that_unpack_to_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.plain.MAX_TEXT_BYTES", 1 << 20)
    path = tmp_path / "bomb.parquet"
    codes = pa.array(np.zeros(1000, np.int32))
    pyarrow.parquet.write_table(
        pa.table({"s": pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 9999]))}), path
    )
    with pytest.raises(StreamError, match="the texts of 's' have 9 MB"):
        load_table(path)


def test_many_rows_are_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.typed_tables.HEAD_ROWS", 100)
    path = tmp_path / "votes.parquet"
    pyarrow.parquet.write_table(pa.table({"a": np.arange(50_000)}), path, row_group_size=1000)
    table = load_table(path, limit_bytes=100_000)
    assert (len(table.data), table.complete) == (100, False)
