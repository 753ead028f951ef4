"""The grid of hard votes: all methods on the same rows of n experts and k classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.c_reference import CReference
from benchmarks.peers.peer_client import PeerTimer
from benchmarks.peers.timed.rows import Rows, write
from benchmarks.row_counts import Plan
from benchmarks.speed import linmax_methods
from benchmarks.speed.time_methods import peer_run, time_methods
from linmax.problems import majority

GRID = [(n, k) for k in (2, 5, 20, 100) for n in (5, 20, 100, 1000)]
SMALL = [(5, 2), (20, 5), (100, 20)]
RELEVANT, NOISE = 10, 0.05
MOST, VOTES = 500_000, 10_000_000  # the largest numbers of rows and of votes in an array
PARSED = 1000  # the largest number of rows that are parsed in advance, which is slow and not timed
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
Report = Callable[[str, float], None]


def cell(n: int, k: int, c: CReference | None, timer: PeerTimer | None, plan: Plan) -> dict[str, Any]:
    """Time all methods for one n and k."""
    rows = min(MOST, VOTES // n)
    votes, labels = majority(rows, relevant=min(RELEVANT, n), experts=n, classes=k, noise=NOISE)
    runs = linmax_methods.runs(votes, labels, k, c)
    most = dict.fromkeys(runs, rows)
    with TemporaryDirectory() as folder:
        if timer is not None:
            part = rows // 5
            file = write(Path(folder) / "rows.npz", Rows(votes[:part], None, labels[:part], k))
            runs |= {name: peer_run(timer, name, file) for name in PEERS}
            most |= {name: min(part, PARSED if name.endswith("parsed") else part) for name in PEERS}
        return {"n": n, "k": k, "methods": time_methods(runs, most, plan)}


def grid(
    cells: list[tuple[int, int]], c: CReference | None, timer: PeerTimer | None, plan: Plan, report: Report
) -> list[dict[str, Any]]:
    """Time all cells."""
    found = []
    for at, (n, k) in enumerate(cells):
        report(f"{n} experts, {k} classes", at / len(cells))
        found.append(cell(n, k, c, timer, plan))
    return found
