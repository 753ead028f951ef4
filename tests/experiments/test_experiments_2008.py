"""Small cells of the experiments of 2008 on the majority problem."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from experiments import fusion_34_mistakes, fusion_figure_5, fusion_remarks, fusion_table_1
from experiments.fusion import CLASSES, NOISES, bank, learn, learner, name, optimum, recycling, stream
from experiments.fusion_remarks import comparisons
from experiments.fusion_remarks.leaders import mean_of_leaders
from experiments.fusion_table_1.cells import EXPECTED, final
from experiments.interface import Found
from experiments.statistics import Interval, agreement, claimed, interval
from linmax import Averaged, parse
from tests.experiments.test_experiments import complete
from tests.helpers.examples import EVERYTHING

NOWHERE = Path("nowhere")
CELLS = [
    (0.0, "Averaged(Recycled(Perceptron()))"),
    (0.01, "Averaged(Alma(2.5))"),
    (0.05, "Winnow(1.03)"),
    (0.2, "Averaged(Winnow(1.6))"),
]


@pytest.mark.parametrize(("noise", "who"), CELLS)
def test_final_errors_of_named_algorithms_are_those_of_table_1(noise: float, who: str) -> None:
    cells = {cell["learner"]: cell for cell in EXPECTED["final error"][str(noise)]}
    found = interval([final(who, noise, seed)[0] for seed in range(10)])
    assert agreement(found, claimed(cells[who])) == "yes", found


def test_vr_combine_makes_the_mistakes_of_table_1_and_fewer_with_more_recycling() -> None:
    found = [learn(recycling(5), stream(0.0, seed)).mistakes for seed in range(3)]
    assert agreement(interval(found), claimed(fusion_34_mistakes.EXPECTED["5"])) == "yes"
    short = stream(0.0, 0, trials=1000)
    assert learn(recycling(1000), short).mistakes < learn(recycling(5), short).mistakes


def test_a_remark_on_mistakes_is_judged_for_each_limit() -> None:
    limits = {5: [57, 60, 52], 1000: [34, 36, 35], None: [30, 29, 31]}
    cells = [{"updates": u, "seed": i} for u, them in limits.items() for i in range(len(them))]
    found = [Found(cell, limits[cell["updates"]][cell["seed"]]) for cell in cells]
    figures = fusion_34_mistakes.gather(found)
    judgements = [outcome.judgement for outcome in fusion_34_mistakes.judge(figures)]
    assert judgements == [
        "not reproduced",
        "reproduced in order only",
        "reproduced in order only",
        "reproduced",
    ]
    complete(fusion_34_mistakes.EXPERIMENT, figures, twice=True)


def test_the_optimum_errs_on_noisy_labels_only() -> None:
    assert optimum(0.0, 0).sum() == 0
    assert 200 < optimum(0.05, 0).sum() < 300


def test_every_cell_of_the_tables_names_a_learner() -> None:
    assert set(EXPECTED["final error"]) == set(EXPECTED["mistakes"]) == set(map(str, NOISES))
    for cells in EXPECTED["final error"].values():
        for cell in cells:
            assert name(learner(cell["learner"]))
            assert "value" in cell or "paper" in cell


def test_table_1_has_all_the_figures_of_the_paper() -> None:
    printed = [cell for cells in EXPECTED["final error"].values() for cell in cells if "paper" in cell]
    assert len(printed) == 4 * len(NOISES)
    assert all("paper_ci" in cell for cell in printed)


@pytest.fixture
def _short_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of tables and verdicts, not of figures; `make test-all` runs the whole streams."""
    if not EVERYTHING:
        table_1 = import_module("experiments.fusion_table_1.cells")
        for module in (table_1, comparisons):
            monkeypatch.setattr(module, "stream", short_stream)
        monkeypatch.setattr(table_1, "optimum", lambda noise, seed: optimum(noise, seed)[:400])


def short_stream(noise: float, seed: int, *, trials: int = 400, classes: int = CLASSES) -> Any:
    return stream(noise, seed, trials=min(trials, 400), classes=classes)


@pytest.mark.usefixtures("_short_streams")
def test_a_quick_table_1_is_complete() -> None:
    one = fusion_table_1.EXPERIMENT
    figures = one.gather([Found(cell, one.run(cell, NOWHERE)) for cell in one.cells(2, True)])
    assert one.judge(figures)[0].claim == "final error of VR-Combine, noise 0.01"
    complete(one, figures)


def test_the_curves_of_figure_5_are_in_order_and_can_be_drawn() -> None:
    one = fusion_figure_5.EXPERIMENT
    figures = one.gather([Found(cell, one.run(cell, NOWHERE)) for cell in one.cells(2, True)])
    levels = {key: curve["mistakes"][0] for key, curve in figures["curves"].items()}
    assert list(levels) == fusion_figure_5.EXPECTED["order"]
    for family in fusion_figure_5.FAMILIES:
        assert levels["optimum"] < levels[f"best {family}"]
    assert levels["VR-Combine"] < levels["V-Combine"] < levels["best B"]
    complete(one, figures)


def test_a_change_of_places_of_the_two_close_curves_is_no_matter() -> None:
    order = fusion_figure_5.EXPECTED["order"]
    levels = {key: Interval(level, 0.0) for key, level in zip(order, (1, 3, 2, 4, 5, 6, 7), strict=True)}
    assert fusion_figure_5.in_order(levels, order)
    levels["best B"] = levels["optimum"]
    assert not fusion_figure_5.in_order(levels, order)


@pytest.mark.parametrize("member", ["Perceptron()", "Recycled(Perceptron())", "Winnow(1.2)"])
def test_the_mean_of_a_lone_leader_is_its_average(member: str) -> None:
    panel = stream(0.05, 2, trials=1000)
    means = mean_of_leaders([parse(member)], panel, CLASSES)
    assert means.raw == learn(Averaged(parse(member)), panel).mistakes


def test_averaging_the_hypotheses_of_leaders_degrades() -> None:
    means = mean_of_leaders(bank("B"), stream(0.05, 0), CLASSES)
    assert means.raw > 1.2 * learn(Averaged(parse("Winnow(1.45)")), stream(0.05, 0)).mistakes


def test_twenty_classes_ask_for_more_than_twenty_hypotheses() -> None:
    cells = [{"classes": 20, "noise": 0.05, "voters": "Perceptron", "seed": seed} for seed in range(3)]
    counts = [comparisons.sizes(cell, trials=5000) for cell in cells]
    assert sum(count["500"] for count in counts) < sum(count["20"] for count in counts)


@pytest.mark.usefixtures("_short_streams")
def test_each_remark_has_a_verdict_and_a_table() -> None:
    one = fusion_remarks.EXPERIMENT
    figures = one.gather([Found(cell, one.run(cell, NOWHERE)) for cell in one.cells(2, True)])
    assert [table.title for table in one.tables(figures)] == list(fusion_remarks.REMARKS)
    assert len(one.judge(figures)) == len(fusion_remarks.REMARKS)
    complete(one, figures)
