"""Paths: the consultations of many items at once are those of one item after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Winnow
from linmax._jit.compilation import interpreted
from linmax.fusion.consult.paths import consultation_paths
from linmax.kernels.settlement import settle
from tests.fusion.test_consultations import NAMES, panel, session
from tests.helpers.examples import rarely_compiled

PER_CLASS = "Perceptron(start='equal').on(Votes() + PerClass())"  # only this file would compile its kernel


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("learner", [None, "Mixture([Logistic(0.1, start='equal'), NaiveBayes()])"])
def test_paths_are_those_of_consultations_one_by_one(learner: Any, batch: int) -> None:
    compare_paths(learner, batch)


@pytest.mark.parametrize("batch", [1, pytest.param(3, marks=pytest.mark.slow)])
@rarely_compiled()
def test_paths_of_votes_per_class_are_those_of_consultations_one_by_one(batch: int) -> None:
    compare_paths(PER_CLASS, batch)


def compare_paths(learner: Any, batch: int) -> None:
    fusion = session(learner)
    fusion.exploration = 1
    prices = np.linspace(1.0, 2.0, 12)
    votes, _ = panel(15)
    votes[::3, ::4] = -1
    paths = consultation_paths(fusion, votes, np.ones(votes.shape, dtype=bool), prices, batch)
    assert paths is not None
    named = dict(zip(NAMES, prices.tolist(), strict=True))
    for t, row in enumerate(votes.tolist()):
        answers = {name: None if vote < 0 else vote for name, vote in zip(NAMES, row, strict=True)}
        found = fusion.consult(answers.get, prices=named, batch=batch)
        assert found.asked == [NAMES[i] for i in paths.order[t]]
        assert fusion.classes[paths.final[t]] == found.prediction
        assert fusion.consultations.critical[-1] == paths.critical()[t]
        given, settled = {}, fusion.next_expert({}, prices=named) is None
        for m, i in enumerate(paths.order[t].tolist()):
            if settled:
                assert m <= paths.settled[t]
                break
            given[NAMES[i]] = answers[NAMES[i]]
            settled = fusion.next_expert(given, prices=named) is None


@pytest.mark.parametrize(
    ("learner", "scored"),
    [
        ("Averaged(Perceptron(start='equal').on(Votes() + Attributes()))", False),
        ("Winnow(1.5).on(Votes() + Attributes())", False),
        ("Mixture([Logistic(0.1, start='equal').on(Votes() + Attributes()), NaiveBayes()])", False),
        ("Averaged(Perceptron(start='equal').on(Votes() + PerClass()))", True),
        ("Averaged(Perceptron(start='equal').on(Votes(as_='softmax') + Attributes()))", True),
    ],
)
@rarely_compiled()
def test_paths_with_attributes_and_scores_are_those_of_consultations_one_by_one(
    learner: str, scored: bool
) -> None:
    rng = np.random.default_rng(1)
    votes, labels = panel(30)
    values = rng.random((30, 12, 3)) * (rng.random((30, 12, 1)) < 0.9) + np.eye(3)[votes]
    fusion = Fusion(learner, experts=NAMES, classes=range(3), on_new_class="error")
    names = [{"u": u, "v": v} for u, v in rng.normal(size=(30, 2)).tolist()]
    rows = names if "rows" in fusion.needs else None
    fusion.learn(values if scored else votes, labels, attributes=rows)
    fusion.exploration = 1
    there = np.ones(votes.shape, dtype=bool)
    given = values if scored else None
    paths = consultation_paths(fusion, votes, there, attributes=rows, scores=given)
    assert paths is not None
    span = (0.0, float(values.max())) if scored else None
    for t in range(10):
        row = [dict(enumerate(one)) for one in values[t].tolist()] if scored else votes[t].tolist()
        own = None if rows is None else rows[t]
        answers = dict(zip(NAMES, row, strict=True))
        found = fusion.consult(answers.get, attributes=own, score_range=span)
        assert found.asked == [NAMES[i] for i in paths.order[t]]
        assert fusion.classes[paths.final[t]] == found.prediction
        assert fusion.consultations.critical[-1] == pytest.approx(paths.critical()[t], rel=1e-9)
        first = [dict(list(found.votes.items())[:m]) for m in range(13)]
        stops = [fusion.next_expert(some, attributes=own, score_range=span) is None for some in first]
        assert paths.settled[t] == (stops.index(True) if fusion._settled_by(None).exact else 12)
    one, several = (
        paths.order,
        np.concatenate([part.order for part in _in_parts(fusion, votes, rows, given)]),
    )
    assert (one == several).all()


def _in_parts(fusion: Fusion, votes: np.ndarray, rows: Any, scores: np.ndarray | None) -> list[Any]:
    there = np.ones((10, 12), dtype=bool)
    return [
        consultation_paths(
            fusion, votes[i : i + 10], there, attributes=rows and rows[i : i + 10],
            scores=None if scores is None else scores[i : i + 10],
        )
        for i in range(0, 30, 10)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "learner",
    [
        None,
        pytest.param(PER_CLASS, marks=pytest.mark.slow),
        "Mixture([Stacked([Logistic(0.1, start='equal'), NaiveBayes()]), NaiveBayes('accuracies')])",
    ],
)
def test_compiled_and_interpreted_paths_agree(learner: Any) -> None:
    fusion = session(learner)
    votes, _ = panel(12)
    everybody = np.ones(votes.shape, dtype=bool)
    compiled = consultation_paths(fusion, votes, everybody)
    with interpreted():
        python = consultation_paths(fusion, votes, everybody)
    assert compiled is not None
    assert python is not None
    assert compiled.limit == python.limit
    for one, other in zip(compiled[:-1], python[:-1], strict=True):
        assert one.tobytes() == other.tobytes()


def test_labels_scores_and_new_classes_run_one_compiled_kernel() -> None:
    fusion = Fusion(Averaged(Winnow(1.5)))
    fusion.learn([{"ann": "a", "bob": "b"}] * 3, ["a", "b", "c"])
    for votes in ({}, {"ann": "a"}, {"ann": {"a": 0.5, "b": 0.25}}, {"ann": "new"}):
        fusion.next_expert(votes, experts=["ann", "bob", "eve"], score_range=(0.0, 1.0))
    assert len(settle._compiled.signatures) == 1
