"""Mistake bounds of `WinnowSearch`: against its best member, and against the best learning rate."""

from __future__ import annotations

import math

from linmax.bounds.bound import bound
from linmax.bounds.case import Case
from linmax.techniques import WinnowSearch
from linmax.techniques.winnow_search import FIRST
from linmax.validation import is_finite, is_integer, require


def search_bound(learner: WinnowSearch, case: Case, trials: int) -> float | None:
    """Return the largest number of mistakes of a `WinnowSearch` after so many labelled trials.

    M <= (ln N + R ln(N / (N - 1)) + B ln m) / ln(2m / (m + 1))

    N is the number of members with all copies, R the number of copies that have replaced others, B the
    smallest bound of a given member, and m the multiplier.

    Parameters
    ----------
    learner : WinnowSearch
        The committee.
    case : Case
        The comparator, its margin and its noise.
    trials : int
        The number of labelled trials.

    Returns
    -------
    mistakes : float or None
        The bound; None if no member has one.

    References
    ----------
    Littlestone & Warmuth, The weighted majority algorithm, 1994. The proof is on the page on bounds.

    Examples
    --------
    >>> from linmax import Winnow, WinnowSearch
    >>> from linmax.bounds import Case, bound, search_bound
    >>> case = Case(n=1000, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> round(bound(Winnow.for_margin(1 / 3), case)), round(search_bound(WinnowSearch(), case, 10_000))
    (103, 280)
    """
    require(is_integer(trials) and trials >= 0, f"search_bound requires trials >= 0 (got {trials!r})")
    bounds = [found for member in learner.members if (found := bound(member, case)) is not None]
    if not bounds:
        return None
    members = len(learner.members) + learner.slots
    copies = (trials // FIRST).bit_length()  # after FIRST, 2 FIRST, 4 FIRST, ... trials
    replaced = max(0, copies - learner.slots)
    weight = math.log(members) + replaced * math.log(members / (members - 1))
    lost = math.log(learner.multiplier)
    return (weight + min(bounds) * lost) / (math.log(2) + lost - math.log1p(learner.multiplier))


def grid_factor(ratio: float, *, noise: bool = True) -> float:
    """Return by which factor the best of a grid of learning rates may exceed the bound of the best rate.

    With noise it is the ratio of neighbours in the grid, and without noise (1 + ratio)^2 / (4 ratio). The
    best rate must be between the smallest and the largest of the grid, and the bound of Winnow is taken with
    ln cosh eta <= eta^2 / 2.

    Parameters
    ----------
    ratio : float
        Each learning rate of the grid divided by the next smaller one, above 1.
    noise : bool, default True
        Whether the comparator may have noise.

    Examples
    --------
    >>> from linmax.bounds import grid_factor
    >>> grid_factor(3.0), round(grid_factor(3.0, noise=False), 3), grid_factor(2.0, noise=False)
    (3.0, 1.333, 1.125)
    """
    require(is_finite(ratio) and ratio > 1, f"grid_factor requires ratio > 1 (got {ratio!r})")
    return float(ratio) if noise else (1.0 + ratio) ** 2 / (4.0 * ratio)
