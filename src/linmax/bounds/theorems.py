"""Mistake bounds with a proof: one theorem per rule."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from linmax.bounds.case import Case
from linmax.bounds.sharing import mixing_bound
from linmax.rules import Rule
from linmax.rules.adaptive_winnow import AdaptiveWinnow
from linmax.rules.alma import Alma
from linmax.rules.balanced_winnow import BalancedWinnow
from linmax.rules.base import Cycle
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.rules.pnorm import PNorm
from linmax.rules.romma import Romma
from linmax.rules.winnow import Winnow

FIRST = 2**17
"""The updates of `AdaptiveWinnow` over which its bound sums exactly, as the checker of certificates does."""


class AssumptionError(ValueError):
    """An assumption of the theorem does not hold; the message says which."""


class Theorem(NamedTuple):
    """A bound on mistakes.

    Parameters
    ----------
    formula : str
        The formula, for tables and messages.
    source : str
        The publication.
    value : callable
        The bound as a function of the rule and the case; it raises `AssumptionError` if it does not apply.
    """

    formula: str
    source: str
    value: Callable[[Any, Case], float]


THEOREMS: dict[type, Theorem] = {}
Value = TypeVar("Value", bound=Callable[[Any, Case], float])


def theorem(rule: type[Rule], formula: str, source: str) -> Callable[[Value], Value]:
    """Register the decorated function of (rule, case) as the theorem of a rule."""

    def register(value: Value) -> Value:
        THEOREMS[rule] = Theorem(formula, source, value)
        return value

    return register


def require(condition: bool, message: str) -> None:
    """Raise an `AssumptionError` unless the condition holds."""
    if not condition:
        raise AssumptionError(message)


def require_mistake_driven(rule: Rule, case: Case) -> None:
    """Check what all theorems assume: updates on mistakes only, noise counted once, and weights from 0."""
    require(
        all(getattr(part, "budget", None) is None for part in getattr(rule.experts, "parts", ())),
        "a budget removes support vectors, but the proof requires all of them; omit budget= for a bound",
    )
    require(
        rule.rivals != "softmax",
        'rivals="softmax" also updates on correct predictions; rivals="top" and "violators" have a bound',
    )
    require(
        case.hinge == 0 or not isinstance(rule.rivals, Cycle),
        "Cycle counts the noise of a trial more than once; it has a bound without noise",
    )
    require(
        rule.slack == 0 or isinstance(rule, PassiveAggressive),
        f"slack = {rule.slack:g} also updates on correct predictions; slack=0 has a bound",
    )
    require(
        getattr(rule, "start", "zero") == "zero",
        'the proof requires weights that start at 0 (got start="equal")',
    )


@theorem(
    Perceptron,
    "L + C + sqrt(L C),  C = max|z|_2^2 |u|_2^2 / delta^2,  L = hinge / delta",
    "Mesterharm 2003, section 4.1 (no noise); Fink, Shalev-Shwartz, Singer & Ullman 2006, Lemma 1",
)
def perceptron(rule: Perceptron, case: Case) -> float:
    """|w|^2 grows by at most max|z|_2^2 on a mistake."""
    return _additive((case.instance_norm(2) * case.comparator_norm(2) / case.delta) ** 2, case)


@theorem(
    PNorm,
    "L + C + sqrt(L C),  C = (p - 1) max|z|_p^2 |u|_q^2 / delta^2,  1/p + 1/q = 1,  L = hinge / delta",
    "Grove, Littlestone & Schuurmans 1997 (no noise); Gentile, The robustness of the p-norm algorithms, 2003",
)
def pnorm(rule: PNorm, case: Case) -> float:
    """|theta|_p^2 grows by at most (p - 1) max|z|_p^2 on a mistake."""
    q = rule.p / (rule.p - 1)
    return _additive(
        (rule.p - 1) * (case.instance_norm(rule.p) * case.comparator_norm(q) / case.delta) ** 2, case
    )


def _additive(complexity: float, case: Case) -> float:
    """delta (M - L) <= u . theta <= |u|_q |theta|_p gives M - L <= sqrt(C M)."""
    return mixing_bound(case.hinge / case.delta, complexity)


@theorem(
    Romma,
    "max|z|_2^2 |u|_2^2 / delta^2",
    "Li & Long, The relaxed online maximum margin algorithm, 2002; Mesterharm 2003, section 4.2",
)
def romma(rule: Romma, case: Case) -> float:
    """|w|^2 <= |u|^2 / delta^2 grows by 1 / |z|^2 on a mistake and never decreases, aggressive or not."""
    require(case.hinge == 0, f"the proof for ROMMA assumes no noise (got a hinge of {case.hinge:g})")
    return (case.instance_norm(2) * case.comparator_norm(2) / case.delta) ** 2


@theorem(
    Alma,
    "2 (p - 1) (2/alpha - 1)^2 / gamma^2 + 8/alpha - 4,  gamma = delta / (max|z|_p |u|_q),  1/p + 1/q = 1",
    "Gentile, A new approximate maximal margin classification algorithm, JMLR 2001 (separable data)",
)
def alma(rule: Alma, case: Case) -> float:
    """The separable part of the theorem, which bounds all updates."""
    require(
        case.hinge == 0, f"this part of the theorem for ALMA assumes no noise (got a hinge of {case.hinge:g})"
    )
    gamma = case.delta / (case.instance_norm(rule.p) * case.comparator_norm(rule.p / (rule.p - 1)))
    return 2 * (rule.p - 1) * ((2 / rule.alpha - 1) / gamma) ** 2 + 8 / rule.alpha - 4


@theorem(
    Winnow,
    "(ln n + sum u ln u + eta hinge) / (eta delta - ln cosh eta),  eta = ln alpha",
    "Schapire, COS 511, lecture 15, 2008, Eq. 10, with sum u ln u and the hinge kept",
)
def winnow(rule: Winnow, case: Case) -> float:
    """The bound for a comparator without negative weights."""
    require_non_negative("Winnow", case)
    return _multiplicative(rule, case, case.relative_entropy())


@theorem(
    BalancedWinnow,
    "(ln 2n + sum |u| ln |u| + eta hinge) / (eta delta - ln cosh eta),  eta = ln alpha",
    "Schapire, COS 511, lecture 15, 2008, section 5: Winnow on the votes and their opposites",
)
def balanced_winnow(rule: BalancedWinnow, case: Case) -> float:
    """The bound for a comparator with any signs."""
    return _multiplicative(rule, case, case.relative_entropy(doubled=True))


@theorem(
    AdaptiveWinnow,
    "the largest M with sum over j <= M of (eta_j delta - ln cosh eta_j) <= ln n + sum u ln u + noise,"
    "  eta_j = rate / sqrt(j),  noise = rate min(hinge, 2 sqrt((1 + delta) hinge))",
    "the proof for Winnow (Schapire 2008) with eta_j on the j-th update; see the page on bounds",
)
def adaptive_winnow(rule: AdaptiveWinnow, case: Case) -> float:
    """The bound for a comparator without negative weights, and any multiplier that is right for it."""
    require_non_negative("AdaptiveWinnow", case)
    delta, hinge = scaled(case)
    noise = rule.rate * min(hinge, 2 * math.sqrt((1 + delta) * hinge))
    return float(_most_updates(rule.rate, delta, case.relative_entropy() + noise))


@functools.lru_cache(maxsize=4)
def _update_sums(rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of eta_j and of ln cosh eta_j over the first updates; eta_j <= 10."""
    eta = rate / np.sqrt(np.arange(1, FIRST + 1))
    return np.cumsum(eta), np.cumsum(np.log1p(2 * np.sinh(eta / 2) ** 2))


