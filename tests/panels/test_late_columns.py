"""Columns of a stream that have no values in its first rows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from linmax.cli import app
from linmax.panels import panel as panel_module
from linmax.panels.panel import Panel, read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.stored import store_reading
from linmax.scale.dataset import RowReader
from linmax.scale.partition import Partition
from linmax.streams.chunk import concat_chunks
from tests.cli.test_fuse import told
from tests.panels.small_tables import as_csv, panel_columns, roles_of

EMPTY = 60
"""Rows in which the last expert has no values."""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 50)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    monkeypatch.setattr(panel_module, "MAX_CELLS", 10)


def late_columns(cell: Any = "", items: int = 240) -> dict[str, list[Any]]:
    columns = panel_columns(items, classes=("bug", "billing", "feature"))
    columns["m2"][:EMPTY] = [cell] * EMPTY
    return columns


def read(columns: dict[str, list[Any]], folder: Path, kind: str = "csv", **options: Any) -> Panel:
    path = folder / f"votes.{kind}"
    if kind == "csv":
        path.write_bytes(as_csv(columns))
    else:
        cells = {name: [None if cell == "" else cell for cell in own] for name, own in columns.items()}
        table = pa.table({name: pa.array(own, pa.large_string()) for name, own in cells.items()})
        pyarrow.parquet.write_table(table, path)
    return read_panel([path], PanelOptions(**options))


@pytest.mark.parametrize(("cell", "kind"), [("", "csv"), ("NA", "csv"), ("", "parquet")])
def test_a_column_without_values_in_the_first_rows_votes_from_where_it_has_some(
    cell: str, kind: str, tmp_path: Path
) -> None:
    columns = late_columns(cell)
    panel = read(columns, tmp_path, kind)
    assert roles_of(panel)["m2"] == "ignored"
    assert "2 experts (m0, m1, more may follow)" in str(panel.schema)
    with panel.stream() as stream:
        votes = concat_chunks(list(stream)).vote_dicts()
    assert [one.get("m2", cell) for one in votes] == columns["m2"]
    assert roles_of(panel) == {"m0": "expert", "m1": "expert", "m2": "expert", "label": "label"}
    assert store_reading(panel.reading, panel.classes)["columns"][2]["role"] == "expert"
    (note,) = panel.late_warnings()
    line = "line 62" if kind == "csv" else "row 61"
    assert note.text.endswith(f" rows are read from where they have some: m2 ({line})")


def test_later_cells_that_are_not_read_are_counted(tmp_path: Path) -> None:
    columns = late_columns()
    columns["m2"][EMPTY:] = ["bug" if i % 12 == 0 else "" for i in range(240 - EMPTY)]
    columns["price"] = [""] * 200 + [f"{i}.5" for i in range(40)]
    columns["reviewed"] = [""] * 240
    panel = read(columns, tmp_path)
    with panel.stream() as stream:
        list(stream)
    assert [(one.code, one.severity) for one in panel.late_warnings()] == [("late-columns", "note")] * 2
    texts = [one.text for one in panel.late_warnings()]
    assert texts[0].startswith(
        "'m2' has no values in the first 50 rows, which decide on the roles of columns"
    )
    assert "so 15 later cells of it are not read; if these are votes, name all experts with" in texts[0]
    assert "'price' has" in texts[1]
    assert "so 40 later cells" in texts[1]


def test_fuse_and_compare_tell_of_columns_that_begin_late(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(as_csv(late_columns()))
    found = told(path)
    assert [one["text"] for one in found["warnings"] if one["code"] == "late-columns"] == [
        "columns without values in the first 50 rows are read from where they have some: m2 (line 62)"
    ]
    assert "m2" in [one["name"] for one in found["experts"]]
    result = CliRunner().invoke(app, ["compare", str(path), "Winnow(1.2)"])
    assert result.exit_code == 0
    assert "are read from where they have some: m2 (line 62)" in result.stderr


@pytest.mark.parametrize("options", [{"experts": ("m0", "m1")}, {"ignore": ("m2",)}])
def test_columns_that_the_user_leaves_out_do_not_vote_later(options: Any, tmp_path: Path) -> None:
    panel = read(late_columns(), tmp_path, **options)
    assert "more may follow" not in str(panel.schema)
    with panel.stream() as stream:
        votes = concat_chunks(list(stream)).vote_dicts()
    assert not any("m2" in one for one in votes)
    assert not panel.late_warnings()


def test_an_expert_that_is_named_may_begin_late(tmp_path: Path) -> None:
    panel = read(late_columns(), tmp_path, experts=("m0", "m1", "m2"))
    with panel.stream() as stream:
        votes = concat_chunks(list(stream)).vote_dicts()
    assert "m2" in votes[-1]
    assert not panel.late_warnings()


def test_files_in_memory_have_no_late_columns() -> None:
    panel = read_panel([io.BytesIO(as_csv(late_columns()))])
    assert panel.complete
    assert not panel.late_warnings()


def test_a_data_set_says_that_a_column_has_no_values_in_its_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.scale.dataset.HEAD_ROWS", 50)
    path = tmp_path / "votes.csv"
    path.write_bytes(as_csv({"customer": ["c"] * 240, **late_columns()}))
    reader = RowReader.infer(Partition(str(path), "votes.csv"), PanelOptions(), ("customer",))
    assert reader.doubts == (
        "there are no values of m2, so later ones are not read; if these are votes, name all experts with"
        " --experts",
    )
    named = PanelOptions(experts=("m0", "m1", "m2"))
    assert not RowReader.infer(Partition(str(path), "votes.csv"), named, ("customer",)).doubts
