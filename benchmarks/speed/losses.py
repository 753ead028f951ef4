"""Where a peer is faster than linmax's counterpart, which is said as plainly as where it is slower."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.speed.own import ONE, SINGLE

SINGLES = (SINGLE, ONE)
DEFAULTS = ("linmax default", "linmax default, one by one")
FEW = 4  # cells that are named one by one
ALONE = (
    ", rows",
    ", Python",
    ", one by one",
    "River one against the rest",
    "River softmax",
)  # called for each row


def counterpart(name: str, counterparts: tuple[str, str] = SINGLES) -> str:
    """Whom of linmax a method stands beside: who learns tables, or who learns row by row."""
    return counterparts[name.endswith(ALONE)]


def ratio(methods: dict[str, Any], name: str, beside: str) -> float:
    """CPU time of one row more beside somebody else's."""
    return float(methods[name]["more"]["cpu"][0] / methods[beside]["more"]["cpu"][0])


def where(cell: dict[str, Any]) -> str:
    """The name of a cell."""
    return f"n = {cell['n']}, k = {cell['k']}"


def faster(cells: list[dict[str, Any]], counterparts: tuple[str, str]) -> dict[tuple[str, str], str]:
    """Peers with the counterpart, for many rows or for each row, that takes more CPU time, and where."""
    lost: dict[tuple[str, str], dict[str, float]] = {}
    for cell in cells:
        methods = cell["methods"]
        for name, one in methods.items():
            beside = counterpart(name, counterparts)
            known = "more" in one and beside in methods and not name.startswith(("linmax", "C "))
            if known and ratio(methods, name, beside) < 1:
                lost.setdefault((name, beside), {})[where(cell)] = ratio(methods, beside, name)
    return {pair: told(found, len(cells)) for pair, found in lost.items()}


def told(found: dict[str, float], cells: int) -> str:
    """The cells with how many times; where they are many, their number."""
    if len(found) <= FEW:
        return "; ".join(f"{name} ({times:.2f} times)" for name, times in found.items())
    return f"{len(found)} of {cells} cells ({min(found.values()):.2f} to {max(found.values()):.2f} times)"


def lost(cells: list[dict[str, Any]]) -> str:
    """A line for each peer and counterpart."""
    rows = [["the peer", "is faster than", "at"]]
    for counterparts in (SINGLES, DEFAULTS):
        rows += [[*pair, at] for pair, at in faster(cells, counterparts).items()]
    return table(rows) if len(rows) > 1 else "Nowhere in these cells.\n"
