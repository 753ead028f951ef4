"""Threads and interrupts: a lock for sessions, a pool for rule runs, and Ctrl-C between chunks only."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any

from linmax._jit.compilation import interpreting

PAUSE, PATIENCE = 5e-5, 2000  # seconds, and how many such pauses a chunk makes for threads that wait
MIN_TRIALS = 64  # below this, handing work to a thread costs more than it saves


class SessionLock:
    """Order among the threads that share a session.

    `state` protects the session: it is held for one chunk of trials, or for one item. `learning` is held for
    a whole call that learns many items, so that such calls follow one another. Whoever takes both takes
    `learning` first. A thread that learns lets those that wait for the state go first before each chunk, so
    a prediction beside a long `learn` waits for one chunk at most. A thread that holds a lock may take it
    again.

    The locks are taken by ``with`` on the lock itself, or by `acquire` as the first call inside of a ``try``:
    Python handles no signal between the acquisition and the block, so Ctrl-C cannot leave a lock behind.

    Attributes
    ----------
    learning, state : RLock
    learning_thread : Thread or None
        The thread of a call that learns many items, while it is under way: a single item is then learned
        after it. It changes inside of ``with lock.exclusive`` only.
    waiting : deque
        Has one entry per thread that waits for the state. It is a hint: an entry that an interrupt leaves
        behind costs a short wait.

    Examples
    --------
    >>> lock = SessionLock()
    >>> with lock, lock.state:
    ...     len(lock.waiting)
    1
    """

    def __init__(self) -> None:
        self.learning = threading.RLock()
        self.state = threading.RLock()
        self.learning_thread: threading.Thread | None = None
        self.exclusive = _Exclusive(self)
        self.waiting: deque[None] = deque()
        self.served: deque[None] = deque(maxlen=1000)  # entries that have left, since a chunk looked

    def __enter__(self) -> None:
        self.waiting.append(None)

    def __exit__(self, *error: object) -> None:
        try:  # noqa: SIM105 (contextlib.suppress takes longer than the rest)
            self.waiting.pop()
        except IndexError:
            pass  # a chunk that ran out of patience has emptied it, perhaps just now
        self.served.append(None)

    def acquire_in_turn(self) -> None:
        """Acquire the state, which another thread holds; a chunk that follows waits for this thread."""
        with self:
            self.state.acquire()

    def let_others_go_first(self) -> None:
        """Wait, before a chunk is learned, until the threads that wait for the state have been served."""
        if not self.waiting:
            return
        self.served.clear()
        there = len(self.waiting)
        for _ in range(PATIENCE):
            if not self.waiting or len(self.served) >= there:
                return
            time.sleep(PAUSE)
        self.waiting.clear()  # the state was free: whoever waited would have been served


class _Exclusive:
    """Inside of this block, entered by one thread at a time, no other thread learns a single item."""

    def __init__(self, lock: SessionLock) -> None:
        self.lock = lock

    def __enter__(self) -> None:
        self.lock.learning_thread = threading.current_thread()
        with self.lock.state:
            pass  # an item that was being learned is done

    def __exit__(self, *error: object) -> None:
        self.lock.learning_thread = None


_pool: ThreadPoolExecutor | None = None


def thread_count() -> int:
    """Return how many rule runs go on at a time: LINMAX_THREADS, or one per core of this process."""
    asked = os.environ.get("LINMAX_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"LINMAX_THREADS must be a whole number, 1 or more (got {asked!r})")
        return int(asked)
    return core_count()


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(tasks: list[Callable[[], None]], trials: int) -> None:
    """Run all tasks, in threads if that is worth it, and return when the last is done."""
    if len(tasks) < 2 or trials < MIN_TRIALS or interpreting() or thread_count() == 1:
        for task in tasks:
            task()
        return
    futures = list(map(_workers(thread_count()).submit, tasks))
    wait(futures)  # also where one has failed: the others write into the session
    for future in futures:
        future.result()


def _workers(wanted: int) -> ThreadPoolExecutor:
    global _pool
    if _pool is None or _pool._max_workers != wanted:
        _pool = ThreadPoolExecutor(wanted, thread_name_prefix="linmax")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None  # a forked child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


class DeferredInterrupt:
    """Delay a KeyboardInterrupt that arrives inside the block until its end.

    Nothing is done outside the main thread, nor where the program has installed a handler for SIGINT.
    """

    def __enter__(self) -> None:
        self.interrupts: list[Any] = []
        self.active = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self.active:
            signal.signal(signal.SIGINT, lambda *what: self.interrupts.append(what))

    def __exit__(self, *error: object) -> None:
        if self.active:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self.interrupts:
                signal.default_int_handler(*self.interrupts[-1])


@cache
def _background_thread(process: int) -> ThreadPoolExecutor:
    """Return the one background thread of a process; a forked child has one of its own."""
    return ThreadPoolExecutor(1, thread_name_prefix="linmax-background")


class BackgroundTask:
    """Runs one task at a time in the background; `submit` and `wait` first wait for the last one.

    Examples
    --------
    >>> done, background = [], BackgroundTask()
    >>> background.submit(done.append, 1)
    >>> background.submit(done.append, 2)
    >>> background.wait()
    >>> done
    [1, 2]
    """

    def __init__(self) -> None:
        self._future: Future[Any] | None = None

    def submit(self, task: Callable[..., Any], *arguments: Any) -> None:
        """Start a task; it must not submit tasks itself.

        Parameters
        ----------
        task
            The function to call.
        *arguments
            Its arguments.
        """
        self.wait()
        self._future = _background_thread(os.getpid()).submit(task, *arguments)

    def wait(self) -> None:
        """Wait until no task is running; raise what the last one has raised."""
        if self._future is not None:
            wait([self._future])
            future, self._future = self._future, None
            future.result()
