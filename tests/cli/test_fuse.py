"""`linmax fuse`: from a file of votes to an answer."""

from __future__ import annotations

import csv
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from linmax import Fusion, Winnow, load, parse, recommended
from linmax.cli import app
from linmax.cli.fuse.fuse import NOTE, save_model
from linmax.cli.inputs import parse_costs
from linmax.cli.output import print_table
from linmax.streams import open_stream
from tests.evaluate.test_audit import panel, text
from tests.slow.soak import soak

ATTACKS = Path(__file__).parents[1] / "streams" / "hostile_files"
LEARNER = ("--learner", "Winnow(1.3)")


def fuse(*words: Any, learner: tuple[str, ...] = LEARNER, input: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["fuse", *map(str, words), *learner], input=input)


def told(*words: Any, **options: Any) -> dict[str, Any]:
    result = fuse(*words, "--json", **options)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """The findings without how the file was read, which a resumed run knows from its model."""
    return {name: value for name, value in found.items() if name not in ("warnings", "schema")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_bytes(text(*panel(300)))
    return path


def test_a_file_becomes_an_answer(file: Path) -> None:
    result = fuse(file)
    assert result.exit_code == 0, result.output
    out = result.output
    assert "votes.csv: CSV, wide: 4 experts (a, b, c, d), label truth, id id" in out
    assert "linmax was correct on" in out
    assert "the plurality" in out
    assert "best fixed weights" in out
    assert "Trust in the experts" in out
    assert "Label these next" in out
    assert "\x1b" not in out  # plain when nobody watches


def test_what_is_learned_is_what_the_library_learns(file: Path, tmp_path: Path) -> None:
    model = tmp_path / "panel.linmax"
    found = told(file, "--save", model)
    fusion = Fusion(Winnow(1.3))
    run = [fusion.learn(chunk.votes, chunk.labels) for chunk in open_stream(file, label="truth", id="id")]
    assert found["results"][0]["mistakes"] == sum(one.mistakes for one in run)
    saved = load(model)
    assert all(np.array_equal(saved.state()[name], array) for name, array in fusion.state().items())
    assert {name: saved.notes[NOTE][name] for name in ("file", "rows", "base")} == {
        "file": "votes.csv", "rows": 300, "base": 0,
    }  # fmt: skip


def test_a_model_goes_on_with_another_file(file: Path, tmp_path: Path) -> None:
    model, other = tmp_path / "panel.linmax", tmp_path / "more.csv"
    other.write_bytes(text(*panel(200, seed=1)))
    told(file, "--save", model)
    told(other, "--from", model, "--save", model, learner=())
    assert load(model).trials == Fusion(Winnow(1.3)).trials + sum(
        sum(label is not None for label in panel(n, seed=seed)[1]) for n, seed in ((300, 0), (200, 1))
    )


def test_guesses_are_written_beside_their_truth(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "guesses.csv"
    assert fuse(file, "--output", out).exit_code == 0
    lines = out.read_text().splitlines()
    assert lines[0] == "row,id,guess,margin,truth"
    assert len(lines) == 301
    assert lines[1].startswith("2,i0,")


def test_rows_in_random_order_are_another_run_of_the_same_rows(file: Path) -> None:
    one, two, plain = told(file, "--shuffle", 1), told(file, "--shuffle", 1), told(file)
    assert one == two
    assert one["trials"] >= plain["trials"] - 1
    assert one["curves"] != plain["curves"]


def test_labels_that_come_later_are_joined_by_id(file: Path, tmp_path: Path) -> None:
    _, labels = panel(300)
    late = tmp_path / "late.csv"
    late.write_text("id,truth\n" + "".join(f"i{t},{label}\n" for t, label in enumerate(labels) if label))
    bare = tmp_path / "bare.csv"
    bare.write_bytes(b"\n".join(line.rpartition(b",")[0] for line in file.read_bytes().splitlines()))
    want, found = told(file), told(bare, "--labels", late)
    same = {"file": "", "source": "", "warnings": [], "schema": {}}
    assert {**found, **same} == {**want, **same}
    joined = next(one["text"] for one in found["warnings"] if one["code"] == "unmatched-labels")
    assert joined.startswith("late.csv joined by id: 263 ids are in both, 0 only in late.csv, and 37 only")


def test_experts_and_costs_can_be_named(file: Path) -> None:
    found = told(file, "--experts", "a,b", "--cost", "a=2.5")
    assert sorted(one["name"] for one in found["experts"]) == ["a", "b"]
    assert next(one["price"] for one in found["experts"] if one["name"] == "a") == 2.5
    assert parse_costs(["a=b=1"]) == {"a=b": 1.0}


def test_standard_input_will_do() -> None:
    found = told("-", input=text(*panel(50)))
    assert found["items"] == 50


def test_an_expert_that_only_later_lines_of_standard_input_name_votes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.panels.panel.CHUNK_SIZE", 40)
    rows = [{"ann": "ab"[t % 3 > 1], "bob": "ab"[t % 5 > 2], "truth": "ab"[t % 2]} for t in range(200)]
    rows = [row | ({"eve": "ab"[t % 2]} if t >= 100 else {}) for t, row in enumerate(rows)]
    model = tmp_path / "model.linmax"
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    found = told("-", "--save", model, "--cost", "eve=2", input=lines)
    (eve,) = (one for one in found["experts"] if one["name"] == "eve")
    assert (eve["accuracy"], round(eve["vote_rate"], 2), eve["price"]) == (1.0, 0.5, 2.0)
    assert {one["column"]: one["role"] for one in found["schema"]["columns"]}["eve"] == "expert"
    path = tmp_path / "next.csv"
    path.write_text("eve\nb\na\n")
    predicted = CliRunner().invoke(app, ["predict", str(model), str(path)])
    assert predicted.exit_code == 0, predicted.output


def test_attributes_are_learned_where_nobody_votes(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n2 2:1\n" * 20)
    found = told(path, learner=())
    assert parse(found["learner"]) == recommended(votes=False, attributes=True)
    assert found["results"][0]["accuracy"] > 0.9
    assert found["experts"] == []


def test_forecasters_are_told_by_what_their_probabilities_lose(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    rows = ['{"a": {"x": 0.9, "y": 0.1}, "b": {"x": 0.4, "y": 0.6}, "truth": "x"}',
            '{"a": {"x": 0.1, "y": 0.9}, "b": {"x": 0.6, "y": 0.4}, "truth": "y"}']  # fmt: skip
    path.write_text("\n".join(rows * 3))
    result = fuse(path)
    assert "log loss" in result.output
    assert {one["name"]: round(one["log_loss"], 3) for one in told(path)["experts"]} == {
        "a": 0.105,
        "b": 0.916,
    }


# --- what is wrong


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        (["{file}", "--label", "trut"], "did you mean 'truth'"),
        (["{file}", "--save", "no/such/folder"], "there is no folder"),
        (["{file}", "--report", "."], "not the name of a file"),
        (["{file}", "--checkpoint", "10"], "--save"),
        (["{file}", "--cost", "gpt"], "EXPERT=NUMBER"),
        (["{file}", "--cost", "a=nan"], "EXPERT=NUMBER"),
        (["{file}", "--cost", "a=-1"], "EXPERT=NUMBER"),
        (["{file}", "--cost", "aa=1"], "did you mean 'a'"),
        (["{file}", "--save", "{file}"], "is an input file"),
        (["{file}", "--output", "{file}"], "is an input file"),
        (["{file}", "--save", "a.out", "--report", "a.out"], "is written twice"),
        (["{file}", "--save", "{bare}"], "is not a model"),
        (["{file}", "--output", "a.xlsx"], ".parquet"),
        (["{file}", "--output", "-"], "not the name of a file"),
        (["{file}", "--relearn"], "--from"),
        (["{file}", "--shape", "round"], "--shape is wide"),
        (["{file}", "--from", "{file}"], "not a linmax file"),
        (["{bare}"], "name the column with --label"),
    ],
)
def test_bad_input_is_a_sentence_and_nothing_is_written(
    words: list[str], sentence: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text("a,b\nx,y\n")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    learner = () if "--from" in words else LEARNER
    result = fuse(*(word.format(file=file, bare=bare) for word in words), learner=learner)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.startswith("linmax: ")
    assert len(result.stderr.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_typo_in_a_learner_gets_the_nearest_name(file: Path) -> None:
    result = fuse(file, learner=("--learner", "Winow(1.2)"))
    assert result.exit_code == 2
    assert "Winnow" in result.stderr


def test_a_bad_row_late_in_a_file_leaves_the_old_model_and_no_guesses(file: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "panel.linmax", tmp_path / "guesses.csv"
    fuse(file, "--save", model)
    before = model.read_bytes()
    file.write_bytes(file.read_bytes() + b"\nragged\n")
    result = fuse(file, "--save", model, "--output", out)
    assert result.exit_code == 2
    assert "line 302" in result.stderr
    assert model.read_bytes() == before
    assert not out.exists()


def test_what_looks_odd_is_said(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("ann,truth\n" + "ham,ham\n" * 30 + "spam,spam\n" * 30 + "Spam ,spam\n")
    out = fuse(path).output
    assert "1 votes are spelled unlike the labels" in out
    assert "rows were shuffled (seed 0) because they are sorted by label" in out
    assert sorted(told(path)["classes"]) == ["ham", "spam"]
    assert told(path, "--in-order")["verdict"] == "not judged"


def test_hostile_names_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("[red]x[/red],[/],truth\n" + "[b]a,b,[b]a\nb,b,b\n" * 30)
    result = fuse(path)
    assert result.exit_code == 0, result.output
    assert "[red]x[/red]" in result.output
    assert "[b]a" in result.output


# --- stopped and gone on


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_a_model_that_goes_on_to_the_same_end(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    whole = told(file, "--save", tmp_path / "whole.linmax")
    from linmax.evaluate.audit.audit import Audit

    learn = Audit.learn

    def interrupted(self: Audit, *arguments: Any) -> Any:
        outcome = learn(self, *arguments)
        if self.items >= 100:
            os.kill(os.getpid(), number)
        return outcome

    monkeypatch.setattr(Audit, "learn", interrupted)
    part = tmp_path / "part.linmax"
    result = fuse(file, "--save", part, "--checkpoint", 100)
    monkeypatch.undo()
    assert result.exit_code == 128 + number
    assert "Stopped after 100 items" in result.output
    assert f"resume with --from {part}" in result.output.replace("\n", " ")
    again = told(file, "--from", part, "--save", part, learner=())
    assert figures(again) == figures(whole)
    states = [load(path).state() for path in (part, tmp_path / "whole.linmax")]
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[1])


def stopped(file: Path, model: Path, monkeypatch: pytest.MonkeyPatch, *words: Any) -> None:
    """A model that was killed after 100 rows of a file."""

    class KilledError(Exception):
        pass

    def kept(*arguments: Any, **options: Any) -> None:
        save_model(*arguments, **options)
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr("linmax.cli.fuse.fuse.save_model", kept)
        assert isinstance(
            fuse(
                file,
                "--save",
                model,
                "--checkpoint",
                100,
                *words,
                learner=() if "--from" in words else LEARNER,
            ).exception,
            KilledError,
        )


def test_a_stopped_run_goes_on_in_its_own_file_only(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "part.linmax"
    stopped(file, model, monkeypatch)
    text_ = file.read_text()
    file.write_text(text_.replace("i3,", "j3,"))
    assert "stopped after 100 rows of votes.csv" in fuse(file, "--from", model, learner=()).stderr
    file.write_text(text_)
    assert "stopped after 100 rows" in fuse(file, "--from", model, "--shuffle", 1, learner=()).stderr
    assert "stopped after 100 rows" in fuse(file, "--from", model, "--experts", "a,b", learner=()).stderr
    assert told(file, "--from", model, learner=())["items"] == 300
    assert told(file, "--from", model, "--relearn", learner=())["repeated"]


def test_a_run_in_random_order_goes_on_to_the_same_end(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "part.linmax"
    stopped(file, model, monkeypatch, "--shuffle", 3)
    again = told(file, "--from", model, "--shuffle", 3, learner=())
    assert figures(again) == figures(told(file, "--shuffle", 3))


def test_a_file_that_grows_is_learned_where_it_is_new(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows = tmp_path / "panel.linmax", panel(600)
    lines = text(*rows).splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:201]))
    told(file, "--save", model)
    again = fuse(file, "--from", model, learner=())
    assert again.exit_code == 2
    assert "has learned all 200 rows of votes.csv; add rows" in again.stderr
    file.write_bytes(b"".join(lines))
    stopped(file, model, monkeypatch, "--from", model)
    found = told(file, "--from", model, "--save", model, learner=())
    assert (found["items"], found["repeated"]) == (400, False)
    whole = Fusion(Winnow(1.3))
    for chunk in open_stream(file, label="truth", id="id"):
        whole.learn(chunk.votes, chunk.labels)
    assert all(np.array_equal(load(model).state()[name], array) for name, array in whole.state().items())
    twice = fuse(file, "--from", model, "--again", learner=())
    assert "all of which were learned before" in twice.output


def test_minus_one_is_a_class_where_it_is_a_label(tmp_path: Path) -> None:
    path = tmp_path / "signs.jsonl"
    path.write_text('{"a": -1, "b": 1, "truth": -1}\n{"a": 1, "b": 1, "truth": 1}\n' * 10)
    found = told(path, "--experts", "a,b")
    assert sorted(found["classes"]) == [-1, 1]
    assert {one["name"]: one["accuracy"] for one in found["experts"]} == {"a": 1.0, "b": 0.5}


def test_labels_that_nobody_had_named_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "novel.csv"
    path.write_text("a,b,truth\nx,x,x\n" + "".join(f"x,y,new{t}\nx,y,x\n" for t in range(20)))
    output = fuse(path, "--experts", "a,b").output
    assert "Over 21 labelled items" in output
    assert "20 more items have labels never seen before" in output


def test_a_learner_that_runs_away_is_not_saved_and_nothing_is_written(file: Path, tmp_path: Path) -> None:
    wild = ("--learner", "Logistic(1e308)")
    assert fuse(file, learner=wild).exit_code == 0
    before = sorted(tmp_path.iterdir())
    result = fuse(file, "--save", tmp_path / "m.linmax", "--output", tmp_path / "g.csv", learner=wild)
    assert result.exit_code == 2
    assert "numbers that are not finite" in result.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_to_the_same_bits(kills: int) -> None:
    hits, wrong = soak(kills=kills, rows=1_000 * (3 + kills) // 4, every=50)
    assert wrong == 0
    assert hits  # else nothing was tried


@pytest.mark.parametrize("name", sorted(path.name for path in ATTACKS.iterdir() if path.suffix != ".json"))
def test_a_hostile_file_is_refused_in_a_sentence_or_learned(name: str, tmp_path: Path) -> None:
    model = tmp_path / "panel.linmax"
    result = fuse(ATTACKS / name, "--save", model, "--output", tmp_path / "guesses.csv")
    if result.exit_code:
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert list(tmp_path.iterdir()) == []
    else:
        with (tmp_path / "guesses.csv").open(newline="", encoding="utf-8") as file:
            predicted = len(list(csv.reader(file))) - 1  # the header
        fusion = load(model)
        assert fusion.notes[NOTE]["rows"] == predicted
        assert fusion.trials <= predicted


def test_a_table_wraps_its_text_and_counts_wide_letters_twice(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("王", "1", "many words that do not fit into a line of this console"), ("ann", "20", "")]
    print_table(Console(width=40, highlight=False), ("", "n", "detail"), rows, left=("", "detail"))
    assert capsys.readouterr().out.splitlines() == [
        "",
        "       n  detail",
        " ────────────────────────────────────",
        " 王    1  many words that do not fit",
        "          into a line of this console",
        " ann  20",
        "",
    ]
