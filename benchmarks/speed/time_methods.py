"""Time all methods on the same rows in turn, each with as many rows as take a fixed time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.peers.peer_client import PeerError, PeerTimer
from benchmarks.row_counts import FEW, Plan, choose_row_count, per_row
from benchmarks.speed.linmax_methods import Run
from benchmarks.timing import Cost, TimedRun, in_turn, record

MIN_ROWS = {"chunks": 2000, "rows": 10, "default": 100, "VW": 200}  # by a word of a method's name
DEFAULT_MIN_ROWS = 20
FIRST = 1000  # the mistakes among the first rows are recorded for all methods that are fast enough
FIRST_TIME = 4  # times the usual time of a run that this may take


def peer_run(timer: PeerTimer, method: str, file: Any) -> Run:
    """Return a run of a peer."""

    def run(rows: int) -> TimedRun:
        return timer.run(method, file, rows)

    return run


def time_methods(runs: Mapping[str, Run], most: Mapping[str, int], plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the time per row, the rows and the mistakes of each method, or why it was left out."""
    rows: dict[str, int] = {}
    found: dict[str, dict[str, Any]] = {}
    for name, run in runs.items():
        try:
            size = min(min_rows(name), most[name])
            rows[name] = choose_row_count(partial(cost, run), plan.seconds, size, most[name])
        except PeerError as error:
            found[name] = {"left out": str(error)}
    mistakes: dict[str, int] = {}

    def work(name: str) -> Cost:
        result = runs[name](rows[name])
        mistakes[name] = result.mistakes
        return result.cost

    works = {name: partial(work, name) for name in rows}
    works |= {f"{name}, start": partial(cost, runs[name], FEW) for name in rows}
    costs = in_turn(works, plan.rounds)
    for name, count in rows.items():
        found[name] = {"rows": count, "mistakes": mistakes[name]}
        found[name] |= summarize_times(costs[name], count, costs[f"{name}, start"])
        known = (
            min_rows(name) <= FIRST <= most[name]
        )  # the first chunk is predicted before anything is learned
        if known and found[name]["whole"]["cpu"][0] * FIRST < 1e9 * plan.seconds * FIRST_TIME:
            found[name]["of the first"] = [runs[name](FIRST).mistakes, FIRST]
    return found


def cost(run: Run, rows: int) -> Cost:
    """Return the cost of a run."""
    return run(rows).cost


def min_rows(name: str) -> int:
    """Return the smallest number of rows for a method."""
    return next((rows for word, rows in MIN_ROWS.items() if word in name), DEFAULT_MIN_ROWS)


def summarize_times(whole: list[Cost], rows: int, start: list[Cost]) -> dict[str, Any]:
    """Return nanoseconds per additional row, per row in total, and of the start-up."""
    more = [Cost(a.wall - b.wall, a.cpu - b.cpu) for a, b in zip(whole, start, strict=True)]
    kinds = {"more": per_row(more, rows - FEW), "whole": per_row(whole, rows), "start": per_row(start, 1)}
    found: dict[str, Any] = {kind: timed(costs) for kind, costs in kinds.items()}
    if min(middle for middle, _, _ in found["more"].values()) <= 0.0:
        del found["more"]
        found["left out"] = "the start varies by more than the rows take"
    return found


def timed(costs: list[Cost]) -> dict[str, list[float]]:
    """Return wall and CPU time."""
    found = record(costs)
    return {name: found[name] for name in ("wall", "cpu")}
