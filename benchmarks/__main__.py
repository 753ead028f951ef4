"""`make bench`: measure all parts and the peers in one run, and write results, a page and figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import pages, parts
from benchmarks.pages import RESULTS
from benchmarks.peers.peer_client import PeerError, PeerTimer

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"


def main(
    quick: Annotated[bool, typer.Option("--quick", help="a small part of the work, in two minutes")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="a part, may be repeated; all if none is named")
    ] = None,
    data: Annotated[Path, typer.Option(help="the folder of real data", show_default="../shared/data")] = DATA,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="run peers again whose predictions are cached")
    ] = False,
    results: Annotated[
        Path, typer.Option(help="the folder of results", show_default="benchmarks/results")
    ] = RESULTS,
    workers: Annotated[
        int, typer.Option(min=1, help="the processes in which learners run that are not timed (quality)")
    ] = 1,
    cluster: Annotated[
        str | None, typer.Option(help="a Dask cluster for them, such as tcp://host:8786, or local")
    ] = None,
) -> None:
    """Measure linmax, C, Vowpal Wabbit, River and scikit-learn."""
    console = Console()
    known = parts.names()
    unknown = [name for name in only or [] if name not in known]
    if unknown:
        raise typer.BadParameter(f"there is no part {unknown[0]!r}, only {', '.join(known)}")
    results.mkdir(parents=True, exist_ok=True)
    done: list[str] = []
    try:
        with PeerTimer() as timer:
            for name in only or known:
                console.print(f"{name} ...")
                start = time.perf_counter()
                where = {"workers": workers} if cluster is None else {"cluster": cluster}
                options = {"quick": quick, "timer": timer, "data": data, "fresh": fresh, "where": where}
                run(name, options, results, console)
                console.print(f"  in {time.perf_counter() - start:.0f} s", highlight=False)
                done.append(name)
    except KeyboardInterrupt:
        console.print(f"stopped; finished and stored: {', '.join(done) or 'nothing'}")
        raise typer.Exit(130) from None
    except PeerError as error:
        console.print(
            f"stopped: {error}; finished and stored: {', '.join(done) or 'nothing'}", soft_wrap=True
        )
        raise typer.Exit(1) from None
    finally:
        if done:
            page = pages.build(results, quick)
            console.print(f"results are in {page.parent}, the page is {page.name}", soft_wrap=True)


def run(name: str, options: dict[str, Any], results: Path, console: Console) -> None:
    """Measure a part, store its results, and print the highlights."""
    columns = (TextColumn("{task.description:45}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=1.0)

        def report(what: str, share: float = 0.0) -> None:
            progress.update(task, description=f"{name}: {what}", completed=share)

        measured = parts.measure(name, {**options, "report": report})
    pages.store(name, measured, results, options["quick"])
    for line in parts.highlights(name, measured):
        console.print(f"  {line}", soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    typer.run(main)
