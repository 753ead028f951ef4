"""Items that name what a session does not know are predicted as any others, with arrays that are kept."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Mixture, NaiveBayes, Perceptron, Stacked, Winnow, recommended
from linmax.fusion.model_file import fingerprint
from linmax.runtime import unknown_names
from linmax.runtime.unknown_names import UnknownNames
from tests.fusion.test_consult import CLASSES, EXPERTS, LEARNERS, RARE, mode_of

OTHERS = [
    None, recommended(), NaiveBayes(), Mixture([Perceptron(), NaiveBayes()]),
    Stacked([Winnow(1.2), Perceptron()]),
]  # fmt: skip
GENERAL = (
    "Recycled",
    "WeightedMajority",
    "Voted",
    "Combine",
)  # which go through all items before they predict


def draw_item(chance: np.random.Generator, unknown: int = 0) -> dict[str, Any]:
    """Votes of some experts, and of unknown ones or for unknown classes."""
    votes: dict[str, Any] = {
        name: None if chance.random() < 0.1 else CLASSES[chance.integers(3)]
        for name in EXPERTS
        if chance.random() < 0.8
    }
    for at in range(unknown):
        kind = chance.integers(4)
        if kind != 1:
            votes[f"new {chance.integers(4)}"] = CLASSES[chance.integers(3)]
        if kind in (1, 2):
            votes[EXPERTS[chance.integers(4)]] = f"class {chance.integers(3)}"
        if kind == 3:
            votes[f"scores {at}"] = {"a": 0.25, f"class {chance.integers(3)}": 0.75}
    return votes


def seen(fusion: Fusion, votes: dict[str, Any]) -> tuple[Any, ...]:
    """All that can be predicted of an item, with experts that are new and without them."""
    found: list[Any] = []
    for new in ("vote", "ignore"):
        found += [
            fusion.predict_one(votes, new_experts=new),
            fusion.predict_with_proba_one(votes, new_experts=new),
            fusion.scores([votes], new_experts=new).tolist(),
            fusion.predict_proba([votes], new_experts=new).tolist(),
        ]
    return (*found, fingerprint(fusion))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each item took the short way."""
    found: list[bool] = []
    own = UnknownNames.predict

    def predict(self: UnknownNames, batch: Any) -> Any:
        predicted = own(self, batch)
        found.append(predicted is not None)
        return predicted

    monkeypatch.setattr(UnknownNames, "predict", predict)
    return found


@pytest.mark.parametrize("learner", LEARNERS + RARE + OTHERS, ids=repr)
def test_the_short_way_predicts_as_the_general_one(
    learner: Any, taken: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unknown_names, "MOST", 3)
    chance = np.random.default_rng(5)
    with mode_of(learner):
        fusion = Fusion(learner, classes=CLASSES, experts=EXPERTS)
        for step in range(25):
            votes = draw_item(chance, step % 3)
            found = seen(fusion, votes)
            with monkeypatch.context() as general:
                general.setattr(UnknownNames, "predict", lambda self, batch: None)
                assert seen(fusion, votes) == found
                if step % 8 == 0:
                    assert seen(deepcopy(fusion), votes) == found
            learned = draw_item(chance, step % 11 == 10)  # now and then, something becomes known
            fusion.learn_one(learned, CLASSES[chance.integers(3)])
    assert any(taken) is not any(name in repr(learner) for name in GENERAL)


def test_decisions_at_a_price_take_the_general_way(taken: list[bool]) -> None:
    costs = [[0, 1, 9], [1, 0, 1], [1, 3, 0]]
    fusion = Fusion(Winnow(1.2), classes=CLASSES, mistake_costs=costs)
    for at in range(9):
        fusion.learn_one({"ann": "a", "bob": CLASSES[at % 3]}, "a")
    fusion.predict_one({"ann": "a", "eve": "b"}, new_experts="vote")
    assert not any(taken)


def test_the_arrays_of_an_item_are_bound_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are bound anew after something has become known."""
    bound: list[int] = []
    own = unknown_names.Program

    def program(*values: Any, **more: Any) -> Any:
        bound.append(values[5])
        return own(*values, **more)

    monkeypatch.setattr(unknown_names, "Program", program)
    fusion = Fusion(Winnow(1.2), classes=CLASSES)
    fusion.learn_one({"ann": "a", "bob": "b"}, "a")
    for at in range(5):
        fusion.predict_one({"ann": "a", f"new {at}": "b"}, new_experts="vote")
        fusion.predict_one({"ann": f"class {at}", "bob": "b"})
    assert bound == [3, 4]
    fusion.learn_one({"eve": "a"}, "b")
    fusion.predict_one({"ann": "class", "bob": "b"})
    assert bound == [3, 4, 4]
    for at in range(2 * unknown_names.MOST):
        fusion.predict_one({"ann": "a"} | {f"new {each}": "b" for each in range(at + 1)}, new_experts="vote")
        assert len(fusion._single._unknown._bound) <= unknown_names.MOST


def test_more_scores_than_there_is_space_for(taken: list[bool]) -> None:
    fusion = Fusion(Winnow(1.2), classes=CLASSES)
    fusion.learn_one({"ann": "a", "bob": "b"}, "a")
    scores = {f"class {at}": 1.0 + at for at in range(99)}
    assert fusion.predict_one({"ann": scores, "bob": "b"}) == "class 98"
    assert taken == [False]
