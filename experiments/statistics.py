"""Means with t intervals, and whether two of them agree."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import stats


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % t interval."""

    mean: float
    half: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.half:.1f}" if math.isfinite(self.half) else f"{self.mean:.1f}"

    def agrees(self, mean: float, half: float) -> bool:
        """Within 1.5 times the two half-widths, added as squares."""
        return abs(self.mean - mean) <= 1.5 * math.hypot(self.half, half)


def interval(values: list[float]) -> Interval:
    """The mean of some runs; one run has no interval."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2:
        return Interval(float(array.mean()), math.inf)
    half = stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / math.sqrt(len(array))
    return Interval(float(array.mean()), float(half))
