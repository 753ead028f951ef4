"""Mistakes of one method on one set, in one order."""

from __future__ import annotations

import time
from pathlib import Path

from experiments.interface import Cell
from experiments.sharing import METHODS, learn
from experiments.sharing_table_1.streams import SETS, shuffled, stream

FILE = -1  # the order of the file, among seeds
ALL = 10**9  # trials


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per method, data set and order: that of the file, and random ones."""
    orders = {name: [FILE] * one.ordered + list(range(runs)) for name, one in SETS.items()}
    return [
        {"set": name, "method": method, "seed": seed, "trials": 1000 if quick else ALL}
        for name in SETS
        for method in METHODS
        for seed in orders[name]
    ]


def run(cell: Cell, data: Path) -> dict[str, float]:
    """Return the percentage of mistakes, and CPU seconds without compilation."""
    whole = stream(cell["set"], data)
    whole = whole if cell["seed"] == FILE else shuffled(whole, cell["seed"])
    attributes, labels = (part[: cell["trials"]] for part in whole)
    source = SETS[cell["set"]].methods[cell["method"]]
    learn(source, attributes[:50], labels[:50])
    begin = time.process_time()
    mistakes = learn(source, attributes, labels).mistakes
    return {"percent": 100 * mistakes / len(labels), "seconds": time.process_time() - begin}
