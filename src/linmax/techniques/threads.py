"""Runs side by side: kernels release the GIL, and no run sees another, so their order cannot matter."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

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
