"""Answers leave in one piece and in order, and connections that wait for requests do not keep others out."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax._jit.tiers import interpreted
from linmax.client import Client
from linmax.service import connections
from linmax.service import server as server_module
from linmax.service.connections import JoinedWrites
from linmax.service.http import events
from linmax.service.local import LocalServer

REQUEST = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n"


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
        found = _rest(client)
    statuses = [part.split(b" ")[0] for part in found.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"401", b"200"]
    assert found.endswith(b'{"status":"ok"}')


def test_a_request_has_to_come_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 2)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        _create(server, classes=["x", "y"])
        silent, part_of_head, part_of_body, slow = (_connect(server, stack) for _ in range(4))
        part_of_head.sendall((REQUEST % (b"/healthz", b""))[:-2])
        head = b"Content-Length: 20\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n"
        post = (REQUEST % (b"/v1/fusions/spam/predict", head)).replace(b"GET", b"POST")
        part_of_body.sendall(post + b'{"votes": ')
        slow.sendall(post)
        for byte in b'{"votes":{"a":"x"}} ':
            time.sleep(0.15)  # three seconds in all
            slow.sendall(bytes([byte]))
        assert slow.recv(10_000).startswith(b"HTTP/1.1 200")
        assert _rest(silent) == b""
        for one in (part_of_head, part_of_body):
            assert _error(_rest(one)) == (408, "too_slow")


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (REQUEST[:-4] % b"/healthz", 431),
        (REQUEST.replace(b"GET", b"POST") % (b"/healthz", b"Transfer-Encoding: chunked\r\n") + b"0\r\n", 405),
    ],
    ids=["head", "trailers"],
)
def test_only_bodies_may_have_many_bytes(tmp_path: Path, start: bytes, status: int) -> None:
    """Heads are kept in memory before there is a token."""
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = _connect(server, stack)
        filler = b"X-More: " + b"a" * (connections.MAX_HEAD - len(start) - 8)
        for part in (start, filler, b"a" * 100):
            client.sendall(part)
            time.sleep(0.3)
        assert _error(_rest(client))[0] == status


def test_connections_that_wait_make_room_for_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        clients = [_answered(_connect(server, stack)) for _ in range(6)]
        assert [_rest(client) for client in clients[:3]] == [b"", b"", b""]
        for client in clients[3:]:
            _answered(client)
        clients[3].sendall(b"GET /heal")
        time.sleep(0.2)
        for _ in range(3):
            _answered(_connect(server, stack))
        assert _error(_rest(clients[3])) == (503, "too_many_connections")


def test_streams_of_events_are_not_closed_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(connections, "PATIENCE", 1)
    with (
        LocalServer(tmp_path) as server,
        Client(server.url, server.token) as client,
        ExitStack() as stack,
        interpreted(),
    ):
        client.create("spam", learner="Perceptron()", classes=["x", "y"])
        stream = _connect(server, stack)
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        stream.sendall(REQUEST % (b"/v1/fusions/spam/events", token))
        found = stream.recv(10_000)
        for _ in range(5):
            _connect(server, stack)
        time.sleep(2.5)
        client.learn("spam", {"ann": "x"}, "x")
        while b"event: learned" not in found:
            part = stream.recv(10_000)
            assert part
            found += part


def test_an_answer_has_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READ_PATIENCE", 2)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        wanted = 30_000_000
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        _create(server, classes=[f"{i:0500}" for i in range(1000)])
        request = REQUEST % (b"/v1/fusions/spam", token)  # half a megabyte
        reader, other = _connect(server, stack), _connect(server, stack)
        for one in (reader, other):
            one.sendall(request * 80)
        ports = [one.getsockname()[1] for one in (reader, other)]
        found, start = 0, time.monotonic()
        while found < wanted:
            part = reader.recv(1_000_000)
            assert part
            found += len(part)
            time.sleep(max(0.0, start + 4.0 * found / wanted - time.monotonic()))
        left = [one.client[1] for one in server._server.server_state.connections]
        assert [port in left for port in ports] == [True, False]


def test_busy_connections_are_not_closed_for_silent_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 4)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        head = b"Content-Length: 20\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n"
        _create(server)
        upload = _connect(server, stack)
        upload.sendall((REQUEST % (b"/v1/fusions/spam/predict", head)).replace(b"GET", b"POST") + b"{")
        idle = _answered(_connect(server, stack))
        time.sleep(0.2)
        silent = [_connect(server, stack) for _ in range(20)]
        assert [_rest(one) for one in silent[:18]] == [b""] * 18
        upload.sendall(b" " * 19)
        assert b"bad_json" in upload.recv(10_000)
        _answered(idle)


def test_a_reader_that_does_not_read_makes_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(connections, "STUCK", 1)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        _create(server, classes=[f"{i:0500}" for i in range(1000)])
        for _ in range(2):
            _connect(server, stack).sendall((REQUEST % (b"/v1/fusions/spam", token)) * 80)
        time.sleep(4.0)
        for _ in range(2):
            _answered(_connect(server, stack))


def test_requests_before_a_bad_one_are_answered(tmp_path: Path) -> None:
    good = REQUEST % (b"/healthz", b"")
    bad = b"POST /v1/fusions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n"
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        hello = b"hello\r\n\r\n"
        for packets in ([good + hello], [good, hello], [good + bad], [good + good, bad], [good * 5 + bad]):
            client = _connect(server, stack)
            for packet in packets:
                client.sendall(packet)
            statuses = [int(part[:3]) for part in _rest(client).split(b"HTTP/1.1 ")[1:]]
            assert statuses[-1] in (400, 401)  # 401 if the head came before the rest
            assert statuses[:-1] == [200] * b"".join(packets).count(good)
        early = b"POST /v1/fusions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\n"
        client = _connect(server, stack)
        client.sendall(early)
        assert client.recv(10_000).startswith(b"HTTP/1.1 401")
        client.sendall(b"a" + hello)
        assert _error(_rest(client)) == (400, "bad_request")


@pytest.mark.parametrize(
    "line", [b"CONNECT a:80", b"GET http://h:99999/", b"GET http://", b"GET http://127.0.0.1"]
)
def test_urls_that_cannot_be_read_are_refused(tmp_path: Path, line: bytes) -> None:
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = _connect(server, stack)
        client.sendall(line + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert _error(_rest(client)) == (400, "bad_request")


def test_an_idle_connection_gets_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 1)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = _connect(server, stack)
        client.sendall(
            b"POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
        )
        time.sleep(0.2)
        client.sendall(b"0\r\n\r\n")
        assert _rest(client).count(b"HTTP/1.1 ") == 1


def test_an_event_stream_with_a_request_behind_it_ends_with_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "SIGN_OF_LIFE", 1.0)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        _create(server)
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        client = _connect(server, stack)
        client.sendall(REQUEST % (b"/v1/fusions/spam/events", token) + REQUEST % (b"/healthz", b""))
        assert client.recv(10_000)
        assert server.service.streams.open == 1
        client.close()
        _wait_until(lambda: server.service.streams.open == 0)


def test_requests_that_wait_are_not_read_on(tmp_path: Path) -> None:
    """Each answer let a quarter of a megabyte more in."""
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        _create(server)
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        client = _connect(server, stack)
        head = b"POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 30000000\r\n\r\n"
        before = (REQUEST % (b"/healthz", b"")) * 50 + REQUEST % (b"/v1/fusions/spam/events", token)
        client.sendall(before + head)
        client.settimeout(1.0)
        with suppress(TimeoutError):
            client.sendall(b"a" * 30_000_000)
        (connection,) = server._server.server_state.connections
        assert len(connection.cycle.body) < 1_000_000


def test_connections_that_close_and_are_not_read_make_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 4)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        _create(server, classes=[f"{i:0500}" for i in range(1000)])
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        request = REQUEST % (b"/v1/fusions/spam", token)  # half a megabyte
        for _ in range(12):
            _connect(server, stack).sendall(request * 20 + REQUEST % (b"/healthz", b"Connection: close\r\n"))
            time.sleep(0.2)
        _wait_until(lambda: len(server._server.server_state.connections) <= 5)
        _answered(_connect(server, stack))


def test_a_client_that_does_not_read_cannot_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "GRACE", 1)
    server = LocalServer(tmp_path).start()
    with ExitStack() as stack:
        _create(server, classes=[f"{i:0500}" for i in range(1000)])
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        client = _connect(server, stack)
        client.sendall((REQUEST % (b"/v1/fusions/spam", token)) * 60)
        time.sleep(1.0)
        start = time.monotonic()
        server.stop()
        assert time.monotonic() - start < 30.0
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_requests_that_are_not_answered_are_limited(tmp_path: Path) -> None:
    """A packet can hold thousands of them."""
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = _connect(server, stack)
        client.sendall((REQUEST % (b"/healthz", b"")) * 1000)
        found = _rest(client)
        assert found.count(b"HTTP/1.1 200") <= 2 * connections.MAX_PIPELINE
        assert found.count(b"HTTP/1.1 400") == 1
        assert found.endswith(b'"a connection may have 100 requests that are not answered"}')


def test_requests_to_upgrade_are_answered_without(tmp_path: Path) -> None:
    """Clients of Java send them by default."""
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = _connect(server, stack)
        client.sendall(REQUEST % (b"/healthz", upgrade))
        assert b'"ok"' in _rest(client)
        client = _connect(server, stack)
        body = b"Content-Length: 2\r\n"
        client.sendall((REQUEST % (b"/v1/fusions", upgrade + body)).replace(b"GET", b"POST") + b"{}")
        found = _rest(client)
        assert _error(found) == (400, "bad_request")
        assert b"without the header Upgrade" in found


def test_a_server_that_is_stopped_asks_to_repeat_what_has_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "GRACE", 1)
    server = LocalServer(tmp_path).start()
    with ExitStack() as stack:
        head = b"Content-Length: 20\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n"
        _create(server)
        ended = _connect(server, stack)
        ended.sendall((REQUEST % (b"/session", b"Content-Length: 9\r\n")).replace(b"GET", b"POST"))
        time.sleep(0.2)
        ended.close()
        client = _connect(server, stack)
        client.sendall((REQUEST % (b"/v1/fusions/spam/predict", head)).replace(b"GET", b"POST"))
        time.sleep(0.3)
        server.stop()
        assert _error(_rest(client)) == (503, "stopping")
    assert "Traceback" not in caplog.text


def test_too_many_requests_at_a_time_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_REQUESTS", 0)
    with LocalServer(tmp_path) as server:
        answer = httpx.get(f"{server.url}/v1/fusions", headers={"authorization": f"Bearer {server.token}"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy")
        assert answer.headers["retry-after"] == "1"
        assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_what_is_not_http_is_refused_as_other_errors_are(tmp_path: Path) -> None:
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = _connect(server, stack)
        client.sendall(b"hello\r\n\r\n")
        assert _error(_rest(client)) == (400, "bad_request")


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "limit"),
    [
        (1024, 4096, 2200, 2000),
        (1024, -1, 2200, 2000),
        (1024, 1024, None, 824),
        (256, 256, None, 128),
        (-1, -1, None, 2000),
        (9000, 9000, None, 2000),
    ],
)
def test_open_files_bound_the_connections(
    soft: int, hard: int, raised: int | None, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource", reason="this system has no limit of open files")
    limits = [soft, hard]

    def change(_: int, given: tuple[int, int]) -> None:
        limits[:] = given

    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", change)
    connections.allow_open_files()
    assert limits == [raised or soft, hard]
    assert connections.connection_limit() == limit


def _address(server: LocalServer) -> tuple[str, int]:
    return "127.0.0.1", int(server.url.rpartition(":")[2])


def _create(server: LocalServer, **settings: Any) -> None:
    with Client(server.url, server.token) as client, interpreted():
        client.create("spam", learner="Perceptron()", **settings)


def _connect(server: LocalServer, stack: ExitStack) -> socket.socket:
    time.sleep(0.01)  # so that the order is clear
    return stack.enter_context(socket.create_connection(_address(server), timeout=60))


def _answered(client: socket.socket) -> socket.socket:
    client.sendall(REQUEST % (b"/healthz", b""))
    assert b'"ok"' in client.recv(10_000)
    return client


def _wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def _rest(client: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    return b"".join(iter(lambda: client.recv(10_000), b""))


def _error(answer: bytes) -> tuple[int, str]:
    """The status of an answer, and the code of its error."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]
