"""`make bench-panels`: one pass over every real panel, linmax and its peers side by side."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Annotated, Any

import numba
import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import linmax
from benchmarks.panels import own
from benchmarks.panels.compare import mean, record
from benchmarks.panels.page import figure, opposed, page
from benchmarks.panels.plot import draw
from benchmarks.panels.reading import Panel, panels
from benchmarks.panels.run import run
from benchmarks.peers.cells import Peers
from benchmarks.peers.environment import versions
from benchmarks.peers.settings import LIBRARIES, SETTINGS

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
RESULTS = ROOT / "benchmarks" / "results"
PERMUTATIONS = 5
SMALL = "labelme"


def main(
    quick: Annotated[bool, typer.Option("--quick", help="one small panel in one random order")] = False,
    data: Annotated[Path, typer.Option(help="the folder of panels", show_default="../shared/data")] = DATA,
    fresh: Annotated[bool, typer.Option("--fresh", help="run the peers again, too")] = False,
) -> None:
    """Measure the quality of linmax and its peers on real panels."""
    console = Console()
    found = [one for one in panels(data) if not quick or one.name == SMALL]
    if not found:
        console.print(f"no panels in {data}; name their folder with --data", soft_wrap=True)
        return
    peers = Peers(ROOT / ".cache" / "peers", fresh=fresh, install=not quick)
    try:
        rows = measure(found, peers, 1 if quick else PERMUTATIONS, console)
    except KeyboardInterrupt:
        console.print("stopped; what the peers had finished is kept")
        raise typer.Exit(130) from None
    RESULTS.mkdir(exist_ok=True)
    name = "panels-quick" if quick else "panels"
    results = described(rows)
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    (RESULTS / f"{name}.md").write_text(page(results))
    draw(rows, RESULTS / f"{name}.png")
    console.print(shown(rows))
    console.print(f"kept in benchmarks/results/{name}.json, .md, .png and .svg")


def measure(found: list[Panel], peers: Peers, permutations: int, console: Console) -> list[dict[str, Any]]:
    """All panels; what the peers have finished is kept when this is interrupted."""
    columns = (TextColumn("{task.description:45}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(found) * (1 + permutations))

        def tell(what: str, done: int) -> None:
            progress.update(task, description=what, advance=done)

        rows = []
        left_out: dict[str, list[str]] = {}
        for panel in found:
            accuracy, why = run(panel, peers, permutations, tell)
            rows.append(record(panel, accuracy, LIBRARIES))
            if why:
                left_out.setdefault(why, []).append(panel.name)
    for why, names in left_out.items():
        console.print(f"peers are left out on {', '.join(names)}: {why}", soft_wrap=True, markup=False)
    return rows


def shown(rows: list[dict[str, Any]]) -> Table:
    """The default against the best of each peer, for a terminal."""
    title = "part of right guesses, mean over random orders; linmax minus the peer in points"
    table = Table("panel", "linmax", *(f"{library} best" for library in LIBRARIES), title=title)
    for row in rows:
        accuracy = row["accuracy"]
        cells = [row["panel"], figure(mean(accuracy[own.LINMAX]))]
        for library in LIBRARIES:
            found = row["against"].get(library)
            parts = opposed(found, mean(accuracy[found["best"]])) if found else ["left out", "", ""]
            cells.append(f"{parts[0]}\n{parts[1]} {parts[2]}")
        table.add_row(*cells)
    return table


def described(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures with what made them."""
    made_by = {
        "linmax": linmax.__version__,
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
    }
    called = {name: repr(fusion().learner) for name, fusion in own.fusions(2).items()}
    if any(row["against"] for row in rows):
        pins = versions()
        made_by |= {name: pins[name] for name in ("vowpalwabbit", "river", "scikit-learn")}
        called |= SETTINGS
    return {"versions": made_by, "called": called, "panels": rows}


if __name__ == "__main__":
    typer.run(main)
