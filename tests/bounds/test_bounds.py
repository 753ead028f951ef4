"""The bounds hold, and say when they do not apply."""

import math
import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linmax import (
    AdaptiveWinnow,
    Alma,
    Averaged,
    BalancedWinnow,
    Cycle,
    Fusion,
    Logistic,
    PassiveAggressive,
    Perceptron,
    PNorm,
    QuasiAdditive,
    Recycled,
    Romma,
    Winnow,
)
from linmax.bounds import Case, bound, mistake_bound, published_1999, published_2003, published_2008, tightest
from linmax.experts import Thresholds, Votes
from linmax.problems import adversary
from linmax.rules import Rule
from linmax.spec import registered
from linmax.svm import instances
from tests.helpers.examples import EVERYTHING, rarely_compiled

ROUNDING = 1e-9  # some bounds are reached exactly, and they are computed in floating point

SEPARABLE = [
    Perceptron(),
    Perceptron(rivals="violators"),
    Perceptron(rivals=Cycle()),
    Romma(),
    Romma(aggressive=0.5),
    PNorm(2),
    PNorm(4.5),
    Alma(2),
    Alma(5),
    Alma(3, alpha=0.7),
    BalancedWinnow(1.1),
    PassiveAggressive(1.0, kind="PA"),
    PassiveAggressive(0.1, kind="PA-I"),
    PassiveAggressive(0.1, kind="PA-I", slack=3.0),
    PassiveAggressive(0.1, kind="PA-II"),
    Recycled(Perceptron(), updates=1),
    Recycled(BalancedWinnow(1.1), updates=None),
]
POSITIVE = [
    AdaptiveWinnow(),
    AdaptiveWinnow(0.4, rivals="violators"),
    Winnow(1.05),
    Winnow(1.2),
    Winnow(1.1, rivals="violators"),
    Recycled(Winnow(1.1), updates=1),
]
NOISY = [
    Perceptron(),
    PNorm(4.5),
    Winnow(1.1),
    AdaptiveWinnow(),
    BalancedWinnow(1.1),
    PassiveAggressive(0.1, kind="PA-I"),
    PassiveAggressive(0.1, kind="PA-II"),
    Recycled(Perceptron(), updates=1),
    Recycled(Winnow(1.1), updates=5),
    Recycled(AdaptiveWinnow(), updates=2),
]


def stream(seed, signs=False, n=12, k=4, least=0.1, trials=20_000):
    """Votes of n experts for k classes, cut to those on which a hidden u (sum |u| = 1) has the margin."""
    rng = np.random.default_rng(seed)
    u = rng.random(n) ** 3 * (rng.choice((-1, 1), n) if signs else 1)
    u /= np.abs(u).sum()
    votes = rng.integers(k, size=(trials, n))
    scores = (votes[:, :, None] == np.arange(k)) * u[:, None]
    scores = scores.sum(axis=1)
    best = np.sort(scores, axis=1)
    kept = best[:, -1] - best[:, -2] >= least
    return u, votes[kept], scores.argmax(axis=1)[kept]


def case_of(u, votes, labels, margin=None, source=None):
    """The case of u on the votes; threshold experts have no weight in u."""
    source = source or Votes()
    found = instances(Fusion(Perceptron().on(source), classes=range(4)), votes, labels)
    return Case.of(np.append(u, np.zeros(found.z.shape[1] - len(u))), found, margin)


def within_bounds(learners, u, votes, labels, margin=None, rounding=0.0):
    """Every learner makes some mistakes and no more than its bound; return the case of the votes.

    In `make test`, recycled learners have threshold experts: only this file would compile their kernel of
    votes alone.
    """
    cases = {
        source: case_of(u, votes, labels, margin, source) for source in (Votes(), Votes() + Thresholds())
    }
    for learner in learners:
        added = isinstance(learner, Recycled) and not EVERYTHING
        source = Votes() + Thresholds() if added else Votes()
        run = Fusion(learner.on(source), classes=range(4)).learn(votes, labels)
        assert 0 < run.mistakes <= bound(learner, cases[source]) + rounding, learner
    return cases[Votes()]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("signs", [False, True])
