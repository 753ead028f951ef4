"""The lecture of 2008: a panel of k among N yes-or-no experts whose majority is always right."""

import math

import numpy as np
import pytest

from linmax import BalancedWinnow, Fusion, Perceptron, Winnow
from linmax.bounds import Case, bound
from linmax.experts import Votes
from linmax.problems import panel

ROUNDING = 1e-9  # the Perceptron's bound can be met exactly, and is computed in floating point


@pytest.mark.parametrize("n", [10, 100, 1000])
@pytest.mark.parametrize("k", [3, 5])
def test_the_bounds_of_the_lecture(n, k):
    case = Case(n=n, delta=1 / k, u=[1 / k] * k)
    assert bound(Perceptron(), case) == pytest.approx(n * k)
    best = math.sqrt((1 + 1 / k) / (1 - 1 / k))
    assert bound(Winnow.for_margin(1 / k), case) < 2 * k**2 * math.log(n)
    assert bound(BalancedWinnow(best), case) < 2 * k**2 * math.log(2 * n)
    assert all(bound(Winnow(best), case) < bound(Winnow(best * wrong), case) for wrong in (0.9, 1.1))


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        pytest.param(10, {"Perceptron": 15, "Winnow": 10, "Balanced": 10}, marks=pytest.mark.slow),
        (100, {"Perceptron": 157, "Winnow": 31, "Balanced": 42}),
    ],
)
def test_the_table_of_the_lecture(n, expected):
    """A cell is the mean of 3 runs; with s the spread of a run, ours may be off by 3 s sqrt(1/3 + 1/runs)."""
    runs = 12
    eta = math.log(2) / 2
    rules = {
        "Perceptron": Perceptron(ties=True),
        "Winnow": Winnow.from_eta(eta, ties=True),
        "Balanced": BalancedWinnow(math.exp(eta), ties=True),
    }
    case = Case(n=n, delta=1 / 3, u=[1 / 3] * 3)
    moves = {name: [] for name in rules}
    for seed in range(runs):
        votes, labels = panel(20_000, experts=n, seed=seed)
        for name, rule in rules.items():
            moves[name].append(Fusion(rule.on(Votes()), classes=[0, 1]).learn(votes, labels).moves)
    for name, rule in rules.items():
        assert max(moves[name]) <= bound(rule, case) + ROUNDING
        spread = np.std(moves[name], ddof=1)
        assert abs(np.mean(moves[name]) - expected[name]) <= 3 * spread * math.sqrt(1 / 3 + 1 / runs), name


@pytest.mark.parametrize(
    "alpha", [1.1, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (math.sqrt(2), 1.9))]
)
def test_the_relative_entropy_to_the_comparator_falls_on_every_mistake_of_winnow(alpha):
    n = 30
    votes, labels = panel(250, experts=n)
    u = np.zeros(n)
    u[:3] = 1 / 3
    least = math.log(alpha) / 3 - math.log(math.cosh(math.log(alpha)))
    assert least > 0
    fusion = Fusion(Winnow(alpha, ties=True).on(Votes()), classes=[0, 1])
    before, mistakes = math.log(n) - math.log(3), 0
    for t in range(len(labels)):
        moved = fusion.learn(votes[t : t + 1], labels[t : t + 1]).moves
        w = np.array(list(fusion.weights.values()))
        assert w.sum() == pytest.approx(1)
        after = float(u[:3] @ np.log(u[:3] / w[:3]))
        assert after >= 0
        assert before - after >= least - 1e-12 if moved else after == pytest.approx(before)
        before, mistakes = after, mistakes + moved
    assert mistakes > 5


def test_winnow_that_moves_on_every_round_is_weighted_majority_with_beta_e_to_the_minus_2_eta():
    eta = 0.3
    votes, labels = panel(200, experts=20)
    fusion = Fusion(Winnow.from_eta(eta, slack=math.inf).on(Votes()), classes=[0, 1])
    assert fusion.learn(votes, labels).moves == 200
    beta = math.exp(-2 * eta)
    weights = beta ** (votes != labels[:, None]).sum(axis=0)
    assert np.allclose(list(fusion.weights.values()), weights / weights.sum(), rtol=1e-12)
