"""Engines: what runs tasks. A pool of processes, or a Dask cluster here or elsewhere."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, Protocol

from linmax.runtime.concurrency import core_count
from linmax.scale.scheduler import connect, local_client
from linmax.validation import check_integer

ONE_THREAD = dict.fromkeys(("LINMAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""The environment of a worker: each uses one core."""
MOST_PER_CORE = 8
"""Workers on this machine for each of its cores: each takes hundreds of megabytes."""
WAIT = 30
"""Seconds after which a result is asked for again."""
ALONE, LOOK_EVERY = 300, 5
"""Seconds after which a cluster without workers is given up, and between two looks at the workers."""

OnResult = Callable[[int, Any], None]


class WorkerError(ValueError):
    """A task could not be finished, because its worker or the scheduler is gone; one sentence."""


class LostSchedulerError(WorkerError):
    """The scheduler is gone, and all tasks with it; one sentence."""


class Engine(Protocol):
    """What runs tasks: functions of a module, with arguments that can be pickled."""

    @property
    def workers(self) -> int:
        """The number of tasks that run at the same time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task, and return its future."""

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> list[Any]:
        """Start ``function(item, *shared)`` for every item; what is shared is sent to each worker once."""

    def gather(
        self, futures: Sequence[Any], on_result: OnResult | None = None, *, errors: bool = False
    ) -> list[Any]:
        """Wait for tasks, and return their results in the order of the futures.

        Parameters
        ----------
        futures
            What `submit` and `map` have returned.
        on_result
            Called with the index and the result of each task, as soon as it is finished.
        errors
            Whether the exception of a task takes the place of its result, instead of being raised.
        """


@contextlib.contextmanager
def open_engine(cluster: Any = None, workers: int | None = None) -> Iterator[Engine]:
    """Open an engine; at the end of the block, the processes that it has started end.

    Parameters
    ----------
    cluster : None, "local", str, distributed.Client or Engine
        None runs tasks in a pool of processes on this machine, "local" in a Dask cluster on it, and an
        address such as "tcp://scheduler:8786" on a cluster that is running. A client or an engine stays open.
    workers : int, optional
        The number of processes on this machine, by default one per core. 1 runs the tasks in this process,
        unless a cluster is asked for.

    Yields
    ------
    Engine

    Raises
    ------
    ImportError
        If a cluster is asked for, and `distributed` is not installed.

    Examples
    --------
    >>> from linmax.scale import open_engine
    >>> with open_engine(workers=1) as engine:
    ...     engine.gather(engine.map(pow, [2, 3], 2))
    [4, 9]
    """
    if workers is not None:
        check_integer("open_engine", "workers", workers, 1)
        if workers > MOST_PER_CORE * core_count():
            raise ValueError(
                f"this machine has {core_count()} cores, for {MOST_PER_CORE * core_count()} workers at most"
                f" (got {workers}); one per core is usual"
            )
    if isinstance(cluster, ThisProcess | ProcessPool | DaskCluster):
        yield cluster
    elif cluster is None:
        number = workers or core_count()
        with contextlib.nullcontext(ThisProcess()) if number == 1 else _process_pool(number) as engine:
            yield engine
    elif isinstance(cluster, str):
        with _dask_client(cluster, workers) as client:
            yield DaskCluster(client)
    elif hasattr(cluster, "scheduler_info"):
        yield DaskCluster(cluster)
    else:
        raise ValueError(
            f'cluster is None, "local", an address such as "tcp://host:8786" or a distributed.Client'
            f" (got {cluster!r})"
        )


class ThisProcess:
    """Runs each task when it is submitted, in this process."""

    workers = 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Prepare a task, which `gather` runs."""
        return function, arguments

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> list[Any]:
        """Prepare a task for every item."""
        return [self.submit(function, item, *shared) for item in items]

    def gather(
        self, futures: Sequence[Any], on_result: OnResult | None = None, *, errors: bool = False
    ) -> list[Any]:
        """Run tasks, one after the other."""
        return _collect(((i, partial(f, *a)) for i, (f, a) in enumerate(futures)), on_result, errors)


class ProcessPool:
    """Runs tasks in processes of this machine.

    Parameters
    ----------
    pool
        The pool of processes.
    workers
        Their number.
    """

    def __init__(self, pool: ProcessPoolExecutor, workers: int) -> None:
        self.pool, self.workers = pool, workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a task."""
        try:
            return self.pool.submit(function, *arguments)
        except BrokenProcessPool:
            raise _killed() from None

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> list[Future[Any]]:
        """Start a task for every item."""
        return [self.submit(function, item, *shared) for item in items]

    def gather(
        self, futures: Sequence[Any], on_result: OnResult | None = None, *, errors: bool = False
    ) -> list[Any]:
        """Wait for tasks."""
        places = {future: i for i, future in enumerate(futures)}

        def result(future: Future[Any]) -> Any:
            try:
                return future.result()
            except BrokenProcessPool:
                raise _killed() from None

        finished = ((places[one], partial(result, one)) for one in as_completed(places))
        return _collect(finished, on_result, errors)


