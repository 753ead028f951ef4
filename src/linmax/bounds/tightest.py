"""The margin of a comparator at which the bound of a learner is smallest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from linmax.bounds.bound import mistake_bound
from linmax.bounds.case import Case, instance_rows, trial_margins
from linmax.rules.balanced_winnow import BalancedWinnow
from linmax.rules.winnow import Winnow
from linmax.spec import Learner

AnyLearner = TypeVar("AnyLearner", bound=Learner)

MIN_MARGIN = 1e-6
"""The smallest margin with sum |u| = 1: below it, the best alpha is 1 to all relevant digits."""

MARGINS = 200
"""Margins that are tried: as many of the comparator's own, as many on a grid, half as many near the best."""


def tightest(learner: Learner, u: Any, instances: Any) -> Case:
    """Return the case of u at the margin with the smallest bound; a larger margin has a larger hinge.

    Parameters
    ----------
    learner : Learner
        The learner whose bound is minimized.
    u : array-like of shape (n,)
        The weights of the comparator.
    instances : Instances or matrix of shape (rows, n)
        The result of `linmax.svm.instances`, or a matrix with one z per row.

    Returns
    -------
    case : Case
        The case with the smallest bound among some hundreds of margins.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Perceptron
    >>> from linmax.bounds import bound, tightest
    >>> z = np.array([[1, 1], [1, 1], [1, 0], [-1, 0]])
    >>> case = tightest(Perceptron(), [1, 1], z)
    >>> case.delta, case.hinge, round(bound(Perceptron(), case), 1)
    (2.0, 4.0, 4.4)
    """
    case, _ = tightest_for(lambda delta: learner, np.asarray(u, dtype=np.float64), instances)
    if case is None:
        raise ValueError("u is right on no trial and gives no bound; fit one with linmax.svm.comparator")
    return case


def tightest_for(
    make: Callable[[float], AnyLearner], u: np.ndarray, instances: Any
) -> tuple[Case | None, AnyLearner]:
    """Return the margin with the smallest bound, and the learner that `make` returns for it.

    The candidates are the values of u . z (or some of them), an even grid below the largest, and a finer one
    around the best. Without a bound it is the margin with the least noise, or for an alpha that is too large,
    the largest margin. If u is right on no trial, the case is None.
    """
    z, trial = instance_rows(instances)
    worst = np.sort(trial_margins(u, z, trial))
    least = MIN_MARGIN * float(np.abs(u).sum())
    own = np.unique(worst[(worst >= least) & (worst > 0)])
    if not len(own):
        return None, make(0.5)
    own = own[np.unique(np.linspace(0, len(own) - 1, MARGINS).astype(int))]
    base = Case.of(u, instances, margin=float(own[0]))
    reduced = replace(base, instances=_longest_rows(base, getattr(make(0.5), "p", 2.0)))
    top = float(own[-1])
    tried = np.unique(np.concatenate((own, np.linspace(max(least, top / MARGINS), top, MARGINS))))
    values = _bounds_at(make, reduced, worst, tried)
    at = int(np.argmin(values))
    if math.isinf(values[at]):
        limited = isinstance(make(0.5), Winnow | BalancedWinnow)
        delta = top if limited else float(own[0])
    else:
        fine = np.linspace(tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)], MARGINS // 2)
        near = np.append(fine, tried[at])
        delta = float(near[np.argmin(_bounds_at(make, reduced, worst, near))])
    return Case.of(u, instances, margin=delta), make(delta)


def _bounds_at(
    make: Callable[[float], Learner], case: Case, worst: np.ndarray, margins: np.ndarray
) -> list[float]:
    """The bound at each margin; hinge and squares are sums over the trials below the margin."""
    below = np.searchsorted(worst, margins)
    sums, squares = (np.concatenate(([0.0], np.cumsum(worst**power))) for power in (1, 2))
    hinge = np.maximum(below * margins - sums[below], 0.0)
    squared = np.maximum(below * margins**2 - 2 * margins * sums[below] + squares[below], 0.0)
    values = []
    for delta, noise, square in zip(margins.tolist(), hinge.tolist(), squared.tolist(), strict=True):
        value = mistake_bound(make(delta), replace(case, delta=delta, hinge=noise, squares=square)).value
        values.append(math.inf if value is None else value)
    return values


def _longest_rows(case: Case, p: float) -> Any:
    """The rows of z with the largest norms; the others do not change a bound and slow the search down."""
    z = case.instances
    lengths = (np.asarray(abs(z / case.largest).power(one).sum(axis=1)).ravel() for one in (2.0, p))
    return z[sorted({int(np.argmax(length)) for length in lengths})]
