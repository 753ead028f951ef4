"""The command of the benchmarks, with a part that is made up."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from benchmarks import __main__ as command
from benchmarks import pages, parts
from benchmarks.peers.desk import PeerError


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """One part that takes no time, and one that somebody stops."""
    quick, stopped = ModuleType("quick"), ModuleType("stopped")

    def measure(quick: bool, data: Path, tell: Any) -> dict[str, Any]:
        tell("half", 0.5)
        return {"machine": "a made-up one", "versions": {"numpy": "9"}, "quick": quick, "data": data.name}

    def interrupted() -> None:
        raise KeyboardInterrupt

    quick.measure = measure  # type: ignore[attr-defined]
    quick.page = lambda results: f"## Quick\n\nIt was {results['quick']}.\n"  # type: ignore[attr-defined]
    quick.found = lambda results: ["found something"]  # type: ignore[attr-defined]
    quick.draw = lambda results, path: None  # type: ignore[attr-defined]
    stopped.measure = interrupted  # type: ignore[attr-defined]
    modules = {"first": quick, "second": stopped}
    monkeypatch.setattr(parts, "names", lambda: list(modules))
    monkeypatch.setattr(parts, "module", modules.__getitem__)
    return stopped


@pytest.mark.usefixtures("made_up")
def test_what_is_finished_is_kept_when_the_rest_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended:
        command.main(quick=True, data=tmp_path / "data", results=tmp_path)
    assert ended.value.exit_code == 130
    kept = json.loads((tmp_path / "first-quick.json").read_text())
    assert (kept["quick"], kept["data"]) == (True, "data")
    assert not (tmp_path / "second-quick.json").exists()
    page = (tmp_path / "quick.md").read_text()
    assert "first: a made-up one; numpy 9." in page
    assert "## Quick\n\nIt was True." in page
    said = capsys.readouterr().out
    assert "found something" in said
    assert "stopped; finished and kept: first" in said


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
def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="there is no part 'third', only first, second"):
        command.main(only=["third"], results=tmp_path)


def test_every_part_has_all_that_is_asked_of_one() -> None:
    for name in parts.names():
        module = parts.module(name)
        assert all(callable(getattr(module, verb)) for verb in ("measure", "page", "draw", "found"))


def test_the_page_is_made_of_what_there_is(tmp_path: Path) -> None:
    assert "# Benchmarks" in pages.build(tmp_path, quick=False).read_text()


def test_the_page_is_made_of_the_kept_figures() -> None:
    page = pages.RESULTS / "README.md"
    assert page.read_text(encoding="utf-8") == pages.text(pages.RESULTS, quick=False), "run make docs"
