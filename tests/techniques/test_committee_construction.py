"""Making committees: their text, the common checks, and what is refused."""

from typing import Any

import numpy as np
import pytest

from linmax import (
    Averaged,
    Combine,
    Fusion,
    Mixture,
    Perceptron,
    Recycled,
    Voted,
    WeightedMajority,
    checks,
    parse,
    standard_bank,
    vr_combine,
)
from linmax.checks import mathematics
from linmax.experts import Pairs, PerClass, Votes
from tests.helpers.committees import COMMITTEES, VR, P, each
from tests.helpers.examples import EVERYTHING


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("vr", "mixture") else pytest.mark.slow)
        for name in COMMITTEES  # the files on behaviour and files check most of it for each of them
        if name != "nested"
    ],
)
def test_committees_pass_the_common_checks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not EVERYTHING:
        monkeypatch.setattr(mathematics, "LONG_RUN", 20_000)
    checks.check_learner(COMMITTEES[name])


@each
def test_a_committee_is_its_text(name: str) -> None:
    assert parse(repr(COMMITTEES[name])) == COMMITTEES[name]


def test_the_banks_are_their_text() -> None:
    for learner in (vr_combine(), vr_combine(hypotheses=5), *standard_bank(), VR.on(Votes() + PerClass())):
        assert parse(repr(learner)) == learner


MADE: dict[str, tuple[Any, str]] = {
    "no members": (lambda: Combine([]), "Combine requires a list of learners"),
    "one learner": (lambda: Combine(P), "Combine requires a list of learners"),
    "no list": (lambda: Mixture(5), "Mixture requires a list of learners"),
    "text": (lambda: WeightedMajority("Perceptron()"), "WeightedMajority requires a list of learners"),
    "empty majority": (lambda: WeightedMajority([]), "WeightedMajority requires a list of learners"),
    "not a learner": (lambda: Combine([P, 1.2]), r"requires learners as members.*got 1\.2"),
    "a class": (lambda: Mixture([Perceptron]), "requires learners as members"),
    "a committee that votes": (lambda: Combine([P, VR]), "WeightedMajority takes any learner"),
    "a majority that votes": (lambda: Combine([WeightedMajority()]), "WeightedMajority takes any learner"),
    "voted in combine": (lambda: Combine([Voted(P)]), "WeightedMajority takes any learner"),
    "voted committee": (lambda: Voted(VR), "committee"),
    "voted twice": (lambda: Voted(Voted(P)), "once is enough|committee"),
    "averaged committee": (lambda: Averaged(VR), "committee|members"),
    "averaged majority": (lambda: Averaged(WeightedMajority()), "committee|members"),
    "averaged voted": (lambda: Averaged(Voted(P)), "Voted"),
    "recycled voted": (lambda: Recycled(Voted(P)), "Voted"),
    "recycled mixture": (lambda: Recycled(Mixture([P])), "committee|members"),
    "negative": (lambda: Voted(P, hypotheses=-1), "Voted requires 0 <= hypotheses"),
    "half": (lambda: Combine([P], window=0.5), "Combine requires 0 <= window"),
    "too many": (lambda: Combine([P], recent=10**9), "recent <= 100000"),
    "no patience": (lambda: Combine([P], patience=0), "1 <= patience"),
    "true": (lambda: Combine([P], patience=True), "1 <= patience"),
    "choice": (lambda: Combine([P], choose="worst"), 'choose="best" or choose="random"'),
    "random without": (lambda: Voted(P, choose="random", hypotheses=0), "hypotheses >= 1"),
    "two memories": (
        lambda: Fusion(Combine([P.on(Pairs()), P.on(Pairs(memory=3))])),
        "only one Pairs",
    ),
}


@pytest.mark.parametrize("case", MADE)
def test_what_cannot_be_is_refused_in_one_sentence(case: str) -> None:
    make, why = MADE[case]
    with pytest.raises(ValueError, match=why) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_batch_without_items_may_bring_experts() -> None:
    fusion = Fusion(Perceptron(), classes=range(5))
    fusion.learn(np.zeros((0, 20), dtype=np.int32), np.zeros(0, dtype=int))
    assert len(fusion.experts) == 20
    assert set(fusion.weights.values()) == {0.0}


def test_a_seed_that_no_kernel_could_take_is_refused() -> None:
    with pytest.raises(ValueError, match=r"seed must be .* below 2\*\*63"):
        Fusion(Perceptron(), seed=2**63)


def test_a_list_of_learners_is_told_of_combine() -> None:
    with pytest.raises(ValueError, match="Combine takes several") as error:
        Fusion([Perceptron()] * 60)  # type: ignore[arg-type]
    assert len(str(error.value)) < 200


def test_members_may_come_from_a_generator() -> None:
    assert Combine(Recycled(P, size=size) for size in (5, 7)) == Combine(
        [Recycled(P, size=5), Recycled(P, size=7)]
    )
