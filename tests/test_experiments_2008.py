"""Small cells of the experiments of 2008."""

import json
from pathlib import Path

import pytest
import typer

from experiments import __main__ as command
from experiments import figure_5_2008, remarks_2008, table_1_2008
from experiments.figure_5_2008.drawing import draw
from experiments.keeping import claim, verdict
from experiments.majority_2008 import CLASSES, NOISES, bank, learn, name, stream
from experiments.remarks_2008 import races
from experiments.remarks_2008.leaders import mean_of_leaders
from experiments.statistics import Interval, interval
from linmax import Averaged, parse

CELLS = [
    (0.0, "Averaged(Recycled(Perceptron()))"),
    (0.01, "Averaged(Alma(2.5))"),
    (0.05, "Winnow(1.03)"),
    (0.2, "Averaged(Winnow(1.6))"),
]


@pytest.mark.parametrize(("noise", "who"), CELLS)
def test_final_errors_of_named_algorithms_are_those_of_table_1(noise: float, who: str) -> None:
    cells = {cell["learner"]: cell for cell in table_1_2008.EXPECTED["final error"][str(noise)]}
    found = interval([table_1_2008.run(who, noise, seed=seed).error for seed in range(10)])
    assert verdict(found, claim(cells[who])) == "yes", found


def test_vr_combine_makes_the_mistakes_of_table_1_and_fewer_with_more_recycling() -> None:
    found = [learn(table_1_2008.recycling(5), stream(0.0, seed)).mistakes for seed in range(3)]
    said = table_1_2008.EXPECTED["mistakes without noise"]["5"]
    assert verdict(interval(found), claim(said)) == "yes"
    assert learn(table_1_2008.recycling(1000), stream(0.0, 0)).mistakes < found[0]


def test_the_optimum_errs_on_noisy_labels_only() -> None:
    assert table_1_2008.optimum(0.0, 0) == 0
    assert 200 < table_1_2008.optimum(0.05, 0) < 300


def test_every_cell_of_the_tables_names_a_learner() -> None:
    expected = table_1_2008.EXPECTED
    assert set(expected["final error"]) == set(expected["mistakes"]) == set(map(str, NOISES))
    for cells in expected["final error"].values():
        for cell in cells:
            assert name(table_1_2008.learner(cell["learner"]))
            assert "value" in cell or "paper" in cell


def test_a_page_and_the_figures_are_kept(tmp_path: Path) -> None:
    table_1_2008.measure(2, noises=(0.01,)).keep(tmp_path, "table")
    page = (tmp_path / "table.md").read_text()
    assert "| 0.01 | VR-Combine | 0.0100" in page
    kept = json.loads((tmp_path / "table.json").read_text())
    assert kept["runs"] == 2
    assert {row["learner"] for row in kept["mistakes"]} == {"VR-Combine", "V-Combine", "optimum"}


def test_the_curves_of_figure_5_are_in_order_and_can_be_drawn(tmp_path: Path) -> None:
    result, curves = figure_5_2008.measure(2, every=10)
    assert list(curves) == figure_5_2008.EXPECTED["order"]
    for family in figure_5_2008.FAMILIES:
        assert curves["optimum"].level.mean < curves[f"best {family}"].level.mean
    assert curves["VR-Combine"].level.mean < curves["V-Combine"].level.mean < curves["best B"].level.mean
    assert len(result.tables[0].lines) == len(curves)
    draw(curves, tmp_path / "curves.png", title="a few")
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert "VR-Combine" in (tmp_path / "curves.svg").read_text()


def test_a_change_of_places_of_the_two_close_curves_is_no_matter() -> None:
    levels = dict(zip(figure_5_2008.EXPECTED["order"], (1, 3, 2, 4, 5, 6, 7), strict=True))
    curves = {key: figure_5_2008.Curve(key, Interval(level, 0.0), None) for key, level in levels.items()}
    assert figure_5_2008.in_order(curves)
    curves["best B"] = curves["optimum"]
    assert not figure_5_2008.in_order(curves)


@pytest.mark.parametrize("member", ["Perceptron()", "Recycled(Perceptron())", "Winnow(1.2)"])
def test_the_mean_of_a_lone_leader_is_its_average(member: str) -> None:
    panel = stream(0.05, 2, trials=1000)
    means = mean_of_leaders([parse(member)], panel, CLASSES)
    assert means.raw == learn(Averaged(parse(member)), panel).mistakes


def test_averaging_the_hypotheses_of_leaders_degrades() -> None:
    means = mean_of_leaders(bank("B"), stream(0.05, 0), CLASSES)
    assert means.raw > 1.2 * learn(Averaged(parse("Winnow(1.45)")), stream(0.05, 0)).mistakes


def test_twenty_classes_ask_for_more_than_twenty_hypotheses() -> None:
    counts = races.sizes("Perceptron", 20, 0.05, 3, trials=5000)
    assert sum(counts["500"]) < sum(counts["20"])


def test_each_remark_has_a_table() -> None:
    result = remarks_2008.measure(2, cells=remarks_2008.SMALL)
    remarks = [line[0] for line in result.tables[0].lines]
    assert remarks == [table.title for table in result.tables[1:]]
    assert remarks == [key for key in remarks_2008.EXPECTED if key != "source"]


def test_the_command_shows_what_it_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command.main(["remarks_2008"], quick=True, folder=tmp_path)
    assert "which remarks hold" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())  # quick keeps nothing
    with pytest.raises(typer.BadParameter, match="there is no experiment 'figure_6'"):
        command.main(["figure_6"])
