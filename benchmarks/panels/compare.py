"""linmax against the best member of each peer, order by order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.panels.own import LINMAX
from benchmarks.panels.reading import Panel

AS_FILED = "file order"
LEVEL = 0.95  # of the t interval that decides

Accuracies = dict[str, dict[str, float]]  # by method, then by order


def record(panel: Panel, accuracy: Accuracies, libraries: dict[str, dict[str, str]]) -> dict[str, Any]:
    """A panel's figures: every accuracy, and the paired differences to each library's best member."""
    against = {}
    for library, members in libraries.items():
        present = [name for name in members if name in accuracy]
        if present and shuffled(accuracy[LINMAX]):
            against[library] = paired(accuracy, present)
    return {
        "panel": panel.name,
        "items": len(panel.labels),
        "experts": panel.votes.shape[1],
        "classes": panel.k,
        "accuracy": accuracy,
        "against": against,
    }


def paired(accuracy: Accuracies, members: list[str]) -> dict[str, Any]:
    """linmax minus the member with the best mean over the random orders, chosen in hindsight."""
    best = max(members, key=lambda name: mean(accuracy[name]))
    differences = np.subtract(shuffled(accuracy[LINMAX]), shuffled(accuracy[best]))
    many = len(differences)
    middle = float(differences.mean())
    error = half = None
    if many > 1:
        error = float(differences.std(ddof=1) / math.sqrt(many))
        half = float(stats.t.ppf((1 + LEVEL) / 2, many - 1) * error)
    return {
        "best": best,
        "differences": differences.tolist(),
        "mean": middle,
        "standard_error": error,
        "half_width_95": half,
        "verdict": verdict(middle, half),
    }


def verdict(middle: float, half: float | None) -> str:
    """Ahead or behind where the interval leaves out zero."""
    if half is None:
        return "one order only"
    if abs(middle) <= half:
        return "level"
    return "ahead" if middle > 0 else "behind"


def shuffled(orders: dict[str, float]) -> list[float]:
    """The figures of the random orders."""
    return [figure for order, figure in orders.items() if order != AS_FILED]


def mean(orders: dict[str, float]) -> float:
    """Over the random orders; the one order there is where none is random."""
    return float(np.mean(shuffled(orders) or list(orders.values())))
