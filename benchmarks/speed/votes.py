"""The grid: hard votes of n experts on k classes, everybody on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.peers.desk import Desk
from benchmarks.peers.timed.rows import Rows, write
from benchmarks.sizing import Plan
from benchmarks.speed import own
from benchmarks.speed.race import asked, race
from benchmarks.twin import Twin
from linmax.problems import majority

GRID = [(n, k) for k in (2, 5, 20, 100) for n in (5, 20, 100, 1000)]
SMALL = [(5, 2), (20, 5), (100, 20)]
RELEVANT, NOISE = 10, 0.05
MOST, VOTES = 500_000, 10_000_000  # rows, and numbers in an array, at most
PARSED = 1000  # rows that are parsed before at most: that takes long, and is not measured
PEERS = [
    "VW csoaa_ldf, file",
    "VW csoaa_ldf, cache",
    "VW csoaa_ldf, Python",
    "VW csoaa_ldf, parsed",
    "VW wap_ldf, file",
    "VW wap_ldf, Python",
    "VW oaa, file",
    "VW oaa, cache",
    "VW oaa, Python",
    "River one against the rest",
    "River softmax",
    "scikit-learn SGDClassifier, chunks",
    "scikit-learn Perceptron, chunks",
    "scikit-learn SGDClassifier, rows",
    "scikit-learn Perceptron, rows",
]
Tell = Callable[[str, float], None]


def cell(n: int, k: int, c: Twin | None, desk: Desk | None, plan: Plan) -> dict[str, Any]:
    """One n and one k."""
    rows = min(MOST, VOTES // n)
    votes, labels = majority(rows, relevant=min(RELEVANT, n), experts=n, classes=k, noise=NOISE)
    runs = own.runs(votes, labels, k, c)
    most = dict.fromkeys(runs, rows)
    with TemporaryDirectory() as folder:
        if desk is not None:
            part = rows // 5
            file = write(Path(folder) / "rows.npz", Rows(votes[:part], None, labels[:part], k))
            runs |= {name: asked(desk, name, file) for name in PEERS}
            most |= {name: min(part, PARSED if name.endswith("parsed") else part) for name in PEERS}
        return {"n": n, "k": k, "methods": race(runs, most, plan)}


def grid(
    cells: list[tuple[int, int]], c: Twin | None, desk: Desk | None, plan: Plan, tell: Tell
) -> list[dict[str, Any]]:
    """All cells."""
    found = []
    for at, (n, k) in enumerate(cells):
        tell(f"{n} experts, {k} classes", at / len(cells))
        found.append(cell(n, k, c, desk, plan))
    return found
