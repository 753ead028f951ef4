"""The adversary makes a learner err as often as theory allows, or nearly."""

import math

import numpy as np
import pytest

from linmax import (
    Alma,
    Averaged,
    BalancedWinnow,
    Fusion,
    PassiveAggressive,
    Perceptron,
    PNorm,
    QuasiAdditive,
    Recycled,
    Romma,
    Winnow,
)
from linmax.bounds import Case, bound, published_1999, published_2003
from linmax.experts import Votes
from linmax.problems.adversary import adversary
from tests.helpers.examples import EVERYTHING

ROUNDING = 1e-9  # the Perceptron meets its bound exactly, and the bound is computed in floating point

BOUNDED = [
    Perceptron(),
    Romma(),
    Romma(aggressive=0.3),
    PNorm(2),
    PNorm(3),
    PNorm(8),
    Alma(2),
    Alma(4.5),
    Alma(3, alpha=0.6),
    Winnow(1.1),
    Winnow(1.3),
    BalancedWinnow(1.2),
    PassiveAggressive(1.0, kind="PA"),
    PassiveAggressive(0.02, kind="PA-I"),
    PassiveAggressive(0.02, kind="PA-II"),
    Recycled(Perceptron(), updates=1),
    Recycled(Winnow(1.2), updates=1),
    Recycled(Winnow(1.2), updates=None),
]
# each has another parameter of a rule that is there as well
REPEATED = [PNorm(8), Alma(4.5), Winnow(1.1), PassiveAggressive(0.02, kind="PA-II")]


def panel_case(n, size, thresholds=0):
    return Case(n=n + thresholds, delta=1 / size, u=[1 / size] * size)


@pytest.mark.parametrize(("size", "mistakes"), [(3, 168), pytest.param(5, 463, marks=pytest.mark.slow)])
def test_the_bounds_printed_in_1999_and_2003_are_false_and_the_true_one_holds(size, mistakes):
    n, delta = 10_000, 1 / size
    learner = Winnow((1 - delta) ** -0.5).on(Votes())  # the alpha that both papers ask for
    votes, labels = adversary(learner, 1000, experts=n, size=size)
    run = Fusion(learner, classes=[0, 1]).learn(votes, labels)
    assert run.mistakes == len(labels) == mistakes
    assert run.mistakes > published_1999(n, delta) > published_2003(n, delta)
    assert run.mistakes <= bound(learner, panel_case(n, size))


def test_with_the_best_alpha_the_adversary_cannot_reach_two_ln_n_over_delta_squared():
    learner = Winnow.for_margin(1 / 3).on(Votes())
    reached = len(adversary(learner, 1000, experts=500).labels)
    assert 0.95 * bound(learner, panel_case(500, 3)) < reached <= bound(learner, panel_case(500, 3))
    assert reached < 2 * 9 * math.log(500)


def test_the_perceptron_meets_its_bound_exactly():
    assert len(adversary(Perceptron().on(Votes()), 1000, experts=40).labels) == 120
    assert bound(Perceptron(), panel_case(40, 3)) == pytest.approx(120)


@pytest.mark.parametrize(
    ("learner", "n", "size"),
    [
        pytest.param(learner, n, size, id=f"{learner!r}-{n}-{size}", marks=() if quick else pytest.mark.slow)
        for i, learner in enumerate(BOUNDED)
        for n, size, chosen in ((21, 3, i % 2 == 0), (16, 5, i % 2 == 1))
        for quick in [chosen and learner not in REPEATED]
    ],
)
def test_no_rule_with_a_bound_exceeds_it_under_the_adversary(learner, n, size):
    # with threshold experts, other tests compile the kernel, too
    added = isinstance(learner, Recycled) and not EVERYTHING
    session = learner if added else learner.on(Votes())
    votes, labels = adversary(session, 2000, experts=n, size=size)
    run = Fusion(session, classes=[0, 1]).learn(votes, labels)
    most = bound(learner, panel_case(n, size, thresholds=2 if added else 0))
    assert 0 < run.mistakes == run.trials <= most + ROUNDING
    assert run.moves <= most + ROUNDING


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(),
        Winnow(1.2),
        pytest.param(BalancedWinnow(1.2), marks=pytest.mark.slow),
        pytest.param(Romma(), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_threshold_experts_do_not_help_against_him(learner):
    votes, labels = adversary(learner, 2000, experts=21)
    assert set(labels.tolist()) == {0, 1}
    run = Fusion(learner, classes=[0, 1]).learn(votes, labels)
    assert run.mistakes == run.trials <= bound(learner, panel_case(21, 3, thresholds=2)) + ROUNDING
    assert run.mistakes >= 0.9 * len(adversary(learner.on(Votes()), 2000, experts=21).labels)


@pytest.mark.parametrize("learner", [Averaged(Perceptron()), Averaged(Winnow(1.2))], ids=repr)
def test_an_average_can_be_fooled_for_as_long_as_one_likes(learner):
    votes, labels = adversary(learner.on(Votes()), 100, experts=21)
    assert Fusion(learner.on(Votes()), classes=[0, 1]).learn(votes, labels).mistakes == 100
    assert bound(learner.inner, panel_case(21, 3)) < 100


@pytest.mark.parametrize("size", [1, 3, 5])
def test_the_panel_is_right_by_one_vote_on_every_trial(size):
    votes, labels = adversary(Winnow(1.2).on(Votes()), 500, experts=40, size=size)
    assert votes.shape == (len(labels), 40)
    right = (votes[:, :size] == labels[:, None]).sum(axis=1)
    assert (right == (size + 1) // 2).all()
    assert np.isin(votes, (0, 1)).all()


def test_a_rule_without_a_bound_is_fought_as_well():
    learner = QuasiAdditive("square").on(Votes())
    votes, labels = adversary(learner, 60, experts=20)
    assert Fusion(learner, classes=[0, 1]).learn(votes, labels).mistakes == len(labels) > 10


def test_the_same_learner_meets_the_same_stream_again():
    one, two = (adversary(Romma().on(Votes()), 50, experts=20) for _ in range(2))
    assert (one.votes == two.votes).all()
    assert (one.labels == two.labels).all()


def test_he_stops_where_he_is_told_to_and_may_be_told_to_do_nothing():
    assert len(adversary(Perceptron().on(Votes()), 7).labels) == 7
    assert adversary(Perceptron().on(Votes()), 0, experts=9).votes.shape == (0, 9)


def test_all_experts_on_the_panel_leave_him_little():
    """With everyone on the panel and equal weights the learner is the comparator."""
    assert len(adversary(Winnow(1.2).on(Votes()), 100, experts=3, size=3).labels) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"trials": -1}, "trials >= 0 .got -1."),
        ({"trials": 10, "size": 4}, "an odd size.* .got 4."),
        ({"trials": 10, "experts": 3, "size": 5}, "size <= experts"),
    ],
)
def test_impossible_orders_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        adversary(Perceptron().on(Votes()), **arguments)
