"""The common checks: every rule passes them, and broken rules fail."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

import linmax
from linmax import (
    AdaptiveWinnow,
    Alma,
    Averaged,
    BalancedWinnow,
    Cycle,
    Fusion,
    Logistic,
    Mixture,
    Perceptron,
    Recycled,
    Romma,
    Rule,
    WeightedMajority,
    Winnow,
    WinnowSearch,
    checks,
)
from linmax._jit.compilation import interpreted
from linmax.bounds import Case, bound
from linmax.checks import behaviour, mathematics
from linmax.checks.fixtures import CheckData, make_data
from linmax.experts import PerClass, Thresholds, Votes
from linmax.rules import MOVED, STILL
from linmax.spec import Learner
from tests.helpers.compare_rules import own_rules
from tests.helpers.examples import EVERYTHING

VARIANTS = [
    Perceptron(start="equal", ties=True),
    Perceptron(slack=0.5, rivals="violators"),
    BalancedWinnow(1.3, rivals="softmax"),
    Winnow(1.3, rivals=Cycle(2)),
    Romma(aggressive=0.1),
    pytest.param(AdaptiveWinnow(0.5), marks=pytest.mark.slow),  # another rate than the default
    Alma(3.0, alpha=0.9),
    Logistic(0.3, decay="sqrt", start="equal"),
]


@pytest.fixture
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fraction of the trials that are given one by one, or in which a factor per trial overflows."""
    if not EVERYTHING:
        monkeypatch.setattr(mathematics, "LONG_RUN", 25_000)
        monkeypatch.setattr(mathematics, "make_data", less_data)


def less_data(learner: Learner, trials: int, **options: Any) -> CheckData:
    return make_data(learner, {80: 40, 400: 100}.get(trials, trials), **options)


@pytest.mark.usefixtures("shorter")
@pytest.mark.parametrize("rule", own_rules().values(), ids=lambda rule: rule.__name__)
def test_every_rule_passes_every_check(rule: type[Rule]) -> None:
    checks.check_learner(rule())
    if EVERYTHING or rule in (Winnow, Romma):  # the oracles have all rules and techniques
        checks.check_learner(Averaged(Recycled(rule(), size=10, updates=2)))


@pytest.mark.slow  # the docstring of check_rule does so for the Perceptron
@pytest.mark.parametrize("rule", [rule() for rule in own_rules().values()], ids=repr)
def test_every_rule_passes_every_check_with_every_technique(rule: Rule) -> None:
    checks.check_rule(rule)


def test_a_million_adversarial_trials_overflow_nothing() -> None:
    assert mathematics.LONG_RUN == 1_000_000
    checks.check_no_overflow(Winnow())


@pytest.mark.usefixtures("shorter")
@pytest.mark.parametrize("rule", VARIANTS, ids=repr)
def test_every_option_passes_every_check(rule: Rule) -> None:
    checks.check_learner(rule)


def test_a_bound_is_checked_with_recycling_too() -> None:
    assert "check_mistakes_within_bound" in checks.applicable(Recycled(Winnow(1.3), updates=1))
    checks.check_mistakes_within_bound(Recycled(Perceptron(), size=20, updates=1))
    assert "check_mistakes_within_bound" not in checks.applicable(Averaged(Perceptron()))


def test_every_check_is_public_and_applies_to_some_learner() -> None:
    every = {name for name in checks.__all__ if name.startswith("check_")} - {"check_rule", "check_learner"}
    named = set(checks.applicable(Perceptron())) | set(checks.applicable(Averaged(Logistic(0.1))))
    assert every == named


def test_an_unregistered_link_is_checked_except_for_saving() -> None:
    learner = linmax.QuasiAdditive(lambda theta: 2 * theta)
    names = checks.applicable(learner)
    assert "check_saving_changes_nothing" not in names
    assert "check_repr_parses_back" not in names
    assert "check_deterministic" in names


# --- broken rules


def plain(p, s, theta, w, index, value, margin):
    for i, z in zip(index, value):  # noqa: B905
        theta[i] += z
        w[i] = theta[i]
    return MOVED


