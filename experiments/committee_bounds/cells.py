"""Mistakes of Winnow against an adversary."""

from __future__ import annotations

from pathlib import Path

from experiments.interface import Cell
from linmax import Winnow
from linmax.experts import Votes
from linmax.problems import adversary

SIZES = (3, 5)  # of the panel: delta = 1/3, 1/5
EXPERTS = (10, 100, 1000, 10_000)
MOST = 5000


def multiplier(which: str, delta: float) -> float:
    """Return the alpha of the papers, or the one with the smallest bound."""
    return (1 - delta) ** -0.5 if which == "printed" else ((1 + delta) / (1 - delta)) ** 0.5


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return the cells; nothing is random, so there is one run each."""
    experts = EXPERTS[:3] if quick else EXPERTS
    return [
        {"size": size, "experts": n, "alpha": alpha}
        for size in SIZES
        for n in experts
        for alpha in ("printed", "best")
    ]


def run(cell: Cell, _: Path) -> int:
    """Return the mistakes of Winnow against the adversary."""
    winnow = Winnow(multiplier(cell["alpha"], 1 / cell["size"])).on(Votes())
    return len(adversary(winnow, MOST, experts=cell["experts"], size=cell["size"]).labels)
