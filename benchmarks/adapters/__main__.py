"""`make bench-adapters`: measure, print, and write benchmarks/results/adapters.json."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.adapters import batches, overhead, streams

RESULTS = Path(__file__).parents[1] / "results" / "adapters.json"


def show(title: str, found: dict[str, dict[str, dict[str, float]]], cost: str) -> None:
    """Print accuracies with costs in parentheses, a row per method and a column per data set."""
    table = Table("", *found, title=title)
    for name in next(iter(found.values())):
        cells = []
        for methods in found.values():
            one = methods[name]
            cells.append(f"{one['accuracy']:.4f}" + (f" ({one[cost]:.3g})" if cost in one else ""))
        table.add_row(name, *cells)
    Console().print(table)


def show_overhead(rows: list[dict[str, Any]]) -> None:
    """Print the cost of each call and of the same call of a session."""
    table = Table("call", "learner", "us", "core us", "ratio", "limit", title="CPU time of a call")
    for one in rows:
        figures = (f"{one['us']:.0f}", f"{one['core us']:.0f}", f"{one['ratio']:.2f}", f"{one['limit']:.0f}")
        table.add_row(one["call"], one["learner"], *figures)
    Console().print(table)


def main(
    quick: Annotated[bool, typer.Option(help="less of everything, and nothing is kept")] = False,
) -> None:
    """Measure the adapters and the ensembles of both libraries."""
    rounds = 5 if quick else 31
    cost = overhead.batches(rounds) + overhead.singles(rounds)
    show_overhead(cost)
    named_sets = list(batches.sets().items())
    fitted = {name: batches.compare(*make()) for name, make in (named_sets[1:2] if quick else named_sets)}
    fitted["drifting, in pieces"] = batches.in_pieces(1000 if quick else 4000)
    show("scikit-learn: accuracy (CPU seconds of fit)", fitted, "fit seconds")
    named_streams = list(streams.streams().items())[: 1 if quick else None]
    learned = {name: streams.compare(make) for name, make in named_streams}
    show("River: accuracy (microseconds of CPU an item)", learned, "us")
    if not quick:
        kept = {
            "machine": f"{platform.machine()}, {platform.system()}",
            "versions": {name: version(name) for name in ("scikit-learn", "river", "numpy", "numba")},
            "overhead": cost,
            "scikit-learn": fitted,
            "river": learned,
        }
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
        Console().print("kept in benchmarks/results/adapters.json")


if __name__ == "__main__":
    typer.run(main)
