"""Run the cells of experiments on all cores; finished cells are cached, so that a run can be resumed."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from experiments.cache import CellCache
from experiments.catalogue import experiments
from experiments.interface import Cell, Experiment, Found


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


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(jobs: list[Job], workers: int, done: Done) -> None:
    """Run the missing cells of all jobs, in order."""
    work = [(job, at) for job in jobs for at in job.missing()]
    if workers == 1 or len(work) < 2:
        for job, at in work:
            _finish(job, at, run_cell(job.experiment.name, job.cells[at], job.data), done)
        return
    with _pool(min(workers, len(work))) as pool:
        waiting: dict[Future[tuple[Any, float]], tuple[Job, int]] = {
            pool.submit(run_cell, job.experiment.name, job.cells[at], job.data): (job, at) for job, at in work
        }
        for future in as_completed(waiting):
            try:
                outcome = future.result()
            except BrokenProcessPool:
                raise ValueError(
                    "a worker process was killed, possibly because memory ran out;"
                    " finished cells are cached: try again with --cores 1"
                ) from None
            _finish(*waiting[future], outcome, done)


def _finish(job: Job, at: int, outcome: tuple[Any, float], done: Done) -> None:
    job.cache.put(job.cells[at], *outcome)
    done(job)


ONE_THREAD = dict.fromkeys(
    ("LINMAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"
)  # each worker uses one core


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Provide a pool of spawned processes, which are terminated on an error."""
    children = set(multiprocessing.active_children())
    environment = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)  # before a worker imports the libraries
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _initialize_worker)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - children:
            child.terminate()
        raise
    finally:
        for name, value in environment.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    pool.shutdown()


def _initialize_worker() -> None:
    """Ignore Ctrl-C in a worker, and end it with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def run_cell(name: str, cell: Cell, data: Path) -> tuple[Any, float]:
    """Run one cell, and return its result as it would be read from its file, and the seconds."""
    begin = time.perf_counter()
    value = experiments()[name].run(cell, data)
    return json.loads(json.dumps(value, allow_nan=False)), time.perf_counter() - begin