def _most_updates(rate: float, delta: float, room: float) -> float:
    """Return the largest M at which RE(u || w) has decreased by at most `room`.

    Beyond the first updates, sum eta_j >= 2 rate (sqrt(M + 1) - sqrt(m + 1)) and ln cosh eta <= eta^2 / 2,
    so the decrease is at least that of `later`, which increases for M > (rate / delta)^2.
    """
    steps, losses = _update_sums(rate)
    decrease = delta * steps - losses

    def later(M: float) -> float:
        gain = 2 * rate * delta * (math.sqrt(M + 1) - math.sqrt(FIRST + 1))
        return float(decrease[-1]) + gain - rate**2 / 2 * math.log(M / FIRST)

    low = max(float(FIRST), (rate / delta) ** 2)
    if later(low) > room:
        within = np.flatnonzero(decrease <= room)
        # if the decrease has a minimum beyond the first updates, `low` is a valid bound
        return low if low > FIRST else float(within[-1] + 1) if len(within) else 0.0
    high = 2 * low
    while later(high) <= room:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if later(middle) <= room else (low, middle)
    return math.floor(high)


def require_non_negative(rule: str, case: Case) -> None:
    """Check that the comparator has no negative weights."""
    negative = 0 if case.u is None else int((case.u < 0).sum())
    require(
        negative == 0,
        f"{rule} requires u >= 0 (got {negative} negative weights); BalancedWinnow allows any signs",
    )


