"""Panels: warnings, commands to copy, streams, values for JSON."""

import io
import json
import shlex
import time
from pathlib import Path

import numpy as np
import pytest

from linmax import Fusion
from linmax.cli.options.files import ReadOptions
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.roles.profile import MISSING
from linmax.panels.stored import store_reading
from linmax.streams import StreamError
from tests.panels.small_tables import CLASSES, as_csv, codes_of, panel_columns, read_columns


def test_a_clean_panel_has_no_warnings_and_can_be_learned():
    panel = read_columns({"id": list(range(60)), **panel_columns()})
    assert panel.warnings == []
    assert Fusion().learn(panel.chunk.votes, panel.chunk.raw_labels).trials == 60


def test_grave_warnings_come_first():
    columns = {"id": [i % 50 for i in range(60)], **panel_columns()}
    columns["m0"][0] = "refused"
    assert list(codes_of(read_columns(columns)).values()) == ["grave", "note"]


def test_labels_that_nobody_votes_for_are_a_grave_warning_if_there_are_many():
    columns = panel_columns(90)
    for name in ("m0", "m1", "m2"):
        columns[name] = ["bug" if one == "feature" else one for one in columns[name]]
    assert codes_of(read_columns(columns))["labels-never-voted"] == "grave"


def test_missing_labels_are_counted():
    columns = panel_columns()
    columns["label"][5] = "NA"
    panel = read_columns(columns)
    assert panel.warnings[0].text == "1 of 60 items have no label: they are only predicted"


def test_labels_that_differ_by_case_only_are_noted_unless_case_is_ignored():
    columns = panel_columns()
    columns["label"][5] = columns["label"][5].upper()
    found = {one.code: one.text for one in read_columns(columns).warnings}
    assert "'BILLING' differ by case or whitespace only" in found["label-spelling"]
    assert not codes_of(read_columns(columns, ignore_case=True))


def test_with_few_labels_a_vote_that_is_never_a_label_counts():
    columns = {"ann": ["a", "b", "c"] * 4, "truth": ["a", "b"] * 6}
    assert {one["ann"] for one in read_columns(columns).chunk.vote_dicts()} == {"a", "b", "c"}


def test_the_command_reads_the_file_in_the_same_way():
    panel = read_columns({"my id": [f"T{i}" for i in range(60)], **panel_columns()})
    assert shlex.split(panel.command(["my votes.csv"])) == [
        "linmax", "fuse", "my votes.csv", "--label", "label", "--id", "my id",
    ]  # fmt: skip


def test_the_command_solves_the_problem():
    panel = read_columns(panel_columns() | {"gold": panel_columns()["m1"]})
    assert "--label label" in panel.command(["votes.csv"])


def test_a_panel_is_written_as_json():
    found = json.loads(json.dumps(read_columns(panel_columns()).as_json()))
    assert found["items"] == 60
    assert sorted(found["classes"]) == sorted(CLASSES)
    assert found["columns"][0] == {
        "column": "m0", "role": "expert", "reason": "its values are classes", "expert": "m0",
        "type": "text", "examples": found["columns"][0]["examples"], "distinct": 3, "missing": 0,
    }  # fmt: skip


def test_a_problem_has_no_stream():
    panel = read_columns(panel_columns() | {"gold": panel_columns()["m1"]})
    with pytest.raises(StreamError, match="could be the label"):
        panel.stream()


def test_the_stream_has_all_items():
    panel = read_columns(panel_columns())
    (chunk,) = panel.stream()
    assert chunk.items == 60


def test_a_file_without_rows_is_an_error():
    with pytest.raises(StreamError, match="has no rows"):
        read_panel([io.BytesIO(b"ann,label\n")])


@pytest.mark.parametrize("shape", ["many experts", "long", "many classes"])
def test_large_tables_are_read_in_seconds(shape):
    rng = np.random.default_rng(0)
    if shape == "many experts":
        labels = rng.integers(0, 3, 60)
        columns = {f"e{i}": rng.integers(0, 3, 60).tolist() for i in range(1000)} | {"label": labels.tolist()}
    elif shape == "long":
        item, names = rng.integers(0, 8000, 60_000), np.array(CLASSES)
        columns = {
            "task": item.tolist(), "worker": rng.integers(0, 3000, 60_000).tolist(),
            "answer": names[rng.integers(0, 3, 60_000)].tolist(), "gold": names[item % 3].tolist(),
        }  # fmt: skip
    else:
        labels = rng.integers(0, 3000, 12_000)
        columns = {
            f"m{i}": np.where(rng.random(12_000) < 0.8, labels, labels[::-1]).tolist() for i in range(3)
        } | {"label": labels.tolist()}
    start = time.process_time()
    panel = read_panel([io.BytesIO(as_csv(columns))], PanelOptions())
    assert panel.chunk is not None
    assert time.process_time() - start < 6.0


