"""Memory of the process while it learns a long stream in chunks."""

from __future__ import annotations

import resource
from typing import Any

from linmax import Averaged, Fusion, Winnow
from linmax.problems import majority


def resident() -> float:
    """Return the resident memory of this process in megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def long_stream(trials: int, piece: int = 100_000) -> dict[str, Any]:
    """Return the memory after a tenth and at the end of a stream that is learned in chunks."""
    fusion = Fusion(Averaged(Winnow(1.2)), classes=range(5))
    marks = []
    for seed in range(trials // piece):
        votes, labels = majority(piece, noise=0.05, seed=seed)
        fusion.learn(votes, labels)
        marks.append(resident())
    early = marks[max(1, len(marks) // 10) - 1]
    return {
        "trials": fusion.trials,
        "mb_after_a_tenth": early,
        "mb_at_the_end": marks[-1],
        "mistakes": fusion.mistakes,
    }
