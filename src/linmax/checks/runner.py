"""Run the checks that apply to a learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linmax.checks import behaviour, mathematics, mistake_bounds
from linmax.checks.fixtures import needs_of, nested_learners, rules_of, sources_of
from linmax.experts import Kernel, Pairs
from linmax.rules import Cycle, Rule
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled, WeightedMajority, WinnowSearch

Check = Callable[[Any], None]


def applicable(learner: Learner) -> list[str]:
    """Return the names of the checks that apply, in the order in which they run.

    Parameters
    ----------
    learner : Learner
        The learner.

    Returns
    -------
    names : list of str
        The names of the checks.

    Examples
    --------
    >>> from linmax import Averaged, Logistic, Perceptron
    >>> "check_mistakes_within_bound" in applicable(Perceptron())
    True
    >>> "check_mistakes_within_bound" in applicable(Averaged(Logistic(0.1)))
    False
    """
    return [check.__name__ for check, applies in CHECKS if applies(learner)]


def check_learner(learner: Learner) -> None:
    """Run every check that applies to a learner.

    Parameters
    ----------
    learner : Learner
        The learner to check.

    Raises
    ------
    AssertionError
        If a check fails; the message is one sentence.

    Examples
    --------
    >>> from linmax import Averaged, Winnow
    >>> check_learner(Averaged(Winnow(1.3)))
    """
    for check, applies in CHECKS:
        if applies(learner):
            check(learner)


def check_rule(rule: Rule) -> None:
    """Run every check that applies to a rule: alone, averaged, recycled, and both.

    Parameters
    ----------
    rule : Rule
        The rule to check.

    Raises
    ------
    AssertionError
        If a check fails; the message is one sentence.

    Examples
    --------
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


def _uses_votes(learner: Any) -> bool:
    return "votes" in needs_of(learner)


def _bounded_sources(learner: Any) -> bool:
    parts = sources_of(learner)
    limits = [part.limit for part in parts if isinstance(part, Pairs)]
    return None not in limits + [part.budget for part in parts if isinstance(part, Kernel)]


def _claims(what: str) -> Callable[[Any], bool]:
    """Return a test for a single rule that declares the property, on sources that declare it, too."""
    return lambda learner: (
        isinstance(learner, Rule) and what in learner.claims and mathematics.holds(learner, what)
    )


def _adds_z(learner: Any) -> bool:
    rule = learner
    return _claims("theta adds z")(rule) and rule.rivals == "top" and rule.first() == 0.0


def _conservative(learner: Any) -> bool:
    rule = learner
    return isinstance(rule, Rule) and "conservative" in rule.claims and rule.threshold() < float("inf")


def _permutes(learner: Any) -> bool:
    """Learners with exact ties are excluded, since these go to the first class.

    Recycled ones may have a margin that equals the threshold on a second visit, and members of equal weight
    may vote for different classes.
    """
    rules = rules_of(learner)
    declared = all("permutes" in rule.claims and not isinstance(rule.rivals, Cycle) for rule in rules)
    tied = Recycled | WeightedMajority | WinnowSearch
    ties = any(isinstance(layer, tied) for layer in nested_learners(learner))
    return declared and not ties and mathematics.holds(learner, "permutes")


def _averages(learner: Any) -> bool:
    return isinstance(learner, Averaged) and mathematics.holds(learner, "mean")


def _has_bound(learner: Any) -> bool:
    rules = rules_of(learner)
    return (
        len(rules) == 1
        and "bound" in rules[0].claims
        and rules[0].experts is None
        and bool(mistake_bounds.separable_bounds(learner))
    )


CHECKS: list[tuple[Check, Callable[[Any], bool]]] = [
    (behaviour.check_repr_parses_back, behaviour.is_registered),
    (behaviour.check_bad_parameters_are_named, _always),
    (behaviour.check_inputs_unchanged, _always),
    (behaviour.check_predict_is_pure, _always),
    (behaviour.check_chunks_equal_whole, _always),
    (behaviour.check_saving_changes_nothing, behaviour.is_registered),
    (behaviour.check_vote_formats_agree, _uses_votes),
    (behaviour.check_deterministic, _always),
    (behaviour.check_compiles_once, _always),
    (behaviour.check_memory_is_bounded, _bounded_sources),
    (mathematics.check_compiled_equals_interpreted, _always),
    (mathematics.check_ties_ignore_the_label, _always),
    (mathematics.check_silent_experts_change_nothing, _uses_votes),
    (mathematics.check_no_move_when_right, _conservative),
    (mathematics.check_theta_adds_z, _adds_z),
    (mathematics.check_constants_change_nothing, _claims("shift")),
    (mathematics.check_permutations_permute, _permutes),
    (mathematics.check_average_is_the_mean, _averages),
    (mistake_bounds.check_mistakes_within_bound, _has_bound),
    (mathematics.check_no_overflow, _always),
]
