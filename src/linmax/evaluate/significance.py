"""Significance: the difference of two accuracies on the same items, its interval, and McNemar's test."""

from __future__ import annotations

import math
from typing import NamedTuple

SIGNIFICANCE_LEVEL = 0.05
"""A difference is significant if its p-value is below this level."""
NORMAL_QUANTILE = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""
SMALL_TEST = 500
"""Items up to which McNemar's test is computed with integers."""

BETTER, WORSE, NO_DIFFERENCE = "significantly better", "significantly worse", "no significant difference"


class Gain(NamedTuple):
    """The difference of two accuracies on the same items, with a 95 % confidence interval and a paired test.

    Attributes
    ----------
    trials : int
        The number of items.
    better, worse : int
        The items on which only the first or only the second predictor was correct.
    gain : float
        The accuracy of the first minus that of the second.
    ci_low, ci_high : float
        The 95 % confidence interval of `gain`.
    p_value : float
        The p-value of McNemar's exact test: the probability of a split at least as uneven if both are equally
        good.
    """

    trials: int
    better: int
    worse: int
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


def gain(trials: int, better: int, worse: int) -> Gain:
    """Compare two predictors on the same items.

    The confidence interval is Wald's with 1/2 added to each of the four cells. It and McNemar's test assume
    that items are independent draws; on a stream that drifts they say less.

    Parameters
    ----------
    trials : int
        The number of items.
    better, worse : int
        The items on which only the first or only the second predictor was correct.

    Returns
    -------
    gain : Gain
        The difference of the accuracies.

    References
    ----------
    A. Agresti and Y. Min (2005), "Simple improved confidence intervals for comparing matched proportions",
    Statistics in Medicine 24.

    Examples
    --------
    >>> found = gain(1000, better=60, worse=30)
    >>> round(found.gain, 3), round(found.ci_low, 3), round(found.ci_high, 3), round(found.p_value, 4)
    (0.03, 0.011, 0.049, 0.0021)
    >>> found.conclusion, gain(0, 0, 0).conclusion
    ('significantly better', 'no significant difference')
    """
    if not trials:
        return Gain(0, 0, 0, 0.0, -1.0, 1.0, 1.0)
    size = trials + 2.0
    up, down = (better + 0.5) / size, (worse + 0.5) / size
    center = up - down
    half_width = NORMAL_QUANTILE * math.sqrt(max(up + down - center * center, 0.0) / size)
    return Gain(
        trials, better, worse, (better - worse) / trials,
        max(center - half_width, -1.0), min(center + half_width, 1.0), mcnemar(better, worse),
    )  # fmt: skip


def mcnemar(better: int, worse: int) -> float:
    """Return the p-value of McNemar's exact test.

    It is the probability of a split at least as uneven as ``better : worse`` if each side is equally likely.

    Parameters
    ----------
    better, worse : int
        The items on which only the first or only the second predictor was correct.

    Returns
    -------
    p_value : float
        The two-sided p-value.

    Examples
    --------
    >>> round(mcnemar(0, 5), 12), mcnemar(3, 3)
    (0.0625, 1.0)
    """
    if better == worse:
        return 1.0
    # The p-value of scipy.stats.binomtest(better, better + worse): twice a binomial distribution function.
    # Importing scipy.stats takes a second and scipy.special 0.2 s, so a small sum is made of integers.
    n, least = better + worse, min(better, worse)
    if n <= SMALL_TEST:
        return min(1.0, 2 * sum(math.comb(n, k) for k in range(least + 1)) / float(2**n))
    from scipy.special import betainc

    return min(1.0, 2.0 * float(betainc(n - least, least + 1, 0.5)))
