"""Errands that are run beside other work, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self


class Beside:
    """A thread of its own for errands that are given in order; at the end of a `with` all are done.

    What an errand raises is raised there, unless something else is on its way. With `at_once` there is no
    thread: errands are done when they are given.

    >>> done = []
    >>> with Beside() as beside:
    ...     beside.do(done.append, 1)
    ...     beside.do(done.append, 2)
    >>> done
    [1, 2]
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._thread = None if at_once else ThreadPoolExecutor(1, thread_name_prefix="linmax-beside")
        self._errands: list[Future[Any]] = []

    def do(self, errand: Callable[..., Any], *arguments: Any) -> None:
        """Run this after all that was given before."""
        if self._thread is None:
            errand(*arguments)
            return
        self._errands.append(self._thread.submit(errand, *arguments))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        if self._thread is None:
            return
        self._thread.shutdown()  # also on an error: what was given is to be done
        if kind is None:
            for errand in self._errands:
                errand.result()
