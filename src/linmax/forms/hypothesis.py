"""The weights a form is tallied with: the last hypothesis of a rule, or the mean of all it ever held."""

from typing import NamedTuple

import numpy as np


class Last(NamedTuple):
    """The hypothesis of this moment."""

    w: np.ndarray

    def of(self, i):
        return self.w[i]


class Mean(NamedTuple):
    """The sum of the hypotheses held at the start of each trial, the current one included.

    A coordinate's sum is brought up to date only when it moves: `past` holds what it had gathered then,
    `since` the cumulated scale of then, and `total` that of now; the current hypothesis, with its own
    `scale`, comes on top. Dividing by the number of trials changes no guess.
    """

    w: np.ndarray
    past: np.ndarray
    since: np.ndarray
    total: float
    scale: float

    def of(self, i):
        return self.past[i] + self.w[i] * (self.total - self.since[i]) + self.w[i] * self.scale
