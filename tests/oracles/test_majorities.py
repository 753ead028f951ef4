"""All slow committees' manners, and those that do not add raw scores: runs that a hand can follow."""

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.helpers.panels import CLASSES, bank, panel, run
from tests.oracles.committees import Combine, Committee, Item, Member, items
from tests.oracles.majorities import (
    Mixture,
    RandomCombine,
    WeightedMajority,
    WeightedMajorityOfExperts,
    uniform,
)
from tests.oracles.rules import Perceptron
from tests.oracles.session import best


def test_before_any_class_is_known_the_guess_is_none() -> None:
    silent: Item = {"votes": {}}
    for it in (Combine(bank()), RandomCombine(bank()), WeightedMajority(bank()), Mixture(bank())):
        assert (it.predict(silent), it.learn(silent, "a"), it.predict(silent)) == (None, None, "a")
    assert WeightedMajorityOfExperts().learn(silent, "a") is None


def committees() -> list[Committee]:
    weighted = WeightedMajority([*bank(), Combine(bank(), hypotheses=2)], classes=CLASSES)
    mixture = Mixture([*bank(), Combine(bank(), hypotheses=2)], classes=CLASSES, share=0.1)
    return [
        Combine(bank(), CLASSES, hypotheses=4, patience=5),
        RandomCombine(bank(), CLASSES, hypotheses=5),
        weighted,
        WeightedMajorityOfExperts(),
        mixture,
    ]


@pytest.mark.parametrize("it", committees(), ids=lambda it: type(it).__name__)
def test_predicting_changes_nothing_and_a_twin_goes_on_alone(it: Any) -> None:
    """And every committee counts its guesses."""
    stream = panel(25)
    run(it, stream[:15])
    twin = it.twin()
    for item, _ in stream[15:]:
        assert it.predict(item) == twin.trial(item, None)
    run(twin, stream[15:])
    assert it.trials == 15
    run(it, stream[15:])
    assert it.guesses == twin.guesses
    assert it.smallest_gap == twin.smallest_gap
    assert (it.trials, it.right + it.mistakes + it.novel) == (25, 25)
    scores = twin.scores(stream[0][0])
    assert scores == it.scores(stream[0][0])


# --- hypotheses drawn at random


def test_splitmix64_is_the_published_one() -> None:
    assert uniform(1, 0, 0) == (0xE220A8397B1DCDAF >> 11) / 2**53  # its first output from state 0
    assert uniform(2, 0, 0) == (0x6E789E6AA1B965F4 >> 11) / 2**53  # and its second


def test_a_drawn_hypothesis_is_uniform_over_the_past() -> None:
    it = run(RandomCombine([Member(Perceptron())], CLASSES, hypotheses=3000), panel(5))
    counts = Counter(it.positions)
    assert sorted(counts) == [1, 2, 3, 4, 5]
    assert all(abs(count - 600) < 5 * math.sqrt(480) for count in counts.values())


def test_the_majority_of_drawn_hypotheses_guesses() -> None:
    it = RandomCombine(bank(), CLASSES, hypotheses=6, seed=3)
    for t, (item, y) in enumerate(panel(30), 1):
        if t == 1:
            expected = best(it.members[0].scores(item))
        else:
            said = Counter(best(it.members[s.member].scores(item, s.weights)) for s in it.saved)
            assert sum(it.scores(item).values()) == 6
            expected = min(said, key=lambda c: (-said[c], c))
        kept = it.positions
        assert it.learn(item, y) == expected
        if t == 1:
            assert it.positions == [1] * 6
        else:
            drawn = [uniform(3, t, j) < 1 / t for j in range(1, 7)]
            assert it.positions == [t if new else old for new, old in zip(drawn, kept, strict=True)]
    assert it.restarts == 0


# --- weights on members


