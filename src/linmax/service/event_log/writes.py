"""What waits to be written to the log, and is told when it is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from linmax.service.event_log.schema import INSERT_EVENT, INSERT_ITEM, SET_LEARNED
from linmax.service.messages.errors import ServiceError

QUICK = (
    INSERT_EVENT,
    INSERT_ITEM,
    SET_LEARNED,
)  # statements that write one row each, in the order they may run

Statement = tuple[str, tuple[Any, ...] | list[tuple[Any, ...]]]  # a list: once for each


class Write(msgspec.Struct, eq=False, gc=False):
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


def rows_by_statement(writes: list[Write]) -> list[Statement] | None:
    """Return statements that write the rows of all requests, which takes little time; None if others do more.

    Parameters
    ----------
    writes
        The requests.

    Examples
    --------
    >>> one, two = (INSERT_EVENT, (1,)), (SET_LEARNED, (1,))
    >>> rows_by_statement([Write([one, two], 0, print), Write([one], 0, print)]) == [
    ...     (INSERT_EVENT, [(1,), (1,)]), (SET_LEARNED, [(1,)])]
    True
    >>> rows_by_statement([Write([one, ("VACUUM", ())], 0, print)])
    """
    rows: dict[str, list[Any]] = {sql: [] for sql in QUICK}
    for write in writes:
        for sql, bindings in write.statements:
            if sql not in rows or type(bindings) is not tuple:
                return None
            rows[sql].append(bindings)
    return [(sql, found) for sql, found in rows.items() if found]


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

    def finish(self, error: Exception | None) -> None:
        """Note that the statements are on disk, or why they are not."""
        if self.done():
            return
        if error is None:
            self.set_result(None)
        else:
            self.set_exception(error)
            self.exception()  # whoever waits for it gets it, and nobody has to
