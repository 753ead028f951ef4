"""Run the cells of experiments on all cores; what is finished is kept, so that a run can be resumed."""

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

from experiments.catalogue import experiments
from experiments.interface import Cell, Experiment, Found
from experiments.kept import Kept


class Job(NamedTuple):
    """An experiment with its cells, and those of them that were finished before."""

    experiment: Experiment
    cells: list[Cell]
    kept: Kept
    data: Path

    def missing(self) -> list[int]:
        """The cells that have to be run."""
        return [at for at, cell in enumerate(self.cells) if self.kept.get(cell) is None]

    def found(self) -> list[Found]:
        """All cells with their numbers, once none is missing."""
        return [Found(cell, self.kept.get(cell)) for cell in self.cells]

    def seconds(self) -> float:
        """How long all finished cells took."""
        return sum(map(self.kept.seconds, self.cells))


Done = Callable[[Job], None]  # a cell of this job is finished


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(jobs: list[Job], workers: int, done: Done) -> None:
    """Run what is missing of all jobs, in the order given."""
    work = [(job, at) for job in jobs for at in job.missing()]
    if workers == 1 or len(work) < 2:
        for job, at in work:
            _finish(job, at, work_on(job.experiment.name, job.cells[at], job.data), done)
        return
    with _pool(min(workers, len(work))) as pool:
        waiting: dict[Future[tuple[Any, float]], tuple[Job, int]] = {
            pool.submit(work_on, job.experiment.name, job.cells[at], job.data): (job, at) for job, at in work
        }
        for future in as_completed(waiting):
            try:
                outcome = future.result()
            except BrokenProcessPool:
                raise ValueError(
                    "a process that ran cells was ended from outside, perhaps for want of memory;"
                    " finished cells are kept: try again with --cores 1"
                ) from None
            _finish(*waiting[future], outcome, done)


def _finish(job: Job, at: int, outcome: tuple[Any, float], done: Done) -> None:
    job.kept.put(job.cells[at], *outcome)
    done(job)


ALONE = dict.fromkeys(
    ("LINMAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"
)  # a worker has one core


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are started anew, as threads do not survive a fork, and ended at once on an error."""
    before, was = set(multiprocessing.active_children()), {name: os.environ.get(name) for name in ALONE}
    os.environ.update(ALONE)  # before a worker imports what reads it
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _patient)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        for name, value in was.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    pool.shutdown()


def _patient() -> None:
    """A worker leaves Ctrl-C to who started it, and does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def work_on(name: str, cell: Cell, data: Path) -> tuple[Any, float]:
    """Run one cell; what it gives is as it would be read from its file."""
    begin = time.perf_counter()
    value = experiments()[name].run(cell, data)
    return json.loads(json.dumps(value, allow_nan=False)), time.perf_counter() - begin
