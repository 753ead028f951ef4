"""Mixture, Stacked, Tempered and NaiveBayes do what their slow oracles do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Logistic, Mixture, NaiveBayes, Perceptron, Stacked, Tempered, Winnow
from linmax.fusion.model_file import fingerprint
from tests.helpers.compare_rules import NEAR
from tests.helpers.panels import CLASSES, panel
from tests.oracles import majorities as oracles_majorities
from tests.oracles import rules as oracles
from tests.oracles import stacks as oracles_stacks
from tests.oracles.committees import Committee, Item, Member

OURS = [Perceptron(start="equal"), Averaged(Winnow(1.3)), Logistic(0.3, start="equal")]


def theirs() -> list[Member]:
    return [
        Member(oracles.Perceptron(start="equal")),
        Member(oracles.Winnow(1.3), averaged=True),
        Member(oracles.Logistic(0.3, start="equal")),
    ]


def follow(fusion: Fusion, oracle: Committee, stream: list[tuple[Item, Any]], *, soft: bool = False) -> int:
    """Give both the same items, but for those on which the oracle hesitates; compare all scores."""
    done = 0
    for item, y in stream:
        rehearsal = oracle.twin()
        rehearsal.smallest_gap = 1.0
        scores = rehearsal.scores(item)
        guess = rehearsal.trial(item, y)
        if rehearsal.smallest_gap < NEAR:
            continue
        oracle = rehearsal
        done += 1
        votes = {e: vote if soft else next(iter(vote), None) for e, vote in item["votes"].items()}
        ours = fusion.scores([votes], new_experts="vote")[0]
        assert ours == pytest.approx([float(scores[c]) for c in fusion.classes], rel=1e-7, abs=1e-9)
        assert fusion.learn_one(votes, y) == guess
    assert (fusion.trials, fusion.mistakes, fusion.novel) == (oracle.trials, oracle.mistakes, oracle.novel)
    return done


def scored(count: int, seed: int = 0) -> list[tuple[Item, Any]]:
    """Experts that give scores, some of them negative or missing."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        y = int(rng.integers(3))
        votes: dict[Any, Any] = {}
        for e in range(4):
            given = {c: round(float(rng.normal() + (c == y)), 2) for c in range(3) if rng.random() < 0.8}
            votes[e] = given if rng.random() < 0.8 else {}
        made.append(({"votes": votes}, y))
    return made


@pytest.mark.parametrize(("multiplier", "share"), [(1.2, 1e-4), (3.0, 0.0), (1.5, 0.2)])
def test_a_mixture_mixes_probabilities_by_mistakes(multiplier: float, share: float) -> None:
    fusion = Fusion(Mixture(OURS, multiplier=multiplier, share=share), classes=CLASSES, experts=range(5))
    oracle = oracles_majorities.Mixture(theirs(), CLASSES, multiplier=multiplier, share=share)
    assert follow(fusion, oracle, panel(60)) > 40


@pytest.mark.parametrize(("prior", "forget"), [(0.02, 1e-4), (1.0, 0.0), (0.1, 0.1)])
def test_a_stack_moves_by_newton_s_steps(prior: float, forget: float) -> None:
    fusion = Fusion(Stacked(OURS, prior=prior, forget=forget), classes=CLASSES, experts=range(5))
    oracle = oracles_stacks.Stacked(theirs(), CLASSES, prior=prior, forget=forget)
    assert follow(fusion, oracle, panel(60)) > 40


def test_a_temperature_follows_the_log_loss_and_changes_no_guess() -> None:
    fusion = Fusion(Tempered(Averaged(Perceptron())), classes=CLASSES, experts=range(5))
    oracle = oracles_stacks.Tempered([Member(oracles.Perceptron(), averaged=True)], CLASSES)
    assert follow(fusion, oracle, panel(60)) > 30


