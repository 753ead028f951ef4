"""One small cell of each experiment."""

from __future__ import annotations

import io
import math
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import sub_experts_figure_1
from experiments.catalogue import experiments
from experiments.committee_linear_machine.cells import problem
from experiments.committee_multiplier import variants
from experiments.data import COVERTYPE
from experiments.fusion_figure_4.cells import LEARNERS, accuracy, rows
from experiments.interface import Experiment, Found
from experiments.lecture import BEST, bound, moves, potential_decrease
from experiments.statistics import Interval, claimed, interval
from experiments.sub_experts_figure_1.cells import SETTINGS
from linmax import AdaptiveWinnow, Fusion, Perceptron, Romma, Winnow
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes
from linmax.problems import majority
from tests.helpers.examples import EVERYTHING, rarely_compiled
from tests.helpers.multipliers import interpret_variants

BEST_WINNOW = {"5 of 300, k=3, q=.5": 10.0, "10 of 100, k=5, q=.05": 1.05, "2 of 100, k=20, q=.001": 10.0}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a made-up forest: spruce grows high up."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    quant = rng.integers(0, 1000, (4000, 10))
    y = np.where(quant[:, 0] + rng.integers(0, 300, 4000) > 650, 0, rng.integers(1, 7, 4000))
    (folder / COVERTYPE).parent.mkdir()
    kinds = {"wilderness": rng.integers(0, 4, 4000), "soil": rng.integers(0, 40, 4000)}
    np.savez(folder / COVERTYPE, quant=quant, y=y, **kinds)
    return folder


def mistakes(setting: str, rule: Any, votes: np.ndarray, labels: np.ndarray) -> int:
    return Fusion(rule, classes=range(SETTINGS[setting]["classes"])).learn(votes, labels).mistakes


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(name, marks=() if name.startswith("2 of 100") else pytest.mark.slow)
        for name in sorted(SETTINGS)
    ],
)
def test_each_algorithm_wins_where_the_paper_of_2003_says(setting: str) -> None:
    rules = (Perceptron(), Romma(), Winnow(BEST_WINNOW[setting]))
    counts: dict[Any, list[int]] = {rule: [] for rule in rules}
    for seed in range(3):
        votes, labels = majority(100_000, ties="class", seed=seed, **SETTINGS[setting])
        for rule in rules:
            counts[rule].append(mistakes(setting, rule, votes, labels))
    found = {rule: interval(count) for rule, count in counts.items()}
    expected = sub_experts_figure_1.EXPECTED[setting]
    winner = min(rules, key=lambda rule: found[rule].mean)
    assert type(winner).__name__ == expected["winner"]
    for rule in rules:
        said = claimed(expected["class"][repr(rule)])
        assert said is not None
        assert found[rule].agrees(said), (rule, found[rule])


def test_under_the_printed_tie_rule_the_third_setting_is_trivial() -> None:
    setting = "2 of 100, k=20, q=.001"
    votes, labels = majority(20_000, ties="expert", seed=0, **SETTINGS[setting])
    assert mistakes(setting, Perceptron(), votes, labels) <= 5


@pytest.fixture(autouse=True)
def _interpret_the_variants_of_the_multiplier(monkeypatch: pytest.MonkeyPatch) -> None:
    interpret_variants(monkeypatch)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_variants_of_the_multiplier_that_are_rules_make_the_mistakes_of_the_rules(noise: float) -> None:
    votes, labels = majority(1000, noise=noise)
    rate = 0.4 * math.sqrt(math.log(25))  # 20 experts and 5 thresholds
    for variant, parameter, rule in (("fixed", 1.2, Winnow(1.2)), ("steps", 0.4, AdaptiveWinnow(rate))):
        made = Fusion(rule, classes=range(5)).learn(votes, labels).mistakes
        assert abs(variants.mistakes(votes, labels, 5, variant, parameter) - made) <= 0.02 * made  # ties


def smaller(cell: dict[str, Any], trials: int = 300, meetings: int = 40) -> dict[str, Any]:
    """A cell that takes a moment."""
    sizes = {"trials": trials, "tested": 500, "meetings": meetings}
    return cell | {name: min(cell[name], most) for name, most in sizes.items() if name in cell}


SLOW = (
    "fusion-table-1",
    "fusion-figure-5",
    "fusion-remarks",
    "fusion-34-mistakes",
    "sharing-figures",
    "sharing-table-1",
    "sharing-learned-sets",
)  # they have files of their own


# their kernels, which nothing else needs, take longer to compile
INTERPRETED = ("committee-linear-machine", "fusion-bounds", "fusion-readings", "standard-sub-experts")
COMPILED = ("committee-hybrid", "fusion-figure-4")  # kernels that nothing else needs, 40 s to compile

