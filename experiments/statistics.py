"""Means with t intervals, and their comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

WIDE = "A figure without an interval is assumed to be as uncertain as linmax's."
AGREE = "Two figures agree when they differ by at most 1.5 sqrt(ci_1^2 + ci_2^2). " + WIDE


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % t interval, or None for a single run."""

    mean: float
    half: float | None = None

    def agrees(self, other: Interval) -> bool:
        """Return whether the distance is at most 1.5."""
        return self.distance(other) <= 1.5

    def distance(self, other: Interval) -> float:
        """Return the difference of the means, in units of the joint half-width."""
        apart = abs(self.mean - other.mean)
        mine, others = self.half, other.half
        if mine is None and others is None:
            return 0.0 if apart == 0 else math.inf
        scale = math.hypot(others if mine is None else mine, mine if others is None else others)  # type: ignore[arg-type]
        return apart / scale if scale else (0.0 if apart == 0 else math.inf)

    def above(self, value: float = 0.0) -> bool:
        """Return whether the whole interval is above a value."""
        return self.half is not None and self.mean - self.half > value

    def text(self, digits: int = 1) -> str:
        """Return the mean ± the half-width, if there is one.

        >>> Interval(334.0, 12.0).text(), Interval(0.25, None).text(3), Interval(0.0, 0.0).text()
        ('334.0 ± 12.0', '0.250', '0.0')
        """
        mean = f"{self.mean:.{digits}f}"
        return f"{mean} ± {self.half:.{digits}f}" if self.half else mean


def interval(values: Iterable[float]) -> Interval:
    """Return the mean of some runs with its interval; one run has none.

    >>> interval([1.0, 2.0, 3.0]).text(2), interval([5.0]).text()
    ('2.00 ± 2.48', '5.0')
    """
    array = np.asarray(list(values), dtype=float)
    if len(array) < 2:
        return Interval(float(array.mean()))
    half = stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / math.sqrt(len(array))
    return Interval(float(array.mean()), float(half))


def difference(ones: Iterable[float], others: Iterable[float]) -> Interval:
    """Return the mean of paired differences; both have the same streams."""
    return interval([one - other for one, other in zip(ones, others, strict=True)])


def claimed(cell: dict[str, Any], value: str = "value", ci: str = "ci") -> Interval | None:
    """Return a figure of `expected.json`, or None."""
    return Interval(cell[value], cell.get(ci)) if value in cell else None


def agreement(found: Interval, said: Interval | None) -> str:
    """Return "yes", "no", or an empty text without a claimed figure."""
    return "" if said is None else "yes" if found.agrees(said) else "no"


def optional_text(said: Interval | None, digits: int = 1) -> str:
    """Return a figure as text, or an empty text."""
    return "" if said is None else said.text(digits)
