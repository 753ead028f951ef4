"""Averaging and recycling: what they promise beyond agreeing with the oracle (see test_rules)."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linmax
from linmax import Averaged, BalancedWinnow, Fusion, Perceptron, PNorm, Recycled, Romma, Rule, Winnow, parse
from linmax import experts as sources
from linmax._jit.compilation import interpreted
from linmax.checks import check_learner, check_rule
from linmax.problems import majority
from linmax.rules import MOVED
from tests.helpers.compare_rules import CLASSES, EXPERTS, TECHNIQUES, follow, items, oracle_of, own_rules
from tests.helpers.examples import EVERYTHING, examples, rarely_compiled
from tests.helpers.sessions import same
from tests.oracles import rules as oracles
from tests.oracles.session import Session, Thresholds, Votes


@linmax.register("QuarterSteps")
@dataclass(frozen=True, repr=False)
class QuarterSteps(Rule):
    """A user's own rule, typed into a test: the Perceptron with steps of a quarter."""

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += 0.25 * z
            w[i] = theta[i]
        return MOVED


class QuarterStepsOracle(oracles.Rule):
    def update(self, z: oracles.Vector) -> bool:
        return super().update({i: 0.25 * value for i, value in z.items()})


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_rule_of_your_own_works_with_every_technique(technique: str) -> None:
    wrap, options = TECHNIQUES[technique]
    fusion = Fusion(wrap(QuarterSteps()), classes=CLASSES, experts=EXPERTS)
    session = Session(QuarterStepsOracle(), classes=CLASSES, **options)
    assert follow(fusion, session, items("triplets", 25), "triplets") >= 20
    assert parse(repr(fusion.learner)) == fusion.learner


def test_a_rule_of_your_own_passes_the_common_checks() -> None:
    check_learner(QuarterSteps())


@pytest.mark.slow  # the docstring of check_rule does so for the Perceptron
def test_a_rule_of_your_own_passes_the_common_checks_with_every_technique() -> None:
    check_rule(QuarterSteps())


def rows(form: str, count: int, seed: int = 0) -> tuple[np.ndarray, list]:
    stream = list(items(form, count, seed))
    votes = [[next(iter(item["votes"].get(e, {None: 1}))) for e in EXPERTS] for item, _ in stream]
    return np.array(votes, dtype=object), [y for _, y in stream]


@pytest.mark.parametrize("rule", [rule() for rule in own_rules().values()], ids=repr)
def test_averaging_and_recycling_commute(rule: Rule) -> None:
    votes, labels = rows("hard", 200)
    one, other = Fusion(Averaged(Recycled(rule, size=20))), Fusion(Recycled(Averaged(rule), size=20))
    assert (one.learn(votes, labels).guesses == other.learn(votes, labels).guesses).all()
    assert same(one, other)


@pytest.mark.parametrize("rule", [rule() for rule in own_rules().values()], ids=repr)
def test_an_average_leaves_the_inner_learner_alone(rule: Rule) -> None:
    votes, labels = rows("hard", 200)
    plain, averaged = Fusion(rule), Fusion(Averaged(rule))
    moves = plain.learn(votes, labels).moves, averaged.learn(votes, labels).moves
    assert moves[0] == moves[1]
    assert plain.state()["theta"].tobytes() == averaged.state()["theta"].tobytes()


def test_an_average_is_over_the_hypotheses_at_the_start_of_every_trial() -> None:
    """Of the weights 0, 1, 1, 1, the one after the last trial included."""
    fusion = Fusion(Averaged(Perceptron().on(sources.Votes())), classes=["a", "b"])
    with interpreted():  # a kernel that nothing else needs
        for _ in range(3):
            fusion.learn_one({"ann": "b"}, "b")
        assert fusion.weights == {"ann": 0.75}
        assert fusion.learn_one({"ann": "b"}, None) == "b"  # no label, no trial
    assert fusion.weights == {"ann": 0.75}


@pytest.mark.parametrize(
    "rule", [Winnow(3.0), Winnow(50.0), BalancedWinnow(3.0), PNorm(9.0), Romma()], ids=repr
)
def test_an_average_is_the_mean_also_when_weights_change_by_many_orders(rule: Rule) -> None:
    """Weights are kept up to a scale, which may fall by far more than the 16 digits of a sum of scales."""
    trials = 600 if EVERYTHING else 120
    votes, labels = majority(trials, noise=0)
    averaged, inner = Fusion(Averaged(rule), classes=range(5)), Fusion(rule, classes=range(5))
    averaged.learn(votes[:1], labels[:1])
    inner.learn(votes[:1], labels[:1])
    total = 2 * np.array(list(averaged.weights.values()))
    for t in range(1, trials):
        inner.learn(votes[t : t + 1], labels[t : t + 1])
        total += list(inner.weights.values())
    averaged.learn(votes[1:], labels[1:])
    mean = total / (trials + 1)
    assert list(averaged.weights.values()) == pytest.approx(mean.tolist(), rel=0, abs=1e-9 * abs(mean).max())


