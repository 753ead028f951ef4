"""An errand that is done beside other work."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any


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
