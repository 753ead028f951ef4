"""Runs side by side: kernels release the GIL, and no run sees another, so their order cannot matter."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any

WORTH = 64  # trials from which on handing work over costs less than it saves

_pool: ThreadPoolExecutor | None = None


def count() -> int:
    """How many runs go on at a time: LINMAX_THREADS, or one per core this process may use."""
    asked = os.environ.get("LINMAX_THREADS", "")
    if asked:
        if not asked.isdecimal() or int(asked) < 1:
            raise ValueError(f"LINMAX_THREADS must be a whole number, 1 or more (got {asked!r})")
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(errands: list[Callable[[], None]], trials: int) -> None:
    """Run all errands, and return when the last is done."""
    if len(errands) < 2 or trials < WORTH or count() == 1:
        for errand in errands:
            errand()
        return
    for done in list(map(_workers(count()).submit, errands)):
        done.result()


def _workers(wanted: int) -> ThreadPoolExecutor:
    global _pool
    if _pool is None or _pool._max_workers != wanted:
        _pool = ThreadPoolExecutor(wanted, thread_name_prefix="linmax")
    return _pool


def _forget() -> None:
    global _pool
    _pool = None  # a forked child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """An interrupt that comes inside is raised at the end, when the session is whole again."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield  # interrupts go elsewhere
        return
    came: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *what: came.append(what))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[-1])


@cache
def _thread(process: int) -> ThreadPoolExecutor:
    """The one thread of a process; a child of it has one of its own."""
    return ThreadPoolExecutor(1, thread_name_prefix="linmax-beside")


class Beside:
    """One errand at a time: the next one waits for it, and hears what it raised; so does `settle`.

    >>> done, beside = [], Beside()
    >>> beside.do(done.append, 1)
    >>> beside.do(done.append, 2)
    >>> beside.settle()
    >>> done
    [1, 2]
    """

    def __init__(self) -> None:
        self._errand: Future[Any] | None = None

    def do(self, errand: Callable[..., Any], *arguments: Any) -> None:
        """Have this done; it must not give errands itself."""
        self.settle()
        self._errand = _thread(os.getpid()).submit(errand, *arguments)

    def settle(self) -> None:
        """Wait until nothing is under way."""
        if self._errand is not None:
            wait([self._errand])
            errand, self._errand = self._errand, None
            errand.result()
