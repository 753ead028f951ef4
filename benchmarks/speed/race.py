"""A race on the same rows: everybody in turn, each with as many of the first rows as fill a fixed time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks.measuring import Cost, in_turn, record
from benchmarks.peers.desk import Desk, PeerError
from benchmarks.sizing import FEW, Plan, enough, per_row
from benchmarks.speed.own import Run, Taken

LEAST = {"chunks": 2000, "rows": 10, "default": 100, "VW": 200}  # rows, by a word of a method's name
USUAL = 20
SAME = 1000  # the mistakes among so many first rows are told of everybody who is quick enough
PATIENCE = 4  # for which they may take so many times a usual run


def asked(desk: Desk, method: str, file: Any) -> Run:
    """A peer, as a run."""

    def run(rows: int) -> Taken:
        answer = desk.ask(method, file, rows)
        return Taken(answer.cost, answer.mistakes)

    return run


def race(runs: Mapping[str, Run], most: Mapping[str, int], plan: Plan) -> dict[str, dict[str, Any]]:
    """What each takes for a row, its rows and its mistakes; or why one was left out."""
    rows: dict[str, int] = {}
    found: dict[str, dict[str, Any]] = {}
    for name, run in runs.items():
        try:
            size = min(fewest(name), most[name])
            rows[name] = enough(partial(cost, run), plan.seconds, size, most[name])
        except PeerError as why:
            found[name] = {"left out": str(why)}
    mistakes: dict[str, int] = {}

    def work(name: str) -> Cost:
        taken = runs[name](rows[name])
        mistakes[name] = taken.mistakes
        return taken.cost

    works = {name: partial(work, name) for name in rows}
    works |= {f"{name}, start": partial(cost, runs[name], FEW) for name in rows}
    costs = in_turn(works, plan.rounds)
    for name, count in rows.items():
        found[name] = {"rows": count, "mistakes": mistakes[name]}
        found[name] |= told(costs[name], count, costs[f"{name}, start"])
        known = fewest(name) <= SAME <= most[name]  # one chunk is guessed before anything is known
        if known and found[name]["whole"]["cpu"][0] * SAME < 1e9 * plan.seconds * PATIENCE:
            found[name]["of the first"] = [runs[name](SAME).mistakes, SAME]
    return found


def cost(run: Run, rows: int) -> Cost:
    """What a run takes."""
    return run(rows).cost


def fewest(name: str) -> int:
    """The rows that a method gets at least."""
    return next((rows for word, rows in LEAST.items() if word in name), USUAL)


def told(whole: list[Cost], rows: int, start: list[Cost]) -> dict[str, Any]:
    """Nanoseconds of one row more (without what a few take), of a row of the whole, and of the start."""
    more = [Cost(a.wall - b.wall, a.cpu - b.cpu) for a, b in zip(whole, start, strict=True)]
    kinds = {"more": per_row(more, rows - FEW), "whole": per_row(whole, rows), "start": per_row(start, 1)}
    return {kind: timed(costs) for kind, costs in kinds.items()}


def timed(costs: list[Cost]) -> dict[str, list[float]]:
    """Wall and CPU time."""
    found = record(costs)
    return {name: found[name] for name in ("wall", "cpu")}
