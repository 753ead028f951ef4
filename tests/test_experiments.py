"""One small cell of each experiment, and of the benchmarks."""

import json
from pathlib import Path

import pytest

from benchmarks import memory, speed, twin
from experiments import figure_1_2003, lecture_2008
from experiments.statistics import interval
from linmax import Perceptron, Romma, Winnow

EXPECTED = json.loads((Path(figure_1_2003.__file__).with_name("expected.json")).read_text())
BEST = {"5 of 300, k=3, q=.5": 10.0, "10 of 100, k=5, q=.05": 1.05, "2 of 100, k=20, q=.001": 10.0}


@pytest.mark.parametrize("setting", sorted(figure_1_2003.SETTINGS))
def test_each_algorithm_wins_where_the_paper_of_2003_says(setting: str) -> None:
    rules = (Perceptron(), Romma(), Winnow(BEST[setting]))
    found = {}
    for rule in rules:
        found[rule] = interval([figure_1_2003.run(setting, rule, seed=seed) for seed in range(3)])
    winner = min(rules, key=lambda rule: found[rule].mean)
    assert type(winner).__name__ == EXPECTED[setting]["winner"]
    for rule in rules:
        assert found[rule].agrees(*EXPECTED[setting][repr(rule)]), (rule, found[rule])


def test_under_the_printed_tie_rule_the_third_setting_is_trivial() -> None:
    assert figure_1_2003.run("2 of 100, k=20, q=.001", Perceptron(), ties="expert", trials=20_000) <= 5


def test_mistakes_on_the_lectures_panel_stay_below_its_bounds() -> None:
    for rule in lecture_2008.learners():
        assert lecture_2008.run(rule, 100) <= lecture_2008.bound(rule, 100)


def test_the_c_twin_makes_the_very_same_mistakes() -> None:
    c = twin.compiled()
    if c is None:
        pytest.skip("no C compiler here")
    for row in speed.against_c(c, 20, 5_000, 1):
        assert row["mistakes"][0] == row["mistakes"][1]


def test_one_item_at_a_time_is_measured() -> None:
    assert {row["call"] for row in speed.one_by_one(300, 1)} == {"learn_one", "predict_one"}


def test_a_long_stream_does_not_grow_the_process() -> None:
    marks = memory.flat(400_000, piece=20_000)
    assert marks["trials"] == 400_000
    assert marks["mb_at_the_end"] - marks["mb_after_a_tenth"] < 8
