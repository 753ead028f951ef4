"""`linmax fuse`: doubts that only the whole pass, or an earlier one, can raise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_fuse import fuse, told
from tests.evaluate.test_audit import panel, text


@pytest.mark.parametrize(("every", "severity"), [(3, "grave"), (30, "note")])
def test_refusals_in_standard_input_are_named_because_they_count_as_a_class(
    every: int, severity: str
) -> None:
    votes = [["ham", "spam"][t % 2] for t in range(120)]
    said = ["REFUSED" if t % every == 0 else vote for t, vote in enumerate(votes)]
    lines = "ann,bob,truth\n" + "".join(f"{a},{y},{y}\n" for a, y in zip(said, votes, strict=True))
    given = {"input": lines.encode()}
    found = [one for one in told("-", **given)["warnings"] if one["code"] == "votes-never-labels"]
    assert [one["severity"] for one in found] == [severity]
    assert "are for 'REFUSED', never a label" in found[0]["text"]
    assert "pass --missing REFUSED." in fuse("-", **given).output.replace("\n", " ")
    codes = [one["code"] for one in told("-", "--missing", "REFUSED", **given)["warnings"]]
    assert "votes-never-labels" not in codes


@pytest.mark.parametrize("rows", [20, 100, 200])
def test_the_first_rows_of_a_learned_file_are_not_new(rows: int, tmp_path: Path) -> None:
    file, model, shorter = (tmp_path / name for name in ("votes.csv", "m.linmax", "shorter.csv"))
    file.write_bytes(text(*panel(300)))
    assert told(file, "--save", model)["items"] == 300
    shorter.write_text("".join(file.read_text().splitlines(keepends=True)[: rows + 1]))
    found = fuse(shorter, "--from", model, learner=())
    assert found.exit_code == 2
    assert f"not the file of which 300 rows were learned before: it has {rows} rows" in found.stderr