def test_long_values_that_are_never_labels_are_cut_off_and_their_counts_are_not():
    columns = panel_columns(60)
    columns["m0"][:3] = ["I am sorry, but as a language model I cannot help with that."] * 3
    columns["m0"][3:5] = ["ERROR: timeout after 30 s"] * 2
    (text,) = (one.text for one in read_columns(columns).warnings if one.code == "votes-never-labels")
    assert "'I am sorry, but as a language model I...' (3), 'ERROR: timeout after 30 s' (2);" in text


def test_votes_y_and_n_are_for_yes_and_no_with_a_note():
    columns = panel_columns(60, ("no", "yes"))
    for name in ("m0", "m1"):
        columns[name] = [one[0].upper() for one in columns[name]]
    panel = read_columns(columns)
    assert sorted(panel.chunk.vote_dicts()[0]) == ["m0", "m1", "m2"]
    assert {one for votes in panel.chunk.vote_dicts() for one in votes.values()} == {"no", "yes"}
    assert codes_of(panel) == {"spelling": "note"}


def test_names_of_experts_below_a_repeated_name_are_a_second_header() -> None:
    rows = "".join(f"t{i},{'ab'[i % 2]},{'ab'[i % 3 % 2]},{'ab'[i % 2]}\n" for i in range(30))
    text = f"item,annotators,annotators,gold\n,ann,bob,\n{rows}"
    with pytest.raises(StreamError, match=r"second row of names \(ann, bob\); join both rows"):
        read_panel([io.BytesIO(text.encode())])


def test_cells_that_databases_write_for_null_are_missing() -> None:
    rows = "".join(f"{i}\t{'ab'[i % 2]}\t{'ab'[i % 2] if i % 5 else chr(92) + 'N'}\n" for i in range(60))
    panel = read_panel([io.BytesIO(f"id\tann\ttruth\n{rows}".encode())])
    assert sorted(panel.classes.names) == ["a", "b"]


@pytest.mark.parametrize("flip", [0, 1])
def test_a_column_that_says_whether_another_is_right_is_a_leak(flip: int) -> None:
    columns = panel_columns(80, classes=(0, 1))
    flags = [int((a == y) != flip) for a, y in zip(columns["m0"], columns["label"], strict=True)]
    found = read_columns({"id": list(range(80)), **columns, "m0_ok": flags})
    assert codes_of(found)["possible-leak"] == "grave"
    (text,) = [one.text for one in found.warnings if one.code == "possible-leak"]
    assert text.startswith("'m0_ok' says on all 80 items whether 'm0' is right")
    assert "possible-leak" not in codes_of(read_columns(columns))


@pytest.mark.parametrize(
    ("words", "classes", "shown"),
    [
        (("?",), {"a", "b"}, ["--missing", "?"]),
        (("",), {"a", "b", "NA", "?"}, ["--missing", ""]),
        (("", "?"), {"a", "b", "NA"}, ["--missing", "", "--missing", "?"]),
    ],
)
def test_missing_adds_to_the_usual_texts_unless_it_is_empty(
    words: tuple[str, ...], classes: set[str], shown: list[str], tmp_path: Path
) -> None:
    texts = ["a", "b", "NA", "?", ""]
    file = tmp_path / "votes.csv"
    file.write_text("ann,bob,truth\n" + "".join(f"{x},{x},{x}\n" for x in (texts[t % 5] for t in range(100))))
    panel = ReadOptions(path=str(file), missing=list(words)).read([str(file)])
    assert set(panel.classes.names) == classes
    command = shlex.split(panel.command(["votes.csv"]))
    assert [word for word in command if word not in ("--label", "truth")][3:] == shown


def test_missing_adds_to_the_texts_that_a_model_knows() -> None:
    columns = {"ann": ["a", "b", "?", "-", "NA"] * 20, "truth": ["a", "b", "a", "b", "a"] * 20}
    first = read_columns(columns, missing=(*MISSING, "?"))
    like = store_reading(first.reading, first.classes)
    again = read_columns(columns, missing=(*MISSING, "-"), like=like, needs_label=False)
    assert again.unknown_votes() == {}