def scaled(case: Case) -> tuple[float, float]:
    """Return margin and hinge of u scaled to sum |u| = 1."""
    require(
        case.largest <= 1, f"the proof requires |z_i| <= 1 (got {case.largest:g}); scale the votes to [0, 1]"
    )
    return case.delta / case.comparator_norm(1), case.hinge / case.comparator_norm(1)


def _multiplicative(rule: Winnow | BalancedWinnow, case: Case, entropy: float) -> float:
    """With sum u = 1, RE(u || w) >= 0 decreases by eta (delta - hinge_t) - ln cosh eta on a mistake."""
    delta, hinge = scaled(case)
    eta = math.log(rule.alpha)
    decrease = eta * delta - ln_cosh(eta)
    if decrease <= 0:
        limit, optimum = _largest_alpha(delta), math.exp(math.atanh(delta))
        raise AssumptionError(
            f"alpha = {rule.alpha:g} is too large for a margin of {delta:.3g}:"
            f" the bound requires alpha < {limit:.3g}, and {optimum:.3g} is optimal"
        )
    return (entropy + eta * hinge) / decrease


def ln_cosh(eta: float) -> float:
    """Return ln cosh eta for eta >= 0, to all digits."""
    if eta < 1:  # the difference below would be rounded to nothing
        return math.log1p(2 * math.sinh(eta / 2) ** 2)
    return eta + math.log1p(math.exp(-2 * eta)) - math.log(2)


def _largest_alpha(delta: float) -> float:
    """Solve eta delta = ln cosh eta by bisection between the optimal eta and one too large; delta < 1."""
    low, high = math.atanh(delta), math.log(2) / (1 - delta) + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * delta > ln_cosh(middle) else (low, middle)
    return math.exp(low)


@theorem(
    PassiveAggressive,
    "PA: R^2 U;  PA-I: max(R^2, 1/C) (U + 2 C hinge / delta);"
    "  PA-II: (R^2 + 1/(2C)) (U + 2 C squares / delta^2);  R = max|z|_2,  U = |u|_2^2 / delta^2",
    "Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, JMLR 2006, Theorems 2 (PA), 4 (PA-I) and 5 (PA-II)",
)
def passive_aggressive(rule: PassiveAggressive, case: Case) -> float:
    """A mistake has a loss of at least 1; for PA-I a margin other than 1 is equivalent to another C."""
    R2, U = case.instance_norm(2) ** 2, (case.comparator_norm(2) / case.delta) ** 2
    if rule.kind == "PA":
        require(case.hinge == 0, f'kind="PA" has a bound only without noise (got a hinge of {case.hinge:g})')
        return R2 * U
    if rule.kind == "PA-I":
        C = rule.C / rule.slack
        return max(R2, 1 / C) * (U + 2 * C * case.hinge / case.delta)
    squares = 0.0 if case.hinge == 0 else case.squares
    if squares is None:
        raise AssumptionError('kind="PA-II" requires the sum of the squared hinges: pass squares=')
    return (R2 + 0.5 / rule.C) * (U + 2 * rule.C * squares / case.delta**2)


def parameter_mixing_bound(radius: float, margin: float) -> float:
    """Return the bound of a Perceptron whose shards are mixed after each epoch: R² / γ².

    It holds for the sum over all epochs of the *mean* number of mistakes of a shard, where the data are
    separable and the weights of all shards have the same share in the mix. In total, S shards may make S
    times as many mistakes.

    Parameters
    ----------
    radius : float
        R, the largest Euclidean length of z, the votes for the label minus the votes for another class.
    margin : float
        γ, the smallest u . z of some weights u of length 1.

    References
    ----------
    McDonald, Hall & Mann, Distributed training strategies for the structured perceptron, NAACL 2010, theorem
    on iterative parameter mixing.

    Examples
    --------
    >>> from linmax.bounds import parameter_mixing_bound
    >>> parameter_mixing_bound(radius=4.0, margin=0.5)
    64.0
    """
    if not (radius > 0 and margin > 0):
        raise ValueError(
            f"the bound requires radius > 0 and margin > 0 (got {radius} and {margin}); without a margin"
            " there is none"
        )
    return (radius / margin) ** 2
