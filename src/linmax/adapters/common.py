"""What every adapter does with a session: begin it, announce classes, and turn scores into probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.experts import Source
from linmax.fusion import Fusion
from linmax.spec import Learner, parse, short
from linmax.techniques import recommended

Scores = NDArray[np.float64]


def settled(learner: Learner | str | None) -> Learner:
    """A learner, its `repr` or None (which is `recommended()`) as a learner.

    >>> settled("Averaged(Winnow(1.2))")
    Averaged(Winnow(1.2))
    """
    made = recommended() if learner is None else parse(learner) if isinstance(learner, str) else learner
    if not isinstance(made, Learner):
        raise ValueError(
            f"learner must be a learner, its text or None (got {short(learner)}); try Winnow(1.2)"
        )
    return made


def over(source: Source, learner: Learner | str | None) -> tuple[Learner, bool]:
    """The learner over a source of attributes, unless it has sources of its own; and whether it had none.

    >>> from linmax.experts import Attributes
    >>> over(Attributes(), "Averaged(Perceptron())")
    (Averaged(Perceptron().on(Attributes())), True)
    >>> over(Attributes(), "Perceptron().on(Kernel())")
    (Perceptron().on(Kernel(Gaussian(1.0))), False)
    """
    made = settled(learner)
    rules = leaves(made)
    bare = all(getattr(rule, "experts", None) is None for rule in rules)
    if bare and all(hasattr(rule, "experts") for rule in rules):
        return made.on(source), True
    if any(getattr(rule, "experts", None) is None or _listens(rule.experts) for rule in rules):
        raise ValueError(
            f"a classifier of attributes hears no votes, and {short(made)} needs some;"
            " take rules on Attributes(), or leave .on(...) out"
        )
    return made, False


def _listens(source: Source) -> bool:
    return any(part.needs == "votes" for part in source.parts)


def leaves(learner: Any) -> list[Any]:
    """The rules (and whatever else learns by itself) inside techniques and committees."""
    if getattr(learner, "members", None) is not None:
        return [leaf for member in learner.members for leaf in leaves(member)]
    return leaves(learner.inner) if hasattr(learner, "inner") else [learner]


def announce(fusion: Fusion, classes: Iterable[Any]) -> None:
    """Let a session know of classes before anybody has named them; those it knows are left out."""
    new = [name for name in classes if fusion.names.classes.get(name) < 0]
    if new:
        fusion.names.classes.extend(new)
        fusion._council.version += 1


def softmax(scores: Scores) -> Scores:
    """Scores as probabilities: exp(s) / sum exp(s), row by row.

    >>> softmax(np.log([[0.2, 0.6]])).round(3)
    array([[0.25, 0.75]])
    """
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.finfo(np.float64).max))
    shares: Scores = shifted / shifted.sum(axis=1, keepdims=True)
    return shares
