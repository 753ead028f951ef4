"""`linmax predict`: every row is guessed, nothing is learned."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as bytes_of
from typer.testing import CliRunner

from linmax import Fusion, Perceptron, Winnow, load
from linmax.cli import app
from linmax.cli import output as cli_output
from linmax.evaluate import predictions
from linmax.experts import Attributes
from linmax.streams import open_stream
from linmax.streams.predictions import PredictionWriter
from tests.helpers.files import EXPERTS, ROWS, panel, refused, run, table, trained

Shelf = tuple[Path, Path]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    votes = panel(tmp_path / "votes.csv")
    trained(tmp_path / "m.linmax", votes)
    return tmp_path / "m.linmax", votes


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_guesses_are_those_of_the_library(shelf: Shelf) -> None:
    model, votes = shelf
    result = run("predict", model, votes)
    assert result.exit_code == 0, result.output
    rows = rows_of(result.stdout)
    fusion = load(model)
    (chunk,) = open_stream(votes, label="truth", id="id")
    assert [row["guess"] for row in rows] == fusion.predict(chunk.votes).tolist()
    assert [row["id"] for row in rows] == [f"a{i}" for i in range(ROWS)]
    assert [row["row"] for row in rows] == [str(i + 2) for i in range(ROWS)]
    scores = np.sort(fusion.scores(chunk.votes), axis=1)
    lead = (scores[:, -1] - scores[:, -2]) / np.abs(scores).max(axis=1)
    assert np.allclose([float(row["margin"]) for row in rows], lead)


def test_the_last_line_tells_how_many_were_right(shelf: Shelf) -> None:
    result = run("predict", *shelf)
    rows = rows_of(result.stdout)
    right = sum(row["guess"] == row["truth"] for row in rows)
    labelled = sum(row["truth"] != "" for row in rows)
    assert result.stderr.splitlines()[-1] == (
        f"linmax: {ROWS} rows predicted, {right} of {labelled} labelled rows correct ({right / labelled:.1%})"
    )


def test_nothing_is_learned_and_the_model_is_left_as_it_is(shelf: Shelf) -> None:
    before = shelf[0].read_bytes()
    first = run("predict", *shelf).stdout
    assert run("predict", *shelf).stdout == first
    assert shelf[0].read_bytes() == before


def test_an_output_has_the_same_rows(shelf: Shelf, tmp_path: Path) -> None:
    plain = run("predict", *shelf).stdout
    result = run("predict", *shelf, "--output", tmp_path / "g.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert rows_of((tmp_path / "g.csv").read_text()) == rows_of(plain)


def test_votes_may_come_from_standard_input(shelf: Shelf) -> None:
    words = ["predict", str(shelf[0]), "-", "--output", "-"]
    piped = CliRunner().invoke(app, words, input=shelf[1].read_bytes())
    assert piped.exit_code == 0, piped.output
    assert piped.stdout == run("predict", *shelf).stdout


def test_a_bar_is_shown_to_those_who_look(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(
        cli_output,
        "stderr_console",
        lambda: Console(force_terminal=True, width=100, file=screen, legacy_windows=False),
    )
    assert "rows predicted" in run("predict", *shelf).stderr
    assert "predicting" in screen.getvalue()
    assert f"{ROWS} rows, " in screen.getvalue()
    assert screen.getvalue().rstrip().endswith("\x1b[2K")  # it is gone when all is done


def test_many_classes_are_guessed_in_parts_that_fit_into_memory(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("predict", *shelf).stdout
    monkeypatch.setattr(predictions, "SCORE_CELLS", 20)
    assert run("predict", *shelf).stdout.replace('"', "") == whole.replace('"', "")


def test_strangers_and_who_is_missing_are_named(shelf: Shelf, tmp_path: Path) -> None:
    some = table(tmp_path / "some.csv", [["ann", "[b]new[/b]"], ["ham", "spam"], ["spam", ""]])
    result = run("predict", shelf[0], some)
    assert result.exit_code == 0
    assert "does not know 1 column ([b]new[/b]) of some.csv" in result.stderr
    assert f"some.csv lacks 3 experts ({', '.join(EXPERTS[1:])}) of" in result.stderr
    assert result.stderr.endswith("linmax: 2 rows predicted\n")


def test_a_class_that_the_model_has_never_met_can_be_guessed(shelf: Shelf, tmp_path: Path) -> None:
    eggs = table(tmp_path / "eggs.csv", [EXPERTS, ["eggs"] * 4])
    assert rows_of(run("predict", shelf[0], eggs).stdout)[0]["guess"] == "eggs"


def test_probabilities_and_sets_are_those_of_the_library_where_a_class_is_new(
    shelf: Shelf, tmp_path: Path
) -> None:
    votes = [dict.fromkeys(EXPERTS, "eggs"), dict(zip(EXPERTS, ["ham", "eggs", "ham", "spam"], strict=False))]
    file = table(tmp_path / "new.csv", [EXPERTS, *([one.get(name, "") for name in EXPERTS] for one in votes)])
    fusion = load(shelf[0])
    expected = fusion.predict_proba(votes)
    sets = fusion.predict_set(votes, coverage=0.9)
    assert sets[0][0] == fusion.predict(votes)[0] == "eggs"
    assert fusion.predict_set_one(votes[0], coverage=0.9) == sets[0]
    found = rows_of(run("predict", shelf[0], file, "--coverage", 0.9).stdout)
    for row, own, one in zip(found, expected, sets, strict=True):
        for name, p in zip(fusion.classes, own, strict=True):
            assert float(row[f"p_{name}"]) == pytest.approx(p, abs=1e-5)
        assert ";".join(map(str, one)) == row["set"]


def test_a_file_with_nobody_the_model_knows_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    other = table(tmp_path / "other.csv", [["x", "y"], ["ham", "spam"]])
    said = refused("predict", shelf[0], other, "--output", tmp_path / "g.csv")
    assert said.startswith("other.csv has no expert that ")
    assert "(it has x, y; the model knows " in said
    assert not (tmp_path / "g.csv").exists()


def test_experts_that_come_in_json_are_known_by_their_votes(shelf: Shelf, tmp_path: Path) -> None:
    lines = [{"votes": {"ann": "ham"}}, {"votes": {"zoe": "ham", "bob": "spam"}}]
    file = tmp_path / "v.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = run("predict", shelf[0], file)
    assert result.exit_code == 0, result.output
    assert "does not know 1 column (zoe) of v.jsonl" in result.stderr
    assert "v.jsonl lacks 2 experts ([red]eve[/red], joe)" in result.stderr


def test_a_model_without_trials_guesses_what_it_can(tmp_path: Path) -> None:
    Fusion(Perceptron()).save(tmp_path / "m")
    votes = table(tmp_path / "v.csv", [["ann", "bob"], ["ham", ""], ["", ""]])
    rows = rows_of(run("predict", tmp_path / "m", votes, "--experts", "ann,bob").stdout)
    assert [(row["guess"], row["margin"]) for row in rows] == [("ham", ""), ("", "")]


def test_one_class_has_no_rival_and_so_no_margin(tmp_path: Path) -> None:
    votes = table(tmp_path / "v.csv", [["ann", "truth"], ["ham", "ham"], ["ham", "ham"]])
    trained(tmp_path / "m", votes)
    assert {row["margin"] for row in rows_of(run("predict", tmp_path / "m", votes).stdout)} == {""}


def test_three_hundred_experts_are_no_burden(tmp_path: Path) -> None:
    names = [f"expert {i}" for i in range(300)]
    votes = table(tmp_path / "v.csv", [[*names, "truth"], *([["a", *["b"] * 299, "a"]] * 5)])
    trained(tmp_path / "m", votes, experts=("expert *",))
    few = table(tmp_path / "few.csv", [names[:1], ["a"]])
    told = run("predict", tmp_path / "m", few).stderr
    assert "lacks 299 experts (expert 1, expert 2, expert 3, expert 4, expert 5, expert 6, ...)" in told


def test_a_header_alone_gives_a_header(shelf: Shelf, tmp_path: Path) -> None:
    result = run("predict", shelf[0], table(tmp_path / "v.csv", [EXPERTS]))
    assert (result.exit_code, result.stdout) == (0, "row,guess,margin\n")


def test_a_model_of_attributes_asks_for_their_columns(tmp_path: Path) -> None:
    fusion = Fusion(Perceptron().on(Attributes()))
    fusion.learn(attributes=[{"size": 1.0}, {"size": -1.0}] * 3, labels=["a", "b"] * 3)
    fusion.save(tmp_path / "m")
    rows = table(tmp_path / "v.csv", [["size", "truth"], [1, "a"], [-1, "b"]])
    said = refused("predict", tmp_path / "m", rows)
    assert said.endswith("the model learns from attributes; name their columns with --attributes")
    result = run("predict", tmp_path / "m", rows, "--attributes", "size")
    assert "2 of 2 labelled rows correct" in result.stderr, result.output


def test_a_model_of_numbers_reads_them_in_a_text_file(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2), experts=["ann", "bob"])
    fusion.learn([[0, 1]] * 3, [1] * 3)
    fusion.save(tmp_path / "m")
    votes = table(tmp_path / "v.csv", [["ann", "bob"], [0, 1], [1, 1]])
    result = run("predict", tmp_path / "m", votes)
    assert [line.split(",")[1] for line in result.stdout.splitlines()] == ["guess", "1", "1"]


def other_version(path: Path) -> Path:
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    facts = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["linmax"])
    changed = path.with_name("later.linmax")
    header = {"linmax": json.dumps({**facts, "version": 99})}
    changed.write_bytes(bytes_of(tensors_of(content), metadata=header))
    return changed


def test_what_cannot_be_read_is_one_sentence(shelf: Shelf, tmp_path: Path) -> None:
    model, votes = shelf
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    ragged = table(tmp_path / "ragged.csv", [["ann", "bob", "truth"], ["ham", "spam"]])
    for words, sentence in [
        ((tmp_path / "none.linmax", votes), "there is no file "),
        ((votes, votes), "is too large, damaged or not a linmax file"),
        ((tmp_path, votes), "it is not a file"),
        ((other_version(model), votes), "it has version 99 and this linmax reads 1"),
        ((model, tmp_path / "none.csv"), "none.csv'; check the path"),
        ((model, empty), "empty.csv is empty; it needs a header or at least one row"),
        ((model, ragged), "ragged.csv, line 2: 2 cells where the header has 3; fix the row"),
        ((model, votes, "--experts", "anne"), "has no column 'anne'; did you mean 'ann'?"),
        ((model, votes, "--shape", "round"), "--shape is wide, scores or long (got 'round')"),
        (
            (model, votes, "--output", tmp_path / "g.doc"),
            "its name must end in .csv, .tsv, .jsonl or .parquet",
        ),
        ((model, votes, "--output", votes), "is an input file; name another file"),
        ((model, votes, "--output", model), "is an input file; name another file"),
    ]:
        assert sentence in refused("predict", *words)
    assert not list(tmp_path.glob("*.part"))


def test_scores_and_votes_may_be_mixed(shelf: Shelf, tmp_path: Path) -> None:
    mixed = table(tmp_path / "mixed.csv", [["ann:ham", "bob"], ["0.5", "ham"]])
    result = run("predict", shelf[0], mixed)
    assert result.exit_code == 0, result.output
    assert "lacks 2 experts" in result.stderr


@pytest.mark.parametrize(("stop", "code"), [("int", 130), ("term", 143)])
def test_a_run_that_is_stopped_leaves_nothing(
    stop: str, code: int, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = PredictionWriter.write

    def stopped(self: PredictionWriter, *rest: Any) -> None:
        write(self, *rest)
        if stop == "int":
            raise KeyboardInterrupt
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(PredictionWriter, "write", stopped)
    before = sorted(tmp_path.iterdir())
    assert run("predict", *shelf, "--output", tmp_path / "g.csv").exit_code == code
    assert sorted(tmp_path.iterdir()) == before


def test_a_reader_who_has_enough_is_no_error(shelf: Shelf, tmp_path: Path) -> None:
    votes = panel(tmp_path / "long.csv", rows=4_000)  # more than a pipe holds
    program = "import sys\nfrom linmax.cli import app\napp(sys.argv[1:])"
    words = [sys.executable, "-c", program, "predict", str(shelf[0]), str(votes)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == 'row,id,guess,margin,truth,"p_tea, black",p_ham,p_spam\n'
        process.stdout.close()
        assert process.stderr.read() == ""  # not even how many rows were predicted
        assert process.wait() == 0


def test_numbers_where_the_model_has_learned_text_are_refused(tmp_path: Path) -> None:
    rows = [("ham", "ham", "True", "ham"), ("spam", "spam", "False", "spam"), ("ham", "spam", "True", "ham")]
    columns = dict(zip(("ann", "bob", "flag", "truth"), map(list, zip(*rows * 20, strict=True)), strict=True))
    file = table(tmp_path / "votes.csv", [list(columns), *zip(*columns.values(), strict=True)])
    model = tmp_path / "m.linmax"
    assert run("fuse", file, "--attributes", "flag", "--save", model).exit_code == 0
    assert run("predict", model, file).exit_code == 0
    columns["flag"] = [text == "True" for text in columns["flag"]]
    pq.write_table(pa.table(columns), tmp_path / "votes.parquet")
    assert "'flag' has been text so far" in refused("predict", model, tmp_path / "votes.parquet")