def test_no_rule_with_a_bound_exceeds_it_on_a_separable_stream(seed, signs):
    u, votes, labels = stream(seed, signs, trials=20_000 if EVERYTHING else 6000)
    case = within_bounds(SEPARABLE + ([] if signs else POSITIVE), u, votes, labels, rounding=ROUNDING)
    assert case.hinge == 0
    assert case.delta >= 0.1 - ROUNDING


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_rule_with_a_bound_exceeds_it_under_noise(seed):
    u, votes, labels = stream(seed, trials=4000)
    rng = np.random.default_rng(seed)
    noisy = np.where(rng.random(len(labels)) < 0.05, rng.integers(4, size=len(labels)), labels)
    case = within_bounds(NOISY, u, votes, noisy, margin=0.1)
    assert case.hinge > 0


@pytest.mark.parametrize("rate", [0.3, 0.9, 4.0])
@pytest.mark.parametrize("delta", [0.5, 0.1, 0.03, 0.005])
def test_the_bound_of_a_decreasing_multiplier_is_that_of_a_plain_sum(rate, delta):
    eta = rate / np.sqrt(np.arange(1, 1_000_001))
    decrease = np.cumsum(delta * eta - np.log(np.cosh(eta)))
    for hinge in (0.0, 0.5, 4.0):
        room = math.log(50) + rate * min(hinge, 2 * math.sqrt((1 + delta) * hinge))
        if decrease[-1] > room:
            most = np.flatnonzero(decrease <= room)[-1] + 1
            value = bound(AdaptiveWinnow(rate), Case(n=50, delta=delta, hinge=hinge))
            assert most <= value <= 1.001 * most + 1


@pytest.mark.parametrize("size", [1, 3, 5])
def test_an_adversary_comes_close_to_the_bound_of_a_decreasing_multiplier_and_stays_within(size):
    learner = AdaptiveWinnow().on(Votes())
    made = len(adversary(learner, 1000, experts=100, size=size).labels)
    most = bound(learner, Case(n=100, delta=1 / size, u=[1 / size] * size))
    assert 0.8 * most <= made <= most


def test_tightest_gives_a_bound_no_larger_than_any_margin_does():
    u, votes, labels = stream(0, trials=4000 if EVERYTHING else 1000)
    labels[::50] = (labels[::50] + 1) % 4
    found = instances(Fusion(Perceptron().on(Votes()), classes=range(4)), votes, labels)
    for learner in NOISY:
        best = bound(learner, tightest(learner, u, found))
        others = (bound(learner, Case.of(u, found, margin)) for margin in (0.05, 0.1, 0.2))
        assert all(
            best <= other * 1.02 for other in others if other is not None
        )  # 64 margins are a fine grid
        short = slice((500 if EVERYTHING else 60) if isinstance(learner, Recycled) else None)
        with rarely_compiled() if isinstance(learner, Recycled) else nullcontext():
            learned = Fusion(learner.on(Votes()), classes=range(4)).learn(votes[short], labels[short])
        assert learned.mistakes <= best


# --- what has no bound says why ---------------------------------------------------------------------------

PLAIN = Case(n=10, delta=0.2, u=[0.5, 0.5])
SIGNED = Case(n=10, delta=0.2, u=[0.5, -0.5])
WITH_NOISE = Case(n=10, delta=0.2, u=[0.5, 0.5], hinge=3.0)
LARGE = Case(n=10, delta=0.2, u=[0.5, 0.5], largest=2.0)


