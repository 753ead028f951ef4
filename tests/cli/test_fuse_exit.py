"""`linmax fuse`: what is left when it ends in the middle of its end, and who abstains in which format."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax import load
from linmax.cli.fuse import fuse as fuse_command
from linmax.cli.fuse.fuse import NOTE, save_model
from linmax.cli.output import MilestoneTable
from linmax.evaluate.audit.audit import Audit
from tests.cli.test_fuse import figures, fuse, told
from tests.evaluate.test_audit import panel, text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_bytes(text(*panel(300)))
    return path


def test_a_kill_before_the_findings_are_told_loses_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, model = told(file), tmp_path / "panel.linmax"

    def killed(*_: Any) -> None:
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr(fuse_command, "report_result", killed)
        assert fuse(file, "--save", model).exit_code == 9
    assert figures(told(file, "--from", model, "--save", model, learner=())) == figures(whole)
    assert "audit" not in load(model).notes[NOTE]  # it has come to its end
    assert "has learned all 300 rows" in fuse(file, "--from", model, learner=()).stderr


def raise_interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_during_the_ablation_says_that_it_is_missing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, model = told(file), tmp_path / "panel.linmax"
    assert (whole["finished"], whole["missing"]) == (True, [])
    with monkeypatch.context() as patch:
        patch.setattr(MilestoneTable, "update_status", raise_interrupt)
        result = fuse(file, "--save", model)
        as_json = fuse(file, "--json")
    assert (result.exit_code, as_json.exit_code) == (130, 130)
    sentence = f"Stopped during the ablation of experts, after all 300 items; {model} has learned 300 rows"
    assert f"{sentence}; resume with --from {model}." in result.output
    assert "Trust in the experts" in result.output
    found = json.loads(as_json.stdout)
    assert (found["finished"], found["missing"]) == (False, ["ablation"])
    assert found["results"] == whole["results"]
    assert figures(told(file, "--from", model, learner=())) == figures(whole)  # with the ablation


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_after_the_last_row_skips_the_ablation(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while the model is written, when there is no next chunk before which it could stop."""

    def interrupted(*arguments: Any, **options: Any) -> None:
        save_model(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(fuse_command, "save_model", interrupted)
    result = fuse(file, "--save", tmp_path / "panel.linmax", "--json")
    assert result.exit_code == 130
    assert json.loads(result.stdout)["missing"] == ["ablation"]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_in_the_middle_says_which_parts_are_missing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = Audit.learn

    def interrupted(self: Audit, *arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return learn(self, *arguments)

    monkeypatch.setattr(Audit, "learn", interrupted)
    result = fuse(file, "--json")
    assert result.exit_code == 130
    found = json.loads(result.stdout)
    assert (found["finished"], found["missing"]) == (False, ["rows", "ablation"])


@pytest.mark.parametrize("saves", [True, False])
def test_ctrl_c_during_the_report_says_what_was_saved(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves: bool
) -> None:
    model, page = tmp_path / "panel.linmax", tmp_path / "report.html"
    monkeypatch.setattr("linmax.report.page.write_page", raise_interrupt)
    result = fuse(file, "--report", page, *(["--save", model] if saves else []))
    assert result.exit_code == 130
    way = f"{model} has learned 300 rows; resume with --from {model}"
    way = way if saves else "nothing was saved; with --save MODEL it could be resumed"
    assert result.stderr == f"\nlinmax: stopped before the result was complete; {way}\n"
    assert not page.exists()


def test_a_second_ctrl_c_while_learning_says_what_was_saved(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "panel.linmax"
    learn = Audit.learn

    def interrupted(self: Audit, *arguments: Any) -> Any:
        if self.items >= 200:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(Audit, "learn", interrupted)
    result = fuse(file, "--save", model, "--checkpoint", 100)
    assert result.exit_code == 130
    assert f"before the end of the file; {model} has learned 200 rows; resume" in result.stderr


def test_guesses_of_a_pass_that_goes_on_are_told_to_be_the_rest(file: Path, tmp_path: Path) -> None:
    model, guesses = tmp_path / "panel.linmax", tmp_path / "guesses.csv"
    told(file, "--save", model)
    file.write_bytes(text(*panel(400)))
    said = fuse(file, "--from", model, "--output", guesses, learner=()).output.replace("\n", " ")
    assert "guesses.csv will contain only the predictions after row 300" in said
    assert len(guesses.read_text().splitlines()) == 101


@pytest.mark.parametrize("words", [(), ("--abstain", "-1")])
def test_minus_one_abstains_in_every_format(tmp_path: Path, words: tuple[str, ...]) -> None:
    said = {"ann": [0, -1, 2, 1] * 20, "bob": [0, 1, -1, -1] * 20, "truth": [0, 1, 2, 1] * 20}
    pa.parquet.write_table(pa.table(said), tmp_path / "votes.parquet")
    rows = [dict(zip(said, row, strict=True)) for row in zip(*said.values(), strict=True)]
    (tmp_path / "votes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [",".join(said), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    found = [told(tmp_path / f"votes.{ending}", *words) for ending in ("parquet", "jsonl", "csv")]
    assert [sorted(one["vote_rate"] for one in each["experts"]) for each in found] == [[0.5, 0.75]] * 3
    assert len({json.dumps(each["results"]) for each in found}) == 1


def test_minus_one_is_a_class_where_it_is_a_label_or_nobody_abstains(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("ann,truth\n" + "1,1\n-1,-1\n" * 20)
    assert told(path)["experts"][0]["vote_rate"] == 1.0
    path.write_text("ann,truth\n" + "1,1\n-1,0\n" * 20)
    assert told(path, "--abstain", "none")["experts"][0]["vote_rate"] == 1.0
    assert told(path)["experts"][0]["vote_rate"] < 0.6


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device", "report.html")


def test_a_report_that_cannot_be_written_does_not_lose_the_verdict(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.report.page.write_page", full)
    for words in ((), ("--json",)):
        result = fuse(file, "--report", tmp_path / "report.html", *words)
        assert result.exit_code == 2
        assert "erdict" in result.stdout
        assert "No space left on device" in result.stderr


def test_a_model_that_cannot_be_written_does_not_lose_the_verdict(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.fusion.Fusion.save", full)
    output = tmp_path / "guesses.csv"
    result = fuse(file, "--save", tmp_path / "m", "--output", output)
    assert result.exit_code == 2
    assert "Verdict" in result.stdout
    assert "No space left on device" in result.stderr
    assert len(output.read_text().splitlines()) == 301