class DaskCluster:
    """Runs tasks on a Dask cluster; those of a worker that dies run again elsewhere.

    Parameters
    ----------
    client : distributed.Client
        The connection to the scheduler.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._address = client.scheduler.address if client.scheduler is not None else "the cluster"
        self._looked = 0.0
        self._alone: float | None = None  # since when there are no workers

    @property
    def workers(self) -> int:
        """The number of threads of all workers."""
        return max(int(sum(self.client.nthreads().values())), 1)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start a task."""
        return self.client.submit(function, *arguments, pure=False)

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> list[Any]:
        """Start a task for every item; what is shared is sent to every worker once."""
        # tasks that return it, because what is scattered is lost with the workers that have it
        sent = [self.client.submit(_identity, one, pure=False) for one in shared]
        return [self.client.submit(function, item, *sent, pure=False) for item in items]

    def gather(
        self, futures: Sequence[Any], on_result: OnResult | None = None, *, errors: bool = False
    ) -> list[Any]:
        """Wait for tasks."""
        import distributed

        completed: Any = distributed.as_completed
        places: dict[Any, int] = {future.key: i for i, future in enumerate(futures)}
        steps = completed(list(futures), loop=self.client.loop, raise_errors=False)
        finished = ((places[one.key], partial(self._result, one)) for one in self._finished(steps))
        try:
            return _collect(finished, on_result, errors)
        except BaseException:
            with contextlib.suppress(Exception):
                self.client.cancel(list(futures), force=True)
            raise

    def _finished(self, steps: Any) -> Iterator[Any]:
        """Yield futures as they finish."""
        while not steps.is_empty():
            if steps.has_ready():
                yield next(steps)
            else:
                self._check_workers()
                time.sleep(0.01)

    def _check_workers(self) -> None:
        """Now and then, look whether there are workers; if there are none for long, none will come back."""
        now = time.monotonic()
        if now < self._looked + LOOK_EVERY:
            return
        self._looked = now
        with contextlib.suppress(Exception):  # a lost scheduler cancels the futures
            self._alone = None if self.client.nthreads() else self._alone or now
        if self._alone is not None and now >= self._alone + ALONE:
            self._alone = None
            sentence = f"{self._address} has had no workers for {ALONE} seconds; start some, then resume"
            raise LostSchedulerError(sentence)

    def _result(self, future: Any) -> Any:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            return self._wait(future)
        except KilledWorker:
            raise WorkerError(
                "a task ended its worker several times, possibly because memory ran out; give workers more"
                " memory, or make tasks smaller"
            ) from None
        except (FutureCancelledError, CancelledError, OSError):
            if future.status == "error":
                raise  # of the task itself
            raise LostSchedulerError(f"the connection to the scheduler at {self._address} is lost") from None

    def _wait(self, future: Any) -> Any:
        """Return the result of a task, which may run again if its worker has died meanwhile."""
        while True:
            try:
                return future.result(timeout=WAIT)
            except TimeoutError:
                if future.status == "error":
                    raise future.exception() from None  # the task may have failed just now
                if self.client.status != "running":
                    raise
                self._check_workers()


def gather_all(
    engine: Engine,
    futures: Sequence[Any],
    on_progress: Callable[[int, int], None] | None = None,
    on_result: OnResult | None = None,
) -> list[Any]:
    """Wait for tasks; an error of one takes the place of its result, unless the scheduler is gone.

    Parameters
    ----------
    engine
        What runs the tasks.
    futures
        What `Engine.map` has returned.
    on_progress
        Called with the number of tasks that are finished, and that of all.
    on_result
        As for `Engine.gather`.
    """
    done = 0

    def count(place: int, result: Any) -> None:
        nonlocal done
        done += 1
        if isinstance(result, LostSchedulerError):
            raise LostSchedulerError(f"{result}; what is finished is kept: run again and resume")
        if on_result is not None:
            on_result(place, result)
        if on_progress is not None:
            on_progress(done, len(futures))

    return engine.gather(futures, count, errors=True)


def _collect(
    finished: Iterable[tuple[int, Callable[[], Any]]], on_result: OnResult | None, errors: bool
) -> list[Any]:
    """Call what returns the result of each task, and return the results in their order."""
    results: dict[int, Any] = {}
    for place, result in finished:
        try:
            results[place] = result()
        except Exception as error:
            if not errors:
                raise
            results[place] = error
        if on_result is not None:
            on_result(place, results[place])
    return [results[i] for i in range(len(results))]


def _identity(value: Any) -> Any:
    return value


def _killed() -> WorkerError:
    return WorkerError(
        "a worker process was killed, possibly because memory ran out; use fewer workers, or a cluster, which"
        " repeats tasks"
    )


@contextlib.contextmanager
def _process_pool(workers: int) -> Iterator[ProcessPool]:
    """Provide a pool of spawned processes, which are terminated on an error."""
    children = set(multiprocessing.active_children())
    with _environment():  # before a worker imports the libraries
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, spawn, _initialize_worker, (os.getpid(),))
        try:
            yield ProcessPool(pool, workers)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - children:
                child.terminate()
            raise
        pool.shutdown()


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _initialize_worker(parent: int) -> None:
    """Ignore Ctrl-C in a worker, and end it with its parent, which may have ended before it is ready."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _dask_client(cluster: str, workers: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or start one with workers that only this machine can reach."""
    if cluster == "local":
        with local_client(workers or core_count(), ONE_THREAD, ALONE) as client:
            yield client
        return
    try:
        client = connect(cluster)
    except ConnectionError as error:
        raise LostSchedulerError(str(error)) from None
    with _quiet("distributed.client"), client:  # a lost connection is one sentence, not a log
        yield client
