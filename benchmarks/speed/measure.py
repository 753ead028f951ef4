"""All of the part on speed."""

from __future__ import annotations

from typing import Any

from benchmarks import committee, latency, twin
from benchmarks.measuring import machine
from benchmarks.peers.desk import Desk
from benchmarks.peers.environment import named
from benchmarks.sizing import Plan
from benchmarks.speed import attributes, core, votes
from benchmarks.speed.votes import Tell

FULL, QUICK = Plan(0.04, 5), Plan(0.02, 1)
NOTE = "nanoseconds: median, least, most; more: one row more, whole: a row with its part of the start"


def measure(quick: bool, desk: Desk, tell: Tell) -> dict[str, Any]:
    """Votes, attributes, C, single items, the default by part, and VR-Combine."""
    plan, rounds, size = (QUICK, 2, 10) if quick else (FULL, 7, 1)
    tell("the peers' environment", 0.0)
    missing = desk.missing()
    asked = None if missing else desk
    c = twin.compiled()
    results: dict[str, Any] = machine()
    if asked is not None:
        results["versions"] |= named()
    results |= {"rounds": plan.rounds, "note": NOTE}
    results["missing"] = [f"the peers: {missing}"] * bool(missing) + ["plain C: no compiler"] * (c is None)
    cells = votes.SMALL if quick else votes.GRID
    results["votes"] = votes.grid(cells, c, asked, plan, part(tell, 0.0, 0.75))
    sets = attributes.sets(quick)
    results["attributes"] = attributes.everybody(sets, asked, plan, part(tell, 0.75, 0.85))
    tell("plain C", 0.85)
    results["c"] = []
    if c is not None:
        results["c"] = core.against_c(c, 20, 500_000 // size, rounds)
        results["c"] += core.against_c(c, 1000, 40_000 // size, rounds)
    tell("one item at a time", 0.9)
    results["one_by_one"] = core.one_by_one(5000 // size, rounds)
    results["default"] = latency.by_part(5000 // size, rounds)
    tell("VR-Combine", 0.93)
    results["committee"] = committee.against_plain(5000 // size, rounds)
    return results


def part(tell: Tell, begin: float, end: float) -> Tell:
    """A part of the whole: what is half done there is half way from its begin to its end."""
    return lambda what, share: tell(what, begin + share * (end - begin))
