"""The number of rows for a method: as many as take a fixed time beyond its start-up."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.timing import Cost

Work = Callable[[int], Cost]  # learns a number of rows
FEW = 5  # rows of a run that measures the start-up
MAX_GROWTH = 20.0  # from one try to the next: the first rows may be misleading
SLOW_START = 10  # times the wanted time: such a method is not tried with more rows


class Plan(NamedTuple):
    """The effort of a measurement.

    Parameters
    ----------
    seconds : float
        The CPU time of one run beyond its start-up.
    rounds : int
        The number of rounds.
    """

    seconds: float
    rounds: int


def sizes(most: int) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50 ... up to `most`."""
    found = [digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5)]
    return [size for size in found if size <= most]


def choose_row_count(work: Work, seconds: float, least: int, most: int) -> int:
    """Return the number of rows, of the series 1, 2, 5, 10 ..., that takes about so long beyond the start-up.

    CPU time decides, since other load on the machine must not.
    """
    rows = max(sizes(least))
    work(FEW)  # compiles, or loads
    start = work(FEW).cpu
    if start > SLOW_START * seconds:
        return rows
    while True:
        beyond = max(work(rows).cpu - start, 1e-9)
        wanted = rows * min(MAX_GROWTH, max(seconds, 2 * start) / beyond)
        more = max(sizes(max(least, min(most, int(wanted)))))
        if more <= rows:
            return rows
        rows = more


def per_row(costs: list[Cost], rows: int) -> list[Cost]:
    """Return the costs of one row in nanoseconds."""
    return [Cost(1e9 * one.wall / rows, 1e9 * one.cpu / rows, one.megabytes) for one in costs]
