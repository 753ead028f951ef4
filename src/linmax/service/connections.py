"""The connections of clients: how answers are sent, and how long the server waits for requests."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from linmax.service.http.guard import HEADERS
from linmax.service.messages.errors import ServiceError

MOST = 1 << 16  # bytes that wait for the end of a turn; uvicorn hears of a slow reader when they are sent
MAX_HEAD = 1 << 16  # bytes of a request apart from its body
MAX_CONNECTIONS = 2000
OTHER_FILES = 200  # that the process opens beside its connections
PATIENCE = 75  # seconds without a request: more than the 60 after which most proxies close a connection


def allow_open_files() -> None:
    """Raise the process's own limit of open files, if it is too small for all connections."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + OTHER_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def connection_limit() -> int:
    """Return how many connections the process can have."""
    try:
        import resource
    except ImportError:  # Windows
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return min(MAX_CONNECTIONS, max(files - OTHER_FILES, files // 2))


class JoinedWrites:
    """A transport that sends all that is written in one turn of the event loop together, unless it is much.

    Parameters
    ----------
    transport
        The transport that sends.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self._size = 0
        self._call_soon = asyncio.get_running_loop().call_soon
        self.is_closing = transport.is_closing
        self.get_extra_info = transport.get_extra_info
        self.get_protocol = transport.get_protocol
        self.set_protocol = transport.set_protocol
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.abort = transport.abort
        self.get_write_buffer_size = transport.get_write_buffer_size

    def write(self, data: Any) -> None:
        """Send bytes at the end of this turn of the event loop, or now if many wait."""
        if not self._parts:
            self._call_soon(self._flush)
        self._parts.append(bytes(data))
        self._size += len(data)
        if self._size > MOST:
            self._flush()

    def _flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            if not self.is_closing():
                self._transport.write(data)

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self._flush()
        self._transport.close()


class Connection(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with joined writes, and without waiting forever for a client.

    A connection waits as long as it has no request, or only a part of one. If there are too many connections,
    those that have waited longest are closed for new ones.

    Attributes
    ----------
    since : float
        When the client last began a request, sent a part of a body or read a part of an answer.
    """

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._most: Any = self.limit_concurrency
        self.limit_concurrency = None  # uvicorn would refuse requests because of connections that only wait
        self._size = 0  # bytes since the last head of a request or part of a body
        self._unread = 0  # bytes of answers, a second ago
        self.since = self.loop.time()

    @property
    def waits(self) -> bool:
        """Whether a request, or the rest of one, has yet to come."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or (cycle.more_body and not self.flow.read_paused)

    def connection_made(self, transport: Any) -> None:
        """Begin with a connection."""
        joined: Any = JoinedWrites(transport)
        super().connection_made(joined)
        if len(self.connections) > self._most:
            others: list[Any] = [one for one in self.connections if one is not self]
            waiting = [one for one in others if one.waits] or [self]
            some = 1 + self._most // 100  # since many may come
            for one in heapq.nsmallest(some, waiting, key=lambda one: one.since):
                one.refuse(ServiceError(503, "too_many_connections", f"{self._most} connections are open", 1))

    def data_received(self, data: bytes) -> None:
        """Take bytes, of which only bodies may have many."""
        if not self._size:
            self.since = self.loop.time()
        self._size += len(data)
        super().data_received(data)
        if self._size > MAX_HEAD:
            self.refuse(ServiceError(431, "too_large", f"the head of a request may have {MAX_HEAD} bytes"))

    def on_headers_complete(self) -> None:
        """Begin with a request."""
        self._size = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._size = 0
        self.since = self.loop.time()
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._size = 1
        self.refuse(ServiceError(400, "bad_request", msg))

    def refuse(self, error: ServiceError) -> None:
        """Close the connection, with an error as the answer if a part of a request has come.

        Parameters
        ----------
        error
            The error.
        """
        if self._unread or self.transport.is_closing():
            self.transport.abort()
            return
        cycle = self.cycle
        if cycle is None or (cycle.response_complete and not cycle.more_body):
            asked = self._size > 0
        else:
            asked = cycle.more_body and not cycle.response_started
        if asked:
            body = msgspec.json.encode(error.problem())
            own = (b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))
            lines = [b"%b: %b\r\n" % pair for pair in (*own, (b"connection", b"close"), *HEADERS)]
            self.transport.write(b"".join([STATUS_LINE[error.status], *lines, b"\r\n", body]))
        self.transport.close()

    def close_if_idle(self, now: float) -> None:
        """Close the connection if its client has sent and read nothing for too long.

        Parameters
        ----------
        now
            The time of the event loop.
        """
        unread = self.transport.get_write_buffer_size()
        if unread != self._unread:
            self._unread, self.since = unread, now
        elif (unread or self.waits) and now - self.since > PATIENCE:
            message = f"no part of the request came for {PATIENCE} seconds; send it again"
            self.refuse(ServiceError(408, "too_slow", message))


def close_idle(connections: Iterable[Any]) -> None:
    """Close the connections whose clients have sent and read nothing for too long.

    Parameters
    ----------
    connections
        The connections.
    """
    now = asyncio.get_running_loop().time()
    for one in list(connections):
        one.close_if_idle(now)
