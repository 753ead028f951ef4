"""The command of the benchmarks, with fake parts."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from benchmarks import __main__ as command
from benchmarks import pages, parts
from benchmarks.peers.peer_client import PeerError


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """One part that takes no time, and one that is interrupted."""
    quick, stopped = ModuleType("quick"), ModuleType("stopped")

    def measure(quick: bool, data: Path, report: Any) -> dict[str, Any]:
        report("half", 0.5)
        return {"machine": "a made-up one", "versions": {"numpy": "9"}, "quick": quick, "data": data.name}

    def interrupted() -> None:
        raise KeyboardInterrupt

    quick.measure = measure  # type: ignore[attr-defined]
    quick.page = lambda results: f"## Quick\n\nIt was {results['quick']}.\n"  # type: ignore[attr-defined]
    quick.highlights = lambda results: ["found something"]  # type: ignore[attr-defined]
    quick.draw = lambda results, path: None  # type: ignore[attr-defined]
    stopped.measure = interrupted  # type: ignore[attr-defined]
    modules = {"first": quick, "second": stopped}
    monkeypatch.setattr(parts, "names", lambda: list(modules))
    monkeypatch.setattr(parts, "module", modules.__getitem__)
    return stopped


@pytest.mark.usefixtures("made_up")
def test_finished_parts_are_stored_when_the_run_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        command.main(quick=True, data=tmp_path / "data", results=tmp_path)
    assert ended.value.exit_code == 130
    stored = json.loads((tmp_path / "first-quick.json").read_text())
    assert (stored["quick"], stored["data"]) == (True, "data")
    assert not (tmp_path / "second-quick.json").exists()
    page = (tmp_path / "quick.md").read_text()
    assert "first: a made-up one; numpy 9." in page
    assert "## Quick\n\nIt was True." in page
    output = capsys.readouterr().out
    assert "found something" in output
    assert "stopped; finished and stored: first" in output


def test_a_peer_that_fails_is_one_sentence(
    made_up: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing() -> None:
        raise PeerError("River softmax failed: ValueError: no")

    made_up.measure = failing  # type: ignore[attr-defined]
    with pytest.raises(typer.Exit) as ended:
        command.main(only=["second"], results=tmp_path)
    assert ended.value.exit_code == 1
    assert "stopped: River softmax failed: ValueError: no; finished" in capsys.readouterr().out


@pytest.mark.usefixtures("made_up")
def test_an_unknown_part_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="there is no part 'third', only first, second"):
        command.main(only=["third"], results=tmp_path)


def test_every_part_has_the_whole_interface() -> None:
    for name in parts.names():
        module = parts.module(name)
        assert all(callable(getattr(module, verb)) for verb in ("measure", "page", "draw", "highlights"))


def test_the_page_is_built_from_existing_results(tmp_path: Path) -> None:
    assert "# Benchmarks" in pages.build(tmp_path, quick=False).read_text()


def test_the_page_matches_the_stored_results() -> None:
    page = pages.RESULTS / "README.md"
    assert page.read_text(encoding="utf-8") == pages.text(pages.RESULTS, quick=False), "run make docs"
