"""`linmax reproduce`: list the experiments, or run some and compare the results with the claims."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Shown
from rich.text import Text

from experiments import data as files
from experiments import pages, runner
from experiments.cache import FOLDER, CellCache
from experiments.catalogue import experiments, select
from experiments.interface import Experiment
from experiments.runner import Done, Job

QUICK = FOLDER / "quick"  # runs in quick mode, or with fewer runs, never replace results
QUICK_RUNS = 3  # with two runs intervals are too wide
STYLES = {
    "reproduced": "green",
    "reproduced in order only": "yellow",
    "not reproduced": "red",
    "data lost": "magenta",
}


def listing(console: Console) -> None:
    """Print the experiments, and the outcomes of their claims where results exist."""
    table = Shown(box=None, pad_edge=False)
    table.add_column("experiment", style="cyan", min_width=max(map(len, experiments())))
    for heading in ("what it is", "claims"):
        table.add_column(heading, overflow="fold")
    for name, one in experiments().items():
        stored = pages.read(one)
        counts = Counter(outcome.judgement for outcome in one.judge(stored["figures"])) if stored else {}
        outcomes = ", ".join(f"{count} {judgement}" for judgement, count in counts.items())
        table.add_row(name, one.title, outcomes or "not run")
    console.print(table)
    console.print("\nlinmax reproduce NAME ... runs some, linmax reproduce all runs all of them.")


def reproduce(
    names: list[str],
    *,
    runs: int | None = None,
    quick: bool = False,
    data: Path | None = None,
    folder: Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    console: Console | None = None,
    cache: Path = FOLDER,
) -> int:
    """Run experiments, write and print results; return how many lack data."""
    console = console or Console()
    where, without = files.folder(data), 0
    jobs: list[Job] = []
    counts = {one.name: runs or (QUICK_RUNS if quick else one.runs) for one in select(names)}
    if folder is not None:
        _check_writable(folder)

    def place(one: Experiment) -> Path:
        return folder or (QUICK if quick or counts[one.name] < one.runs else pages.RESULTS)

    for one in select(names):
        try:
            files.require_files(one.name, one.data, where)
        except ValueError as error:
            if len(counts) == 1:
                raise
            console.print(Text(f"linmax: {error}", style="red"), soft_wrap=True)
            without += 1
            continue
        jobs.append(Job(one, one.cells(counts[one.name], quick), CellCache(one, where, cache), where))

    left = {job.experiment.name: len(job.missing()) for job in jobs}
    before = {name for name, count in left.items() if not count}

    def close(job: Job) -> None:
        one = job.experiment
        figures = json.loads(json.dumps(one.gather(job.found()), allow_nan=False))
        facts = pages.facts(counts[one.name], quick, job.seconds())
        target = place(one)
        pages.write_all(one, figures, facts, target)
        show(console, one, figures)
        cached = " (from the cache)" if one.name in before else ""
        console.print(
            Text(f"{one.name}: {job.seconds():.0f} s of work{cached}, in {target}\n"), soft_wrap=True
        )

    for job in jobs:
        if not left[job.experiment.name]:
            close(job)
    try:
        with _progress(console, jobs, left) as advance:

            def done(job: Job) -> None:
                name = job.experiment.name
                left[name] -= 1
                advance(job)
                if not left[name]:
                    close(job)

            runner.run(jobs, done, workers, cluster)
    except KeyboardInterrupt:
        cells = sum(len(job.cells) for job in jobs)
        raise KeyboardInterrupt(
            f"stopped; {cells - sum(left.values())} of {cells} cells are cached,"
            " and the same command continues from there"
        ) from None
    if quick:
        console.print("Quick mode: with few runs intervals are wide, and agreement may be due to chance.")
    return without


def _check_writable(folder: Path) -> None:
    """Raise an error if the folder is not writable, before any work is done."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise ValueError(f"results cannot be written to {folder}; pass another folder with --folder")


def show(console: Console, experiment: Experiment, figures: dict[str, object]) -> None:
    """Print the outcomes; reasons and tables are on the page."""
    shown = Shown(title=experiment.title, title_justify="left", title_style="bold")
    for heading in ("claim", "paper", "linmax", "outcome"):
        shown.add_column(heading, overflow="fold")
    for outcome in experiment.judge(figures):
        style = STYLES[outcome.judgement]
        words = (outcome.claim, outcome.paper, outcome.found)
        shown.add_row(*map(Text, words), Text(outcome.judgement, style=style))
    console.print(shown)


@contextmanager
def _progress(console: Console, jobs: list[Job], left: dict[str, int]) -> Iterator[Done]:
    """Show a progress bar per running experiment and one for all; none without a terminal."""
    if not console.is_terminal or not sum(left.values()):
        yield lambda job: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        whole = progress.add_task("all cells", total=sum(left.values()))
        bars = {
            job.experiment.name: progress.add_task(
                job.experiment.name,
                total=len(job.cells),
                completed=len(job.cells) - left[job.experiment.name],
                visible=False,
            )
            for job in jobs
        }

        def advance(job: Job) -> None:
            bar, name = bars[job.experiment.name], job.experiment.name
            progress.advance(whole)
            progress.update(bar, advance=1, visible=left[name] > 0)

        yield advance