@pytest.mark.parametrize(
    ("learner", "case", "reason"),
    [
        (Winnow(1.2), SIGNED, "u >= 0"),
        (AdaptiveWinnow(), SIGNED, "AdaptiveWinnow requires u >= 0"),
        (AdaptiveWinnow(), LARGE, r"\|z_i\| <= 1"),
        (Winnow(1.2), LARGE, r"\|z_i\| <= 1 \(got 2\)"),
        (BalancedWinnow(1.2), LARGE, r"\|z_i\| <= 1"),
        (Winnow(2.0), PLAIN, "alpha = 2 is too large for a margin of 0.2"),
        (Romma(), WITH_NOISE, "assumes no noise"),
        (Alma(2), WITH_NOISE, "assumes no noise"),
        (PassiveAggressive(1.0, kind="PA"), WITH_NOISE, "only without noise"),
        (PassiveAggressive(1.0, kind="PA-II"), WITH_NOISE, "squares="),
        (Perceptron(slack=0.5), PLAIN, "slack = 0.5"),
        (Perceptron(rivals="softmax"), PLAIN, "softmax"),
        (Perceptron(rivals=Cycle()), WITH_NOISE, "more than once"),
        (Perceptron(start="equal"), PLAIN, "weights that start at 0"),
        (PassiveAggressive(start="equal"), PLAIN, "weights that start at 0"),
        (Recycled(Perceptron(), updates=None), WITH_NOISE, "updates=1"),
        (Averaged(Perceptron()), PLAIN, "any number of mistakes"),
        (Recycled(Averaged(Perceptron()), updates=1), PLAIN, "any number of mistakes"),
        (Logistic(0.1), PLAIN, "no bound is known"),
        (QuasiAdditive("identity"), PLAIN, "no bound is known"),
    ],
)
def test_a_violated_assumption_gives_a_reason_instead_of_a_bound(learner, case, reason):
    assert bound(learner, case) is None
    result = mistake_bound(learner, case)
    assert result.value is None
    assert re.search(reason, result.reason)


@pytest.mark.parametrize("learner", SEPARABLE + POSITIVE)
def test_a_bound_comes_with_its_formula_and_source(learner):
    result = mistake_bound(learner, PLAIN)
    assert result.value == bound(learner, PLAIN)
    assert result.formula
    assert result.reason == ""
    assert any(year in result.source for year in ("1997", "2001", "2002", "2003", "2006", "2008"))


def test_every_rule_that_claims_a_bound_has_one():
    rules = [thing for thing in registered().values() if isinstance(thing, type) and issubclass(thing, Rule)]
    claiming = [rule for rule in rules if "bound" in rule.claims and rule.__module__.startswith("linmax.")]
    assert claiming
    for rule in claiming:
        assert bound(rule(), PLAIN) is not None, rule


def test_a_user_s_rule_has_the_registered_bound_and_not_that_of_its_base_class():
    @dataclass(frozen=True, repr=False)
    class Bolder(Perceptron):
        """A subclass that may move differently."""

    assert bound(Bolder(), PLAIN) is None

    @bound.register
    def _(rule: Bolder, case: Case) -> float | None:
        """n mistakes"""
        return float(case.n)

    assert bound(Bolder(), PLAIN) == 10
    assert bound(Recycled(Bolder(), updates=1), PLAIN) == 10
    assert mistake_bound(Bolder(), PLAIN).formula == "n mistakes"


def test_recycling_repeats_the_noise_as_often_as_it_may():
    assert bound(Recycled(Perceptron(), updates=1), WITH_NOISE) == bound(Perceptron(), WITH_NOISE)
    fivefold = Case(n=10, delta=0.2, u=[0.5, 0.5], hinge=15.0)
    assert bound(Recycled(Perceptron(), updates=5), WITH_NOISE) == bound(Perceptron(), fivefold)


# --- cases --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", SEPARABLE + POSITIVE + NOISY)
def test_a_bound_does_not_depend_on_the_scale_of_the_comparator(learner):
    one = Case(n=20, delta=0.2, u=[0.3, 0.7], hinge=0.0)
    ten = Case(n=20, delta=2.0, u=[3.0, 7.0], hinge=0.0)
    assert bound(learner, ten) == pytest.approx(bound(learner, one))


@pytest.mark.parametrize("learner", NOISY)
def test_a_noisy_bound_does_not_depend_on_the_scale_either(learner):
    one = Case(n=20, delta=0.2, u=[0.3, 0.7], hinge=4.0, squares=6.0)
    ten = Case(n=20, delta=2.0, u=[3.0, 7.0], hinge=40.0, squares=600.0)
    assert bound(learner, ten) == pytest.approx(bound(learner, one))
    assert bound(learner, ten) > bound(learner, Case(n=20, delta=2.0, u=[3.0, 7.0]))


