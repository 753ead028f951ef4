"""What waits to be written to the log, and is told when it is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from linmax.service.event_log.schema import INSERT_EVENT, INSERT_ITEM, SET_LEARNED
from linmax.service.messages.errors import ServiceError

QUICK = frozenset({INSERT_EVENT, INSERT_ITEM, SET_LEARNED})  # statements that write one row each

Statement = tuple[str, tuple[Any, ...] | list[tuple[Any, ...]]]  # a list: once for each


class Write(NamedTuple):
    """Statements that one request waits for.

    Parameters
    ----------
    statements
        The statements, run in one transaction with those of other requests.
    epoch
        How many times writing had failed when the request was processed.
    done
        Called with None, or with the error.
    loop
        The event loop that calls it; None: the writer's thread.
    """

    statements: list[Statement]
    epoch: int
    done: Callable[[Exception | None], None]
    loop: asyncio.AbstractEventLoop | None = None

    @property
    def quick(self) -> bool:
        """Whether it writes a few rows."""
        for sql, bindings in self.statements:  # noqa: SIM110 (a generator takes longer)
            if sql not in QUICK or type(bindings) is not tuple:
                return False
        return True


class Group(NamedTuple):
    """Requests that share a transaction.

    Parameters
    ----------
    writes
        All of them.
    current
        Those that were processed after the last failure; the others fail, too.
    error
        Why their statements could not be run; None if they were, or have not been tried.
    """

    writes: list[Write]
    current: list[Write]
    error: ServiceError | None = None


class Written(asyncio.Future[None]):
    """Done when statements are on disk; a task that is cancelled while it waits cancels no other task."""

    def cancel(self, msg: Any = None) -> bool:  # noqa: D102
        return False

    def withdraw(self) -> None:
        """Cancel all that wait: nothing will be written."""
        super().cancel()


def finish(future: asyncio.Future[None], error: Exception | None) -> None:
    """Tell a future that its statements are on disk, or why they are not."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()  # whoever waits for it gets it, and nobody has to
