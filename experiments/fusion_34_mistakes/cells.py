"""VR-Combine without noise, by the limit on updates per instance."""

from __future__ import annotations

from pathlib import Path

from experiments.fusion import learn, recycling, stream
from experiments.interface import Cell


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream and limit on updates per instance; null is no limit."""
    limits = (5, 1000) if quick else (5, 1000, None)
    return [{"updates": updates, "seed": seed} for updates in limits for seed in range(runs)]


def run(cell: Cell, _: Path) -> int:
    """Return the mistakes."""
    return learn(recycling(cell["updates"]), stream(0.0, cell["seed"])).mistakes