@pytest.mark.parametrize("of", ["tables", "accuracies"])
@pytest.mark.parametrize("soft", [False, True], ids=["labels", "scores"])
def test_naive_bayes_counts(of: str, soft: bool) -> None:
    fusion = Fusion(NaiveBayes(of, shrink=2.0), classes=CLASSES, experts=range(5))
    oracle = oracles_stacks.NaiveBayes(CLASSES, of=of, shrink=2.0)
    assert follow(fusion, oracle, scored(40) if soft else panel(40), soft=soft) > 30


@pytest.mark.parametrize("of", ["tables", "accuracies"])
def test_naive_bayes_meets_new_classes_and_experts(of: str) -> None:
    fusion, oracle = Fusion(NaiveBayes(of)), oracles_stacks.NaiveBayes(of=of)
    stream = [({"votes": {0: {0: 1}}}, 0), ({"votes": {0: {0: 1}, 1: {1: 1}}}, 2), *panel(20)]
    assert follow(fusion, oracle, stream) > 15
    assert fusion.novel == 1


def test_tables_that_no_machine_holds_are_refused_in_a_sentence() -> None:
    for learner in (NaiveBayes(), None):
        with pytest.raises(ValueError, match="is an id column taken for a label"):
            Fusion(learner, classes=range(20_000), experts=range(5))
    fusion = Fusion(NaiveBayes())
    with pytest.raises(ValueError, match="is an id column taken for a label"):
        fusion.learn([[str(i)] for i in range(20_000)], ["b"] * 20_000)
    assert (fusion.trials, fusion.classes) == (0, [])


def test_a_member_in_two_places_learns_once() -> None:
    votes = np.array([[0, 1, 2], [1, 1, 0]] * 20)
    alone, twice = Fusion(NaiveBayes()), Fusion(Mixture([NaiveBayes(), Stacked([NaiveBayes(), Winnow(1.2)])]))
    alone.learn(votes, votes[:, 1])
    twice.learn(votes, votes[:, 1])
    counts = [array for name, array in twice.state().items() if name.endswith("truths")]
    assert len(counts) == 1
    assert counts[0].tolist() == alone.state()["head.0.truths"].tolist()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Mixture(OURS, multiplier=1),
            "Mixture requires 1 < multiplier <= 1e100 (got 1); typical values are 1.2 to 1.5",
        ),
        (
            lambda: Mixture(OURS, share=2),
            "Mixture requires 0 <= share <= 1 (got 2); a typical value is 0.0001",
        ),
        (
            lambda: Stacked(OURS, prior=-1.0),
            "Stacked requires 0 <= prior <= 1 (got -1.0); a typical value is 0.02",
        ),
        (lambda: NaiveBayes("table"), 'NaiveBayes requires of="tables" or of="accuracies" (got \'table\')'),
        (lambda: NaiveBayes(shrink=0), "NaiveBayes requires 0 < shrink <= 1e9 (got 0); a typical value is 5"),
    ],
)
def test_bad_parameters_are_named(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match="requires") as error:
        make()
    assert str(error.value) == sentence


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "learner", [None, "Stacked((Perceptron(), NaiveBayes(), Winnow(1.2)))"], ids=["default", "stack"]
)
def test_classes_that_only_unlabelled_items_name_leave_no_trace(learner: str | None, seed: int) -> None:
    """An item may have more classes than the next one, which no vector of the next one may see."""
    chance = np.random.default_rng(seed)
    classes, experts = chance.integers(2, 12), chance.integers(2, 5)
    items = [{f"e{j}": f"c{chance.integers(classes)}" for j in range(experts)} for _ in range(14)]
    labels = [None if chance.random() < 0.4 else f"c{chance.integers(classes)}" for _ in range(14)]
    one, whole = Fusion(learner), Fusion(learner)
    guesses = [one.learn_one(item, label) for item, label in zip(items, labels, strict=True)]
    assert whole.learn(items, labels).guesses.tolist() == guesses
    assert fingerprint(whole) == fingerprint(one)