def test_experts_lose_a_factor_for_each_wrong_guess() -> None:
    it = WeightedMajorityOfExperts(2.0, classes="abc")
    first: Item = {"votes": {"ann": {"a": 1}, "bob": {"b": 1}, "eve": {"b": 0.5, "c": 0.5, "a": 0.1}}}
    assert it.scores(first) == {"a": 1, "b": 2, "c": 0}
    assert it.learn(first, "a") == "b"
    after = {name: math.exp(it.logs["vote", name]) for name in ("ann", "bob", "eve")}
    assert after == pytest.approx({"ann": 1, "bob": 0.5, "eve": 0.5})
    it.learn({"votes": {"bob": {"c": 1}, "eve": {}}}, "b")  # eve abstains: not wrong
    it.learn({"votes": {"ann": {"c": 1}}}, "z")  # novel: nothing moves
    after = {name: math.exp(it.logs["vote", name]) for name in ("ann", "bob", "eve")}
    assert after == pytest.approx({"ann": 1, "bob": 0.25, "eve": 0.5})
    newcomers: Item = {"votes": {"joe": {"a": 1}, "ann": {"b": 1}, "kim": {"a": 1}}}
    assert it.scores(newcomers) == pytest.approx({"a": 2 * 1.75 / 3, "b": 1, "c": 0, "z": 0})
    assert ("vote", "joe") not in it.logs  # nobody has spoken for good until the label comes
    it.learn(newcomers, "a")
    assert math.exp(it.logs["vote", "kim"]) == pytest.approx(1.75 / 3)
    assert math.exp(it.logs["vote", "ann"]) == pytest.approx(0.5)


def test_who_is_far_behind_still_decides_alone() -> None:
    it = WeightedMajorityOfExperts(1e9, classes="ab")
    for _ in range(40):
        it.learn({"votes": {"ann": {"a": 1}, "bob": {"b": 1}}}, "b")
    assert it.logs["vote", "ann"] < -800  # exp of it is 0
    assert it.scores({"votes": {"ann": {"b": 1}}}) == {"a": 0, "b": 1}


def test_members_pay_whether_or_not_the_whole_is_right() -> None:
    it = run(WeightedMajority(bank(), 1.5, CLASSES), panel(40))
    for m, member in enumerate(it.members):
        assert it.logs[m] == pytest.approx(-member.mistakes * math.log(1.5))


def test_weighted_majority_keeps_its_bound() -> None:
    """Littlestone & Warmuth: M <= (m ln(1/beta) + ln n) / ln(2/(1 + beta)), for two classes."""
    rng = random.Random(1)
    for beta in (0.2, 0.5, 0.8):
        it, lost = WeightedMajorityOfExperts(1 / beta, classes="ab"), Counter({e: 0 for e in range(8)})
        for _ in range(200):
            y = rng.choice("ab")
            votes = {e: y if rng.random() < 0.5 + e / 20 else "ab".replace(y, "") for e in range(8)}
            lost.update(e for e, c in votes.items() if c != y)
            it.learn(items([votes])[0], y)
        assert it.mistakes <= (min(lost.values()) * -math.log(beta) + math.log(8)) / math.log(2 / (1 + beta))


def test_a_mixture_gives_probabilities_and_its_weights_tell_the_mistakes() -> None:
    it = Mixture(bank(), CLASSES, multiplier=3, share=0)
    for item, y in panel(40):
        assert sum(map(math.exp, it.scores(item).values())) == pytest.approx(1)
        it.learn(item, y)
    v = np.array([3.0**-member.mistakes for member in it.members])
    assert np.exp(it.logs) == pytest.approx(v / v.sum())


def test_a_share_of_a_mixture_goes_back_to_all() -> None:
    one, two = Mixture(bank(), CLASSES, share=0), Mixture(bank(), CLASSES, share=0.3)
    for it in (one, two):
        run(it, panel(1))
    assert np.exp(two.logs) == pytest.approx(0.7 * np.exp(one.logs) + 0.3 / len(one.logs))
