"""The events of a fusion as they happen, as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from linmax.service.event_log.chunks import BODY
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import (
    CHANGED,
    CREATED,
    DELETED,
    EXCLUDED,
    LABELLED,
    LEARNED,
    PREDICTED,
    RELABELLED,
    UPLOADED,
)
from linmax.service.messages.errors import ServiceError

KINDS = {
    PREDICTED: "predicted",
    LABELLED: "labelled",
    LEARNED: "learned",
    RELABELLED: "relabelled",
    EXCLUDED: "excluded",
    CREATED: "created",
    DELETED: "deleted",
    UPLOADED: "uploaded",
    CHANGED: "changed",
}
SHOWN = ("prediction", "label", "right", "replaces", "reason", "events", "to")  # of the body of an event
AFTER = f"""
SELECT position, kind, id, time, actor, {BODY.format("events")} FROM events
WHERE fusion = ? AND position > ? ORDER BY position LIMIT ?
"""
MOST = 500  # events in one piece
PAUSE = 0.25  # seconds between two looks at the log
SIGN_OF_LIFE = 15.0  # seconds
AGAIN = 1000  # milliseconds after which a browser connects again
MAX_STREAMS = 100


class EventStreams:
    """Streams of events.

    Parameters
    ----------
    database
        The log.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stopping = asyncio.Event()
        self.open = 0

    def stop(self) -> None:
        """End all streams, since the server stops; clients connect again to the next one."""
        self._stopping.set()

    def first_position(self, given: str | None) -> int:
        """Return the position after which a stream begins: that of the header Last-Event-ID, or now.

        Parameters
        ----------
        given
            The header.
        """
        if given is None:
            return self._database.last_position()
        if not given.isascii() or not given.isdigit() or len(given) > 18:
            raise ServiceError(422, "bad_request", "Last-Event-ID should be the position of an event")
        return int(given)

    def check_room(self) -> None:
        """Raise an error if there are too many streams."""
        if self.open >= MAX_STREAMS:
            raise ServiceError(429, "too_many_streams", f"{MAX_STREAMS} streams of events are open", 10)

    async def follow(
        self, number: int, position: int, valid: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[bytes]:
        """Yield the events of a fusion after a position, without its votes, until it is deleted.

        Parameters
        ----------
        number
            The number of the fusion.
        position
            The position of the last event that is known.
        valid
            Whether the reader may still read; the stream ends when it is false.
        """
        self.open += 1
        silent = 0.0
        try:
            yield b"retry: %d\n\n" % AGAIN
            while valid() and not self._stopping.is_set():
                rows = await asyncio.to_thread(self._database.rows, AFTER, number, position, MOST)
                if rows:
                    position, silent = rows[-1][0], 0.0
                    yield b"".join(format_event(*row) for row in rows)
                    if rows[-1][1] == DELETED:
                        return
                elif silent >= SIGN_OF_LIFE:
                    silent = 0.0
                    yield b": \n\n"
                if len(rows) < MOST:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._stopping.wait(), PAUSE)
                    silent += PAUSE
        finally:
            self.open -= 1


def format_event(position: int, kind: int, id_: str | None, time: float, actor: str, body: bytes) -> bytes:
    r"""Return an event in the format of server-sent events.

    >>> format_event(7, 2, "a", 1.5, "ann", b'{"label":"spam","prediction":"ham","votes":{"bob":"ham"}}')
    b'id: 7\nevent: labelled\ndata: {"id":"a","time":1.5,"actor":"ann","prediction":"ham","label":"spam"}\n\n'
    """
    stored: dict[str, Any] = msgspec.json.decode(body)
    shown = {name: stored[name] for name in SHOWN if name in stored}
    data = {"id": id_, "time": time, "actor": actor, **shown}
    text = msgspec.json.encode({name: value for name, value in data.items() if value is not None})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (position, KINDS[kind].encode(), text)
