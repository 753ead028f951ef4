"""Whatever a file contains, it is a table of plain columns or one sentence."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linmax.panels.table import RawTable, load_table
from linmax.streams import StreamError
from tests.helpers.examples import EVERYTHING

NAMES = [
    "votes.csv",
    "votes.tsv",
    "votes.json",
    "votes.jsonl",
    "votes",
    "votes.txt",
    "votes.csv.gz",
    "votes.xlsx",
]
STARTS = [
    b"",
    b"[",
    b"{",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"sep=;\n",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh91AY&SY",
    b"\xfd7zXZ\0",
]
PLAIN = {pa.string(), pa.int64(), pa.float64(), pa.bool_()}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
KEYS = st.sampled_from(
    ["id", "ann", "y", "a.b", "doc_id", "target", "resps", "annotations", "result", "value", ""]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
QUICK = settings(
    max_examples=100 if EVERYTHING else 15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def check(data: bytes, name: str, **options: Any) -> None:
    file = io.BytesIO(data)
    file.name = name
    try:
        table = load_table(file, **options)
    except StreamError as error:
        sentence = str(error)
    else:
        sentence = ""
        _check_plain(table)
    assert "\n" not in sentence
    assert len(sentence) < 400


def _check_plain(table: RawTable) -> None:
    assert set(table.data.schema.types) <= PLAIN
    assert len(table.lines) == len(table.data)
    assert len(set(table.data.column_names)) == table.data.num_columns
    table.data.validate(full=True)


@QUICK
@given(st.sampled_from(STARTS), st.binary(max_size=200), st.sampled_from(NAMES), st.booleans())
def test_any_bytes_are_read_or_refused(start: bytes, data: bytes, name: str, header: bool) -> None:
    check(start + data, name, header=header)


@QUICK
@given(st.text(st.sampled_from('a1é,;|\t"\n\r\0 =0.'), max_size=60), st.sampled_from(NAMES), st.booleans())
def test_any_text_is_read_or_refused(text: str, name: str, header: bool) -> None:
    for encoding in ("utf-8", "utf-16", "latin-1"):
        check(text.encode(encoding), name, header=header)
    check(gzip.compress(text.encode()), name, header=header)


@QUICK
@given(VALUES)
def test_any_json_document_is_read_or_refused(document: Any) -> None:
    check(json.dumps(document).encode(), "votes.json")


@QUICK
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=4))
def test_any_objects_on_lines_are_read_or_refused(records: list[Any]) -> None:
    check("\n".join(map(json.dumps, records)).encode(), "samples_a.jsonl")


@QUICK
@given(
    st.lists(
        st.fixed_dictionaries({"doc_id": VALUES, "target": VALUES, "filtered_resps": VALUES}),
        min_size=1,
        max_size=3,
    )
)
def test_any_sample_log_is_read_or_refused(records: list[Any]) -> None:
    check(json.dumps(records).encode(), "samples_a.json")


@QUICK
@given(
    st.lists(st.fixed_dictionaries({"completed_by": VALUES, "result": VALUES, "value": VALUES}), max_size=3),
    VALUES,
)
def test_any_label_studio_export_is_read_or_refused(annotations: list[Any], truth: Any) -> None:
    result = [{"from_name": "c", "value": item["value"]} for item in annotations]
    task = {
        "id": truth,
        "annotations": [*annotations, {"result": result}],
        "ground_truth": truth,
        "data": truth,
    }
    check(json.dumps([task]).encode(), "tasks.json")


@pytest.mark.parametrize("cut", range(0, 400, 23))
def test_a_workbook_that_is_cut_is_refused(cut: int, tmp_path: Any) -> None:
    pytest.importorskip("python_calamine", reason="workbooks are read with linmax[excel]")
    from tests.panels.workbooks import rows_xml, write_xlsx

    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"S": rows_xml([["a", "b"], [1, 2]])})
    data = bytearray(path.read_bytes())
    check(bytes(data[: len(data) - 1 - cut]), "book.xlsx")
    data[cut] ^= 0xFF
    check(bytes(data), "book.xlsx")
