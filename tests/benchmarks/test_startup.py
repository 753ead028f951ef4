"""The benchmark of starts, on programs that do next to nothing; no peer runs here."""

import json
import os
import sys
from pathlib import Path

import pytest

from benchmarks import startup
from benchmarks.startup import Program
from linmax._jit.tiers import VARIABLE


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, object]:
    """Two programs, one of which is said to compile."""
    starts = [
        Program(startup.IMPORTS, "Python alone", (sys.executable, "-c", "pass")),
        Program(startup.CALLS, "linmax, default", (sys.executable, "-c", "print(sum(range(10**6)))")),
    ]
    monkeypatch.setattr(startup, "linmax_programs", lambda folder: starts)
    monkeypatch.setattr(startup, "ROOT", tmp_path)
    monkeypatch.setattr(startup, "python", _refuse)
    return startup.measure(quick=False)


def _refuse(home: Path, *, make: bool) -> Path:
    raise startup.PeersMissingError("they are elsewhere")


def test_every_start_counts_and_missing_peers_are_a_note(results: dict[str, object], tmp_path: Path) -> None:
    assert json.loads(json.dumps(results)) == results
    alone, first = results["starts"]
    assert 0 < alone["wall"][0] < first["wall"][2] * 10
    assert results["notes"] == ["peers are left out: they are elsewhere"]
    assert "vowpalwabbit" not in results["versions"]
    text = startup.page(results)
    assert "They" not in text
    assert "Peers are left out: they are elsewhere." in text
    assert "| Python alone | " in text
    startup.draw(results, tmp_path / "startup.png")
    assert {file.suffix for file in tmp_path.glob("startup.*")} == {".png", ".svg"}


def test_a_cold_start_has_an_empty_cache() -> None:
    code = "import os, pathlib; folder = pathlib.Path(os.environ['NUMBA_CACHE_DIR']); "
    code += "assert not list(folder.iterdir()); (folder / 'trials.run-1.py311.nbi').write_text('')"
    for at_once in (False, True):
        own = f"assert os.environ.get({VARIABLE!r}) == {'0' if at_once else None!r}"
        program = Program("", "one", (sys.executable, "-c", f"{code}; {own}"))
        found = startup.time_cold(program, lambda what: None, at_once=at_once)
        assert found["kernels"] == ["trials.run"]
        assert found["compiled at once"] is at_once
    assert os.environ.get("NUMBA_CACHE_DIR") != ""


def test_the_small_file_is_the_same_for_both(tmp_path: Path) -> None:
    rows = startup.write_csv(tmp_path / "small.csv").read_text().splitlines()
    assert len(rows) == startup.ROWS + 1
    blocks = startup.write_examples(tmp_path / "small.vw").read_text().split("\n\n")[:-1]
    assert len(blocks) == startup.ROWS
    truth = [block.splitlines()[int(row[-1])][2:3] for block, row in zip(blocks, rows[1:], strict=True)]
    assert set(truth) == {"0"}  # the true class costs nothing


def test_linmax_starts_are_programs_that_exist(tmp_path: Path) -> None:
    for start in startup.linmax_programs(tmp_path):
        assert Path(start.command[0]).exists()
    peers = startup.peer_programs(tmp_path, Path(sys.executable))
    assert {one.name for one in peers} >= {"import river", "import vowpalwabbit"}