def test_a_newcomer_counts_nothing_in_the_averages_before_it_came() -> None:
    rule = Perceptron(start="equal").on(sources.Votes())
    fusion = Fusion(Averaged(rule), classes=["a", "b"])
    with rarely_compiled():
        for _ in range(3):
            fusion.learn_one({"ann": "b"}, "b")
        fusion.learn_one({"ann": "b", "bob": "b"}, "b")
    assert fusion.weights == {"ann": 1.0, "bob": 0.4}


def test_recycling_goes_over_the_latest_instances_until_none_is_wrong() -> None:
    votes, _ = rows("hard", 30)
    clean = [max(CLASSES, key=row.tolist().count) for row in votes]
    fusion = Fusion(Recycled(Perceptron(), size=30, updates=None), classes=CLASSES)
    fusion.learn(votes, clean)
    hypothesis = Fusion(Recycled(Perceptron(), size=30, updates=None), classes=CLASSES)
    hypothesis.learn(votes[:29], clean[:29])
    assert (hypothesis.predict(votes[:29]) == np.array(clean[:29])).all()
    assert fusion.mistakes < Fusion(Perceptron(), classes=CLASSES).learn(votes, clean).mistakes


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([1, 2, 3, None]), st.booleans())
def test_recycling_is_exact_for_any_buffer(seed: int, size: int, updates: int | None, averaged: bool) -> None:
    learner = Recycled(Perceptron(), size=size, updates=updates)
    fusion = Fusion(Averaged(learner) if averaged else learner, classes=CLASSES, experts=EXPERTS)
    session = Session(oracles.Perceptron(), classes=CLASSES, averaged=averaged, recycled=(size, updates))
    if updates is None:  # noise would be passed over 10,000 times here and 1000 times there
        stream = [
            (item, max(CLASSES, key=list(map(max, item["votes"].values())).count))
            for item, _ in items("hard", 8, seed)
        ]
    else:
        stream = list(items("hard", 12, seed))
    assert follow(fusion, session, stream, "hard", exact=True) == len(stream)


@examples(12)
@given(st.integers(0, 10**6), st.booleans())
def test_recycling_goes_on_when_classes_and_experts_are_new(seed: int, averaged: bool) -> None:
    """Nothing is known at the start; novel labels enter the buffer and move nothing."""
    learner = Recycled(Perceptron(), size=4, updates=2)
    fusion = Fusion(Averaged(learner) if averaged else learner)
    session = Session(oracles.Perceptron(), averaged=averaged, recycled=(4, 2))
    with interpreted():
        assert follow(fusion, session, items("hard", 12, seed, silent=0.7), "dicts", exact=True) == 12


@pytest.mark.parametrize("rule", [Perceptron(start="equal"), Winnow(1.3), Perceptron(slack=1)], ids=repr)
@pytest.mark.parametrize("technique", TECHNIQUES)
def test_experts_who_come_late_are_the_oracles(rule: Rule, technique: str) -> None:
    wrap, options = TECHNIQUES[technique]
    fusion = Fusion(wrap(rule.on(sources.Votes() + sources.Thresholds())), classes=CLASSES)
    session = Session(oracle_of(rule), [Votes(), Thresholds()], CLASSES, **options)
    stream = [
        ({"votes": {e: vote for i, (e, vote) in enumerate(item["votes"].items()) if i <= t // 4}}, y)
        for t, (item, y) in enumerate(items("triplets", 25))
    ]
    assert follow(fusion, session, stream, "dicts") >= 15


def test_a_recycled_instance_serves_for_a_limited_number_of_updates() -> None:
    """Two instances that contradict each other are each used so often, their own trials included."""
    for updates in (1, 2, 3):
        fusion = Fusion(Recycled(Perceptron().on(sources.Votes()), updates=updates), classes=["a", "b"])
        with interpreted():
            moves = fusion.learn([["a"], ["a"]], ["b", "a"]).moves
        assert fusion.state()["used"].tolist() == [updates, updates]
        assert moves == 2  # trials on which something moved
        assert fusion.weights == {0: 0.0}


def test_techniques_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="once is enough"):
        Averaged(Recycled(Averaged(Perceptron())))
    with pytest.raises(ValueError, match="size"):
        Recycled(Perceptron(), size=0)
    with pytest.raises(ValueError, match="updates"):
        Recycled(Perceptron(), updates=0)
    with pytest.raises(ValueError, match="Winnow"):
        Averaged(1.2)
