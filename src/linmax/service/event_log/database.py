"""The log of all events in SQLite: one connection writes, and requests that arrive together share an fsync.

Only that connection changes the file and runs checkpoints; others read. A request is answered after the
transaction with its event has been committed with ``synchronous=FULL``. The rows of single items are inserted
in the event loop, and committed there, too, while the disk is quick: threads that take turns cost more than
that. The writer's thread does what may take long: commits on other disks, many rows, and checkpoints.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from linmax._files import unlock_file
from linmax.service.event_log.chunks import EventChunk
from linmax.service.event_log.schema import BUSY, LogConnection, connect, lock_folder, migrate
from linmax.service.event_log.writes import QUICK, Group, Statement, Write, Written, rows_by_statement
from linmax.service.messages.errors import ServiceError

FILE = "linmax.db"
MAX_GROUP = 4096  # writes in one transaction
GATHER = 0.002  # seconds for which a group waits for more requests while they come
QUICK_COMMIT = 0.001  # seconds of a commit for which the event loop itself waits
SLOW_COMMITS = 4  # more than quick ones, after which the writer's thread commits
STALL = 0.02  # seconds of a commit after which it does so at once
SLOW_FOR, LONGEST = 1.0, 60.0  # seconds until the event loop tries again: twice as long each time
CHECKPOINT = 1000  # pages of the WAL, after which they are written to the database
RETRY = 2.0  # seconds between two attempts to write to a disk that was full
BEGIN = "BEGIN IMMEDIATE"
EVENT_UP_TO = "SELECT position, time FROM events WHERE position <= ? ORDER BY position DESC LIMIT 1"


class Database:
    """The database of a data folder.

    Parameters
    ----------
    folder
        The data folder; it is created if it does not exist.
    read_only
        Whether nothing is written: then the folder is not locked, and a server may use it at the same time.

    Attributes
    ----------
    position : int
        The position of the last event that was submitted.
    failing : bool
        Whether the last write failed, for example because the disk is full.
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.path = folder / FILE
        self._readers = threading.local()
        self._open_readers: list[apsw.Connection] = []
        self._pending: deque[Write] = deque()
        self._turn = threading.Lock()  # held while a group is written
        self._gathers = False  # whether the event loop is about to begin with a group
        self._queue: queue.SimpleQueue[Group | bool] = queue.SimpleQueue()  # True: look, False: end
        self._epoch = 0  # as the writer counts failures
        self.epoch = 0  # as requests know them
        self.failing = False
        self._tried = 0.0
        self._slow_commits, self._slow_until, self._pause = 0, 0.0, SLOW_FOR  # of the event loop
        self._wal_pages = 0
        self._closing = False
        self.sync_seconds: Callable[[float, int], None] = lambda seconds, writes: None
        self.on_failure: Callable[[], None] = lambda: None
        self.on_commit: Callable[[Callable[[], None]], None] = lambda call: call()
        self._thread: threading.Thread | None = None
        if read_only and not self.path.exists():
            raise ValueError(f"{folder} is not the data folder of a server: it has no {FILE}")
        self._lock = None if read_only else lock_folder(folder)
        try:
            self._writer = None if read_only else connect(self.path)
            if self._writer is not None:
                self._writer.set_wal_hook(self._count_pages)
            migrate(self._writer or self._reader(), read_only)
            (latest,) = self.rows(
                "SELECT max(time) FROM events WHERE position > ?", self.last_position() - 1
            )[0]
            self.position: int = self.last_position()
        except (apsw.Error, ValueError) as error:
            self.close()
            raise ValueError(f"{self.path} cannot be opened: {error}") from None
        self._clock_start = max(time.time(), latest or 0.0) - time.monotonic()
        if not read_only:
            self._thread = threading.Thread(target=self._write_all, name="linmax-log", daemon=True)
            self._thread.start()

    def now(self) -> float:
        """Return the time of an event, which never goes back: the clock is read when the server starts."""
        return self._clock_start + time.monotonic()

    # --- reading

    def rows(self, sql: str, *bindings: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, of what has been committed."""
        return list(self._reader().execute(sql, bindings))

    def iterate(self, sql: str, *bindings: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, with a connection of its own: the thread may change between them."""
        if self._reader().in_transaction:
            yield from self._reader().execute(sql, bindings)
            return
        with contextlib.closing(connect(self.path, reads=True)) as connection:
            yield from connection.execute(sql, bindings)

    @contextlib.contextmanager
    def consistent(self) -> Iterator[None]:
        """Read the state of one moment within this block, in this thread, whatever is written meanwhile."""
        if self._reader().in_transaction:
            yield
            return
        self.rows("BEGIN")
        try:
            yield
        finally:
            self.rows("ROLLBACK")

    def chunk(self, position: int) -> EventChunk:
        """Return the chunk with the content of an event."""
        return self._reader().chunks.find(position)

    def _reader(self) -> LogConnection:
        connection: LogConnection | None = getattr(self._readers, "connection", None)
        if connection is None:
            self._readers.connection = connection = connect(self.path, reads=True)
            self._open_readers.append(connection)
        return connection

    def last_position(self) -> int:
        """Return the position of the last event that was committed."""
        ((position,),) = self.rows("SELECT coalesce(max(position), 0) FROM events")
        return int(position)

    def last_before(self, moment: float) -> int:
        """Return the position up to which all events are from before a time, in seconds since 1970."""
        low, high = 0, self.last_position()
        while low < high:
            middle = (low + high + 1) // 2
            ((position, when),) = self.rows(EVENT_UP_TO, middle) or [(0, 0.0)]
            if when < moment:
                low = middle
            else:
                high = max(low, position - 1)
        return low

    # --- writing

    def next_position(self) -> int:
        """Return the position of a new event, which is submitted next."""
        self.position += 1
        return self.position

    def next_positions(self, count: int) -> int:
        """Return the first position of new events, which are submitted next."""
        self.position += count
        return self.position - count + 1

    @property
    def writable(self) -> bool:
        """Whether writing is worth a try: after a failure, one request in a while finds out."""
        return not self.failing or time.monotonic() >= self._tried + RETRY

    def check_writable(self) -> None:
        """Raise an error while writing fails."""
        if self.failing and not self.writable:
            raise ServiceError(
                507, "storage_full", "the log cannot be written; predictions go on, try again later", 10
            )

    def submit(self, statements: list[Statement]) -> asyncio.Future[None]:
        """Write statements with those of other requests; the future is done when they are on disk."""
        future = Written()
        self.submit_to(statements, future)
        return future

    def submit_to(self, statements: list[Statement], future: Written) -> None:
        """Write statements, and tell a future when they are on disk."""
        loop = future.get_loop()
        if statements:
            self._tried = time.monotonic()
        self._pending.append(Write(statements, self.epoch, future.finish, loop))
        self._begin_soon(loop)

    def write(self, statements: list[Statement]) -> None:
        """Write statements and wait until they are on disk; not to be called in the event loop."""
        finished = threading.Event()
        errors: list[Exception | None] = []

        def done(error: Exception | None) -> None:
            errors.append(error)
            finished.set()

        self._pending.append(Write(statements, self.epoch, done))
        self._queue.put(True)
        finished.wait()
        if errors[0] is not None:
            raise errors[0]

    # Whoever has the turn writes a group, and looks for requests that came meanwhile after giving it back.

    def _begin_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin when the event loop brings no more requests, or after a moment; unless others do, or will."""
        if not self._gathers and not self._turn.locked():
            self._gathers = True
            loop.call_soon(self._gather, loop, 0, loop.time() + GATHER)

    def _gather(self, loop: asyncio.AbstractEventLoop, before: int, until: float) -> None:
        """Look whether a round of the event loop has brought requests, which then share the transaction."""
        count = len(self._pending)
        if before < count < MAX_GROUP and loop.time() < until:
            loop.call_soon(self._gather, loop, count, until)
            return
        self._gathers = False
        self._begin()

    def _begin(self) -> None:
        """Run the statements of the requests that wait in their event loop; commit them if that is quick."""
        if self._pending and self._turn.acquire(blocking=False):
            group = self._take()
            quick = rows_by_statement(group.current)
            if quick and self._is_free():
                group = group._replace(error=self._insert(quick))
                if self._wal_pages < CHECKPOINT and time.monotonic() >= self._slow_until:
                    return self._commit_here(group)
            self._queue.put(group)

    def _is_free(self) -> bool:
        """Begin a transaction, unless another process writes, for which the thread waits."""
        assert self._writer is not None
        self._writer.set_busy_timeout(0)
        try:
            self._writer.execute(BEGIN)
        except apsw.Error:
            return False
        finally:
            self._writer.set_busy_timeout(BUSY)
        return True

    def _commit_here(self, group: Group) -> None:
        """Commit a group in the event loop; if that is often slow, the thread commits for a while."""
        start = time.monotonic()
        self._finish_group(group, asyncio.get_running_loop())
        end = time.monotonic()
        if end - start > QUICK_COMMIT:
            self._slow_commits += SLOW_COMMITS if end - start > STALL else 1
        elif self._slow_commits > 0:
            self._slow_commits -= 1
        else:
            self._pause = SLOW_FOR
        if self._slow_commits >= SLOW_COMMITS:
            self._slow_until = end + self._pause
            self._slow_commits, self._pause = SLOW_COMMITS // 2, min(2.0 * self._pause, LONGEST)
        if self._closing or any(write.loop is None for write in list(self._pending)):
            self._queue.put(True)  # the thread may have looked, and had not the turn

    def _take(self) -> Group:
        """Return a group of the requests that wait; the turn is held."""
        writes = [self._pending.popleft() for _ in range(min(len(self._pending), MAX_GROUP))]
        return Group(writes, [write for write in writes if write.epoch == self._epoch])

    def _write_all(self) -> None:
        """Write groups of requests until the database is closed."""
        going_on = True
        while going_on or self._turn.locked():  # an event loop has begun with a group that comes
            found = self._queue.get()
            if isinstance(found, Group):
                self._finish_group(found)
            elif not found:
                going_on = False
            while any(write.loop is None or not going_on for write in list(self._pending)):
                if not self._turn.acquire(blocking=False):
                    break
                self._finish_group(self._take())

    def _finish_group(self, group: Group, here: asyncio.AbstractEventLoop | None = None) -> None:
        """Commit a group, give the turn back, and tell the requests.

        `here` is the event loop that does it; None: the writer's thread.
        """
        error = group.error
        if error is None and group.current:
            error = self._commit(group.current)
        if error is not None:
            self._roll_back()
            self._epoch += 1
            self.on_commit(partial(self._recover, error.status == 507))
        else:
            self.failing = self.failing and not any(write.statements for write in group.current)
        results: list[tuple[Write, Exception | None]] = [
            (write, error or (None if write.epoch == self._epoch else _earlier_failure()))
            for write in group.writes
        ]
        if here is None and error is None and self._wal_pages >= CHECKPOINT:
            self._checkpoint()
        self._turn.release()
        for loop in {write.loop for write in [*group.writes, *self._pending] if write.loop is not None}:
            own = [one for one in results if one[0].loop is loop]
            if loop is here:
                self._tell(own)
            else:
                loop.call_soon_threadsafe(self._tell, own)
        for write, problem in results:
            if write.loop is None:
                write.done(problem)

    def _tell(self, results: list[tuple[Write, Exception | None]]) -> None:
        """Tell the requests of a group what became of them; the next ones begin."""
        for write, error in results:
            write.done(error)
        self._begin_soon(asyncio.get_running_loop())

    def _insert(self, statements: list[Statement]) -> ServiceError | None:
        """Run the statements of requests in one transaction."""
        self._started = time.perf_counter()
        return self._try(self._run, statements)

    def _run(self, statements: list[Statement]) -> None:
        writer = self._writer
        assert writer is not None
        if not writer.in_transaction:
            writer.execute(BEGIN)
        for sql, bindings in statements:
            if isinstance(bindings, list):
                writer.executemany(sql, bindings)
            else:
                writer.execute(sql, bindings, can_cache=sql in QUICK)  # a cache keeps bindings

    def _commit(self, writes: list[Write]) -> ServiceError | None:
        """Commit the statements of requests, after running them if that has not been done."""
        writer = self._writer
        assert writer is not None
        error = None
        if not writer.in_transaction:
            error = self._insert(
                rows_by_statement(writes) or [one for each in writes for one in each.statements]
            )
        error = error or self._try(writer.execute, "COMMIT")
        if error is None:
            self.sync_seconds(time.perf_counter() - self._started, len(writes))
        return error

    def _count_pages(self, connection: Any, name: str, pages: int) -> int:
        """Note how many pages the WAL has after a commit; SQLite then runs no checkpoint of its own."""
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        """Write the pages of the WAL to the database; what cannot be written now stays in the WAL."""
        with contextlib.suppress(apsw.Error):
            if self._writer is not None:
                pages, written = self._writer.wal_checkpoint()
                self._wal_pages = max(0, pages - written)

    def _roll_back(self) -> None:
        if self._writer is not None and self._writer.in_transaction:
            with contextlib.suppress(apsw.Error):
                self._writer.execute("ROLLBACK")

    def _try(self, call: Callable[..., Any], *values: Any) -> ServiceError | None:
        """Call what writes; return what is wrong, after a rollback."""
        try:
            call(*values)
        except apsw.ConstraintError as error:
            message = f"an event is in the log already ({error}); try again"
            found = ServiceError(503, "log_conflict", message, 1)
        except apsw.Error as error:
            message = f"the log cannot be written ({error}); predictions go on, try again later"
            found = ServiceError(507, "storage_full", message, 10)
        except Exception as error:  # the thread must go on
            what = f"{type(error).__name__}: {error}"
            found = ServiceError(500, "log_error", f"an event cannot be written: {what}")
        else:
            return None
        self._roll_back()
        return found

    def _recover(self, failing: bool) -> None:
        """Forget what was not written, in the thread of the requests."""
        self.failing = failing
        self.epoch = self._epoch
        self.position = self.last_position()
        self.on_failure()

    def close(self) -> None:
        """Write what is waiting, and close the file."""
        if self._thread is not None:
            self._closing = True
            self._queue.put(False)
            self._thread.join()
        for connection in [*self._open_readers, getattr(self, "_writer", None)]:
            with contextlib.suppress(apsw.ThreadingViolationError):  # a thread reads, and ends by itself
                if connection is not None:
                    connection.close()
        if self._lock is not None:
            unlock_file(self._lock)
            self._lock.close()


def _earlier_failure() -> ServiceError:
    return ServiceError(507, "storage_full", "an earlier event could not be written", 1)
