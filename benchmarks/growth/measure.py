"""Measure time per trial and memory along every axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import memory
from benchmarks.growth.axes import AXES, Axis, Rows, clear_rows, fusion
from benchmarks.growth.slopes import slope
from benchmarks.row_counts import Plan, choose_row_count, per_row
from benchmarks.sharing import session_bytes
from benchmarks.timing import Cost, in_turn, machine, record, time_call
from linmax import Fusion

FULL, QUICK = Plan(0.08, 5), Plan(0.02, 1)
NOTE = "nanoseconds per trial: median, min, max; megabytes of the session's arrays"
MIN_ROWS = 50
WARM_UP = 20  # rows learned before timing starts: creating the session is not part of a trial
MAX_TIME = 6  # times the usual time, for runs with a fixed number of trials
PROBE = 10_000  # trials that estimate the time of more
Report = Callable[[str, float], None]


def measure(quick: bool, report: Report) -> dict[str, Any]:
    """Measure all axes, and a long stream in chunks."""
    plan = QUICK if quick else FULL
    results: dict[str, Any] = {**machine(), "rounds": plan.rounds, "note": NOTE, "axes": {}}
    report("a long stream", 0.0)
    trials = 1_000_000 if quick else 10_000_000
    results["long"] = memory.long_stream(trials, piece=trials // 50)
    for at, (name, axis) in enumerate(AXES.items(), start=1):
        report(name, at / (len(AXES) + 1))
        results["axes"][name] = measure_axis(axis, axis.quick if quick else axis.values, plan)
        clear_rows()
    return results


class Point:
    """One learner at one value; its last session is kept to measure memory."""

    def __init__(self, learner: Any, rows: Rows) -> None:
        self.learner, self.rows = learner, rows
        self.session: Fusion | None = None

    def work(self, count: int) -> Cost:
        """Learn some rows in a new session."""
        session = self.session = fusion(self.learner, self.rows.k)
        session.learn(**self.rows.part(0, WARM_UP))
        given = self.rows.part(WARM_UP, WARM_UP + count)
        return time_call(lambda: session.learn(**given))

    def megabytes(self) -> float:
        """Return the memory of the session's arrays."""
        assert self.session is not None
        return session_bytes(self.session) / 2**20


def measure_axis(axis: Axis, values: tuple[int, ...], plan: Plan) -> dict[str, Any]:
    """Return nanoseconds per trial and megabytes of each learner at each value, and the slopes."""
    points: dict[tuple[str, int], Point] = {}
    counts: dict[tuple[str, int], int] = {}
    for value in values:
        rows = axis.rows(value)
        for name, learner in axis.learners(value).items():
            point = Point(learner, rows)
            count = row_count(axis, point, value, plan)
            if count:
                points[name, value], counts[name, value] = point, count
    works = {
        f"{name} {value}": lambda point=point, count=counts[name, value]: point.work(count)
        for (name, value), point in points.items()
    }
    costs = in_turn(works, plan.rounds)
    found: dict[str, Any] = {}
    for (name, value), point in points.items():
        one = record(per_row(costs[f"{name} {value}"], counts[name, value]))
        where = found.setdefault(name, {"values": [], "rows": [], "wall": [], "cpu": [], "megabytes": []})
        where["values"].append(value)
        where["rows"].append(counts[name, value])
        where["wall"].append(one["wall"])
        where["cpu"].append(one["cpu"])
        where["megabytes"].append(float(f"{point.megabytes():.4g}"))
    for where in found.values():
        where["slope"] = slope(where["values"], [cpu[0] for cpu in where["cpu"]])
        where["slope of memory"] = slope(where["values"], where["megabytes"])
    return {"title": axis.title, "expected": axis.expected_slope, "learners": found}


def row_count(axis: Axis, point: Point, value: int, plan: Plan) -> int:
    """Return the number of rows for a point; 0 if a fixed number would take too long."""
    most = len(point.rows.labels) - WARM_UP
    if not axis.value_is_rows:
        return choose_row_count(point.work, plan.seconds, MIN_ROWS, most)
    begin = min(PROBE, value)
    point.work(begin)  # compiles, or loads
    return value if point.work(begin).cpu / begin * value < MAX_TIME * plan.seconds else 0
