"""`margins`: how far each prediction leads its best rival."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linmax._jit.compilation import CompiledKernel

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

PROBABILITY_TOLERANCE = 1e-9
"""Scores are logarithms of probabilities if their exponentials add up to 1 within this tolerance."""


def margins(scores: Floats, known: Codes, codes: Codes, out: Floats | None = None) -> Floats:
    """Return how far the score of each prediction leads the highest of the other classes.

    Where scores are logarithms of probabilities (as those of `recommended()`), the margin is the difference
    of the two probabilities. Otherwise it is the difference of the two scores divided by the largest
    absolute score: 0 is a tie, and the largest margin is 1, or 2 if scores have signs. It is negative if
    another class has a higher score, as with costs of mistakes.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_classes)
        The scores.
    known : ndarray of shape (n_items,)
        The number of known classes of each item; later columns are ignored.
    codes : ndarray of shape (n_items,)
        The predictions. The lead of the best class is measured if a prediction is not among these columns.
    out : ndarray of shape (n_items,), optional
        Where to write the margins.

    Returns
    -------
    margins : ndarray of shape (n_items,)
        The margins; NaN with fewer than two classes.

    Examples
    --------
    >>> margins(np.array([[3.0, 1.0], [-1.0, 1.0]]), np.array([2, 2], np.int32), np.array([0, 1], np.int32))
    array([0.66666667, 2.        ])
    """
    out = np.empty(len(known)) if out is None else out
    _write_margins(np.ascontiguousarray(scores), known, codes, out)
    return out


def write_margins(scores, known, codes, out):  # type: ignore[no-untyped-def]
    """Write the margin of each row of scores; see `margins`."""
    for t in range(len(known)):
        k = known[t]
        first = -np.inf
        second = -np.inf
        largest = 0.0
        for c in range(k):
            score = scores[t, c]
            largest = max(largest, abs(score))
            if score > first:
                second = first
                first = score
            elif score > second:
                second = score
        if 0 <= codes[t] < k and scores[t, codes[t]] < first:  # another class has a higher score
            second = first
            first = scores[t, codes[t]]
        total = 0.0
        if max(first, second) <= 0.0:  # the scores may be logarithms of probabilities
            for c in range(k):
                total += math.exp(scores[t, c])
        if k < 2:
            out[t] = np.nan
        elif abs(total - 1.0) < PROBABILITY_TOLERANCE:
            out[t] = math.exp(first) - math.exp(second)
        elif largest > 0.0:
            out[t] = (first - second) / largest
        else:
            out[t] = 0.0


_write_margins = CompiledKernel(write_margins)
