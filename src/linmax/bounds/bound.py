"""The mistake bound of a learner in a case: a number, or the reason why no theorem applies."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import NamedTuple

from linmax.bounds.case import Case
from linmax.bounds.theorems import THEOREMS, AssumptionError, require_mistake_driven
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled


class MistakeBound(NamedTuple):
    """A bound on mistakes with its formula and source.

    Parameters
    ----------
    value : float or None
        The largest number of mistakes; None if no theorem applies.
    formula : str
        The formula of the theorem.
    source : str
        The publication of the theorem.
    reason : str
        Why there is no value.
    """

    value: float | None
    formula: str = ""
    source: str = ""
    reason: str = ""


@functools.singledispatch
def bound(learner: Learner, case: Case) -> float | None:
    """Return the largest number of mistakes a learner can make in a case, on any stream.

    `mistake_bound` also returns the formula and its source, or the reason why there is no bound. For a rule
    of your own, register a function with `@bound.register`; its docstring is the formula.

    Parameters
    ----------
    learner : Learner
        A rule, or a technique around one.
    case : Case
        The comparator, its margin and its noise.

    Returns
    -------
    mistakes : float or None
        The bound; None if no theorem applies.

    Examples
    --------
    >>> from linmax import Perceptron, Winnow
    >>> from linmax.bounds import Case, bound
    >>> case = Case(n=10_000, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> bound(Perceptron(), case), bound(Winnow.for_margin(1 / 3), case), bound(Winnow(3.0), case)
    (30000.0, 143.2, None)
    >>> import math
    >>> from dataclasses import dataclass
    >>> from linmax.rules import Rule
    >>> @dataclass(frozen=True, repr=False)
    ... class Halving(Rule):
    ...     '''Predict with the experts that were never wrong.'''
    >>> @bound.register
    ... def _(rule: Halving, case: Case) -> float | None:
    ...     '''log2 n, if one expert is perfect'''
    ...     return math.log2(case.n) if case.delta == 1 else None
    >>> bound(Halving(), Case(n=1024, delta=1.0))
    10.0
    """
    return mistake_bound(learner, case).value


_unregistered = bound.dispatch(object)


def mistake_bound(learner: Learner, case: Case) -> MistakeBound:
    """Return the bound with its formula and source, or the reason why there is none.

    Parameters
    ----------
    learner : Learner
        A rule, or a technique around one.
    case : Case
        The comparator, its margin and its noise.

    Returns
    -------
    result : MistakeBound
        The value, formula, source and reason.

    Examples
    --------
    >>> from linmax import Averaged, Winnow
    >>> from linmax.bounds import Case, mistake_bound
    >>> mistake_bound(Winnow(1.2), Case(n=100, delta=1 / 3)).formula
    '(ln n + sum u ln u + eta hinge) / (eta delta - ln cosh eta),  eta = ln alpha'
    >>> mistake_bound(Winnow(3.0), Case(n=100, delta=1 / 3)).reason
    'alpha = 3 is too large for a margin of 0.333: the bound requires alpha < 2.06, and 1.41 is optimal'
    >>> mistake_bound(Averaged(Winnow(1.2)), Case(n=100, delta=1 / 3)).reason
    'Averaged predicts with a mean of hypotheses, for which an adversary can cause any number of mistakes'
    """
    registered = bound.dispatch(type(learner))
    if registered is not _unregistered:
        formula, source = (registered.__doc__ or "").strip(), f"registered in {registered.__module__}"
        return MistakeBound(registered(learner, case), formula, source)
    if isinstance(learner, Recycled):
        return _recycled(learner, case)
    if isinstance(learner, Averaged):
        reason = (
            "Averaged predicts with a mean of hypotheses, for which an adversary can cause any number of"
            " mistakes"
        )
        return MistakeBound(None, reason=reason)
    theorem = THEOREMS.get(type(learner))  # not that of a base class: a subclass may move differently
    if theorem is None:
        reason = f"no bound is known for {learner!r}; register one with @bound.register"
        return MistakeBound(None, reason=reason)
    try:
        require_mistake_driven(learner.rule, case)
        return MistakeBound(theorem.value(learner, case), theorem.formula, theorem.source)
    except AssumptionError as error:
        return MistakeBound(None, theorem.formula, theorem.source, str(error))


def _recycled(learner: Recycled, case: Case) -> MistakeBound:
    """Apply the inner bound: an instance that may be used m times counts as m instances in the proof."""
    if learner.updates is None and case.hinge > 0:
        reason = "an instance that is reused without limit repeats its noise; set updates=1"
        return MistakeBound(None, reason=reason)
    times = learner.updates or 1  # without noise an instance may be reused without limit
    squares = None if case.squares is None else times * case.squares
    return mistake_bound(learner.inner, replace(case, hinge=times * case.hinge, squares=squares))
