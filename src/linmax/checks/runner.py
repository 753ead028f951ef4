"""Which checks apply to a learner, and all of them in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linmax.checks import behaviour as manners
from linmax.checks import mathematics
from linmax.checks import mistake_bounds as promises
from linmax.checks.fixtures import layers_of, needs_of, rules_of, sources_of
from linmax.experts import Kernel, Pairs
from linmax.rules import Rule, cycle
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled

Check = Callable[[Any], None]


def applicable(learner: Learner) -> list[str]:
    """The names of the checks that apply, in the order in which they are run.

    >>> from linmax import Averaged, Logistic, Perceptron
    >>> "check_mistakes_within_bound" in applicable(Perceptron())
    True
    >>> "check_mistakes_within_bound" in applicable(Averaged(Logistic(0.1)))
    False
    """
    return [check.__name__ for check, applies in CHECKS if applies(learner)]


def check_learner(learner: Learner) -> None:
    """Run every check that applies; an AssertionError says in one sentence what failed.

    >>> from linmax import Averaged, Winnow
    >>> check_learner(Averaged(Winnow(1.3)))
    """
    for check, applies in CHECKS:
        if applies(learner):
            check(learner)


def check_rule(rule: Rule) -> None:
    """Run every check that applies to a rule: alone, averaged, recycled, and both.

    >>> from linmax import Perceptron
    >>> check_rule(Perceptron())
    """
    if not isinstance(rule, Rule):
        raise AssertionError(f"{rule!r} is not a rule; derive it from linmax.Rule")
    for learner in (
        rule,
        Averaged(rule),
        Recycled(rule, size=10),
        Averaged(Recycled(rule, size=10, updates=2)),
    ):
        check_learner(learner)


def _always(learner: Any) -> bool:
    return True


def _votes(learner: Any) -> bool:
    return "votes" in needs_of(learner)


def _bounded_sources(learner: Any) -> bool:
    parts = sources_of(learner)
    limits = [part.limit for part in parts if isinstance(part, Pairs)]
    return None not in limits + [part.budget for part in parts if isinstance(part, Kernel)]


def _claims(what: str) -> Callable[[Any], bool]:
    """A rule alone that says so of itself, on sources that say so of themselves."""
    return lambda learner: (
        isinstance(learner, Rule) and what in learner.claims and mathematics.holds(learner, what)
    )


def _adds(learner: Any) -> bool:
    rule = learner
    return _claims("theta adds z")(rule) and rule.rivals == "top" and rule.first() == 0.0


def _still(learner: Any) -> bool:
    rule = learner
    return isinstance(rule, Rule) and "conservative" in rule.claims and rule.threshold() < float("inf")


def _permutes(learner: Any) -> bool:
    """Not when recycled: a second look at a trial may meet a margin that is exactly what a rule asked for."""
    rules = rules_of(learner)
    fair = all("permutes" in rule.claims and not isinstance(rule.rivals, cycle) for rule in rules)
    techniques = [type(layer) for layer in layers_of(learner)]
    return fair and Recycled not in techniques and mathematics.holds(learner, "permutes")


def _averages(learner: Any) -> bool:
    return isinstance(learner, Averaged) and mathematics.holds(learner, "mean")


def _promised(learner: Any) -> bool:
    rules = rules_of(learner)
    return (
        len(rules) == 1
        and "bound" in rules[0].claims
        and rules[0].experts is None
        and bool(promises.promised(learner))
    )


CHECKS: list[tuple[Check, Callable[[Any], bool]]] = [
    (manners.check_repr_parses_back, manners.is_registered),
    (manners.check_bad_parameters_are_named, _always),
    (manners.check_inputs_are_left_alone, _always),
    (manners.check_predict_is_pure, _always),
    (manners.check_pieces_make_the_whole, _always),
    (manners.check_saving_changes_nothing, manners.is_registered),
    (manners.check_forms_agree, _votes),
    (manners.check_deterministic, _always),
    (manners.check_compiles_once, _always),
    (manners.check_memory_is_bounded, _bounded_sources),
    (mathematics.check_compiled_equals_interpreted, _always),
    (mathematics.check_ties_ignore_the_label, _always),
    (mathematics.check_silent_experts_change_nothing, _votes),
    (mathematics.check_still_when_right, _still),
    (mathematics.check_theta_adds_z, _adds),
    (mathematics.check_constants_change_nothing, _claims("shift")),
    (mathematics.check_permutations_permute, _permutes),
    (mathematics.check_average_is_the_mean, _averages),
    (promises.check_mistakes_within_bound, _promised),
    (mathematics.check_no_overflow, _always),
]
