"""Slopes of lines in log-log plots, and their description."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEAR = 0.15  # tolerance of the descriptions


def slope(values: Sequence[float], costs: Sequence[float]) -> float | None:
    """Return the slope by least squares over the upper half of the values; None for a single value."""
    half = max(2, (len(values) + 1) // 2)
    x, y = np.log(values[-half:]), np.log(np.maximum(costs[-half:], 1e-12))
    return round(float(np.polyfit(x, y, 1)[0]), 2) + 0.0 if len(x) > 1 else None


def describe_slope(found: float | None, expected: float) -> str:
    """Return the description of a slope."""
    if found is None:
        return "one value only"
    if round(abs(found - expected), 2) <= NEAR:
        return "proportional" if expected else "constant"
    if abs(found) <= NEAR:
        return "nearly constant"
    return "less than proportional" if found < 1 else "more than proportional"
