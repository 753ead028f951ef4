"""Workbooks of Excel and LibreOffice."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from linmax.panels.table import load_table
from linmax.streams import StreamError, open_stream
from tests.panels.workbooks import Day, rows_xml, write_ods, write_xlsx

pytest.importorskip("python_calamine", reason="workbooks are read with linmax[excel]")

ROWS: list[list[Any]] = [
    ["id", "ann", "share", "ok", "when"],
    [1, "ham", 0.5, True, Day(45688)],
    [2, None, 1, False, None],
]


def test_a_sheet_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"Empty": "", "Votes": rows_xml(ROWS)})
    table = load_table(path)
    assert table.format == "Excel"
    assert table.data.to_pylist() == [
        {"id": 1, "ann": "ham", "share": 0.5, "ok": True, "when": "2025-01-31"},
        {"id": 2, "ann": None, "share": 1.0, "ok": False, "when": None},
    ]
    assert (table.lines.tolist(), table.unit, table.notes) == ([2, 3], "row", ())


def test_another_sheet_is_named_after_the_file(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"One": rows_xml(ROWS), "Two": rows_xml([["x", "y"], ["a", "b"]])})
    table = load_table(path)
    assert table.data.column_names[0] == "id"
    assert table.notes == ("the sheet 'One' is read; another one (Two) is read with --sheet Two",)
    assert load_table(f"{path}#Two").data.to_pylist() == [{"x": "a", "y": "b"}]
    with pytest.raises(StreamError, match=r"book.xlsx has no sheet 'Three'; it has One, Two"):
        load_table(f"{path}#Three")


def test_a_title_above_the_header_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(
        path, {"S": rows_xml([["Votes of May", None, None], [None] * 3, ["a", "b", "c"], [1, 2, 3]], first=3)}
    )
    table = load_table(path)
    assert table.data.to_pylist() == [{"a": 1, "b": 2, "c": 3}]
    assert table.lines.tolist() == [6]
    assert table.notes == ("1 row above the header is skipped",)


def test_without_a_header_columns_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"S": rows_xml([[1, "a"], [2, "b"]])})
    assert load_table(path, header=False).data.to_pydict() == {"column 1": [1, 2], "column 2": ["a", "b"]}


def test_repeated_and_empty_names_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"S": rows_xml([["a", "a", None, 7], [1, 2, 3, 4]])})
    assert load_table(path).data.column_names == ["a", "a.2", "column 3", "7"]


def test_libreoffice_is_read(tmp_path: Path) -> None:
    path = tmp_path / "book.ods"
    text = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    number = (
        '<table:table-cell office:value-type="float" office:value="{}"><text:p>x</text:p></table:table-cell>'
    )
    rows = f"<table:table-row>{text.format('a')}{text.format('b')}</table:table-row>"
    rows += f"<table:table-row>{text.format('ham')}{number.format(3)}</table:table-row>"
    empty = '<table:table-row table:number-rows-repeated="1048574"><table:table-cell/></table:table-row>'
    write_ods(path, rows + empty)
    assert load_table(path).data.to_pylist() == [{"a": "ham", "b": 3}]
    write_ods(
        path, rows.replace("<table:table-row>", '<table:table-row table:number-rows-repeated="1000000">', 1)
    )
    with pytest.raises(StreamError, match=r"book.ods has cells as far as row 1000000"):
        load_table(path)


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_cell_in_the_far_corner_is_refused(tmp_path: Path, quote: str) -> None:
    path = tmp_path / "book.xlsx"
    rows = rows_xml(ROWS) + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    write_xlsx(path, {"S": rows.replace('"', quote)})
    with pytest.raises(StreamError, match="cells as far as row 1048576 and column 16384; delete those"):
        load_table(path)


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.excel.MAX_UNPACKED", 1 << 20)
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"S": rows_xml([["a"], ["x" * (2 << 20)]])})
    with pytest.raises(StreamError, match=r"book.xlsx unpacks to 2 MB; at most 1 MB are read"):
        load_table(path)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le"),
            "password",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "not a readable workbook"),
        (b"PK\x03\x04" + bytes(100), "damaged zip archive"),
        (b"<html><table></table></html>", "is an HTML page"),
        (b"a,b\n1,2\n", "ends like Excel but begins like CSV; rename it to .csv"),
    ],
)
def test_what_is_no_workbook_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(data)
    with pytest.raises(StreamError, match=says):
        load_table(path)


def test_an_empty_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"One": "", "Two": ""})
    with pytest.raises(StreamError, match=r"no sheet with cells \(it has One, Two\)"):
        load_table(path)
    write_xlsx(path, {"One": rows_xml([["a", "b"]])})
    with pytest.raises(StreamError, match="sheet 'One' has no rows below the header"):
        load_table(path)


def test_a_workbook_is_not_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"S": rows_xml(ROWS)})
    with pytest.raises(
        StreamError, match=r"book.xlsx is a workbook, which is not read in chunks; save it as CSV"
    ):
        open_stream(path, label="truth")


def test_without_calamine_the_error_has_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"S": rows_xml(ROWS)})
    original = builtins.__import__

    def refuse(name: str, *more: Any) -> Any:
        if name.startswith("python_calamine"):
            raise ImportError(name)
        return original(name, *more)

    monkeypatch.delitem(sys.modules, "python_calamine", raising=False)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(
        StreamError, match=r"reading book.xlsx requires python.calamine.*pip install 'linmax\[excel\]'"
    ):
        load_table(path)


def test_a_sheet_with_votes_and_labels_behind_others_is_named(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    about = [
        ["Project", "Tickets", "2024"],
        ["Owner", "Ann", "x"],
        ["Team", "B", "y"],
        ["Status", "open", "z"],
    ]
    votes = [["id", "gpt4", "truth"], *([i, "bug", "bug"] for i in range(9))]
    write_xlsx(path, {"About": rows_xml([*about, ["Page", "1", "2"]]), "Panel data": rows_xml(votes)})
    (note,) = load_table(path).notes
    assert "the sheet 'About' is read; 'Panel data' looks more like votes and labels" in note
    assert note.endswith("--sheet 'Panel data'")
    table = load_table(path, sheet="Panel data")
    assert (table.data.column_names, table.notes) == (["id", "gpt4", "truth"], ())
    with pytest.raises(StreamError, match="no sheet 'Votes'; it has About, Panel data"):
        load_table(path, sheet="Votes")
