"""Averaging: the mean of all hypotheses, kept as running sums that only touched coordinates update.

The mean is over the hypotheses held at the start of each trial, the current one included. With s[SCALE] w the
current hypothesis, the sum of coordinate i is

    past_i + w_i (total - since_i) + w_i s[SCALE]

where `past_i` is the sum up to the last update of w_i, `since_i` the cumulated scale at that time and `total`
the cumulated scale now. The kernel of a trial divides the scores of the sum by the number of hypotheses.

Rules that add a multiple of z have no scale, and the kernel that runs them keeps their sums (`in_place.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit.compilation import inline
from linmax._jit.vectors import take, wide
from linmax.kernels.blocks import eight_at, number_at
from linmax.kernels.forms.base import weights_of
from linmax.rules.base import SCALE

MOST_SCALE = 2.0**20  # the largest cumulated scale, in multiples of the current scale


class AverageState(NamedTuple):
    """The running sums of averaging of the hypotheses; empty arrays without averaging.

    Parameters
    ----------
    past, since : ndarray of shape (weights,)
        The sum of a weight up to its last update, and the cumulated scale at that time.
    total : ndarray of shape (1,)
        The cumulated scale.
    """

    past: np.ndarray
    since: np.ndarray
    total: np.ndarray


class MeanWeights(NamedTuple):
    """The mean of all hypotheses, times their number: the scale changes no prediction.

    Parameters
    ----------
    w : column of weights
        The current hypothesis, see `kernels/blocks.py`.
    past, since : ndarray of shape (weights,)
        The arrays of `AverageState`.
    total, scale : float
        The cumulated scale, and the scale of the current hypothesis.
    """

    w: Any
    past: np.ndarray
    since: np.ndarray
    total: float
    scale: float

    def weight_of(self, i):
        w = number_at(self.w, i)
        return self.past[i] + w * (self.total - self.since[i]) + w * self.scale

    def prefetch_weights(self, i):
        pass  # there are three arrays

    def weights_of(self, i):
        w = wide(eight_at(self.w, i))
        return take(self.past, i) + w * (self.total - take(self.since, i)) + w * self.scale

    def start_sums(self, sums):
        return sums

    def own_weights_of(self, i):
        return weights_of(self, i)


@inline
def mean_weights(h, average):
    """Return the mean of all hypotheses, the current one included."""
    return MeanWeights(h.w, average.past, average.since, average.total[0], h.s[SCALE])


@inline
def count_hypothesis(h, average):
    """Add the hypothesis at the start of a trial to the sums."""
    if average.total[0] > MOST_SCALE * h.s[SCALE]:
        update_all_sums(average, h.w)  # or rounding of the total would lose this hypothesis
    average.total[0] += h.s[SCALE]


@inline
def update_sums(average, w, index, count):
    """Bring the running sums of these coordinates up to date, before they change."""
    total = average.total[0]
    for j in range(count):
        i = index[j]
        average.past[i] += w[i] * (total - average.since[i])
        average.since[i] = total


@inline
def update_all_sums(average, w):
    """Bring every running sum up to date, and reset the cumulated scale."""
    total = average.total[0]
    for i in range(len(w)):
        if average.since[i] != total:  # else it has just changed, and may be capped until `settle`
            average.past[i] += w[i] * (total - average.since[i])
        average.since[i] = 0.0
    average.total[0] = 0.0
