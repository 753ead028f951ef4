"""Votes and late labels from a message log, each learned exactly once in effect."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from linmax.fusion import Fusion
from linmax.scale.messages import ItemMessage, Message, Position, Rejections, Report, read_message
from linmax.scale.sources import MessageSource, open_source
from linmax.scale.targets import Context, StoppedError, Target, pauses
from linmax.scale.targets.model import ModelTarget
from linmax.validation import check_integer

READ_SECONDS = 0.25  # for which a read waits for the first message
COMMIT_EVERY = 1.0  # seconds between two commits to the broker, and two looks at the lag
STOP_SECONDS = 3.0  # that a broker or a server may take to answer when the work is to end
LOOK_EVERY = 0.1  # seconds between two looks at whether it is
Progress = Callable[[Report], None]
P = ParamSpec("P")
T = TypeVar("T")


async def follow_async(
    source: str,
    fusion: Fusion | Target,
    *,
    file: str | os.PathLike[str] | None = None,
    from_start: bool = False,
    until_idle: float | None = None,
    batch: int = 1000,
    save_every: int = 10_000,
    save_seconds: float = 5.0,
    rejected: str | os.PathLike[str] | None = None,
    on_progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Report:
    """Learn votes and labels from a message log until it is told to stop.

    A message is JSON as the service reads it: ``{"id", "votes", "attributes"}`` for an item whose label comes
    later, ``{"id", "label"}`` for that label, or both in one. Each is processed exactly once in effect: the
    position in the log is saved with what was learned (in the notes of a model file, or in the transaction
    with the events of a server's log), or the ids make repeated messages harmless (over HTTP).

    `follow` returns when the work is done; `follow_async` is the same for programs that run asyncio.

    Parameters
    ----------
    source
        The address of the log: ``kafka://HOST:9092/TOPIC``, ``redis://HOST:6379/0?stream=STREAM`` or
        ``nats://HOST:4222/STREAM``. ``group=NAME`` names the position where it is saved.
    fusion
        What learns: a session, or a `ModelTarget`, `LogTarget` or `ServerTarget` of `linmax.scale.targets`.
    file
        The model file of a session; without it, the position is only in the notes of the session.
    from_start
        Whether the oldest message is the first one if no position was saved; otherwise only new ones count.
    until_idle
        After how many seconds without a message to stop; None never does.
    batch
        The largest number of messages that are processed together.
    save_every, save_seconds
        After how many messages or seconds a model file is saved.
    rejected
        A file to which messages that cannot be used are appended, a line of JSON each.
    on_progress
        Called with the counts after each batch, and while nothing comes or can be saved.
    should_stop
        Asked between two batches, and while a broker or a server does not answer; true ends the work, after
        everything was saved.

    Returns
    -------
    Report
        What was found.

    Raises
    ------
    ValueError
        If the log or the target cannot be used; the sentence says why. A broker or server that stops to
        answer later is tried again and again instead.

    Examples
    --------
    >>> from linmax import Fusion
    >>> from linmax.scale import follow
    >>> follow("redis://127.0.0.1:1/0?stream=votes", Fusion(), until_idle=1)
    Traceback (most recent call last):
    ValueError: redis://127.0.0.1:1/0?stream=votes cannot be read (...); check the address and the broker
    """
    check_integer("follow", "batch", batch, 1)
    check_integer("follow", "save_every", save_every, 1)
    if isinstance(fusion, Fusion):
        target: Target = ModelTarget(fusion, None if file is None else Path(file))
    elif file is not None:
        raise ValueError("file= is for a session; a target has its own place")
    else:
        target = fusion
    follower = Follower(open_source(source), target, batch, save_every, save_seconds, should_stop)
    follower.rejections = Rejections(follower.report, None if rejected is None else Path(rejected))
    follower.on_progress = on_progress or follower.on_progress
    await follower.run(from_start, until_idle)
    return follower.report


def _run(function: Callable[P, Coroutine[Any, Any, Report]], name: str) -> Callable[P, Report]:
    """Return a function with the same parameters that runs asyncio itself."""

    @functools.wraps(function)
    def run(*arguments: P.args, **options: P.kwargs) -> Report:
        return asyncio.run(function(*arguments, **options))

    run.__name__ = run.__qualname__ = name
    return run


follow = _run(follow_async, "follow")


class Follower:
    """The loop that reads a log, gives batches to a target, and saves the position.

    Parameters
    ----------
    source
        The log.
    target
        What learns.
    batch, save_every, save_seconds, should_stop
        As for `follow`.
    """

    def __init__(
        self,
        source: MessageSource,
        target: Target,
        batch: int,
        save_every: int,
        save_seconds: float,
        should_stop: Callable[[], bool],
    ) -> None:
        self.source = source
        self.target = target
        self.batch = batch
        self.save_every = save_every
        self.save_seconds = save_seconds
        self.should_stop = should_stop
        self.report = Report()
        self.rejections = Rejections(self.report)
        self.on_progress: Progress = lambda report: None
        self.position: Position = {}
        self._unsaved = 0
        self._saved_at = self._committed_at = 0.0
        self._committed: Position = {}

    async def run(self, from_start: bool, until_idle: float | None) -> None:
        """Follow the log until it is idle or the work is to end."""
        try:
            with contextlib.suppress(StoppedError):
                await self._open(from_start)
                await self._loop(until_idle)
                await self._tidy(force=True)
        finally:
            try:
                if self._unsaved:
                    await self.target.save(self.position)
            finally:
                await self.target.close()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.source.close(), STOP_SECONDS)

    async def _open(self, from_start: bool) -> None:
        """Open the target and the log, and go to where the last run has ended."""
        position = await self.target.open(self._context())
        try:
            await self._wait_for(self.source.connect())
            if not self.target.keeps_position:
                position = await self._wait_for(self.source.committed())
            self.position = await self._wait_for(self.source.seek(position, from_start))
        except ConnectionError as error:
            raise ValueError(str(error)) from None
        await self.target.save(self.position)  # so that nothing is left out if the first batch never ends
        self._saved_at = time.monotonic()
        if not self.target.keeps_position:
            self.target.saved = dict(self.position)
            await self._commit()

    def _context(self) -> Context:
        source = self.source
        return Context(
            source.key, source.place, source.address.moved, self.rejections, self._pause, self._wait_for
        )

    async def _loop(self, until_idle: float | None) -> None:
        wait = READ_SECONDS if until_idle is None else min(READ_SECONDS, max(until_idle, 0.01))
        idle_since = time.monotonic()
        while not self.should_stop():
            try:
                messages = await self._wait_for(self.source.read(self.batch, wait))
            except ConnectionError as error:
                await self._reconnect(error)
                idle_since = time.monotonic()
                continue
            if messages:
                await self._process(messages)
                idle_since = time.monotonic()
            elif until_idle is not None and time.monotonic() - idle_since >= until_idle:
                with contextlib.suppress(ConnectionError):
                    if await self._wait_for(self.source.is_at_end()):
                        return
            await self._tidy()
            self.on_progress(self.report)

    async def _process(self, messages: list[Message]) -> None:
        """Process a batch."""
        items: list[ItemMessage] = []
        position = dict(self.position)
        for message in messages:
            position[message.partition] = message.after
            try:
                items.append(read_message(message, self.source.address.group))
            except ValueError as error:
                self.rejections.add(message, str(error))
        self.report.lost = self.source.lost
        await self.target.process(items, position)
        self.report.messages += len(messages)
        self.position = position
        self._unsaved += len(messages)

    async def _tidy(self, *, force: bool = False) -> None:
        """Save a model now and then, tell the broker what is safe, and look at the lag."""
        now = time.monotonic()
        if self._unsaved and (
            force or self._unsaved >= self.save_every or now >= self._saved_at + self.save_seconds
        ):
            await self.target.save(self.position)
            self._unsaved, self._saved_at = 0, time.monotonic()
        if force or now >= self._committed_at + COMMIT_EVERY:
            self._committed_at = now
            try:
                await self._commit()
                self.report.lag = await self._wait_for(self.source.lag(self.position))
                self.report.lost = self.source.lost
            except ConnectionError as error:
                if not force:
                    await self._reconnect(error)

    async def _commit(self) -> None:
        if self.target.saved != self._committed:
            await self._wait_for(self.source.commit(self.target.saved))
            self._committed = dict(self.target.saved)

    async def _reconnect(self, error: ConnectionError) -> None:
        """Connect again, until it works, and continue from the last batch that was processed."""
        for seconds in pauses():
            await self._context().retry(seconds, str(error))
            await self._wait_for(self.source.close())
            try:
                await self._wait_for(self.source.connect())
                self.position = await self._wait_for(self.source.seek(self.position, False))
                return
            except ConnectionError as again:
                error = again

    async def _wait_for(self, answer: Awaitable[T]) -> T:
        """Wait for a broker or a server; an error ends the work if it is to end and there is no answer."""
        task = asyncio.ensure_future(answer)
        stopped_at: float | None = None
        try:
            while not (await asyncio.wait({task}, timeout=LOOK_EVERY))[0]:
                if stopped_at is None and self.should_stop():
                    stopped_at = time.monotonic()
                if stopped_at is not None and time.monotonic() - stopped_at >= STOP_SECONDS:
                    raise StoppedError
            return task.result()
        finally:
            task.cancel()

    async def _pause(self, seconds: float) -> None:
        """Wait; an error ends the work if it is to end."""
        self.on_progress(self.report)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.should_stop():
                raise StoppedError
            await asyncio.sleep(min(left, 0.1))
