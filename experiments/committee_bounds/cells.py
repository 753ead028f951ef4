"""What the adversary gets out of Winnow."""

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
    """The papers' alpha, or the one that makes the bound least."""
    return (1 - delta) ** -0.5 if which == "printed" else ((1 + delta) / (1 - delta)) ** 0.5


def cells(runs: int, quick: bool) -> list[Cell]:
    """Nothing is random here: one run each."""
    experts = EXPERTS[:3] if quick else EXPERTS
    return [
        {"size": size, "experts": n, "alpha": alpha}
        for size in SIZES
        for n in experts
        for alpha in ("printed", "best")
    ]


def run(cell: Cell, _: Path) -> int:
    """How many mistakes the adversary gets out of Winnow."""
    winnow = Winnow(multiplier(cell["alpha"], 1 / cell["size"])).on(Votes())
    return len(adversary(winnow, MOST, experts=cell["experts"], size=cell["size"]).labels)
