"""The cells in which a peer is faster than its counterpart of linmax."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.speed.linmax_methods import ONE, SINGLE

SINGLES = (SINGLE, ONE)
DEFAULTS = ("linmax default", "linmax default, one by one")
FEW = 4  # cells that are listed individually
ALONE = (
    ", rows",
    ", Python",
    ", one by one",
    "River one against the rest",
    "River softmax",
)  # called for each row


def counterpart(name: str, counterparts: tuple[str, str] = SINGLES) -> str:
    """Return the method of linmax that a method is compared with: on arrays, or row by row."""
    return counterparts[name.endswith(ALONE)]


def ratio(methods: dict[str, Any], name: str, beside: str) -> float:
    """Return the ratio of CPU time per additional row of two methods."""
    return float(methods[name]["more"]["cpu"][0] / methods[beside]["more"]["cpu"][0])


def cell_name(cell: dict[str, Any]) -> str:
    """Return the name of a cell."""
    return f"n = {cell['n']}, k = {cell['k']}"


def faster(cells: list[dict[str, Any]], counterparts: tuple[str, str]) -> dict[tuple[str, str], str]:
    """Return the peers that take less CPU time than their counterparts, and the cells."""
    lost: dict[tuple[str, str], dict[str, float]] = {}
    for cell in cells:
        methods = cell["methods"]
        for name, one in methods.items():
            beside = counterpart(name, counterparts)
            known = (
                "more" in one and "more" in methods.get(beside, {}) and not name.startswith(("linmax", "C "))
            )
            if known and ratio(methods, name, beside) < 1:
                lost.setdefault((name, beside), {})[cell_name(cell)] = ratio(methods, beside, name)
    return {pair: describe_cells(found, len(cells)) for pair, found in lost.items()}


def describe_cells(found: dict[str, float], cells: int) -> str:
    """Return the cells with their ratios, or a summary if there are many."""
    if len(found) <= FEW:
        return "; ".join(f"{name} ({times:.2f} times)" for name, times in found.items())
    return f"{len(found)} of {cells} cells ({min(found.values()):.2f} to {max(found.values()):.2f} times)"


def faster_table(cells: list[dict[str, Any]]) -> str:
    """Return a table with a line for each peer and counterpart."""
    rows = [["peer", "is faster than", "at"]]
    for counterparts in (SINGLES, DEFAULTS):
        rows += [[*pair, at] for pair, at in faster(cells, counterparts).items()]
    return table(rows) if len(rows) > 1 else "In none of these cells.\n"
