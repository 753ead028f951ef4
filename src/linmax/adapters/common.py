"""Helpers for every adapter: the learner that its session has."""

from __future__ import annotations

from typing import Any

from linmax.experts import Source
from linmax.spec import Learner, parse, short
from linmax.techniques import recommended


def resolve_learner(learner: Learner | str | None) -> Learner:
    """Return a learner from a learner, its `repr`, or None, which stands for `recommended()`.

    >>> resolve_learner("Averaged(Winnow(1.2))")
    Averaged(Winnow(1.2))
    """
    resolved = recommended() if learner is None else parse(learner) if isinstance(learner, str) else learner
    if not isinstance(resolved, Learner):
        raise ValueError(
            f"learner must be a learner, its repr or None (got {short(learner)}); for example Winnow(1.2)"
        )
    return resolved


def learner_on_attributes(learner: Learner | str | None, default: Source) -> tuple[Learner, bool]:
    """Return the learner on sources of attributes, and whether the default source was used.

    None is the recommended committee on attributes. The default source applies when no rule of the learner
    has a source of its own.

    >>> from linmax.experts import Attributes
    >>> learner_on_attributes("Averaged(Perceptron())", Attributes())
    (Averaged(Perceptron().on(Attributes())), True)
    >>> learner_on_attributes("Perceptron().on(Kernel())", Attributes())
    (Perceptron().on(Kernel(Gaussian(1.0))), False)
    """
    if learner is None:
        return recommended(votes=False, attributes=True), False
    resolved = resolve_learner(learner)
    rules = base_learners(resolved)
    without_source = all(_source_of(rule) is None for rule in rules)
    if without_source and all(hasattr(rule, "experts") for rule in rules):
        return resolved.on(default), True
    if any(source is None or _needs_votes(source) for source in map(_source_of, rules)):
        raise ValueError(
            f"LinearMaxClassifier has attributes but no votes, and {short(resolved)} needs votes;"
            " use rules on Attributes(), or omit .on(...)"
        )
    return resolved, False


def _source_of(learner: Any) -> Source | None:
    """Return the source of a rule or of another learner without inner learners; None for votes."""
    return getattr(learner, "source", None) or getattr(learner, "experts", None)


def _needs_votes(source: Source) -> bool:
    return any(part.needs == "votes" for part in source.parts)


def base_learners(learner: Any) -> list[Any]:
    """Return the rules, and other learners without inner learners, inside techniques and ensembles."""
    if getattr(learner, "members", None) is not None:
        return [base for member in learner.members for base in base_learners(member)]
    return base_learners(learner.inner) if hasattr(learner, "inner") else [learner]