@pytest.mark.parametrize("learner", SEPARABLE + POSITIVE)
def test_what_is_not_known_of_a_case_can_only_raise_the_bound(learner):
    known = Case(n=20, delta=0.2, u=[0.3, 0.7], length=2.0)
    assert bound(learner, Case(n=20, delta=0.2)) >= bound(learner, known)


@pytest.mark.parametrize("p", [2, 2.5, 7])
def test_a_norm_of_the_instances_is_exact_when_they_are_known_and_never_too_small_when_not(p):
    z = np.random.default_rng(0).normal(size=(50, 8))
    z[:, 0] = np.abs(z[:, 0]) + 9
    case = Case.of(np.eye(8)[0], z)
    exact = np.linalg.norm(z, p, axis=1).max()
    assert case.instance_norm(p) == pytest.approx(exact)
    without_rows = Case(n=8, delta=case.delta, largest=case.largest, length=case.length)
    assert without_rows.instance_norm(p) >= exact * (1 - 1e-12)
    assert Case(n=16, delta=0.1).instance_norm(p) == pytest.approx(16 ** (1 / p))


def test_a_case_is_the_same_from_dense_and_sparse_rows():
    z = np.random.default_rng(0).integers(-1, 2, size=(40, 6))
    u = [3, 1, 0, 2, 0, 0]
    dense, thin = Case.of(u, z, margin=1), Case.of(u, sparse.csr_array(z), margin=1)
    for name in ("n", "delta", "hinge", "squares", "largest", "length"):
        assert getattr(dense, name) == getattr(thin, name)
    assert dense.hinge == np.maximum(1 - z @ u, 0).sum()
    assert dense.squares == (np.maximum(1 - z @ u, 0) ** 2).sum()


def test_the_hinge_of_a_trial_is_that_of_its_worst_rival_only():
    found = instances(Fusion(Perceptron().on(Votes()), classes="abc"), [["a", "b"], ["c", "c"]], ["a", "b"])
    case = Case.of([1.0, 1.0], found, margin=2.0)
    # trial 0: a against b 1 - 1, against c 1; trial 1: b against a 0, against c -2
    assert case.hinge == 2 + 4
    assert case.squares == 4 + 16


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: Case(n=0, delta=0.1), "n >= 1 sub-experts .got 0."),
        (lambda: Case(n=3, delta=-0.1), "delta > 0 .got -0.1."),
        (lambda: Case(n=3, delta=0.1, hinge=-1), "hinge >= 0 .got -1.; 0 means no noise"),
        (lambda: Case(n=3, delta=0.1, u=[1, 2, 3, 4]), "at most n=3 weights"),
        (lambda: Case(n=3, delta=0.1, u=[1e200]), r"none beyond 1e\+100"),
        (lambda: Case(n=3, delta=0.1, u=[float("nan"), 1.0]), r"none beyond 1e\+100"),
        (lambda: Case(n=3, delta=0.1, u=[0, 0]), "not all 0"),
        (lambda: Case.of([1, 1], [[1, 0, 1]]), "u requires 3 weights"),
        (lambda: Case.of([1, 1], [[1, 0], [-1, 0]]), "wrong on 1 of 2 trials; pass margin="),
        (lambda: Case.of([1, 1], np.zeros((0, 2))), "requires instances"),
        (lambda: tightest(Perceptron(), [1, 1], [[-1, 0]]), "right on no trial"),
    ],
)
def test_an_invalid_case_is_rejected_with_one_sentence(made, sentence):
    with pytest.raises(ValueError, match=sentence):
        made()


def test_the_published_bound_of_2008_gives_the_paper_s_examples():
    disjunction = published_2008(1, 1 / 11) / math.log(2)
    assert disjunction == pytest.approx(388, abs=1)  # "388 ln(2n)"
    assert published_2008(7, 0.1, noise=10) - published_2008(7, 0.1) == pytest.approx(13.5)


@pytest.mark.parametrize("published", [published_1999, published_2003, published_2008])
def test_published_bounds_need_a_margin_and_experts(published: Any) -> None:
    with pytest.raises(ValueError, match="delta"):
        published(10, 0)
    with pytest.raises(ValueError, match=r"\bn\b"):
        published(0, 0.1)
