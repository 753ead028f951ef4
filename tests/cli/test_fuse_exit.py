"""`linmax fuse`: what is left when it ends in the middle of its end, and who abstains in which format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from linmax import load
from linmax.cli import fuse as fuse_command
from linmax.cli.fuse import NOTE
from tests.cli.test_fuse import fuse, told
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
    assert told(file, "--from", model, "--save", model, learner=()) == whole
    assert "audit" not in load(model).notes[NOTE]  # it has come to its end
    assert "has learned all 300 rows" in fuse(file, "--from", model, learner=()).stderr


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