@dataclass(frozen=True, repr=False)
class Doubled(Rule):
    """Declares that theta adds z, and adds it twice."""

    claims: ClassVar[frozenset[str]] = Rule.claims | {"theta adds z"}

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += 2.0 * z
            w[i] = theta[i]
        return MOVED


@dataclass(frozen=True, repr=False)
class Positional(Rule):
    """Weights experts by their position."""

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] += z
            w[i] = theta[i] / (1.0 + i)
        return MOVED


@dataclass(frozen=True, repr=False)
class Tenfold(Rule):
    """Grows until it overflows."""

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for i, z in zip(index, value):  # noqa: B905
            theta[i] = 10.0 * theta[i] + z
            w[i] = theta[i]
        return MOVED


@dataclass(frozen=True, repr=False)
class Motionless(Rule):
    """Never moves, and declares a bound of one mistake."""

    claims: ClassVar[frozenset[str]] = frozenset({"bound"})

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        return STILL


@bound.register
def _(rule: Motionless, case: Case) -> float | None:
    """one"""
    return 1.0


@dataclass(frozen=True, repr=False)
class Unchecked(Rule):
    """Accepts any rate."""

    rate: float = 0.5
    bold: bool = field(default=False, kw_only=True)
    update = staticmethod(plain)

    def parameters(self) -> tuple[float, ...]:
        return (self.rate,)


@dataclass(frozen=True, repr=False)
class Unclear(Unchecked):
    """Rejects a rate without naming it."""

    def check(self) -> None:
        if not math.isfinite(self.rate):
            raise ValueError("no")


@pytest.mark.usefixtures("shorter")
@pytest.mark.parametrize(
    ("check", "rule", "message"),
    [
        (checks.check_theta_adds_z, Doubled(), "theta changes by"),
        (checks.check_permutations_permute, Positional(), "experts permuted"),
        (checks.check_no_overflow, Tenfold(), "not finite"),
        (checks.check_mistakes_within_bound, Motionless(), "bound of 1.0"),
        (checks.check_bad_parameters_are_named, Unchecked(), "accepts rate=nan"),
        (checks.check_bad_parameters_are_named, Unclear(), "without naming it"),
    ],
)
def test_a_broken_rule_fails_with_one_sentence(check, rule: Rule, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(rule)


def test_anything_but_a_rule_is_rejected() -> None:
    with pytest.raises(AssertionError, match="not a rule"):
        checks.check_rule(Averaged(Perceptron()))


def test_classes_are_not_permuted_where_members_of_equal_weight_may_tie() -> None:
    permute = "check_permutations_permute"
    for tied in (WeightedMajority([Winnow(1.3), Winnow(2.0)]), WinnowSearch(), Recycled(Perceptron())):
        assert permute not in checks.applicable(tied)
    for other in (Winnow(1.3), Mixture([Winnow(1.3), Winnow(2.0)])):
        assert permute in checks.applicable(other)
        with interpreted():
            checks.check_permutations_permute(other)


def test_a_check_applies_where_rule_and_source_both_declare_it() -> None:
    shift = "check_constants_change_nothing"
    assert shift in checks.applicable(Perceptron().on(Votes()))
    assert shift in checks.applicable(Perceptron().on(Votes() + Thresholds()))
    assert shift not in checks.applicable(Perceptron().on(Votes(as_="softmax")))
    assert shift not in checks.applicable(Perceptron().on(Votes() + PerClass()))
    assert shift not in checks.applicable(Logistic(0.1).on(Votes()))


class Forgetful(Fusion):
    """A session that treats one-hot scores as abstentions."""

    def learn(self, votes=None, labels=None, **options):
        if getattr(votes, "ndim", 0) == 3:
            votes = votes * 0
        return super().learn(votes, labels, **options)


def test_vote_formats_that_disagree_fail(monkeypatch) -> None:
    checks.check_vote_formats_agree(Perceptron())
    monkeypatch.setattr(behaviour, "Fusion", Forgetful)
    with pytest.raises(AssertionError, match="on hard votes and on one-hot scores"):
        checks.check_vote_formats_agree(Perceptron())
