"""The stream of events: everything once, in order, also after a broken connection."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax.client import Client, ClientError
from linmax.service.local import LocalServer
from tests.service.api import LEARNER


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with LocalServer(tmp_path) as running, Client(running.url, running.token) as client:
        client.create("spam", learner=LEARNER)
        yield running


def follow(server: LocalServer, last: str, count: int) -> list[tuple[int, str, Any]]:
    """The first events after a position."""
    headers = {"authorization": f"Bearer {server.token}", "last-event-id": last}
    found: list[tuple[int, str, Any]] = []
    with httpx.stream(
        "GET", f"{server.url}/v1/fusions/spam/events", headers=headers, trust_env=False
    ) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            elif "data" in fields:
                found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
                fields = {}
            if len(found) == count:
                break
    return found


def test_events_come_in_order_and_go_on_after_a_broken_connection(server: LocalServer) -> None:
    with Client(server.url, server.token) as client:
        client.predict("spam", {"ann": "x"}, id="a")
        client.label("spam", "a", "y")
        client.learn("spam", {"ann": "x"}, "y", id="b")
        client.label("spam", "b", "x", replaces="y")
        first = follow(server, "0", 3)
        assert [(position, kind) for position, kind, _ in first] == [
            (1, "created"),
            (2, "predicted"),
            (3, "labelled"),
        ]
        label = {name: value for name, value in first[2][2].items() if name != "time"}
        assert label == {"id": "a", "actor": "local", "prediction": "x", "label": "y", "right": False}
        rest = follow(server, str(first[-1][0]), 2)
        assert [(position, kind) for position, kind, _ in rest] == [(4, "learned"), (5, "relabelled")]
        assert "votes" not in str(first + rest)
        path, headers = f"{server.url}/v1/fusions/spam/rollback", {"authorization": f"Bearer {server.token}"}
        assert (
            httpx.post(path, headers=headers, json={"position": 3}, trust_env=False, verify=False).status_code
            == 200
        )
        ((_, kind, back),) = follow(server, "5", 1)
        assert (kind, back["reason"], back["to"], back["events"]) == ("excluded", "rolled back", 3, 1)
        client.delete("spam")


def test_a_stream_ends_with_its_fusion(server: LocalServer) -> None:
    with Client(server.url, server.token) as client:
        client.delete("spam")
        streams = server.service.streams

        async def read() -> list[bytes]:
            return [part async for part in streams.follow(1, 0)]

        parts = asyncio.run(read())
        assert [b"event: created" in part and b"event: deleted" in part for part in parts] == [False, True]
        assert streams.open == 0
        with pytest.raises(ClientError, match="there is no fusion"):
            client.describe("spam")


@pytest.mark.parametrize("last", ["-1", "x", "1" * 30, "1.5"])
def test_a_wrong_position_is_refused(server: LocalServer, last: str) -> None:
    headers = {"authorization": f"Bearer {server.token}", "last-event-id": last}
    answer = httpx.get(f"{server.url}/v1/fusions/spam/events", headers=headers, trust_env=False, verify=False)
    assert answer.status_code == 422
    headers["last-event-id"] = "0"
    head = httpx.head(f"{server.url}/v1/fusions/spam/events", headers=headers, trust_env=False, verify=False)
    assert (head.status_code, server.service.streams.open) == (200, 0)


def test_only_so_many_streams_are_open(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.service.http.events.MAX_STREAMS", 0)
    headers = {"authorization": f"Bearer {server.token}"}
    answer = httpx.get(f"{server.url}/v1/fusions/spam/events", headers=headers, trust_env=False, verify=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_streams")


def test_open_streams_do_not_delay_the_end_of_the_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.service.server.GRACE", 60)
    server = LocalServer(tmp_path).start()
    header = {"authorization": f"Bearer {server.token}"}
    with Client(server.url, server.token) as client:
        client.create("spam", learner=LEARNER)
    with httpx.stream(
        "GET", f"{server.url}/v1/fusions/spam/events", headers=header, trust_env=False, verify=False
    ) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        start = time.monotonic()
        server.stop()
        assert time.monotonic() - start < 30  # of the 60 seconds that requests have
        assert "".join(lines) == ""
    assert "Traceback" not in capfd.readouterr().err
