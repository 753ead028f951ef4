"""Files that are not read into memory: the first rows decide on the roles."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion
from linmax.panels import panel as panel_module
from linmax.panels.panel import Panel, read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.streams import StreamError
from linmax.streams.chunk import concat_chunks
from tests.panels.small_tables import as_csv, panel_columns, roles_of, write_files


@pytest.fixture
def streamed(tmp_path, monkeypatch):
    """Return a function that reads a file in pieces of 25 rows."""
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 25)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)

    def read(columns, **options):
        (path,) = write_files(tmp_path, {"votes.csv": columns})
        return read_panel([path], PanelOptions(**options))

    return read


def test_a_large_file_is_read_in_pieces_with_the_same_roles(streamed):
    columns = {"id": [f"T{i}" for i in range(60)], **panel_columns()}
    panel = streamed(columns)
    assert not panel.complete
    assert roles_of(panel) == {"id": "id", "m0": "expert", "m1": "expert", "m2": "expert", "label": "label"}
    with panel.stream() as stream:
        chunks = list(stream)
    assert [chunk.items for chunk in chunks] == [25, 25, 10]
    assert [chunk.first for chunk in chunks] == [0, 25, 50]
    assert [one for chunk in chunks for one in chunk.labels.tolist()] == columns["label"]


def test_the_pieces_of_a_large_file_are_learned_like_the_whole(streamed):
    columns = panel_columns()
    columns["m0"][40] = "seldom"
    pieces, whole = Fusion(), Fusion()
    with streamed(columns).stream() as stream:
        for chunk in stream:
            pieces.learn(chunk.votes, chunk.raw_labels)
    rows = [{name: columns[name][i] for name in ("m0", "m1", "m2")} for i in range(60)]
    whole.learn(rows, columns["label"])
    assert pieces.mistakes == whole.mistakes
    assert pieces.classes == whole.classes


def test_a_large_file_that_begins_with_one_class_only_is_read_whole(streamed):
    columns = panel_columns(classes="ab")
    assert not streamed(columns).complete
    columns["label"].sort()
    assert set(columns["label"][:25]) == {"a"}
    assert streamed(columns).complete


def test_per_cent_is_decided_by_the_first_piece(streamed):
    columns = panel_columns(experts=1)
    columns["m0_conf"] = [90] * 24 + [0] * 26 + [1] * 10
    columns["m0_conf"][0] = 80
    with streamed(columns).stream() as stream:
        *_, last = stream
    assert {score for one in last.vote_dicts() for score in one["m0"].values()} == {0.01}


def test_a_problem_of_a_large_file_closes_it(streamed):
    panel = streamed(panel_columns() | {"gold": panel_columns()["m1"]})
    assert "could be the label" in panel.reading.problem
    assert panel.opened is None


def objects_on_stdin(rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, **options: Any) -> Panel:
    """Read objects from standard input, in pieces of 25."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 25)
    return read_panel(["-"], PanelOptions(**options))


def growing_rows(eve: Callable[[int], Any], *, nested: bool = False) -> list[dict[str, Any]]:
    """Return rows of which the first 40 have the votes of ann only, and the others those of eve, too."""
    rows = []
    for t in range(90):
        votes = {"ann": "ab"[t % 3 > 1]} | ({"eve": eve(t), "note": f"text {t}"} if t >= 40 else {})
        rows.append({"truth": "ab"[t % 2], **({"votes": votes} if nested else votes)})
    return rows


