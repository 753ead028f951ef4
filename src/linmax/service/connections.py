"""The connections of clients: how answers are sent, and how long the server waits for requests."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from linmax.service.http.guard import HEADERS
from linmax.service.messages.errors import ServiceError

MOST = 1 << 16  # bytes that wait for the end of a turn; uvicorn hears of a slow reader when they are sent
MAX_HEAD = 1 << 16  # bytes of a request apart from its body
MAX_CONNECTIONS = 2000
OTHER_FILES = 200  # that the process opens beside its connections
MAX_PIPELINE = 100  # requests of a connection that are not answered
BODY = frozenset({b"content-length", b"transfer-encoding"})  # headers of requests that have one
PATIENCE = 75  # seconds without a request: more than the 60 after which most proxies close a connection
READ_PATIENCE = 300  # seconds without a sign that an answer is read; with slow readers there are few signs
STUCK = 5  # of these seconds, until the connection can be closed for a new one


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
        self.written = 0  # bytes
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
        self.written += len(data)
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


class PipelineFlow(FlowControl):
    """Reads nothing more as long as requests wait for the answers to earlier ones.

    Parameters
    ----------
    transport
        The transport.
    pipeline
        The requests that wait.
    """

    def __init__(self, transport: Any, pipeline: Collection[Any]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Read again."""
        if not self._pipeline:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with joined writes, and without waiting forever for a client.

    Attributes
    ----------
    since : float
        When the client last began a request, sent a part of a body or read a part of an answer.
    """

    transport: Any  # JoinedWrites

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._most: Any = self.limit_concurrency
        self.limit_concurrency = None  # uvicorn would refuse requests because of connections that only wait
        self._size = 0  # bytes since the last head, part of a body or end of a request
        self._requests = 0  # heads that have come and are not answered
        self._in_body = False  # of the last request
        self._running: Any = None  # the request that is processed
        self._unread = self._read = 0  # bytes of answers, a second ago
        self._ending = False  # for a new connection
        self._reason = ""  # of linmax, why the parser has stopped
        self._refusal: ServiceError | None = None  # to be sent after the answers to earlier requests
        self.since = self.loop.time()

    def connection_made(self, transport: Any) -> None:
        """Begin with a connection, and close others if there are too many."""
        joined: Any = JoinedWrites(transport)
        super().connection_made(joined)
        self.flow = PipelineFlow(joined, self.pipeline)
        if len(self.connections) > self._most:
            make_room(self, self._most)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._unset_keepalive_if_required()  # uvicorn keeps it if the client has reset the connection
        super().connection_lost(exc)
        if self._running is not None:
            self._running.disconnected = True  # uvicorn tells only the last request
            self._running.message_event.set()

    # --- requests

    def data_received(self, data: bytes) -> None:
        """Take bytes, of which only bodies may have many."""
        if self._refusal is not None:
            return
        if not self._size:
            self.since = self.loop.time()
        self._size += len(data)
        super().data_received(data)
        if self._size > MAX_HEAD:
            self.refuse(ServiceError(431, "too_large", f"the head of a request may have {MAX_HEAD} bytes"))

    def on_headers_complete(self) -> None:
        """Begin with a request."""
        if self._requests >= MAX_PIPELINE:
            self._reason = f"a connection may have {MAX_PIPELINE} requests that are not answered"
        elif self.parser.should_upgrade() and not BODY.isdisjoint(name for name, _ in self.headers):
            self._reason = "a request with a body is not upgraded; send it without the header Upgrade"
        if self._reason:
            raise ValueError(self._reason)  # the parser stops
        super().on_headers_complete()
        self._size, self._in_body = 0, True
        self._requests += 1
        if not self.pipeline:
            self._running = self.cycle

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._size:  # it did not come with the head
            self._size = 0
            self.since = self.loop.time()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._size, self._in_body = 0, False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._requests -= 1
        self._running = self.pipeline[-1][0] if self.pipeline else None
        self.since = self.loop.time()
        super().on_response_complete()
        if self._refusal is not None and not self.transport.is_closing():
            self.refuse(self._refusal)

    def timeout_keep_alive_handler(self) -> None:
        """Do nothing: `close_idle` closes the connection, but not before what has come is read."""

    def _unsupported_upgrade_warning(self) -> None:
        self.cycle.keep_alive = False  # it is answered without; the parser has stopped

    # --- waiting

    @property
    def _has_part(self) -> bool:
        """Whether the last request has come without the end of its body."""
        return self._in_body and not self.cycle.response_complete

    @property
    def waits(self) -> bool:
        """Whether a request, or the rest of one, has yet to come."""
        return self._requests == self._has_part and not (self._requests and self.flow.read_paused)

    def rank(self) -> int | None:
        """Return how late the connection is closed for a new one, 0 first; None if it is busy.

        Connections that have had no request come first, then those between two requests, those with an
        answer that nobody reads, and those in which a body or an answer is on its way.
        """
        if self._unread and self.loop.time() - self.since > STUCK:
            return 2
        closing = self.transport.is_closing()
        if not (closing or self.waits):
            return None
        if closing or self._unread or self._requests:
            return 3
        return 0 if self.cycle is None else 1

    @property
    def ending(self) -> bool:
        """Whether the connection is about to end, and waits for no client."""
        closing = self.transport.is_closing()
        return self._ending or (closing and not self.transport.get_write_buffer_size())

    def make_way(self) -> None:
        """Close the connection for a new one."""
        self._ending = True
        if self._unread or self.transport.is_closing():
            self.transport.abort()
        else:
            message = f"{self._most} connections are open; try later"
            self.refuse(ServiceError(503, "too_many_connections", message, 1))

    def close_if_idle(self) -> None:
        """Close the connection if its client has sent and read nothing for too long."""
        before, unread, now = self._unread, self.transport.get_write_buffer_size(), self.loop.time()
        read = self.transport.written - unread
        reads = before > 0 and read != self._read
        self._unread, self._read = unread, read
        if reads or (unread and not before):
            self.since = now
        elif unread and now - self.since > READ_PATIENCE:
            self.transport.abort()
        elif not unread and self.waits and now - self.since > PATIENCE:
            message = f"no part of the request came for {PATIENCE} seconds; send it again"
            self.refuse(ServiceError(408, "too_slow", message))

    # --- refusals

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or what linmax does not read."""
        self._size += 1  # also if the parser has not told of any part
        self.refuse(ServiceError(400, "bad_request", self._reason or msg))

    def refuse(self, error: ServiceError) -> None:
        """Answer a part of a request with an error, after earlier ones, and close the connection.

        Parameters
        ----------
        error
            The error.
        """
        part = self._has_part
        if self._requests > part:
            if self._refusal is None and part:
                self.pipeline.popleft()  # it is the last one
            self._refusal = self._refusal or error
            return
        part_of_head = self._size > 0 and not self._in_body
        unanswered = not self.cycle.response_started if part else part_of_head
        if unanswered:
            body = msgspec.json.encode(error.problem())
            own = (b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))
            lines = [b"%b: %b\r\n" % pair for pair in (*own, (b"connection", b"close"), *HEADERS)]
            self.transport.write(b"".join([STATUS_LINE[error.status], *lines, b"\r\n", body]))
        self.transport.close()


def make_room(new: Connection, most: int) -> None:
    """Close connections for a new one, or the new one if all others are busy.

    Parameters
    ----------
    new
        The new connection.
    most
        The largest number of connections.
    """
    connections: Iterable[Any] = new.connections
    others = [one for one in connections if one is not new and not one.ending]
    if len(others) < most:
        return
    ranked = [(one.rank(), one.since, number, one) for number, one in enumerate(others)]
    first = heapq.nsmallest(1 + most // 100, (row for row in ranked if row[0] is not None))
    for rank, _, _, one in first:  # several of the same rank, since many new ones may come
        if rank == first[0][0]:
            one.make_way()
    if not first and len(others) >= most + most // 20:
        new.transport.abort()


def close_idle(connections: Iterable[Any]) -> None:
    """Close the connections whose clients have sent and read nothing for too long.

    Parameters
    ----------
    connections
        The connections.
    """
    for one in list(connections):
        one.close_if_idle()


def abort_unread(connections: Iterable[Any]) -> None:
    """Close the connections whose clients do not read their answers, when the server cannot wait any longer.

    Parameters
    ----------
    connections
        The connections.
    """
    for one in list(connections):
        if one.transport.get_write_buffer_size():
            one.transport.abort()
