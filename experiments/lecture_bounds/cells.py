"""Mistakes of the lecture's three algorithms on a panel."""

from __future__ import annotations

from pathlib import Path

from experiments.interface import Cell
from experiments.lecture import moves

RULES = ("Perceptron", "Winnow", "BalancedWinnow")
SIZES = (10, 32, 100, 316, 1000, 3162, 10_000)
SIGNED = 1000
SIGNS = (1, -1, -1)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream, with and without negative weights in the panel."""
    sizes = (10, 100) if quick else SIZES
    plain = [{"experts": n, "signed": False, "seed": seed} for n in sizes for seed in range(runs)]
    return plain + [{"experts": SIGNED, "signed": True, "seed": seed} for seed in range(runs)]


def run(cell: Cell, _: Path) -> dict[str, int]:
    """Return the mistakes by algorithm."""
    return moves(RULES, cell["experts"], signs=SIGNS if cell["signed"] else None, seed=cell["seed"])