# for `make test`: sizes of the cells, and the problems of experiments on many of them
SIZES: dict[str, dict[str, int]] = {
    "committee-linear-machine": {"trials": 60},
    "committee-multiplier": {"trials": 8},
    "fusion-bounds": {"trials": 60},
    "fusion-readings": {"trials": 8},
    "standard-sub-experts": {"meetings": 20},
    "sub-experts-figure-1": {"trials": 100},
    "sub-experts-search": {"trials": 60},
}
PROBLEMS = ("2008, p=0.1", "2003, 2 of 100", "15 of 40, p=0.1")  # the last is of another group


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in COMPILED else ())
        for name in sorted(set(experiments()) - set(SLOW))
    ],
)
def test_a_small_cell_of_each_experiment_gives_tables_verdicts_and_a_picture(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = experiments()[name]
    cells = [smaller(cell, **{} if EVERYTHING else SIZES.get(name, {})) for cell in one.cells(2, True)]
    if not EVERYTHING:
        for module, trials in (("lecture_potential", 200), ("lecture_eta", 1000)):
            monkeypatch.setattr(import_module(f"experiments.{module}.cells"), "TRIALS", trials)
        monkeypatch.setattr(import_module("experiments.lecture_eta.cells"), "EXPERTS", 100)
        monkeypatch.setattr(import_module("experiments.committee_multiplier.cells"), "EXPERTS", 20)
        if name == "committee-bounds":
            cells = [cell for cell in cells if cell["experts"] <= 100]
        if name in ("committee-multiplier", "sub-experts-search"):
            cells = [cell for cell in cells if cell.get("problem", PROBLEMS[0]) in PROBLEMS]
    with interpreted() if name in INTERPRETED else nullcontext():
        found = [Found(cell, one.run(cell, data)) for cell in cells]
    complete(one, one.gather(found))


@pytest.mark.parametrize("name", COMPILED)
def test_a_tiny_cell_of_the_other_experiments_does_so_uncompiled(name: str, data: Path) -> None:
    one = experiments()[name]
    tiny = [
        cell | {"trials": 40 if EVERYTHING else 20} | ({"tested": 20} if "tested" in cell else {})
        for cell in one.cells(2, True)
    ]
    with interpreted():
        found = [Found(cell, one.run(cell, data)) for cell in tiny]
    complete(one, one.gather(found))


def complete(one: Experiment, figures: dict[str, Any], *, twice: bool = False) -> None:
    """Assert that figures make outcomes, tables, a page and a picture; drawn twice, the same picture."""
    from experiments.pages import as_json, page, pictures

    assert as_json(figures)
    outcomes = one.judge(figures)
    assert outcomes
    assert len({outcome.claim for outcome in outcomes}) == len(outcomes)
    for table in one.tables(figures):
        assert table.lines
        assert all(len(line) == len(table.head) for line in table.lines)
    assert one.title in page(one, figures, {"quick": True, "runs": 2}, drawn=False)
    if one.draw is not None and not (EVERYTHING or twice):
        assert "</svg>" in drawn(one, figures)
    elif one.draw is not None:
        made = pictures(one, figures)
        assert b"</svg>" in made[".svg"]
        assert made[".png"][:4] == b"\x89PNG"
        if twice:
            assert pictures(one, figures) == made  # the same figures, the same bytes


def drawn(one: Experiment, figures: dict[str, Any]) -> str:
    """Draw the plot, without the layout that `pictures` computes."""
    from matplotlib.figure import Figure

    assert one.draw is not None
    picture, content = Figure(figsize=one.size), io.StringIO()
    one.draw(figures, picture)
    picture.savefig(content, format="svg")
    return content.getvalue()


def test_mistakes_on_the_lectures_panel_stay_below_its_bounds() -> None:
    for rule, made in moves(("Perceptron", "Winnow", "BalancedWinnow"), 100).items():
        assert made <= bound(rule, 100)


def test_the_lectures_best_eta_makes_the_potential_fall_fastest() -> None:
    assert potential_decrease(BEST) == max(
        potential_decrease(BEST * factor) for factor in (0.8, 0.9, 1.0, 1.1, 1.2)
    )


def test_a_linear_machine_has_the_margin_it_says() -> None:
    made = problem(10, 3, 200, seed=1)
    scores = np.sort(made.attributes @ made.target, axis=1)
    assert made.target.sum() == pytest.approx(1)
    assert (scores[:, -1] - scores[:, -2]).min() >= made.delta - 1e-12
    assert ((made.attributes @ made.target).argmax(axis=1) == made.labels).all()


def test_accuracy_by_weights_is_that_of_predict(data: Path) -> None:
    attributes, labels = rows(data / COVERTYPE)
    learner = LEARNERS["Balanced"].on(Attributes())
    fusion = Fusion(learner, classes=[0, 1])
    with rarely_compiled():
        fusion.learn(attributes=attributes[:300], labels=labels[:300])
    right = (fusion.predict(attributes=attributes) == labels).mean()
    assert accuracy(fusion, attributes, labels) == pytest.approx(right)


def test_an_interval_that_is_not_known_is_as_wide_as_the_other() -> None:
    assert Interval(10.0, 2.0).agrees(Interval(14.0))
    assert not Interval(10.0, 2.0).agrees(Interval(15.0))
    assert Interval(10.0).agrees(Interval(10.0))
