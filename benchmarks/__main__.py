"""`make bench`: measure all parts beside the peers in one run, and keep figures, a page and pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import pages, parts
from benchmarks.pages import RESULTS
from benchmarks.peers.desk import Desk, PeerError

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"


def main(
    quick: Annotated[bool, typer.Option("--quick", help="a small part of the work, in two minutes")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="a part, may be repeated; all if none is named")
    ] = None,
    data: Annotated[Path, typer.Option(help="the folder of real data", show_default="../shared/data")] = DATA,
    fresh: Annotated[bool, typer.Option("--fresh", help="run peers again whose guesses are kept")] = False,
    results: Annotated[
        Path, typer.Option(help="where figures go", show_default="benchmarks/results")
    ] = RESULTS,
) -> None:
    """Measure linmax beside plain C, Vowpal Wabbit, River and scikit-learn."""
    console = Console()
    there = parts.names()
    unknown = [name for name in only or [] if name not in there]
    if unknown:
        raise typer.BadParameter(f"there is no part {unknown[0]!r}, only {', '.join(there)}")
    results.mkdir(parents=True, exist_ok=True)
    done: list[str] = []
    try:
        with Desk() as desk:
            for name in only or there:
                console.print(f"{name} ...")
                begun = time.perf_counter()
                offered = {"quick": quick, "desk": desk, "data": data, "fresh": fresh}
                run(name, offered, results, console)
                console.print(f"  in {time.perf_counter() - begun:.0f} s", highlight=False)
                done.append(name)
    except KeyboardInterrupt:
        console.print(f"stopped; finished and kept: {', '.join(done) or 'nothing'}")
        raise typer.Exit(130) from None
    except PeerError as why:
        console.print(f"stopped: {why}; finished and kept: {', '.join(done) or 'nothing'}", soft_wrap=True)
        raise typer.Exit(1) from None
    finally:
        if done:
            page = pages.build(results, quick)
            console.print(f"kept in {page.parent}, the page is {page.name}", soft_wrap=True)


def run(name: str, offered: dict[str, Any], results: Path, console: Console) -> None:
    """Measure a part, keep it, and say what it found."""
    columns = (TextColumn("{task.description:45}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=1.0)

        def tell(what: str, share: float = 0.0) -> None:
            progress.update(task, description=f"{name}: {what}", completed=share)

        measured = parts.measured(name, {**offered, "tell": tell})
    pages.keep(name, measured, results, offered["quick"])
    for line in parts.summed_up(name, measured):
        console.print(f"  {line}", soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    typer.run(main)
