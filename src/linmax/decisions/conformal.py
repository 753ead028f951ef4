"""Sets of classes with a long-run coverage, by adaptive conformal inference.

The set of an item has every class c such that the probabilities above that of c add up to at most theta. Once
the label is known, theta = max(0, theta + STEP (miss - (1 - coverage))), miss = 1 if the set lacked the label
and 0 otherwise. The best class is always in the set.

Long-run coverage for any stream: theta never exceeds 1 + STEP, because a set with theta >= 1 has all classes
and cannot miss. Adding up the steps gives  sum of (miss - (1 - coverage)) <= theta / STEP, so the share of
misses in T items is at most 1 - coverage + (1 + STEP) / (STEP T). Nothing is assumed about the items.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax.validation import is_finite, require

LEVELS = (
    0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.998,
    0.999,
)  # fmt: skip
"""The levels of coverage for which a session keeps a threshold."""
STEP = 0.02
TARGET, THETA, MISSES = 0, 1, 2  # rows of a table of levels
SIZES, SETS = 3, 4  # classes in all sets, and sets, while the level was watched
LEVEL_ROWS = 5


def new_levels() -> np.ndarray:
    """Return the table of levels before the first label: theta is the level itself."""
    table = np.zeros((LEVEL_ROWS, len(LEVELS)))
    table[TARGET] = table[THETA] = LEVELS
    return table


def level_of(coverage: float) -> int:
    """Return the column of the lowest level that is no lower than this one.

    Parameters
    ----------
    coverage
        The share of items whose set has the label.

    Examples
    --------
    >>> LEVELS[level_of(0.95)], LEVELS[level_of(0.94)]
    (0.95, 0.95)
    >>> level_of(0.9999)
    Traceback (most recent call last):
    ValueError: coverage must be above 0 and at most 0.999 (got 0.9999)
    """
    require(
        is_finite(coverage) and 0.0 < coverage <= LEVELS[-1],
        f"coverage must be above 0 and at most {LEVELS[-1]} (got {coverage!r})",
    )
    return bisect_left(LEVELS, float(coverage))


@inline
def mass_above(p, k, c):
    """Return the sum of the probabilities that are larger than that of class c."""
    above = 0.0
    own = p[c]
    for j in range(k):
        above += p[j] * (p[j] > own)  # a branch would be taken at random
    return above


@inline
def learn_levels(p, k, y, levels, watched):
    """Learn the label y; for the level `watched` (-1: none) the size of the set is counted, too."""
    if watched >= 0:
        levels[SETS, watched] += 1.0
        for c in range(k):
            levels[SIZES, watched] += 1.0 * (mass_above(p, k, c) <= levels[THETA, watched])
    above = mass_above(p, k, y)
    for j in range(levels.shape[1]):
        miss = 1.0 * (above > levels[THETA, j])
        levels[MISSES, j] += miss
        levels[THETA, j] = max(0.0, levels[THETA, j] + STEP * (miss - (1.0 - levels[TARGET, j])))


def sets_of(probabilities: np.ndarray, theta: float) -> np.ndarray:
    """Return which classes are in the set of each item.

    Parameters
    ----------
    probabilities
        Items by classes.
    theta
        The threshold.

    Examples
    --------
    >>> sets_of(np.array([[0.6, 0.1, 0.3], [0.96, 0.02, 0.02]]), 0.8)
    array([[ True, False,  True],
           [ True, False, False]])
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    ranked = np.take_along_axis(probabilities, order, axis=1)
    above = np.cumsum(ranked, axis=1) - ranked
    first = np.ones(ranked.shape, dtype=bool)  # of classes with equal probability, which share what is above
    first[:, 1:] = ranked[:, 1:] < ranked[:, :-1]
    above = np.maximum.accumulate(np.where(first, above, 0.0), axis=1)
    found = np.zeros(ranked.shape, dtype=bool)
    np.put_along_axis(found, order, above <= theta, axis=1)
    return found


def sets_while_learning(p, labels, known, levels, watched, inside):
    """Write which classes are in the set of each item for the level `watched`, and learn the labels.

    This is what happens to the levels while a session learns with these probabilities.

    Parameters
    ----------
    p
        The probabilities of each item before its label was seen: items by classes.
    labels, known
        The codes of the labels, and the number of classes known at each item.
    levels
        The table of levels before the first item; it changes.
    watched
        The column of the level.
    inside
        Takes the result: items by classes.
    """
    for t in range(len(p)):
        k, y = known[t], labels[t]
        for c in range(k):
            inside[t, c] = mass_above(p[t], k, c) <= levels[THETA, watched]
        if 0 <= y < k:
            learn_levels(p[t], k, y, levels, -1)


sets_along = CompiledKernel(sets_while_learning)


def named_sets(probabilities: np.ndarray, inside: np.ndarray, names: Sequence[Any]) -> list[list[Any]]:
    """Return the classes of each set, the most probable first.

    Parameters
    ----------
    probabilities, inside
        Items by classes: the probabilities, and which classes are in the set.
    names
        The names of the classes.

    Examples
    --------
    >>> named_sets(np.array([[0.3, 0.1, 0.6]]), np.array([[True, False, True]]), ["ham", "eggs", "spam"])
    [['spam', 'ham']]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    return [
        [names[c] for c in row if own[c]] for row, own in zip(order.tolist(), inside.tolist(), strict=True)
    ]


def add_unknown(sets: list[list[Any]], predicted: Sequence[Any], unknown: np.ndarray) -> list[list[Any]]:
    """Return the sets with the predictions that are classes without a probability, which come first.

    Parameters
    ----------
    sets
        The sets of classes with a probability.
    predicted
        The predictions.
    unknown
        Which of them are classes that only the votes on the item have named.

    Examples
    --------
    >>> add_unknown([["ham"], ["spam"]], ["ham", "eggs"], np.array([False, True]))
    [['ham'], ['eggs', 'spam']]
    """
    for row in np.flatnonzero(unknown).tolist():
        sets[row].insert(0, predicted[row])
    return sets


def miss_bound(items: int) -> float:
    """Return by how much the share of misses can exceed 1 - coverage after so many items, on any stream.

    Examples
    --------
    >>> round(miss_bound(1000), 3)
    0.051
    """
    return math.inf if items == 0 else (1.0 + STEP) / (STEP * items)
