"""Measure all of the part on speed."""

from __future__ import annotations

from typing import Any

from benchmarks import c_reference, latency, vr_combine
from benchmarks.peers.environment import named
from benchmarks.peers.peer_client import PeerTimer
from benchmarks.row_counts import Plan
from benchmarks.speed import attributes, core, votes
from benchmarks.speed.votes import Report
from benchmarks.timing import machine

FULL, QUICK = Plan(0.04, 5), Plan(0.02, 1)
NOTE = "nanoseconds: median, min, max; more: per additional row, whole: per row including start-up"


def measure(quick: bool, timer: PeerTimer, report: Report) -> dict[str, Any]:
    """Measure votes, attributes, C, single items, the default by part, and VR-Combine."""
    plan, rounds, size = (QUICK, 2, 10) if quick else (FULL, 7, 1)
    report("the peers' environment", 0.0)
    missing = timer.missing()
    available = None if missing else timer
    c = c_reference.compile_reference()
    results: dict[str, Any] = machine()
    if available is not None:
        results["versions"] |= named()
    results |= {"rounds": plan.rounds, "note": NOTE}
    results["missing"] = [f"the peers: {missing}"] * bool(missing) + ["C: no compiler"] * (c is None)
    cells = votes.SMALL if quick else votes.GRID
    results["votes"] = votes.grid(cells, c, available, plan, part(report, 0.0, 0.75))
    sets = attributes.sets(quick)
    results["attributes"] = attributes.time_all(sets, available, plan, part(report, 0.75, 0.85))
    report("C", 0.85)
    results["c"] = []
    if c is not None:
        results["c"] = core.compare_with_c(c, 20, 500_000 // size, rounds)
        results["c"] += core.compare_with_c(c, 1000, 40_000 // size, rounds)
    report("one item at a time", 0.9)
    results["one_by_one"] = core.one_by_one(5000 // size, rounds)
    results["default"] = latency.by_part(5000 // size, rounds)
    report("VR-Combine", 0.93)
    results["committee"] = vr_combine.compare_with_reference(5000 // size, rounds)
    return results


def part(report: Report, begin: float, end: float) -> Report:
    """Return a progress callback for the interval from `begin` to `end` of the whole."""
    return lambda what, share: report(what, begin + share * (end - begin))
