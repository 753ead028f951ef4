"""Answers that leave in one piece: uvicorn writes the head and the body of an answer one after the other.

uvloop passes each of them to the system at once, which takes a large part of the time of an answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MOST = 1 << 16  # bytes that wait for the end of a turn; uvicorn hears of a slow reader when they are sent


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
            self._transport.write(data)

    def close(self) -> None:
        """Send what was written, and close the connection."""
        self._flush()
        self._transport.close()


class JoinedWritesProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """HTTP as uvicorn speaks it, with joined writes."""

    def connection_made(self, transport: Any) -> None:
        """Begin with a connection."""
        super().connection_made(JoinedWrites(transport))
