"""Bounds of the ways to adapt a multiplier: kept on random and adversarial streams, and as their sums say."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from experiments.committee_multiplier import variants
from experiments.committee_multiplier.cells import TRIED, check_bounds
from linmax import AdaptiveWinnow, Winnow
from linmax.bounds import Case, bound, multiplier_bound
from linmax.bounds.multipliers import MULTIPLIERS
from linmax.problems.adversary import adverse_signs
from tests.helpers.examples import EVERYTHING
from tests.helpers.multipliers import interpret_variants

BOUNDED = [one for one in TRIED if one[0] in MULTIPLIERS and one != ("squint", 1.0)]
NOISY = [one for one in BOUNDED if one[0] != "greedy"]


@pytest.fixture(autouse=True)
def _interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    interpret_variants(monkeypatch)


def panel_case(size: int, n: int) -> Case:
    return Case(n=n, delta=1 / size, u=[1 / size] * size)


def test_every_bound_is_of_a_variant_that_was_tried() -> None:
    assert {variant for variant, _ in BOUNDED} == set(MULTIPLIERS)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(("variant", "parameter"), BOUNDED)
def test_an_adversary_stays_within_the_bound(variant: str, parameter: float, size: int) -> None:
    most = multiplier_bound(variant, panel_case(size, 30), parameter).value
    made = variants.adversary_mistakes(variant, parameter, 30, size, 10_000)
    assert most is not None
    assert 3 <= made <= most


def test_an_adversary_comes_close_to_the_bound_of_the_margin_it_keeps() -> None:
    most = multiplier_bound("greedy", panel_case(3, 100), 1 / 3).value
    assert most == pytest.approx(bound(Winnow.for_margin(1 / 3), panel_case(3, 100)))
    assert 0.8 * most <= variants.adversary_mistakes("greedy", 1 / 3, 100, 3, 1000) <= most


@pytest.mark.parametrize("variant", ["sqrt", "adahedge"])
def test_the_adversary_errs_on_no_trial_on_which_the_panel_is_wrong(variant: str) -> None:
    code, c, n = variants.CODES[variant], 1.0, 20
    s, theta, V, w = variants._start(code, c), np.zeros(n), np.zeros(n), np.ones(n) / n
    while (z := adverse_signs(w, 3, 0.0, 0.0)) is not None:
        assert z[:3].sum() == 1
        assert w @ z <= 1e-15
        variants._adapt(code, c, s, theta, V, w, z)
        assert w.sum() == pytest.approx(1)
    assert s[variants.MADE] > 5


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_random_streams_stay_within_the_bounds(noise: float) -> None:
    pairs = check_bounds({"random": noise, "seed": 1, "trials": 1500 if EVERYTHING else 700})
    bounded = {name: pair for name, pair in pairs.items() if pair[1] is not None}
    assert len(bounded) == 1 + len(NOISY if noise else BOUNDED)
    for name, (made, most) in bounded.items():
        assert most is not None
        assert 0 < made <= most, name


def rates(n: int) -> Iterator[float]:
    """The rates of doubling, one per mistake."""
    d = 0.5
    while True:
        for _ in range(math.floor(2 * math.log(n) / d**2) + 1):
            yield math.atanh(d)
        d /= math.sqrt(2)


@functools.cache
def many_rates(n: int) -> np.ndarray:
    return np.array(list(islice(rates(n), 400_000)))


@pytest.mark.parametrize("delta", [0.7, 0.3, 0.1, 0.04])
@pytest.mark.parametrize("hinge", [0.0, 3.0, 40.0])
def test_the_bound_of_doubling_is_that_of_a_plain_sum(delta: float, hinge: float) -> None:
    n = 50
    case = Case(n=n, delta=delta, hinge=hinge, u=[0.5, 0.5])
    eta = many_rates(n)
    excess = np.cumsum(delta - np.log(np.cosh(eta)) / eta) - hinge - case.relative_entropy() / eta
    plain = np.flatnonzero(excess <= 0)[-1] + 1
    assert plain < 300_000
    assert multiplier_bound("doubling", case).value == plain


def test_a_restart_without_noise_stays_below_its_geometric_series() -> None:
    for delta in (0.5, 0.2, 0.06, 0.01):
        most = multiplier_bound("restart", Case(n=100, delta=delta)).value
        epochs = 2 + 2 * math.log2(0.5 / delta)
        assert most is not None
        assert most <= 8 * math.log(100) / delta**2 + epochs


def test_a_step_with_sqrt_ln_n_has_the_bound_of_its_rate() -> None:
    case = panel_case(5, 40)
    rate = 0.4 * math.sqrt(math.log(40))
    assert multiplier_bound("steps", case, 0.4).value == bound(AdaptiveWinnow(rate), case)


@pytest.mark.parametrize("variant", [name for name, _ in NOISY])
def test_noise_and_a_smaller_margin_raise_a_bound_and_the_scale_of_u_does_not(variant: str) -> None:
    parameter = 2.0
    values = [
        multiplier_bound(variant, Case(n=50, delta=delta, u=u, hinge=hinge), parameter).value
        for delta, u, hinge in ((0.3, [1.0], 0.0), (0.3, [1.0], 9.0), (0.1, [1.0], 9.0), (3.0, [10.0], 90.0))
    ]
    assert None not in values
    plain, noisy, narrow, scaled = map(float, values)  # type: ignore[arg-type]
    assert plain < noisy < narrow
    assert scaled == pytest.approx(noisy)


@pytest.mark.parametrize(
    ("variant", "parameter", "case", "reason"),
    [
        ("greedy", 0.1, {"hinge": 1.0}, "assumes no noise"),
        ("greedy", 0.5, {}, "at most the margin 0.2 .got 0.5."),
        ("squint", 1.0, {}, "rates of at most 1/4"),
        ("squint", 2.0, {"delta": 0.001}, "too small for the least rate"),
        ("sqrt", 0.0, {}, "must be positive"),
        ("adahedge", 1.0, {"u": [0.5, -0.5]}, "requires u >= 0"),
        ("doubling", 1.0, {"largest": 2.0}, "<= 1"),
        ("steps", 20.0, {}, "a rate of at most 10"),
        ("sqrt", 1.0, {"n": 1}, "at least 2 experts"),
    ],
)
def test_a_violated_assumption_gives_a_reason(
    variant: str, parameter: float, case: dict[str, Any], reason: str
) -> None:
    result = multiplier_bound(variant, Case(**({"n": 10, "delta": 0.2} | case)), parameter)
    assert result.value is None
    assert result.formula
    assert re.search(reason, result.reason)


def test_an_unknown_variant_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="use one of adahedge, doubling, greedy"):
        multiplier_bound("greedy sqrt", Case(n=10, delta=0.2))
