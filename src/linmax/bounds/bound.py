"""What is promised to a learner in a case: a number, or the reason why there is none."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linmax.bounds.case import Case, leads, rows
from linmax.bounds.theorems import THEOREMS, MisfitError, demand_mistake_driven
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled

CANDIDATES = 64  # margins that `tightest` tries


class Promise(NamedTuple):
    """At most `value` mistakes, by which formula and whose theorem; without a value, for which reason."""

    value: float | None
    formula: str = ""
    source: str = ""
    reason: str = ""


@functools.singledispatch
def bound(learner: Learner, case: Case) -> float | None:
    """The most mistakes a learner can make in this case, on any stream whatever; None when no theorem says.

    `promise` also tells the formula and its source, or the reason. For a rule of your own, register it:

    >>> from linmax import Perceptron, Winnow
    >>> from linmax.bounds import Case, bound
    >>> case = Case(n=10_000, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> bound(Perceptron(), case), bound(Winnow.for_margin(1 / 3), case), bound(Winnow(3.0), case)
    (30000.0, 143.2, None)
    >>> from dataclasses import dataclass
    >>> from linmax.rules import Rule
    >>> @dataclass(frozen=True, repr=False)
    ... class Halving(Rule):
    ...     '''Asks those who were never wrong.'''
    >>> @bound.register
    ... def _(rule: Halving, case: Case) -> float | None:
    ...     '''log2 n, if one expert is perfect'''
    ...     return math.log2(case.n) if case.delta == 1 else None
    >>> bound(Halving(), Case(n=1024, delta=1.0))
    10.0
    """
    return promise(learner, case).value


_anyone = bound.dispatch(object)


def promise(learner: Learner, case: Case) -> Promise:
    """The bound with its formula and source, or the reason why there is none.

    >>> from linmax import Averaged, Winnow
    >>> from linmax.bounds import Case, promise
    >>> promise(Winnow(1.2), Case(n=100, delta=1 / 3)).formula
    '(ln n + sum u ln u + eta hinge) / (eta delta - ln cosh eta),  eta = ln alpha'
    >>> promise(Winnow(3.0), Case(n=100, delta=1 / 3)).reason
    'alpha = 3 is too large for a margin of 0.333: a bound needs alpha < 2.06, and 1.41 has the best'
    >>> promise(Averaged(Winnow(1.2)), Case(n=100, delta=1 / 3)).reason
    'Averaged guesses with a mean of hypotheses, and an adversary can fool that for ever'
    """
    own = bound.dispatch(type(learner))
    if own is not _anyone:
        return Promise(own(learner, case), (own.__doc__ or "").strip(), f"registered in {own.__module__}")
    if isinstance(learner, Recycled):
        return _recycled(learner, case)
    if isinstance(learner, Averaged):
        reason = "Averaged guesses with a mean of hypotheses, and an adversary can fool that for ever"
        return Promise(None, reason=reason)
    theorem = THEOREMS.get(type(learner))  # not a subclass's: that may move differently
    if theorem is None:
        return Promise(None, reason=f"no bound is known for {learner!r}; register one with @bound.register")
    try:
        demand_mistake_driven(learner.rule, case)
        return Promise(theorem.value(learner, case), theorem.formula, theorem.source)
    except MisfitError as misfit:
        return Promise(None, theorem.formula, theorem.source, str(misfit))


def _recycled(learner: Recycled, case: Case) -> Promise:
    """To the proof an instance that may serve m times is m instances; without noise it may serve for ever."""
    if learner.updates is None and case.hinge > 0:
        return Promise(None, reason="an instance that serves without limit repeats its noise; set updates=1")
    times = learner.updates or 1
    squares = None if case.squares is None else times * case.squares
    return promise(learner.inner, replace(case, hinge=times * case.hinge, squares=squares))


def tightest(learner: Learner, u: Any, instances: Any) -> Case:
    """The case of u at the margin that promises most: with noise, more margin is more hinge.

    >>> import numpy as np
    >>> from linmax import Perceptron
    >>> from linmax.bounds import bound, tightest
    >>> z = np.array([[1, 1], [1, 1], [1, 0], [-1, 0]])
    >>> case = tightest(Perceptron(), [1, 1], z)
    >>> case.delta, case.hinge, round(bound(Perceptron(), case), 1)
    (2.0, 4.0, 4.4)
    """
    z, trial = rows(instances)
    worst = np.unique(leads(np.asarray(u, dtype=np.float64), z, trial))
    worst = worst[worst > 0]
    if not len(worst):
        raise ValueError("u is right on no trial and promises nothing; fit one with linmax.svm.comparator")
    chosen = worst[np.unique(np.linspace(0, len(worst) - 1, CANDIDATES).astype(int))]
    cases = [Case.of(u, instances, margin=float(margin)) for margin in chosen]
    return min(cases, key=lambda case: _or_infinite(bound(learner, case)))


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value
