"""Rule runs that one kernel runs together learn as they do alone, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax import Averaged, Fusion, Logistic, Mixture, Perceptron, Triplets, WeightedMajority
from linmax._jit import compilation
from linmax.experts import PerClass, Source, Split, Thresholds, Votes
from linmax.runtime.runner import MANY_RUNS
from tests.helpers.covering import every_pair

DEFAULT = Votes() + Thresholds()
EQUAL = [
    Logistic(0.01, start="equal"),
    Averaged(Logistic(1.0, start="equal")),
    Averaged(Perceptron(slack=2.0, start="equal")),
    Perceptron(rivals="violators", start="equal"),
    Logistic(0.5, start="equal"),
]
ZERO = [Perceptron(), Averaged(Logistic(0.2)), Logistic(0.3), Averaged(Perceptron(rivals="violators"))]


def panel(kind: str, trials: int = 70, experts: int = 9, classes: int = 5) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(5)
    labels = rng.integers(classes, size=trials)
    cells = (trials, experts)
    votes = np.where(rng.random(cells) < 0.5, labels[:, None], rng.integers(-1, classes, size=cells))
    votes[:25, -2:] = -1  # two experts join later
    if kind == "scores":
        return (votes[:, :, None] == np.arange(classes)) * rng.normal(1.0, 0.5, (*cells, 1)), labels
    if kind == "triplets":
        item, expert = np.nonzero(votes >= 0)
        return Triplets(item, expert, votes[item, expert], rng.random(len(item)), items=trials), labels
    return votes, labels


def runs_of(fusion: Fusion) -> list[dict[str, np.ndarray]]:
    """The arrays of each rule run."""
    state = fusion.state()
    numbers = sorted({int(name.split(".")[1]) for name in state if name.startswith("run.")})
    return [
        {name.split(".", 2)[2]: array for name, array in state.items() if name.startswith(f"run.{i}.")}
        for i in numbers
    ]


def groups_of(learner: Any) -> list[int]:
    """The number of runs of each group of rule runs."""
    groups = [run.group for run in Fusion(learner).runner.rule_runs if run.group is not None]
    return [len(group.runs) for group in dict.fromkeys(groups)]


@every_pair(
    source=[DEFAULT, Votes(), Split() + Thresholds()],
    start=["equal", "zero"],
    kind=["labels", "scores", "triplets"],
    ids=str,
)
def test_a_run_in_a_group_learns_as_it_does_alone(source: Source, start: str, kind: str) -> None:
    votes, labels = panel(kind, trials=50)
    learners = [rule.on(source) for rule in (EQUAL if start == "equal" else ZERO)]
    with compilation.interpreted():
        together = Fusion(Mixture(learners))
        together.learn(votes, labels)
        for learner, run in zip(learners, runs_of(together), strict=True):
            alone = Fusion(learner)
            alone.learn(votes, labels)
            assert {name: run[name].tobytes() for name in run} == {
                name: array.tobytes() for name, array in alone.state().items() if name in run
            }


def test_a_group_predicts_what_its_runs_predict() -> None:
    votes, labels = panel("labels")
    with compilation.interpreted():
        together = Fusion(WeightedMajority(EQUAL))
        together.learn(votes[:60], labels[:60])
        before = {name: array.tobytes() for name, array in together.state().items()}
        together.predict(np.column_stack((votes[60:], votes[60:, 0])))  # with an expert that is new
        assert {name: array.tobytes() for name, array in together.state().items()} == before
        for member in EQUAL:
            alone = Fusion(Mixture([member, member]))
            alone.learn(votes[:60], labels[:60])
            predictor = next(p for p in together.runner.predictors if p.learner == member)
            single = next(p for p in alone.runner.predictors if p.learner == member)
            assert predictor.weights() == single.weights()


def test_a_group_grows_with_experts_and_classes() -> None:
    votes, labels = panel("labels", trials=60, experts=30, classes=20)
    with compilation.interpreted():
        at_once, later = Fusion(Mixture(EQUAL)), Fusion(Mixture(EQUAL))
        items = [{i: int(c) for i, c in enumerate(row) if 0 <= c < 2 + t} for t, row in enumerate(votes)]
        at_once.learn([*items], labels.tolist())
        for item, label in zip(items, labels.tolist(), strict=True):
            later.learn_one(item, label)
        same = {name: array.tobytes() for name, array in at_once.state().items()}
        assert {name: array.tobytes() for name, array in later.state().items()} == same


def test_runs_are_grouped_by_sources_and_starts_in_vectors_of_eight_lanes() -> None:
    assert groups_of(Mixture(EQUAL)) == [5]  # in 7 lanes: two are for means
    assert groups_of(Mixture([*EQUAL, *ZERO])) == [5, 4]
    assert groups_of(Mixture([rule.on(DEFAULT) for rule in EQUAL[:2]] + ZERO[:1])) == [2]
    assert groups_of(Mixture([*EQUAL, *(Logistic(eta, start="equal") for eta in (2.0, 3.0))])) == [6]
    assert groups_of(Mixture([rule.on(PerClass()) for rule in ZERO])) == []
    assert groups_of(Mixture([Logistic(decay="adagrad"), Logistic()])) == []
    assert groups_of(Mixture([Logistic(eta / 8) for eta in range(1, MANY_RUNS + 1)])) == []  # in threads
    assert groups_of(Fusion().learner) == [4]
