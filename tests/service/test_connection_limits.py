"""Clients that send or read nothing do not keep others out, and fill no memory."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from linmax._jit.tiers import interpreted
from linmax.client import Client
from linmax.service import connections
from linmax.service import server as server_module
from linmax.service.local import LocalServer
from tests.service.raw_http import REQUEST, answered, connect, create, error, rest, wait_until


def test_a_request_has_to_come_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 2)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        create(server, classes=["x", "y"])
        silent, part_of_head, part_of_body, slow = (connect(server, stack) for _ in range(4))
        part_of_head.sendall((REQUEST % (b"/healthz", b""))[:-2])
        head = b"Content-Length: 20\r\nAuthorization: Bearer " + server.token.encode() + b"\r\n"
        post = (REQUEST % (b"/v1/fusions/spam/predict", head)).replace(b"GET", b"POST")
        part_of_body.sendall(post + b'{"votes": ')
        slow.sendall(post)
        for byte in b'{"votes":{"a":"x"}} ':
            time.sleep(0.15)  # three seconds in all
            slow.sendall(bytes([byte]))
        assert slow.recv(10_000).startswith(b"HTTP/1.1 200")
        assert rest(silent) == b""
        for one in (part_of_head, part_of_body):
            assert error(rest(one)) == (408, "too_slow")


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
        client = connect(server, stack)
        filler = b"X-More: " + b"a" * (connections.MAX_HEAD - len(start) - 8)
        for part in (start, filler, b"a" * 100):
            client.sendall(part)
            time.sleep(0.3)
        assert error(rest(client))[0] == status


def test_connections_that_wait_make_room_for_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        clients = [answered(connect(server, stack)) for _ in range(6)]
        assert [rest(client) for client in clients[:3]] == [b"", b"", b""]
        for client in clients[3:]:
            answered(client)
        clients[3].sendall(b"GET /heal")
        time.sleep(0.2)
        for _ in range(3):
            answered(connect(server, stack))
        assert error(rest(clients[3])) == (503, "too_many_connections")


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
        stream = connect(server, stack)
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        stream.sendall(REQUEST % (b"/v1/fusions/spam/events", token))
        found = stream.recv(10_000)
        for _ in range(5):
            connect(server, stack)
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
        create(server, classes=[f"{i:0500}" for i in range(1000)])
        request = REQUEST % (b"/v1/fusions/spam", token)  # half a megabyte
        reader, other = connect(server, stack), connect(server, stack)
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
        create(server)
        upload = connect(server, stack)
        upload.sendall((REQUEST % (b"/v1/fusions/spam/predict", head)).replace(b"GET", b"POST") + b"{")
        idle = answered(connect(server, stack))
        time.sleep(0.2)
        silent = [connect(server, stack) for _ in range(20)]
        assert [rest(one) for one in silent[:18]] == [b""] * 18
        upload.sendall(b" " * 19)
        assert b"bad_json" in upload.recv(10_000)
        answered(idle)


def test_a_reader_that_does_not_read_makes_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(connections, "STUCK", 1)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        create(server, classes=[f"{i:0500}" for i in range(1000)])
        for _ in range(2):
            connect(server, stack).sendall((REQUEST % (b"/v1/fusions/spam", token)) * 80)
        time.sleep(4.0)
        for _ in range(2):
            answered(connect(server, stack))


def test_an_idle_connection_gets_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 1)
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = connect(server, stack)
        client.sendall(
            b"POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
        )
        time.sleep(0.2)
        client.sendall(b"0\r\n\r\n")
        assert rest(client).count(b"HTTP/1.1 ") == 1


def test_requests_that_wait_are_not_read_on(tmp_path: Path) -> None:
    """Each answer let a quarter of a megabyte more in."""
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        create(server)
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        client = connect(server, stack)
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
        create(server, classes=[f"{i:0500}" for i in range(1000)])
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        request = REQUEST % (b"/v1/fusions/spam", token)  # half a megabyte
        for _ in range(12):
            connect(server, stack).sendall(request * 20 + REQUEST % (b"/healthz", b"Connection: close\r\n"))
            time.sleep(0.2)
        wait_until(lambda: len(server._server.server_state.connections) <= 5)
        answered(connect(server, stack))


def test_a_client_that_does_not_read_cannot_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "GRACE", 1)
    server = LocalServer(tmp_path).start()
    with ExitStack() as stack:
        create(server, classes=[f"{i:0500}" for i in range(1000)])
        token = b"Authorization: Bearer " + server.token.encode() + b"\r\n"
        client = connect(server, stack)
        client.sendall((REQUEST % (b"/v1/fusions/spam", token)) * 60)
        time.sleep(1.0)
        start = time.monotonic()
        server.stop()
        assert time.monotonic() - start < 30.0
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_requests_that_are_not_answered_are_limited(tmp_path: Path) -> None:
    """A packet can hold thousands of them."""
    with LocalServer(tmp_path) as server, ExitStack() as stack:
        client = connect(server, stack)
        client.sendall((REQUEST % (b"/healthz", b"")) * 1000)
        found = rest(client)
        assert found.count(b"HTTP/1.1 200") <= 2 * connections.MAX_PIPELINE
        assert found.count(b"HTTP/1.1 400") == 1
        assert found.endswith(b'"a connection may have 100 requests that are not answered"}')


def test_too_many_requests_at_a_time_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_REQUESTS", 0)
    with LocalServer(tmp_path) as server:
        answer = httpx.get(f"{server.url}/v1/fusions", headers={"authorization": f"Bearer {server.token}"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy")
        assert answer.headers["retry-after"] == "1"
        assert httpx.get(f"{server.url}/healthz").status_code == 200


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
