"""Ctrl-C between trials, never within."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


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
