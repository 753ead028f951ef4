"""Slopes of lines in log-log plots, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEAR = 0.15  # a slope within so much of the expected one is called that


def slope(values: Sequence[float], costs: Sequence[float]) -> float | None:
    """By least squares over the upper half of the values; none where there is one value only."""
    half = max(2, (len(values) + 1) // 2)
    x, y = np.log(values[-half:]), np.log(np.maximum(costs[-half:], 1e-12))
    return round(float(np.polyfit(x, y, 1)[0]), 2) + 0.0 if len(x) > 1 else None


def verdict(found: float | None, expected: float) -> str:
    """In words."""
    if found is None:
        return "one value only"
    if round(abs(found - expected), 2) <= NEAR:
        return "in proportion" if expected else "the same for ever"
    if abs(found) <= NEAR:
        return "hardly grows"
    return "less than in proportion" if found < 1 else "more than in proportion"
