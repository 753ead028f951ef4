"""Answers leave in one piece, in the order of the requests, also when the connection is closed after them."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from linmax.service import server as joined_writes
from linmax.service.local import LocalServer
from linmax.service.server import JoinedWrites

REQUEST = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n"


class Sent(asyncio.Transport):
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.told.append(bytes(data))

    def close(self) -> None:
        self.told.append(b"closed")


def test_what_is_written_in_one_turn_is_sent_together() -> None:
    async def main() -> list[bytes]:
        sent = Sent()
        joined = JoinedWrites(sent)
        joined.write(b"head,")
        joined.write(bytearray(b"body"))
        await asyncio.sleep(0)
        joined.write(b"part,")
        await asyncio.sleep(0)
        joined.write(b"the last")
        joined.close()
        await asyncio.sleep(0)
        return sent.told

    assert asyncio.run(main()) == [b"head,body", b"part,", b"the last", b"closed"]


def test_much_is_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that never waits would fill the memory otherwise."""
    monkeypatch.setattr(joined_writes, "MOST", 10)

    async def main() -> list[bytes]:
        sent = Sent()
        joined = JoinedWrites(sent)
        for part in (b"1234", b"5678", b"90a", b"bc"):
            joined.write(part)
        assert sent.told == [b"1234567890a"]
        await asyncio.sleep(0)
        return sent.told

    assert asyncio.run(main()) == [b"1234567890a", b"bc"]


def test_an_answer_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    flush = JoinedWrites._flush

    def count(joined: JoinedWrites) -> None:
        sizes.append(len(joined._parts))
        flush(joined)

    monkeypatch.setattr(JoinedWrites, "_flush", count)
    with LocalServer(tmp_path) as server, socket.create_connection(_address(server)) as client:
        client.sendall(REQUEST % (b"/healthz", b""))
        assert b'"ok"' in client.recv(10_000)
    assert sizes[0] == 2  # the head and the body


def test_requests_on_one_connection_are_answered_in_their_order(tmp_path: Path) -> None:
    with LocalServer(tmp_path) as server, socket.create_connection(_address(server)) as client:
        client.sendall(
            REQUEST % (b"/healthz", b"")
            + REQUEST % (b"/nowhere", b"")
            + REQUEST % (b"/readyz", b"Connection: close\r\n")
        )
        found = b"".join(iter(lambda: client.recv(10_000), b""))  # until the server closes the connection
    statuses = [part.split(b" ")[0] for part in found.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"401", b"200"]
    assert found.endswith(b'{"status":"ok"}')


def _address(server: LocalServer) -> tuple[str, int]:
    return "127.0.0.1", int(server.url.rpartition(":")[2])
