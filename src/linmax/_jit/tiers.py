"""Tiers of execution: until something has been compiled on this machine, few trials run as Python.

The first call of a learner compiles for seconds, and a few hundred trials take less as Python, with the same
results, bit for bit. A process therefore runs learners of linmax as Python first if no machine code is on
disk, for at most `Budget.left` seconds, and compiles when that time is used up or would not suffice. The
variable LINMAX_COMPILE_AFTER of the environment sets that time; with 0, everything is compiled at once. What
users have written is always compiled: it may give other bits as Python, or an error.
"""

import contextlib
import dataclasses
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from linmax._jit.numba_internals import State

VARIABLE, USUAL = "LINMAX_COMPILE_AFTER", 10.0
PROBE = 32  # trials by which the time of the others is estimated
MOST = 20_000  # trials that are never run as Python
STEP = 0.5  # seconds after which it can be interrupted, and looks again whether to compile
SECONDS_PER_CELL = 1e-4  # an expert and a class, of a trial
SECONDS_PER_NUMBER = 5e-6  # of a kernel that is called with arrays
LOCK = threading.Lock()  # of `Budget.suspended`


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Run kernels and rules as Python inside this context, in this thread."""
    before, State.thread.interpreting = State.thread.interpreting, True
    try:
        yield
    finally:
        State.thread.interpreting = before


def interpreting() -> bool:
    """Tell whether kernels run as Python at the moment."""
    return State.thread.interpreting or not State.compiles


def _read_variable() -> float:
    text = os.environ.get(VARIABLE) or str(USUAL)
    with contextlib.suppress(ValueError):
        if (seconds := float(text)) >= 0.0:
            return seconds
    raise ValueError(f"{VARIABLE} is a number of seconds (got {text!r}); 0 compiles at once")


class Budget:
    """How long this process still runs as Python instead of compiling.

    Attributes
    ----------
    left : float
        The seconds.
    is_cold : function
        Tells whether no machine code is on disk; looked at once.
    suspended : int
        How many `compiling` contexts are open: inside of them, nothing runs as Python.
    """

    left = math.inf  # until it is first asked for
    is_cold: Callable[[], bool] | None = None
    suspended = 0


def postpones(seconds: float = 0.0) -> bool:
    """Tell whether work that takes so long as Python is not compiled for now.

    Work that takes longer than the budget ends it: from then on, everything is compiled.
    """
    if Budget.left <= 0.0 or Budget.suspended or interpreting():
        return False
    if Budget.is_cold is not None:
        left = _read_variable()
        Budget.left, Budget.is_cold = left if left and Budget.is_cold() else 0.0, None
    if seconds >= Budget.left:
        Budget.left = 0.0
    return Budget.left > 0.0


def compile_now() -> None:
    """Compile everything from now on, in this process."""
    Budget.left = 0.0


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Compile everything inside this context, in all threads of this process; the budget stays as it is."""
    with LOCK:
        Budget.suspended += 1
    try:
        yield
    finally:
        with LOCK:
            Budget.suspended -= 1


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Run as Python inside this context, in this thread, and charge the budget with the time."""
    start = time.perf_counter()
    try:
        with interpreted(), np.errstate(all="ignore"):  # as machine code, which does not warn
            yield
    finally:
        Budget.left -= time.perf_counter() - start


def is_own(value: Any) -> bool:
    """Tell whether a learner consists of parts of linmax: others may give other bits as machine code."""
    if isinstance(value, tuple | list):
        return all(map(is_own, value))
    kind = value if callable(value) else type(value)
    if kind.__module__.split(".")[0] not in ("linmax", "builtins", "numpy"):
        return False
    parts = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return all(is_own(getattr(value, part.name)) for part in parts)


def expect(trials: int, experts: int, classes: int, attributes: int) -> float:
    """Return how many seconds the first of these trials take as Python, at most: a single rule takes less."""
    if trials > MOST:
        return math.inf
    return SECONDS_PER_CELL * min(trials, PROBE) * (experts + attributes + 1) * (classes + 1)


def seconds_for(arguments: tuple[Any, ...]) -> float:
    """Return an estimate of how long a kernel takes as Python, from the size of its arguments."""
    numbers = 0
    for one in arguments:
        if isinstance(one, np.ndarray):
            numbers += one.size
        elif isinstance(one, tuple):
            numbers += sum(part.size for part in one if isinstance(part, np.ndarray))
    return SECONDS_PER_NUMBER * numbers
