"""`make bench`: measure, show, and keep the figures in benchmarks/results/."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Annotated, Any

import numba
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import linmax
from benchmarks import committee, latency, memory, speed, twin

RESULTS = Path(__file__).with_name("results")


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """A list of records as a table."""
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    Console().print(table)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    return " .. ".join(map(_text, value)) if isinstance(value, list) else str(value)


def main(quick: Annotated[bool, typer.Option(help="a tenth of the work")] = False) -> None:
    """Measure linmax beside plain C, in one run."""
    rounds, size = (3, 10) if quick else (9, 1)
    results: dict[str, Any] = {
        "machine": f"{platform.machine()}, {platform.system()}",
        "versions": {
            "python": platform.python_version(),
            "numba": numba.__version__,
            "numpy": np.__version__,
        },
    }
    c = twin.compiled()
    if c is None:
        Console().print("no C compiler here: the comparison with C is left out")
    else:
        results["c"] = speed.against_c(c, 20, 500_000, rounds)
        results["c"] += speed.against_c(c, 1000, 40_000, rounds)
        show("one pass over hard votes, k = 5, 5 % noise (CPU time, ratio = linmax / C)", results["c"])
    results["one_by_one"] = speed.one_by_one(5000 // size, rounds)
    show("a dict of 20 votes", results["one_by_one"])
    results["default"] = latency.by_part(5000 // size, rounds)
    show("the default, one item at a time: 20 votes, 10 classes (CPU time)", results["default"])
    if not hasattr(linmax, "vr_combine"):
        Console().print("no vr_combine yet: only its runs are measured")
    results["committee"] = committee.against_plain(5000 // size, rounds)
    show("VR-Combine and a plain numba program (CPU time of one core)", results["committee"])
    results["memory"] = memory.flat(10_000_000 // size)
    show("a long stream in pieces", [results["memory"]])
    RESULTS.mkdir(exist_ok=True)
    name = "core-quick.json" if quick else "core.json"
    (RESULTS / name).write_text(json.dumps(results, indent=1) + "\n")
    Console().print(f"kept in benchmarks/results/{name}")


typer.run(main)
