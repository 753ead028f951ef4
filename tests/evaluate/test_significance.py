"""Intervals and p-values of paired differences: they agree, and they are those of slow computations."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from linmax.evaluate.significance import NORMAL_QUANTILE, gain, mcnemar
from tests.helpers.examples import EVERYTHING


def agrees(trials: int, better: float, worse: float) -> bool:
    found = gain(trials, better, worse)
    excludes = found.ci_low > 0.0 or found.ci_high < 0.0
    return (
        excludes == (found.p_value < 0.05)
        and -1.0 <= found.ci_low <= found.gain <= found.ci_high <= 1.0
        and (found.conclusion == "no significant difference") != excludes
    )


def test_the_interval_excludes_0_exactly_if_p_is_below_5_percent() -> None:
    step = 1 if EVERYTHING else 4  # every pair, or every fourth one
    for trials in (60, 1000):
        for better in range(61):
            for worse in range(better % step, min(60, trials - better) + 1, step):
                assert agrees(trials, better, worse), (trials, better, worse)


def test_they_agree_on_large_and_on_fractional_counts_too() -> None:
    rng = np.random.default_rng(0)
    for _ in range(800 if EVERYTHING else 300):
        trials = int(10 ** rng.uniform(1, 8))
        share = rng.uniform(0, 1)
        different = rng.uniform(0, trials)
        # near the border of significance
        lead = min(1.0, abs(rng.normal(2, 1)) / math.sqrt(max(different, 1.0)))
        better = different * (1 + (lead if share < 0.5 else -lead)) / 2
        worse = different - better
        assert agrees(trials, better, worse), (trials, better, worse)
        if better >= 1:
            assert agrees(trials, int(better), int(worse)), (trials, int(better), int(worse))


def test_both_directions_are_treated_alike() -> None:
    one, other = gain(500, 40, 12), gain(500, 12, 40)
    assert (one.ci_low, one.ci_high, one.p_value) == (-other.ci_high, -other.ci_low, other.p_value)


@functools.cache
def slow_limit(n: int, better: int, worse: int) -> float:
    """The lower limit by a search in small steps; q maximizes the likelihood, found by a search, too."""

    def deviation(d: float) -> float:
        low, high = max(0.0, -d) + 1e-12, min(1.0, (1.0 - d) / 2) - 1e-12

        def minus_likelihood(q: float) -> float:
            rest = n - better - worse
            parts = ((better, q + d), (worse, q), (rest, 1.0 - 2 * q - d))
            return -sum(count * math.log(max(p, 1e-300)) for count, p in parts if count)

        q = minimize_scalar(
            minus_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
        ).x
        return math.sqrt(n * (2 * q + d - d * d))

    for d in np.arange(-0.999, 1.0, 0.001):
        if better - worse - n * d - 1.0 <= NORMAL_QUANTILE * deviation(float(d)):
            return float(d)
    return 1.0


@pytest.mark.parametrize(
    ("n", "better", "worse"),
    [
        (50, 5, 3),
        (40, 0, 0),
        pytest.param(40, 0, 9, marks=pytest.mark.slow),
        pytest.param(100, 30, 2, marks=pytest.mark.slow),
        pytest.param(60, 60, 0, marks=pytest.mark.slow),
    ],
)
def test_limits_are_those_of_a_slow_search(n: int, better: int, worse: int) -> None:
    found = gain(n, better, worse)
    assert abs(found.ci_low - slow_limit(n, better, worse)) < 0.0011
    assert abs(found.ci_high + slow_limit(n, worse, better)) < 0.0011


@pytest.mark.parametrize(
    ("better", "worse"), [(0, 0), (1, 0), (5, 3), (6, 0), (60, 30), (400, 460), (10_000, 9_700), (30, 2)]
)
def test_mcnemar_is_close_to_the_exact_binomial_test(better: int, worse: int) -> None:
    from scipy.stats import binomtest

    want = binomtest(better, better + worse, 0.5).pvalue if better + worse else 1.0
    assert abs(mcnemar(better, worse) - want) < 0.02
    assert (mcnemar(better, worse) < 0.05) == (want < 0.05)


def test_five_items_are_never_enough() -> None:
    for n in range(6):
        assert mcnemar(n, 0) > 0.05


@pytest.mark.parametrize("shares", [(0.15, 0.1), (0.02, 0.02), (0.3, 0.0), (0.05, 0.2)])
def test_the_interval_covers_the_true_difference_at_least_about_as_often_as_it_says(
    shares: tuple[float, float],
) -> None:
    rng = np.random.default_rng(0)
    up, down = shares
    draws = rng.multinomial(200, [up, down, 1 - up - down], size=1000)
    once = functools.cache(gain)  # many are drawn again
    found = [once(200, int(better), int(worse)) for better, worse, _ in draws]
    hits = np.mean([one.ci_low <= up - down <= one.ci_high for one in found])
    assert 0.935 < hits <= 0.998
    if up == down:
        assert np.mean([one.p_value < 0.05 for one in found]) < 0.05


def test_a_shared_tie_is_rejected_no_more_often_than_a_drawn_one() -> None:
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(500):
        first = rng.random(300) < 0.7
        share = np.where(rng.random(300) < 0.3, 0.5, (rng.random(300) < 0.786).astype(float))
        found = gain(300, float((first * (1 - share)).sum()), float((~first * share).sum()))
        rejected += found.p_value < 0.05
    assert rejected / 500 < 0.06
