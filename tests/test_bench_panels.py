"""The benchmark on real panels, on a tiny panel that is made up; no peer runs here."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import linmax
from benchmarks.panels import __main__ as command
from benchmarks.panels import compare, own, page, plot, reading
from benchmarks.panels.reading import Panel
from benchmarks.panels.run import run
from benchmarks.peers import environment, vw
from benchmarks.peers.cells import Peers
from benchmarks.peers.settings import LIBRARIES, SETTINGS
from linmax.problems import majority


@pytest.fixture(autouse=True)
def no_large_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its 62 algorithms have tests of their own; these are over in seconds."""
    monkeypatch.delattr(linmax, "vr_combine", raising=False)


@pytest.fixture
def panel() -> Panel:
    votes, labels = majority(60, experts=5, classes=3, relevant=3)
    return Panel("tiny", votes.astype(np.int64), labels.astype(np.int64), 3)


def keep_guesses(peers: Peers, panel: Panel, permutations: int) -> None:
    """As if every peer had run, and had always guessed class 0."""
    (peers.home / "results").mkdir()
    for order in panel.orders(permutations).values():
        for name in SETTINGS:
            zeros = np.zeros(len(panel.labels), dtype=np.int16)
            np.savez(peers.place(name, panel, order), guesses=zeros)


def test_kept_guesses_of_peers_are_compared_order_by_order(panel: Panel, tmp_path: Path) -> None:
    peers = Peers(tmp_path, install=False)
    keep_guesses(peers, panel, 3)
    accuracy, silent = run(panel, peers, 3)
    assert silent == ""
    row = compare.record(panel, accuracy, LIBRARIES)
    share = float(np.mean(panel.labels == 0))
    for library in LIBRARIES:
        found = row["against"][library]
        expected = [figure - share for figure in compare.shuffled(accuracy["linmax"])]
        assert found["differences"] == pytest.approx(expected)
        assert found["verdict"] in ("ahead", "level", "behind")
    results = command.described([row])
    assert json.loads(json.dumps(results)) == results
    assert "| tiny | 60 | 5 | 3 |" in page.page(results)
    plot.draw([row], tmp_path / "panels.png")
    assert {file.suffix for file in tmp_path.glob("panels.*")} == {".png", ".svg"}


def test_without_the_peers_environment_linmax_runs_alone(panel: Panel, tmp_path: Path) -> None:
    accuracy, silent = run(panel, Peers(tmp_path, install=False), 1)
    assert "not installed" in silent
    assert set(accuracy) == {*own.fusions(3), "plurality", "best expert"}
    assert compare.record(panel, accuracy, LIBRARIES)["against"] == {}


def test_another_order_setting_or_panel_is_another_cell(panel: Panel, tmp_path: Path) -> None:
    peers = Peers(tmp_path)
    changed = Panel("tiny", panel.votes, (panel.labels + 1) % 3, 3)
    orders = panel.orders(1).values()
    places = {
        peers.place(name, one, order) for name in SETTINGS for one in (panel, changed) for order in orders
    }
    assert len(places) == 2 * 2 * len(SETTINGS)


def test_the_last_of_repeated_votes_counts_and_only_labelled_items_are_fed(tmp_path: Path) -> None:
    file = tmp_path / "crowd.npz"
    item, worker, label = [0, 1, 1, 2, 0], [0, 0, 1, 1, 0], [1, 2, 0, 0, 2]
    np.savez(file, item=item, worker=worker, label=label, y=[2, -1, 0], n_classes=3)
    panel = reading.panel(file)
    assert panel.votes.tolist() == [[2, -1], [-1, 0]]
    assert panel.labels.tolist() == [2, 0]


def test_one_vote_reaches_the_peers_as_one_feature() -> None:
    assert vw.one_line([1, -1, 0], 2, 3) == "3 | e0^1 e2^0\n"
    assert vw.lines_by_class([1, -1, 1], 2, 3) == "1:1 |\n2:1 | e0 e2\n3:0 |\n\n"


def test_the_peers_are_pinned() -> None:
    assert {"vowpalwabbit", "river", "scikit-learn", "numpy"} <= set(environment.versions())


def test_missing_panels_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command.main(data=tmp_path / "nowhere")
    assert capsys.readouterr().out.count("\n") == 1


def test_the_table_fits_a_terminal(panel: Panel, tmp_path: Path) -> None:
    peers = Peers(tmp_path, install=False)
    keep_guesses(peers, panel, 1)
    rows = command.measure([panel], peers, 1, Console(quiet=True))
    said = io.StringIO()
    Console(width=80, file=said).print(command.shown(rows))
    assert "…" not in said.getvalue()
    assert rows[0]["against"]["VW"]["verdict"] == "one order only"


@pytest.mark.parametrize(("middle", "half", "said"), [(1, 2, "level"), (3, 2, "ahead"), (-3, 2, "behind")])
def test_a_difference_counts_where_its_interval_leaves_out_zero(middle: int, half: int, said: str) -> None:
    assert compare.verdict(middle, half) == said
