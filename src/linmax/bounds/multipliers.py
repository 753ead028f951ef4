"""Mistake bounds of other ways to adapt the multiplier of Winnow than that of `AdaptiveWinnow`.

With w_j before the j-th mistake, `|z_i| <= 1` and `w_j . z_j <= 0`, `m_j = ln(sum w_j exp(eta z_j)) / eta` is
at most `ln cosh(eta) / eta`, which is at most `min(eta / 2, 1)`. The page on bounds has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeVar

from linmax.bounds.bound import MistakeBound
from linmax.bounds.case import Case
from linmax.bounds.theorems import (
    AssumptionError,
    Theorem,
    adaptive_winnow,
    ln_cosh,
    require,
    require_non_negative,
    scaled,
)
from linmax.rules.adaptive_winnow import AdaptiveWinnow

RATES = 10
"""The learning rates over which Squint has a prior, each half of the one before."""

MULTIPLIERS: dict[str, Theorem] = {}
Value = TypeVar("Value", bound=Callable[[float, Case], float])


def multiplier_bound(variant: str, case: Case, parameter: float = 1.0) -> MistakeBound:
    """Return the bound of a variant of Winnow whose multiplier is adapted, or the reason why there is none.

    The variants are those that `linmax reproduce committee-multiplier` compares with `AdaptiveWinnow`. They
    update on mistakes only, and all n experts vote from the start.

    Parameters
    ----------
    variant : str
        One of adahedge, doubling, greedy, potential, restart, sqrt, squint and steps.
    case : Case
        The comparator, its margin and its noise.
    parameter : float, default 1.0
        The parameter of greedy (delta), of sqrt and steps (c), and of squint (-log2 of the largest rate).

    Returns
    -------
    result : MistakeBound
        The value, formula, source and reason.

    Examples
    --------
    >>> from linmax import AdaptiveWinnow
    >>> from linmax.bounds import Case, bound, multiplier_bound
    >>> case = Case(n=100, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> bound(AdaptiveWinnow(), case), round(multiplier_bound("sqrt", case, 1.0).value)
    (98.0, 135)
    >>> multiplier_bound("squint", case, 1.0).reason
    'the proof requires rates of at most 1/4, so that parameter >= 2 (got 1)'
    """
    if variant not in MULTIPLIERS:
        raise ValueError(
            f"no bound is known for the variant {variant!r}; use one of {', '.join(sorted(MULTIPLIERS))}"
        )
    theorem = MULTIPLIERS[variant]
    try:
        require_non_negative("a multiplicative update", case)
        require(
            math.isfinite(parameter) and parameter > 0, f"the parameter must be positive (got {parameter:g})"
        )
        require(case.n >= 2, f"the proof requires at least 2 experts (got {case.n})")
        return MistakeBound(theorem.value(parameter, case), theorem.formula, theorem.source)
    except AssumptionError as error:
        return MistakeBound(None, theorem.formula, theorem.source, str(error))


def multiplier(variant: str, formula: str, source: str) -> Callable[[Value], Value]:
    """Register the decorated function of (parameter, case) as the bound of a variant."""

    def register(value: Value) -> Value:
        MULTIPLIERS[variant] = Theorem(formula, source, value)
        return value

    return register


def _largest(delta: float, constant: float, root: float) -> float:
    """Return the largest M with M delta <= constant + root sqrt(M)."""
    return ((root + math.sqrt(root**2 + 4 * delta * constant)) / (2 * delta)) ** 2


@multiplier(
    "steps",
    "that of AdaptiveWinnow with rate = c sqrt(ln n)",
    "the proof for Winnow (Schapire 2008) with eta_j on the j-th update",
)
def steps(c: float, case: Case) -> float:
    """theta += c sqrt(ln n / j) z on the j-th mistake."""
    rate = c * math.sqrt(math.log(case.n))
    require(rate <= 10, f"AdaptiveWinnow requires a rate of at most 10 (got {rate:.3g})")
    return adaptive_winnow(AdaptiveWinnow(rate), case)


@multiplier(
    "sqrt",
    "the largest M with M delta <= hinge + min(r/2, 1) + (E/r + r) sqrt(M),  E = ln n + sum u ln u,"
    "  r = c sqrt(ln n)",
    "exponential weights with a decreasing rate; see the page on bounds",
)
def self_confident(c: float, case: Case) -> float:
    """Weights exp(eta theta) with eta = c sqrt(ln n / j) after j mistakes."""
    delta, hinge = scaled(case)
    r = c * math.sqrt(math.log(case.n))
    return _largest(delta, hinge + min(r / 2, 1.0), case.relative_entropy() / r + r)


@multiplier(
    "potential",
    "the largest M with M delta <= hinge + E + (1 + E / ln n) sqrt(M (ln n + 1/4)),  E = ln n + sum u ln u",
    "exponential weights with a decreasing rate; see the page on bounds",
)
def potential(_: float, case: Case) -> float:
    """Weights exp(eta theta) with eta = min(1, ln n / the largest sum of m_j so far)."""
    delta, hinge = scaled(case)
    entropy, log_n = case.relative_entropy(), math.log(case.n)
    return _largest(delta, hinge + entropy, (1 + entropy / log_n) * math.sqrt(log_n + 0.25))


@multiplier(
    "adahedge",
    "the largest M with M delta <= hinge + 8/3 ln n + 4 + 2 sqrt(M ln n)",
    "de Rooij, van Erven, Grünwald & Koolen, Follow the leader if you can, hedge if you must, JMLR 2014,"
    " Theorem 6, with variances <= 1 and a range of 2",
)
def adahedge(_: float, case: Case) -> float:
    """Weights exp(eta theta) with eta = ln n / the sum of the mixability gaps."""
    delta, hinge = scaled(case)
    log_n = math.log(case.n)
    return _largest(delta, hinge + 8 / 3 * log_n + 4, 2 * math.sqrt(log_n))


@multiplier(
    "squint",
    "for c >= 2 the least over eta = 2^-c, ..., 2^-(c + 9) of (hinge + (E + ln 10) / eta) / (delta - 4 eta),"
    "  E = ln n + sum u ln u",
    "Koolen & van Erven, Second-order quantile methods for experts and combinatorial games, COLT 2015",
)
def squint(c: float, case: Case) -> float:
    """Weights that are a mean over eta of eta exp(eta R - eta^2 V)."""
    require(c >= 2, f"the proof requires rates of at most 1/4, so that parameter >= 2 (got {c:g})")
    delta, hinge = scaled(case)
    room = case.relative_entropy() + math.log(RATES)
    rates = [math.pow(2.0, -c - i) for i in range(RATES)]
    bounds = [(hinge + room / eta) / (delta - 4 * eta) for eta in rates if 4 * eta < delta]
    require(bool(bounds), f"the margin of {delta:.3g} is too small for the least rate, {rates[-1]:.3g}")
    return min(bounds)


@multiplier(
    "greedy",
    "(ln n + sum u ln u) / (d atanh d + ln(1 - d^2) / 2), where d <= delta is the parameter",
    "the proof for Winnow (Schapire 2008): no other multiplier decreases RE(u || w) more at margin d",
)
def greedy(d: float, case: Case) -> float:
    """theta += eta z with the eta >= 0 that makes eta d - ln(sum w exp(eta z)) largest."""
    delta, hinge = scaled(case)
    require(hinge == 0, f"the proof assumes no noise (got a hinge of {hinge:g}): eta has no upper limit")
    require(
        d <= min(delta, 0.999),
        f"the proof requires a parameter of at most the margin {delta:.3g} (got {d:g})",
    )
    return case.relative_entropy() / (d * math.atanh(d) + math.log1p(-(d**2)) / 2)


def _epochs(n: int) -> Iterator[tuple[float, float, int]]:
    """Return guesses of delta, each divided by sqrt 2, with their rate and the mistakes that refute them."""
    d = 0.5
    while True:
        yield d, math.atanh(d), math.floor(2 * math.log(n) / d**2) + 1
        d /= math.sqrt(2.0)


@multiplier(
    "doubling",
    "the largest M with M delta <= hinge + E / eta_M + sum over j <= M of ln cosh(eta_j) / eta_j,"
    "  E = ln n + sum u ln u,  eta_j = atanh of the guess of delta on the j-th mistake",
    "exponential weights with a decreasing rate; see the page on bounds",
)
def doubling(_: float, case: Case) -> float:
    """Weights exp(eta theta), eta = atanh d; d is divided by sqrt 2 after more than 2 ln n / d^2 mistakes."""
    delta, hinge = scaled(case)
    entropy = case.relative_entropy()
    before, excess, most = 0, -hinge, 0.0  # excess: M delta - hinge - the sum, after `before` mistakes
    for d, eta, count in _epochs(case.n):
        slope = delta - ln_cosh(eta) / eta
        first = excess - entropy / eta  # what the inequality lacks at the start of the epoch
        end = first + count * slope
        if end <= 0:
            most = before + count
        elif first <= 0:  # so that slope > 0
            most = before + math.floor(-first / slope)
        elif d <= delta:  # from here on, epochs add more than 1 / eta grows
            return float(most)
        before, excess = before + count, excess + count * slope
    raise AssertionError("epochs never end")


@multiplier(
    "restart",
    "the mistakes of epochs whose guess is refuted, and (E + eta hinge) / (eta delta - ln cosh eta) in the"
    " first whose guess cannot be,  E = ln n + sum u ln u",
    "the proof for Winnow (Schapire 2008), in each epoch",
)
def restart(_: float, case: Case) -> float:
    """As doubling, with theta = 0 at the start of every epoch."""
    delta, hinge = scaled(case)
    entropy, before = case.relative_entropy(), 0
    for _d, eta, count in _epochs(case.n):
        decrease = eta * delta - ln_cosh(eta)
        if decrease > 0 and (entropy + eta * hinge) / decrease < count:
            return before + math.floor((entropy + eta * hinge) / decrease)
        before += count
    raise AssertionError("epochs never end")
