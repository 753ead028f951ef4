"""Significance: the difference of two accuracies on the same items, its interval, and McNemar's test.

The interval and the p-value are one method: the interval holds the differences that the test would not
reject. It therefore excludes 0 if and only if the p-value is below 0.05.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

SIGNIFICANCE_LEVEL = 0.05
"""A difference is significant if its p-value is below this level."""
NORMAL_QUANTILE = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""
BISECTIONS = 50
"""Halvings of the range of differences when a limit of an interval is computed."""

BETTER, WORSE, NO_DIFFERENCE = "significantly better", "significantly worse", "no significant difference"


class Gain(NamedTuple):
    """The difference of two accuracies on the same items, with a 95 % confidence interval and a paired test.

    Attributes
    ----------
    trials : int
        The number of items.
    better, worse : float
        The items on which only the first or only the second predictor was correct. Where a predictor shares
        an item between several classes, these are the expected numbers if it drew one of them.
    gain : float
        The accuracy of the first minus that of the second.
    ci_low, ci_high : float
        The 95 % confidence interval of `gain`.
    p_value : float
        The p-value of McNemar's test. It is below 0.05 if and only if the interval excludes 0.
    """

    trials: int
    better: float
    worse: float
    gain: float
    ci_low: float
    ci_high: float
    p_value: float

    @property
    def conclusion(self) -> str:
        """Either "significantly better", "significantly worse" or "no significant difference"."""
        if self.p_value >= SIGNIFICANCE_LEVEL or not self.trials:
            return NO_DIFFERENCE
        return BETTER if self.better > self.worse else WORSE


def gain(trials: int, better: float, worse: float) -> Gain:
    """Compare two predictors on the same items.

    The test of a difference d is the score test with a correction for continuity:
    (|better - worse - trials d| - 1) / sqrt(trials (2 q + d (1 - d))), where q is the maximum likelihood
    estimate of the share of `worse` if the difference is d. For d = 0 it is McNemar's test with Edwards'
    correction. The interval holds all d that are not rejected. Both assume that items are independent draws;
    on a stream that drifts they say less.

    A predictor that shares an item between m tied classes is treated as if it drew one of them: an item adds
    1/m to one count and 1 - 1/m to the other, or nothing. The variance of a draw is larger than that of the
    share, so the test is on the safe side.

    Parameters
    ----------
    trials : int
        The number of items.
    better, worse : float
        The items on which only the first or only the second predictor was correct; see `Gain`.

    Returns
    -------
    gain : Gain
        The difference of the accuracies.

    References
    ----------
    T. Tango (1998), "Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design", Statistics in Medicine 17. A. L. Edwards (1948), "Note on the correction for
    continuity in testing the significance of the difference between correlated proportions", Psychometrika
    13.

    Examples
    --------
    >>> found = gain(1000, better=60, worse=30)
    >>> round(found.gain, 3), round(found.ci_low, 3), round(found.ci_high, 3), round(found.p_value, 4)
    (0.03, 0.011, 0.05, 0.0022)
    >>> found.conclusion, gain(0, 0, 0).conclusion
    ('significantly better', 'no significant difference')
    """
    if not trials:
        return Gain(0, 0, 0, 0.0, -1.0, 1.0, 1.0)
    p = mcnemar(better, worse)
    low = _lower_limit(trials, better, worse, p)
    high = -_lower_limit(trials, worse, better, p)
    return Gain(trials, better, worse, (better - worse) / trials, low, high, p)


def mcnemar(better: float, worse: float) -> float:
    """Return the p-value of McNemar's test, with Edwards' correction for continuity.

    Parameters
    ----------
    better, worse : float
        The items on which only the first or only the second predictor was correct.

    Returns
    -------
    p_value : float
        The two-sided p-value; close to that of the exact binomial test.

    Examples
    --------
    >>> round(mcnemar(0, 5), 3), mcnemar(3, 3)
    (0.074, 1.0)
    """
    distance = abs(better - worse) - 1.0
    return math.erfc(distance / math.sqrt(2.0 * (better + worse))) if distance > 0.0 else 1.0


def _lower_limit(n: int, better: float, worse: float, p: float) -> float:
    """Return the smallest difference that is not rejected because the observed one is larger."""

    def rejected(d: float) -> bool:
        distance = better - worse - n * d - 1.0
        return distance > 0.0 and distance > NORMAL_QUANTILE * _deviation(n, better, worse, d)

    if p < SIGNIFICANCE_LEVEL and better > worse:
        low, high = 0.0, (better - worse) / n
    else:
        low, high = -1.0, 0.0
        if rejected(0.0):  # the p-value is 0.05 but for rounding
            return 0.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejected(middle) else (low, middle)
    # 0 itself belongs to the interval unless the test rejects it
    return high if p < SIGNIFICANCE_LEVEL and better > worse else low


def _deviation(n: int, better: float, worse: float, d: float) -> float:
    """Return the standard deviation of better - worse if the difference of the accuracies is d."""
    b = (2 * n - better + worse) * d - better - worse
    root = math.sqrt(max(b * b + 8 * n * worse * d * (1.0 - d), 0.0))
    # of the two ways to solve the quadratic equation, the one that does not subtract close numbers
    q = (root - b) / (4 * n) if b <= 0.0 else 2.0 * worse * d * (1.0 - d) / (root + b)
    return math.sqrt(max(n * (2.0 * q + d * (1.0 - d)), 0.0))


def wilson_interval(share: Any, size: Any) -> tuple[Any, Any]:
    """Return the ends of the 95 % interval of a share (Wilson's).

    Parameters
    ----------
    share, size : float or ndarray
        The share, and the number of items that it is of.

    Returns
    -------
    low, high : float or ndarray
        The ends.

    Examples
    --------
    >>> low, high = wilson_interval(0.9, 100)
    >>> round(float(low), 3), round(float(high), 3)
    (0.826, 0.945)
    """
    z2 = NORMAL_QUANTILE**2
    center = (share + z2 / (2.0 * size)) / (1.0 + z2 / size)
    half = NORMAL_QUANTILE * np.sqrt(share * (1.0 - share) / size + z2 / (4.0 * size**2)) / (1.0 + z2 / size)
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)
