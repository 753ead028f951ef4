"""`linmax reproduce`: cells are cached and resumed, errors are one sentence, pages are built from figures."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import experiments.catalogue
from experiments import cache, command, pages, papers, runner
from experiments.cache import CellCache
from experiments.catalogue import select
from experiments.interface import Cell, Experiment, Found, Outcome, Table
from experiments.outcomes import lost_data_outcome, statement_outcome
from linmax.cli import app

RAN: list[int] = []  # the cells that were run in this process


def cells(runs: int, quick: bool) -> list[Cell]:
    return [{"seed": seed} for seed in range(1 if quick else runs)]


def run(cell: Cell, data: Path) -> int:
    RAN.append(cell["seed"])
    return 10 * cell["seed"]


def interrupted(cell: Cell, data: Path) -> int:
    if cell["seed"] == 2:
        raise KeyboardInterrupt
    return run(cell, data)


def gather(found: list[Found]) -> dict[str, Any]:
    return {"sum": sum(one.value for one in found)}


def judge(figures: dict[str, Any]) -> list[Outcome]:
    return [statement_outcome("the sum is 60", "nowhere", str(figures["sum"]), holds=figures["sum"] == 60)]


def tables(figures: dict[str, Any]) -> list[Table]:
    return [Table("sums", ["sum"], [[str(figures["sum"])]])]


TOY = Experiment("toy", "2003", "A toy", cells, run, gather, tables, judge, runs=4)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Experiment:
    RAN.clear()
    install(monkeypatch, TOY)
    return TOY


def install(monkeypatch: pytest.MonkeyPatch, *some: Experiment) -> None:
    known = {one.name: one for one in some}
    for module in (experiments.catalogue, command, runner, papers):
        monkeypatch.setattr(module, "experiments", lambda: known)


def reproduce(tmp_path: Path, *names: str, **options: Any) -> str:
    screen = io.StringIO()
    console = Console(file=screen, width=100)
    options = {"workers": 1, "folder": tmp_path / "out", "cache": tmp_path / "cache"} | options
    command.reproduce(list(names), console=console, **options)
    return screen.getvalue()


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_an_experiment_leaves_figures_and_a_page(toy: Experiment, tmp_path: Path) -> None:
    shown = reproduce(tmp_path, "toy")
    assert "the sum is 60" in shown
    whole = json.loads((tmp_path / "out" / "toy.json").read_text())
    assert whole["figures"] == {"sum": 60}
    assert whole["seeds"] == [0, 1, 2, 3]
    assert {"linmax", "python", "numba"} <= set(whole["versions"])
    assert whole["machine"]["cores"] >= 1
    page = (tmp_path / "out" / "toy.md").read_text()
    assert "| the sum is 60 | nowhere | as stated | 60 | reproduced |  |" in page


def test_finished_cells_are_not_run_again(toy: Experiment, tmp_path: Path) -> None:
    reproduce(tmp_path, "toy", runs=2)
    assert RAN == [0, 1]
    shown = reproduce(tmp_path, "toy")
    assert RAN == [0, 1, 2, 3]
    assert "from the cache" not in shown
    assert "from the cache" in reproduce(tmp_path, "toy")
    assert RAN == [0, 1, 2, 3]


def test_an_interrupted_run_says_what_is_kept_and_goes_on_from_there(
    monkeypatch: pytest.MonkeyPatch, toy: Experiment, tmp_path: Path
) -> None:
    install(monkeypatch, replace(TOY, run=interrupted))
    with pytest.raises(
        KeyboardInterrupt, match="stopped; 2 of 4 cells are cached, and the same command continues"
    ):
        reproduce(tmp_path, "toy")
    assert not (tmp_path / "out").exists()
    install(monkeypatch, TOY)  # the same file, so the same stamp
    reproduce(tmp_path, "toy")
    assert RAN == [0, 1, 2, 3]


def test_a_broken_cell_file_is_run_again(toy: Experiment, tmp_path: Path) -> None:
    reproduce(tmp_path, "toy")
    store = CellCache(TOY, Path("nowhere"), tmp_path / "cache")
    assert store.get({"seed": 1}) == 10
    store.path({"seed": 1}).write_text('{"cell": {"seed": 1}, "val')
    reproduce(tmp_path, "toy")
    assert RAN == [0, 1, 2, 3, 1]


def test_cached_cells_depend_on_the_code_and_the_data(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = cache.stamp(TOY, tmp_path)
    (tmp_path / "rows.txt").write_text("1")
    with_data = cache.stamp(replace(TOY, optional=("rows.txt",)), tmp_path)
    assert with_data != before
    (tmp_path / "rows.txt").write_text("2")
    assert cache.stamp(replace(TOY, optional=("rows.txt",)), tmp_path) != with_data
    code = tmp_path / "code.py"
    code.write_text("a = 1")
    monkeypatch.setattr(cache, "source_files", lambda run: {code})
    first = cache.stamp(TOY, tmp_path)
    code.write_text("a = 2")
    assert cache.stamp(TOY, tmp_path) != first


@pytest.mark.slow
def test_all_cores_give_what_one_gives(tmp_path: Path) -> None:
    names = ["lecture-potential"]
    for workers in (1, 2):
        reproduce(tmp_path, *names, quick=True, runs=2, workers=workers,
                  folder=tmp_path / str(workers), cache=tmp_path / f"cache {workers}")  # fmt: skip
    one, two = (json.loads((tmp_path / str(n) / "lecture-potential.json").read_text()) for n in (1, 2))
    assert one["figures"] == two["figures"]


def test_a_bar_shows_the_time_left_on_a_terminal_only(toy: Experiment, tmp_path: Path) -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=100, force_terminal=True)
    command.reproduce(["toy"], console=console, workers=1, folder=tmp_path, cache=tmp_path / "cache")
    assert "all cells" in screen.getvalue()
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back
    assert "all cells" not in reproduce(tmp_path, "toy")


def test_missing_data_are_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, toy: Experiment, tmp_path: Path
) -> None:
    forest = replace(TOY, name="forest", data=("covtype/covtype_sample93k.npz",))
    install(monkeypatch, TOY, forest)
    with pytest.raises(
        ValueError, match=r"^forest requires .*covtype_sample93k.npz, which is missing: .* LINMAX_DATA$"
    ):
        reproduce(tmp_path, "forest", data=tmp_path)
    console = Console(file=io.StringIO(), width=100)
    options = {"data": tmp_path, "folder": tmp_path / "out", "cache": tmp_path / "cache", "workers": 1}
    assert command.reproduce(["all"], console=console, **options) == 1
    assert "forest requires" in console.file.getvalue()  # type: ignore[attr-defined]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["toy.json", "toy.md"]


def test_a_missing_folder_of_data_is_named() -> None:
    result = call("reproduce", "fusion-figure-4", "--data", "/nowhere")
    assert result.exit_code == 2
    sentence = "there is no folder /nowhere; pass another with --data, or in LINMAX_DATA"
    assert result.stderr == f"linmax: {sentence}\n"


def test_without_a_name_the_experiments_are_listed() -> None:
    result = call("reproduce")
    assert result.exit_code == 0
    for name in ("fusion-table-1", "sub-experts-figure-1", "committee-bounds", "lecture-bounds"):
        assert name in result.output


def test_an_unknown_experiment_is_one_sentence() -> None:
    result = call("reproduce", "fusion-tabel-1")
    assert result.exit_code == 2
    assert (
        result.stderr == "linmax: there is no experiment 'fusion-tabel-1'; did you mean 'fusion-table-1'?\n"
    )
    with pytest.raises(ValueError, match="there is no experiment 'x'; there are committee-bounds, "):
        select(["x"])


def test_ctrl_c_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt("stopped; 3 of 4 cells are cached")

    monkeypatch.setattr(command, "reproduce", stop)
    result = call("reproduce", "all")
    assert (result.exit_code, result.stderr) == (130, "\nlinmax: stopped; 3 of 4 cells are cached\n")


def test_a_quick_look_never_replaces_results(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "QUICK", tmp_path / "quick")
    reproduce(tmp_path, "toy", quick=True, folder=None)
    assert json.loads((tmp_path / "quick" / "toy.json").read_text())["quick"] is True
    assert "quick mode" in (tmp_path / "quick" / "toy.md").read_text()


def test_verdicts_of_all_papers_are_made_of_kept_figures(
    toy: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    assert papers.claims(folder) == {}  # nothing was run, so nothing is claimed
    reproduce(tmp_path, "toy")
    assert "| the sum is 60 | nowhere | as stated | 60 | reproduced |" in papers.table(folder)
    whole = json.loads((folder / "toy.json").read_text())
    (folder / "toy.json").write_text(json.dumps(whole | {"figures": {"sum": 61}}))
    assert "| 61 | **not reproduced** |" in papers.table(folder)
    install(monkeypatch, replace(TOY, judge=lambda figures: [lost_data_outcome("a", "b", "c", "d", "gone")]))
    assert papers.counts(folder).endswith("|  |  |  | 1 |\n")


@pytest.mark.parametrize("name", sorted(experiments.catalogue.experiments()))
def test_kept_results_are_at_full_size_and_their_pages_current(name: str) -> None:
    one = experiments.catalogue.experiments()[name]
    whole = pages.read(one)
    if whole is None:
        pytest.skip("not run")
    assert (whole["runs"], whole["quick"]) == (one.runs, False)
    page = (pages.RESULTS / f"{name}.md").read_text(encoding="utf-8")
    assert page == pages.page(one, whole["figures"], whole, drawn=one.draw is not None)
    assert all(
        (pages.RESULTS / f"{name}.{kind}").is_file() == (one.draw is not None) for kind in ("png", "svg")
    )
