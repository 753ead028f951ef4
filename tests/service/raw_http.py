"""Requests as bytes on sockets, for the tests of connections."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from linmax._jit.tiers import interpreted
from linmax.client import Client
from linmax.service.local import LocalServer

REQUEST = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n%b\r\n"


def address(server: LocalServer) -> tuple[str, int]:
    return "127.0.0.1", int(server.url.rpartition(":")[2])


def create(server: LocalServer, **settings: Any) -> None:
    with Client(server.url, server.token) as client, interpreted():
        client.create("spam", learner="Perceptron()", **settings)


def connect(server: LocalServer, stack: ExitStack) -> socket.socket:
    time.sleep(0.01)  # so that the order is clear
    return stack.enter_context(socket.create_connection(address(server), timeout=60))


def answered(client: socket.socket) -> socket.socket:
    client.sendall(REQUEST % (b"/healthz", b""))
    assert b'"ok"' in client.recv(10_000)
    return client


def wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.05)


def rest(client: socket.socket) -> bytes:
    """All bytes until the server closes the connection."""
    return b"".join(iter(lambda: client.recv(10_000), b""))


def error(answer: bytes) -> tuple[int, str]:
    """The status of an answer, and the code of its error."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]
