"""Typed columns of files that are not read into memory are read as those of small files are."""

from __future__ import annotations

import datetime
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax.panels import panel as panel_module
from linmax.panels.panel import Panel, read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.streams import StreamError
from linmax.streams.chunk import concat_chunks
from tests.panels.small_tables import panel_columns, roles_of

TEXTS = panel_columns()
NUMBERS = panel_columns(classes=(0, 1, 2))


def on_stdin(table: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Panel:
    """Read an Arrow table from standard input, in pieces of 25 rows."""
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table, max_chunksize=25)
    buffer.seek(0)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(buffer))
    return read_panel(["-"], PanelOptions(**options))


def cast(columns: dict[str, list[Any]], kind: Any) -> Any:
    try:
        return pa.table({name: pa.array(values).cast(kind) for name, values in columns.items()})
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} makes no column of {kind}")


def large_numbers() -> Any:
    return pa.table({name: np.array(cells, np.uint64) + np.uint64(2**63) for name, cells in NUMBERS.items()})


def halves() -> Any:
    return pa.table({name: np.array(cells, np.float16) for name, cells in NUMBERS.items()})


def structs() -> Any:
    rows = [{name: TEXTS[name][i] for name in ("m0", "m1", "m2")} for i in range(60)]
    return pa.table({"votes": rows, "label": TEXTS["label"]})


@pytest.mark.parametrize(
    "make",
    [
        lambda: cast(NUMBERS, pa.decimal128(20, 0)),
        lambda: cast(TEXTS, pa.binary()),
        lambda: cast(TEXTS, pa.large_string()),
        lambda: cast(TEXTS, pa.string_view()),
        lambda: cast(NUMBERS, pa.int8()),
        large_numbers,
        halves,
        structs,
    ],
    ids=["decimal", "binary", "large string", "string view", "int8", "uint64", "float16", "struct"],
)
@pytest.mark.parametrize("place", ["parquet", "stdin"])
def test_columns_of_all_types_are_read_like_in_a_small_file(
    make: Callable[[], Any], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, path = make(), tmp_path / "votes.parquet"
    pq.write_table(table, path, row_group_size=25)
    whole = read_panel([path])
    if place == "stdin":
        panel = on_stdin(table, monkeypatch)
    else:
        monkeypatch.setattr(panel_module, "MAX_CELLS", 10)
        monkeypatch.setattr(panel_module, "CHUNK_SIZE", 25)
        panel = read_panel([path])
    assert not panel.complete
    assert roles_of(panel) == roles_of(whole)
    with panel.stream() as stream:
        chunks = list(stream)
    assert len(chunks) == 3
    assert whole.chunk is not None
    assert concat_chunks(chunks).vote_dicts() == whole.chunk.vote_dicts()
    assert concat_chunks(chunks).labels.tolist() == whole.chunk.labels.tolist()


def test_notes_say_which_columns_are_dropped_or_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({**TEXTS, "tags": [["a"]] * 60, "day": [datetime.date(2026, 1, 31)] * 60})
    panel = on_stdin(table, monkeypatch)
    assert [one.text for one in panel.warnings if one.code == "reading"] == [
        "dates and times are read as text: day",
        "columns of lists are dropped: tags",
    ]
    assert "tags" not in roles_of(panel)


def test_a_file_of_lists_only_is_refused_with_its_types(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StreamError, match=r"has no column of text or numbers \(it has tags of type list"):
        on_stdin(pa.table({"tags": [["a"]] * 60}), monkeypatch)


def test_long_binary_data_in_parquet_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "votes.parquet"
    images = [{"bytes": bytes(2000) + bytes([i]), "path": f"{i}.png"} for i in range(60)]
    pq.write_table(pa.table({**TEXTS, "image": images}), path, use_dictionary=False)
    monkeypatch.setattr(panel_module, "MAX_CELLS", 10)
    panel = read_panel([path])
    panel.close()
    assert "columns of long binary data are dropped: image" in [one.text for one in panel.warnings]
    assert list(roles_of(panel)) == list(TEXTS)


def test_a_column_that_only_later_rows_cannot_be_read_of_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = [name.encode() for name in TEXTS["m0"]]
    votes[40] = b"\xff"
    panel = on_stdin(pa.table({**TEXTS, "m0": pa.array(votes, pa.binary())}), monkeypatch)
    with pytest.raises(StreamError, match="rows 26 to 50: 'm0' of type binary cannot be read as string, as"):
        list(panel.stream())


def test_nan_in_lines_of_json_is_a_missing_vote_as_in_smaller_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": t, "ann": t % 2, "bob": t % 3 % 2, "truth": t % 2} for t in range(90)]
    text = "".join(json.dumps({**row, "ann": math.nan} if row["id"] % 9 == 4 else row) + "\n" for row in rows)
    assert "NaN" in text
    path = tmp_path / "votes.jsonl"
    path.write_text(text)
    whole = read_panel([path])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 25)
    panel = read_panel(["-"])
    assert roles_of(panel) == roles_of(whole)
    assert whole.chunk is not None
    assert concat_chunks(list(panel.stream())).vote_dicts() == whole.chunk.vote_dicts()
    assert "ann" not in whole.chunk.vote_dict(4)
