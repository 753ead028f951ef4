"""How many rows a method gets: enough for a fixed small time beyond its start."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.measuring import Cost

Work = Callable[[int], Cost]  # learns that many rows
FEW = 5  # rows that only show how long a method takes to start
JUMP = 20.0  # at most, from one try to the next: the first rows may be misleading
LONG = 10  # times the usual: a method is not tried twice


class Plan(NamedTuple):
    """How long things may take."""

    seconds: float  # of one run, beyond its start
    rounds: int


def sizes(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50 ... up to the most."""
    found = [digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5)]
    return [size for size in found if size <= most]


def enough(work: Work, seconds: float, least: int, most: int) -> int:
    """The number of rows, of the series 1, 2, 5, 10 ..., that takes about so long beyond the start.

    CPU time decides, as what else the machine does must not.
    """
    rows = max(sizes(least))
    work(FEW)  # compiles, or loads
    start = work(FEW).cpu
    if start > LONG * seconds:
        return rows
    while True:
        beyond = max(work(rows).cpu - start, 1e-9)
        wanted = rows * min(JUMP, max(seconds, 2 * start) / beyond)
        more = max(sizes(max(least, min(most, int(wanted)))))
        if more <= rows:
            return rows
        rows = more


def per_row(costs: list[Cost], rows: int) -> list[Cost]:
    """Nanoseconds of one row."""
    return [Cost(1e9 * one.wall / rows, 1e9 * one.cpu / rows, one.megabytes) for one in costs]
