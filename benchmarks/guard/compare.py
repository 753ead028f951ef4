"""Figures of now beside those that were kept: what moved, and whether that is too much."""

from __future__ import annotations

from typing import Any, NamedTuple

Kept = dict[str, Any]

EXACT, CODE, RATIO = "exact", "code", "ratio"
MORE = {EXACT: 0.02, CODE: 0.05, RATIO: 0.15}  # by how much of itself a figure may move
WHY_NOT = {
    EXACT: "another Python or numpy",
    CODE: "another machine, Python or numba",
    RATIO: "another machine or numba",
}
NEEDS = {EXACT: ("python", "numpy"), CODE: ("python", "numba", "machine"), RATIO: ("numba", "machine")}


class Move(NamedTuple):
    """A figure, then and now."""

    name: str
    then: float | None
    now: float | None
    verdict: str  # "" where nothing is to be said

    @property
    def wrong(self) -> bool:
        """Whether somebody should look."""
        return self.verdict in ("more", "less", "gone", "new")


def moves(then: Kept, now: Kept) -> list[Move]:
    """Every figure that is there now or was."""
    found = []
    for name in dict.fromkeys([*then["figures"], *now["figures"]]):
        old, new = (kept["figures"].get(name) for kept in (then, now))
        kind = (new or old)["kind"]
        values = [None if one is None else float(one["value"]) for one in (old, new)]
        found.append(Move(name, *values, verdict(*values, kind, then, now)))
    return found


def verdict(old: float | None, new: float | None, kind: str, then: Kept, now: Kept) -> str:
    """What became of a figure; some cannot be compared after a change of what they were taken with."""
    if old is None or new is None:
        return "new" if old is None else "gone"
    if any(then["with"].get(name) != now["with"].get(name) for name in NEEDS[kind]):
        return WHY_NOT[kind]
    if abs(new - old) <= MORE[kind] * abs(old):
        return ""
    return "more" if new > old else "less"
