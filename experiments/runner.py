"""Run the cells of experiments on all cores; finished cells are cached, so that a run can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from experiments.cache import CellCache
from experiments.catalogue import experiments
from experiments.interface import Cell, Experiment, Found
from linmax.runtime.concurrency import core_count
from linmax.scale import open_engine
from linmax.scale.engine import WorkerError


class Job(NamedTuple):
    """An experiment with its cells and their cache."""

    experiment: Experiment
    cells: list[Cell]
    cache: CellCache
    data: Path

    def missing(self) -> list[int]:
        """Return the cells that are not cached."""
        return [at for at, cell in enumerate(self.cells) if self.cache.get(cell) is None]

    def found(self) -> list[Found]:
        """Return all cells with their results."""
        return [Found(cell, self.cache.get(cell)) for cell in self.cells]

    def seconds(self) -> float:
        """Return the total run time of the finished cells."""
        return sum(map(self.cache.seconds, self.cells))


Done = Callable[[Job], None]  # a cell of this job is finished


def run(jobs: list[Job], done: Done, workers: int | None = None, cluster: str | None = None) -> None:
    """Run the missing cells of all jobs, in order; `workers` and `cluster` are those of `open_engine`."""
    work = [(job, at) for job in jobs for at in job.missing()]
    if not work:
        return
    if cluster is None:
        workers = min(workers or core_count(), len(work))
    cells = [(job.experiment.name, job.cells[at], job.data) for job, at in work]

    def finished(place: int, outcome: tuple[Any, float]) -> None:
        _finish(*work[place], outcome, done)

    try:
        with open_engine(cluster, workers) as engine:
            engine.gather(engine.map(run_cell, cells), finished)
    except WorkerError as error:
        raise ValueError(f"{error}; finished cells are cached: the same command continues") from None


def _finish(job: Job, at: int, outcome: tuple[Any, float], done: Done) -> None:
    job.cache.put(job.cells[at], *outcome)
    done(job)


def run_cell(task: tuple[str, Cell, Path]) -> tuple[Any, float]:
    """Run one cell of an experiment, and return its result as its file would have it, and the seconds."""
    name, cell, data = task
    begin = time.perf_counter()
    value = experiments()[name].run(cell, data)
    return json.loads(json.dumps(value, allow_nan=False)), time.perf_counter() - begin