@pytest.mark.parametrize("nested", [False, True])
def test_experts_that_only_later_objects_have_vote(nested: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = objects_on_stdin(growing_rows(lambda t: "ab"[t % 2], nested=nested), monkeypatch)
    assert "1 expert (ann, more may follow)" in str(panel.schema)
    votes = [row for chunk in panel.stream() for row in chunk.vote_dicts()]
    assert votes[39] == {"ann": "a"}
    assert votes[40] == {"ann": "a", "eve": "a"}
    assert votes[89] == {"ann": "b", "eve": "b"}
    assert roles_of(panel)["eve"] == "expert"
    assert "note" not in roles_of(panel)


def test_scores_that_only_later_objects_have_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    panel = objects_on_stdin(growing_rows(lambda t: {"a": t / 128, "b": 1 - t / 128}), monkeypatch)
    chunks = list(panel.stream())
    assert concat_chunks(chunks).vote_dict(80) == {"ann": {"b": 1.0}, "eve": {"a": 0.625, "b": 0.375}}
    assert concat_chunks(chunks).vote_dict(0) == {"ann": "a"}


@pytest.mark.parametrize(("experts", "voters"), [(["ann"], ["ann"]), (["[ae]*"], ["ann", "eve"])])
def test_options_select_among_experts_that_only_later_objects_have(
    experts: list[str], voters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = objects_on_stdin(growing_rows(lambda t: "ab"[t % 2]), monkeypatch, experts=tuple(experts))
    *_, last = panel.stream()
    assert list(last.vote_dict(0)) == voters


def test_too_many_different_keys_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.panels.whole_files.records.MAX_COLUMNS", 40)
    rows = [{"ann": "ab"[t % 3 > 1], "truth": "ab"[t % 2], f"key {t}": "a"} for t in range(90)]
    panel = objects_on_stdin(rows, monkeypatch)
    with pytest.raises(StreamError, match=r"standard input: over 40 columns \(.*\) by line 50; at most 40"):
        list(panel.stream())


@pytest.mark.parametrize("nested", [False, True])
def test_objects_on_standard_input_are_read_like_a_file(
    nested: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": t, "ann": "ab"[t % 2], "bob": "ab"[t % 3 > 1], "truth": "ab"[t % 2]} for t in range(90)]
    if nested:
        rows = [
            {"id": row["id"], "truth": row["truth"], "votes": {n: row[n] for n in ("ann", "bob")}}
            for row in rows
        ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path = tmp_path / "votes.jsonl"
    path.write_text(text)
    whole = read_panel([path])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    chunks = list(read_panel(["-"]).stream())
    assert whole.chunk is not None
    assert [row for chunk in chunks for row in chunk.vote_dicts()] == whole.chunk.vote_dicts()
    assert [name for chunk in chunks for name in chunk.labels.tolist()] == whole.chunk.labels.tolist()


@pytest.mark.parametrize("classes", ["abc", "012"])
def test_a_label_that_only_later_rows_have_is_a_label(streamed, classes):
    columns = panel_columns(classes=classes)
    late = "9" if classes == "012" else "late"
    columns["label"][50:55] = [late] * 5
    with streamed(columns).stream() as stream:
        labels = [str(label) for chunk in stream for label in chunk.labels.tolist()]
    assert labels == columns["label"]


def test_a_model_reads_the_votes_of_a_large_file_with_its_own_classes(streamed):
    columns = panel_columns(classes="abc")
    columns["m0"][30] = columns["label"][30] = columns["label"][3] = "new"
    known = {"experts": ["m0", "m1", "m2"], "classes": ["a", "b", "c"], "closed": True}

    def items():
        with streamed(columns, like=known, needs_label=False).stream() as stream:
            return concat_chunks(list(stream))

    labelled = items()
    assert labelled.labels.tolist() == columns.pop("label")
    assert labelled.votes.to_pylist() == items().votes.to_pylist()
    assert labelled.votes["m0"].to_pylist() == [None if vote == "new" else vote for vote in columns["m0"]]


def clashing_rows(votes: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with an id, the label "human", and votes."""
    return [{"id": f"t{t}", "votes": votes(t), "human": "ab"[t % 2]} for t in range(90)]


@pytest.mark.parametrize("shared", ["human", "id"])
def test_an_expert_with_the_name_of_another_key_is_read_like_in_a_file(
    shared: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = clashing_rows(lambda t: {"ann": "ab"[t % 2], "bob": "ab"[t % 3 > 1], shared: "ab"[t % 5 > 2]})
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = read_panel([path], PanelOptions(label="human"))
    panel = objects_on_stdin(rows, monkeypatch, label="human")
    assert roles_of(panel) == roles_of(whole)
    assert roles_of(panel)[f"votes.{shared}"] == "expert"
    chunk = concat_chunks(list(panel.stream()))
    assert whole.chunk is not None
    assert chunk.labels.tolist() == whole.chunk.labels.tolist() == [row["human"] for row in rows]
    assert chunk.vote_dicts() == whole.chunk.vote_dicts()
    assert chunk.ids == [row["id"] for row in rows]


def test_a_later_expert_with_the_name_of_another_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = clashing_rows(lambda t: {"ann": "ab"[t % 3 > 1]} | ({"human": "a"} if t == 60 else {}))
    panel = objects_on_stdin(rows, monkeypatch, label="human")
    with pytest.raises(StreamError, match=r"lines 51 to 75: 'human' names an expert in 'votes' and another"):
        list(panel.stream())


def test_columns_with_the_prefix_of_votes_are_named_without_it(streamed):
    columns = panel_columns()
    columns = {"votes.ann": columns["m0"], "votes.eve": columns["m1"], "label": columns["label"]}
    panel = streamed(columns)
    assert roles_of(panel) == {"ann": "expert", "eve": "expert", "label": "label"}
    with panel.stream() as stream:
        votes = concat_chunks(list(stream)).vote_dicts()
    assert [row["ann"] for row in votes] == columns["votes.ann"]


def test_decimal_commas_of_a_large_file_are_read(tmp_path, streamed):
    columns = panel_columns(experts=2)
    columns["m0_conf"] = [f"0,{50 + i % 49}" for i in range(59)] + ["1"]
    path = tmp_path / "commas.csv"
    path.write_bytes(as_csv(columns, ";"))
    panel = read_panel([path])
    assert not panel.complete
    assert roles_of(panel)["m0_conf"] == "confidence"
    assert "decimal commas are read as points in m0_conf" in [one.text for one in panel.warnings]
    with panel.stream() as stream:
        votes = concat_chunks(list(stream)).vote_dicts()
    scores = [score for one in votes for score in one["m0"].values()]
    assert scores == [*((50 + i % 49) / 100 for i in range(59)), 1.0]


def test_names_that_repeat_in_the_header_are_numbered_as_in_smaller_files(tmp_path, streamed):
    path = tmp_path / "repeated.csv"
    path.write_bytes(as_csv(panel_columns()).replace(b"m1,", b"m0,", 1))
    panel, whole = read_panel([path]), read_panel([io.BytesIO(path.read_bytes())])
    assert (panel.complete, whole.complete) == (False, True)
    assert roles_of(panel) == roles_of(whole)
    assert list(roles_of(panel)) == ["m0", "m0.2", "m2", "label"]
    for one in (panel, whole):
        assert "several columns are named m0: the second is m0.2" in [note.text for note in one.warnings]
    with panel.stream() as stream:
        assert concat_chunks(list(stream)).vote_dicts() == whole.chunk.vote_dicts()


def test_a_first_row_of_data_that_repeats_a_value_is_refused_in_large_files(tmp_path, streamed):
    path = tmp_path / "data.csv"
    path.write_text("x0,bug,bug,bug\nx1,bug,fix,fix\nx2,bug,bug,bug\n")
    with pytest.raises(StreamError, match="repeats 'bug' and looks like data, not like names of columns"):
        read_panel([path])
