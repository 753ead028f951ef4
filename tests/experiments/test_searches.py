"""The search over all parameters of a bank: without changes it is Weighted Majority, and it keeps ranges."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.sub_experts_search import parameters
from experiments.sub_experts_search.cells import WITH_ALMA
from experiments.sub_experts_search.parameters import RANGES, neighbours, searched_mistakes
from linmax import Alma, Averaged, Fusion, Perceptron, Recycled, WeightedMajority, Winnow
from linmax._jit.compilation import interpreted
from linmax.problems import majority


def test_without_a_search_it_is_weighted_majority() -> None:
    bank = WITH_ALMA[2:4]
    votes, labels = majority(30, noise=0.1)
    with interpreted():
        made = searched_mistakes(bank, votes, labels, 5, multiplier=1.1, period=None)
        fixed = WeightedMajority((*bank, *map(Averaged, bank)), multiplier=1.1)
        assert made == Fusion(fixed, classes=range(5)).learn(votes, labels).mistakes > 5


def test_a_search_replaces_members_by_neighbours_that_were_not_there_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[parameters.Member] = []

    class Recorded(parameters.Member):
        """A member that is listed."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(parameters, "Member", Recorded)
    bank, (votes, labels) = WITH_ALMA[2:4], majority(60, noise=0.1)
    with interpreted():
        searched_mistakes(bank, votes, labels, 5, multiplier=1.1, period=20)
    learners = [one.learner for one in made]
    assert len(learners) == 4  # two at the start, and one after 20 and after 40 trials
    assert len(set(learners)) == 4
    assert learners[2] in [other for one in bank for other in neighbours(one)]
    assert [session.trials for session in made[2].sessions] == [60, 60]  # 20 of them before it voted


def test_neighbours_differ_in_one_parameter_which_stays_in_its_range() -> None:
    seen = {one for one in WITH_ALMA}
    for _ in range(4):
        seen |= {other for one in seen for other in neighbours(one)}
    assert {type(one.inner) for one in seen} == {Winnow, Perceptron, Alma}
    for one in seen:
        for learner in (one, one.inner):
            for known in RANGES[type(learner)]:
                size = getattr(learner, known.name) - known.offset
                assert known.least <= size <= known.most or (known.zero and size == 0)


@pytest.mark.parametrize(
    ("learner", "found"),
    [
        (Winnow(3.0), [Winnow(4.0), Winnow(1.0 + 2.0 / 1.5), Winnow(3.0, slack=0.01)]),
        (Perceptron(slack=1.0), [Perceptron(slack=2.5), Perceptron()]),
        (Alma(2.0), [Alma(3.0), Alma(2.0, alpha=0.8)]),
        (Perceptron(slack=100.0), [Perceptron(slack=40.0)]),
    ],
)
def test_the_neighbours_of_a_rule_are_a_factor_apart(learner: object, found: list[object]) -> None:
    assert neighbours(learner) == found


def test_the_neighbours_of_a_recycled_rule_include_those_of_the_buffer_and_of_the_rule() -> None:
    found = neighbours(Recycled(Perceptron(slack=1.0), size=400))
    assert [repr(one) for one in found] == [
        "Recycled(Perceptron(slack=1.0), size=200)",
        "Recycled(Perceptron(slack=1.0), size=400, updates=10)",
        "Recycled(Perceptron(slack=1.0), size=400, updates=2)",
        "Recycled(Perceptron(slack=2.5), size=400)",
        "Recycled(Perceptron(), size=400)",
    ]
