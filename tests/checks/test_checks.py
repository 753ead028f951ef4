"""The common checks: every rule passes them, and what is broken does not."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

import linmax
from linmax import (
    Alma,
    Averaged,
    BalancedWinnow,
    Logistic,
    Perceptron,
    Recycled,
    Romma,
    Rule,
    Winnow,
    checks,
    cycle,
)
from linmax.bounds import Case, bound
from linmax.experts import PerClass, Thresholds, Votes
from linmax.rules import MOVED, STILL
from tests.oracles.drive import own_rules

VARIANTS = [
    Perceptron(start="equal", ties=True),
    Perceptron(slack=0.5, rivals="violators"),
    BalancedWinnow(1.3, rivals="softmax"),
    Winnow(1.3, rivals=cycle(2)),
    Romma(aggressive=0.1),
    Alma(3.0, 0.9),
    Logistic(0.3, decay="sqrt", start="equal"),
]


@pytest.mark.parametrize("rule", own_rules().values(), ids=lambda rule: rule.__name__)
def test_every_rule_passes_every_check(rule: type[Rule]) -> None:
    checks.check_rule(rule())


@pytest.mark.parametrize("rule", VARIANTS, ids=repr)
def test_every_option_passes_every_check(rule: Rule) -> None:
    checks.check_learner(rule)


def test_a_bound_is_checked_with_recycling_too() -> None:
    assert "check_mistakes_within_bound" in checks.applicable(Recycled(Winnow(1.3), updates=1))
    checks.check_mistakes_within_bound(Recycled(Perceptron(), size=20, updates=1))
    assert "check_mistakes_within_bound" not in checks.applicable(Averaged(Perceptron()))


def test_every_check_is_public_and_named_by_some_learner() -> None:
    every = {name for name in checks.__all__ if name.startswith("check_")} - {"check_rule", "check_learner"}
    named = set(checks.applicable(Perceptron())) | set(checks.applicable(Averaged(Logistic(0.1))))
    assert every == named


def test_a_lambda_is_checked_but_for_what_needs_a_name() -> None:
    learner = linmax.QuasiAdditive(lambda theta: 2 * theta)
    names = checks.applicable(learner)
    assert "check_saving_changes_nothing" not in names
    assert "check_repr_parses_back" not in names
    assert "check_deterministic" in names


# --- what is broken


def plain(p, s, theta, w, index, value, margin):
    for i, z in zip(index, value):  # noqa: B905
        theta[i] += z
        w[i] = theta[i]
    return MOVED


@dataclass(frozen=True, repr=False)
class Twofold(Rule):
    """Says that theta adds z, and adds it twice."""

    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z"}

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += 2.0 * z
            w[i] = theta[i]
        return MOVED


@dataclass(frozen=True, repr=False)
class FirstComeFirstServed(Rule):
    """Trusts experts by their number."""

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += z
            w[i] = theta[i] / (1.0 + i)
        return MOVED


@dataclass(frozen=True, repr=False)
class Tenfold(Rule):
    """Grows until nothing can hold it."""

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] = 10.0 * theta[i] + z
            w[i] = theta[i]
        return MOVED


@dataclass(frozen=True, repr=False)
class Stubborn(Rule):
    """Never moves, and promises one mistake."""

    claims: ClassVar[frozenset[str]] = frozenset({"bound"})

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        return STILL


@bound.register
def _(rule: Stubborn, case: Case) -> float | None:
    """one"""
    return 1.0


@dataclass(frozen=True, repr=False)
class Careless(Rule):
    """Takes any rate."""

    rate: float = 0.5
    bold: bool = field(default=False, kw_only=True)
    update = staticmethod(plain)

    def parameters(self) -> tuple[float, ...]:
        return (self.rate,)


@dataclass(frozen=True, repr=False)
class Grumpy(Careless):
    """Refuses a rate without saying what it refuses."""

    def check(self) -> None:
        if not math.isfinite(self.rate):
            raise ValueError("no")


@pytest.mark.parametrize(
    ("check", "rule", "says"),
    [
        (checks.check_theta_adds_z, Twofold(), "theta changes by"),
        (checks.check_permutations_permute, FirstComeFirstServed(), "experts permuted"),
        (checks.check_no_overflow, Tenfold(), "not finite"),
        (checks.check_mistakes_within_bound, Stubborn(), "bound of 1.0"),
        (checks.check_bad_parameters_are_named, Careless(), "accepts rate=nan"),
        (checks.check_bad_parameters_are_named, Grumpy(), "without naming it"),
    ],
)
def test_what_is_broken_fails_with_a_sentence(check, rule: Rule, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check(rule)


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(AssertionError, match="not a rule"):
        checks.check_rule(Averaged(Perceptron()))


def test_a_check_applies_where_rule_and_source_both_claim_it() -> None:
    shift = "check_constants_change_nothing"
    assert shift in checks.applicable(Perceptron().on(Votes()))
    assert shift in checks.applicable(Perceptron().on(Votes() + Thresholds()))
    assert shift not in checks.applicable(Perceptron().on(Votes("softmax")))
    assert shift not in checks.applicable(Perceptron().on(Votes() + PerClass()))
    assert shift not in checks.applicable(Logistic(0.1).on(Votes()))
