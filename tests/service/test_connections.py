"""Answers leave in one piece and in order, also beside refused requests, and when the server stops."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from linmax.service import connections
from linmax.service import server as server_module
from linmax.service.connections import JoinedWrites
from linmax.service.http import events
from linmax.service.local import LocalServer
from tests.service.raw_http import REQUEST, address, connect, create, error, rest, wait_until


class Sent(asyncio.Transport):
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.told.append(bytes(data))

    def is_closing(self) -> bool:
        return b"closed" in self.told

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
    monkeypatch.setattr(connections, "MOST", 10)

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
    with LocalServer(tmp_path) as server, socket.create_connection(address(server)) as client:
        client.sendall(REQUEST % (b"/healthz", b""))
        assert b'"ok"' in client.recv(10_000)
    assert sizes[0] == 2  # the head and the body


def test_requests_on_one_connection_are_answered_in_their_order(tmp_path: Path) -> None:
    with LocalServer(tmp_path) as server, socket.create_connection(address(server)) as client:
        client.sendall(
            REQUEST % (b"/healthz", b"")
            + REQUEST % (b"/nowhere", b"")
            + REQUEST % (b"/readyz", b"Connection: close\r\n")
        )
        found = rest(client)
    statuses = [part.split(b" ")[0] for part in found.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"401", b"200"]
    assert found.endswith(b'{"status":"ok"}')


def test_requests_before_a_bad_one_are_answered(tmp_path: Path) -> None:
    good = REQUEST % (b"/healthz", b"")
    bad = b"POST /v1/fusions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n"
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        hello = b"hello\r\n\r\n"
        for packets in ([good + hello], [good, hello], [good + bad], [good + good, bad], [good * 5 + bad]):
            client = connect(server, stack)
            for packet in packets:
                client.sendall(packet)
            statuses = [int(part[:3]) for part in rest(client).split(b"HTTP/1.1 ")[1:]]
            assert statuses[-1] in (400, 401)  # 401 if the head came before the rest
            assert statuses[:-1] == [200] * b"".join(packets).count(good)
        early = b"POST /v1/fusions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\n"
        client = connect(server, stack)
        client.sendall(early)
        assert client.recv(10_000).startswith(b"HTTP/1.1 401")
        client.sendall(b"a" + hello)
        assert error(rest(client)) == (400, "bad_request")


@pytest.mark.parametrize(
    "line", [b"CONNECT a:80", b"GET http://h:99999/", b"GET http://", b"GET http://127.0.0.1"]
)
def test_urls_that_cannot_be_read_are_refused(tmp_path: Path, line: bytes) -> None:
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = connect(server, stack)
        client.sendall(line + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert error(rest(client)) == (400, "bad_request")


def test_an_event_stream_with_a_request_behind_it_ends_with_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "SIGN_OF_LIFE", 1.0)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        create(server)
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        client = connect(server, stack)
        client.sendall(REQUEST % (b"/v1/fusions/spam/events", token) + REQUEST % (b"/healthz", b""))
        assert client.recv(10_000)
        assert server.service.streams.open == 1
        client.close()
        wait_until(lambda: server.service.streams.open == 0)


def test_requests_to_upgrade_are_answered_without(tmp_path: Path) -> None:
    """Clients of Java send them by default."""
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = connect(server, stack)
        client.sendall(REQUEST % (b"/healthz", upgrade))
        assert b'"ok"' in rest(client)
        client = connect(server, stack)
        body = b"Content-Length: 2\r\n"
        client.sendall((REQUEST % (b"/v1/fusions", upgrade + body)).replace(b"GET", b"POST") + b"{}")
        found = rest(client)
        assert error(found) == (400, "bad_request")
        assert b"without the header Upgrade" in found


def test_a_server_that_is_stopped_asks_to_repeat_what_has_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "GRACE", 1)
    server = LocalServer(tmp_path).start()
    with ExitStack() as stack:
        head = b"Content-Length: 20\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n"
        create(server)
        ended = connect(server, stack)
        ended.sendall((REQUEST % (b"/session", b"Content-Length: 9\r\n")).replace(b"GET", b"POST"))
        time.sleep(0.2)
        ended.close()
        client = connect(server, stack)
        client.sendall((REQUEST % (b"/v1/fusions/spam/predict", head)).replace(b"GET", b"POST"))
        time.sleep(0.3)
        server.stop()
        assert error(rest(client)) == (503, "stopping")
    assert "Traceback" not in caplog.text


def test_what_is_not_http_is_refused_as_other_errors_are(tmp_path: Path) -> None:
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = connect(server, stack)
        client.sendall(b"hello\r\n\r\n")
        assert error(rest(client)) == (400, "bad_request")
