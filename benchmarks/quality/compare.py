"""Compare linmax with the best member of each library, order by order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.peers.settings import LIBRARIES
from benchmarks.quality.linmax_methods import LINMAX, MIXTURE
from benchmarks.quality.problem import AS_FILED, Problem
from benchmarks.quality.run import MistakeCounts

LEVEL = 0.95  # of the t interval

Row = dict[str, Any]


def record(problem: Problem, mistakes: MistakeCounts) -> Row:
    """Return all mistakes on a problem, and paired differences to the best member of each library."""
    row = {"name": problem.name, "kind": problem.kind, "form": mistakes.form, **problem.facts}
    row |= {"mistakes": mistakes.whole, "late": mistakes.late}
    members = {
        library: [name for name in of if name in mistakes.whole]
        for library, of in LIBRARIES[mistakes.form].items()
    }
    members = {library: names for library, names in members.items() if names}
    everybody = [name for names in members.values() for name in names]
    row["against"] = {library: paired(row, LINMAX, names) for library, names in members.items()}
    if everybody:
        orders = len(mistakes.whole[LINMAX])
        ours = [name for name, of in mistakes.whole.items() if name.startswith(LINMAX) and len(of) == orders]
        row["best peer"] = paired(row, LINMAX, everybody)
        if MIXTURE in mistakes.whole:
            row["mixture"] = paired(row, MIXTURE, everybody)
        row["best of both"] = paired(row, best(row, ours), everybody)
    return row


def paired(row: Row, ours: str, members: list[str]) -> dict[str, Any]:
    """Compare a learner of linmax with the member of best mean over the random orders."""
    theirs = best(row, members)
    differences = np.subtract(shuffled(row, ours), shuffled(row, theirs))
    many = len(differences)
    middle = float(differences.mean())
    error = half = None
    if many > 1:
        error = float(differences.std(ddof=1) / math.sqrt(many))
        half = float(stats.t.ppf((1 + LEVEL) / 2, many - 1) * error)
    found = {
        "ours": ours,
        "best": theirs,
        "differences": differences.tolist(),
        "mean": middle,
        "standard_error": error,
        "half_width_95": half,
        "verdict": verdict(middle, half),
    }
    if AS_FILED in row["mistakes"][ours]:
        filed = max(members, key=lambda name: right(row, name, AS_FILED))
        found["filed"] = {"best": filed, "mean": right(row, ours, AS_FILED) - right(row, filed, AS_FILED)}
    return found


def best(row: Row, members: list[str]) -> str:
    """Return the member with the fewest mistakes over the random orders."""
    return max(members, key=lambda name: mean(row, name))


def verdict(middle: float, half: float | None) -> str:
    """Return "ahead" or "behind" if the interval excludes zero."""
    if half is None:
        return "one order only"
    if abs(middle) <= half:
        return "level"
    return "ahead" if middle > 0 else "behind"


def right(row: Row, name: str, order: str) -> float:
    """Return the accuracy in one order."""
    return 1.0 - float(row["mistakes"][name][order]) / float(row["items"])


def shuffled(row: Row, name: str) -> list[float]:
    """Return the accuracy in each random order."""
    return [right(row, name, order) for order in row["mistakes"][name] if order != AS_FILED]


def mean(row: Row, name: str) -> float:
    """Return the mean accuracy over the random orders."""
    return float(np.mean(shuffled(row, name)))
