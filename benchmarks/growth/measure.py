"""Time per trial and memory along every axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import memory
from benchmarks.growth.axes import AXES, Axis, Rows, forget, fusion
from benchmarks.growth.slopes import slope
from benchmarks.measuring import Cost, here, in_turn, machine, record
from benchmarks.sharing import kept
from benchmarks.sizing import Plan, enough, per_row
from linmax import Fusion

FULL, QUICK = Plan(0.08, 5), Plan(0.02, 1)
NOTE = "nanoseconds a trial: median, least, most; megabytes of the session's arrays"
LEAST = 50  # rows
BEGUN = 20  # rows that a session has learned before the watch starts: making it is no part of a trial
LONGEST = 6  # runs of a fixed number of trials may take so many times the usual
TRIED = 10_000  # trials that tell how long more would take
Tell = Callable[[str, float], None]


def measure(quick: bool, tell: Tell) -> dict[str, Any]:
    """All axes, and a long stream in pieces."""
    plan = QUICK if quick else FULL
    results: dict[str, Any] = {**machine(), "rounds": plan.rounds, "note": NOTE, "axes": {}}
    tell("a long stream", 0.0)
    trials = 1_000_000 if quick else 10_000_000
    results["long"] = memory.flat(trials, piece=trials // 50)
    for at, (name, axis) in enumerate(AXES.items(), start=1):
        tell(name, at / (len(AXES) + 1))
        results["axes"][name] = along(axis, axis.quick if quick else axis.values, plan)
        forget()
    return results


class Point:
    """One learner at one value: it learns the first rows, and the session stays for its memory."""

    def __init__(self, learner: Any, rows: Rows) -> None:
        self.learner, self.rows = learner, rows
        self.session: Fusion | None = None

    def work(self, count: int) -> Cost:
        """Begin, and learn."""
        session = self.session = fusion(self.learner, self.rows.k)
        session.learn(**self.rows.part(0, BEGUN))
        given = self.rows.part(BEGUN, BEGUN + count)
        return here(lambda: session.learn(**given))

    def megabytes(self) -> float:
        """What its arrays hold."""
        assert self.session is not None
        return kept(self.session) / 2**20


def along(axis: Axis, values: tuple[int, ...], plan: Plan) -> dict[str, Any]:
    """Nanoseconds per trial and megabytes of each learner at each value, and the slopes."""
    points: dict[tuple[str, int], Point] = {}
    counts: dict[tuple[str, int], int] = {}
    for value in values:
        rows = axis.rows(value)
        for name, learner in axis.learners(value).items():
            point = Point(learner, rows)
            count = sized(axis, point, value, plan)
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
    return {"title": axis.title, "expected": axis.proportion, "learners": found}


def sized(axis: Axis, point: Point, value: int, plan: Plan) -> int:
    """The rows for a point; none where a fixed number of them would take too long."""
    most = len(point.rows.labels) - BEGUN
    if not axis.fixed:
        return enough(point.work, plan.seconds, LEAST, most)
    begin = min(TRIED, value)
    point.work(begin)  # compiles, or loads
    return value if point.work(begin).cpu / begin * value < LONGEST * plan.seconds else 0
