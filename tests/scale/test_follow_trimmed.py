"""Messages that a broker removes, several followers of one log, and the addresses of servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from linmax import Fusion
from linmax.client import Client
from linmax.scale import follow, follow_async
from linmax.scale.sources.redis import RedisSource
from linmax.scale.targets.server import ServerTarget
from linmax.service.local import LocalServer
from tests.scale.brokers import name_in
from tests.scale.logs import learned, stream
from tests.service.api import LEARNER, free_port

ONCE: dict[str, Any] = {"from_start": True, "until_idle": 0.1}


def votes(first: int, end: int) -> list[dict[str, Any]]:
    return [{"id": f"m{t}", "votes": {"ann": "x", "bob": "y"}, "label": "x"} for t in range(first, end)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(tmp_path_factory.mktemp("server") / "data") as found:
        yield found


def test_what_is_removed_before_it_is_read_is_counted_once(
    redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, fusion = redis.new_log(), Fusion(LEARNER)
    redis.send(log, votes(0, 5))
    assert follow(log, fusion, **ONCE).lost == 0
    redis.send(log, votes(5, 12))
    redis._client.xtrim(name_in(log), maxlen=4, approximate=False)
    read, broken = RedisSource.read, [2]

    async def breaking(self: RedisSource, *arguments: Any) -> Any:
        if broken[0]:
            broken[0] -= 1
            raise ConnectionError("the connection was lost")
        return await read(self, *arguments)

    monkeypatch.setattr(RedisSource, "read", breaking)
    report = follow(log, fusion, **ONCE)
    assert (report.learned, report.lost, report.lag) == (4, 3, 0)


def test_what_is_removed_while_a_follower_waits_is_counted(
    redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, fusion = redis.new_log(), Fusion(LEARNER)
    redis.send(log, votes(0, 5))
    monkeypatch.setattr("linmax.scale.follower.COMMIT_EVERY", 0.0)
    seen: list[int] = []

    def trim(report: Any) -> None:
        seen.append(report.lost)
        if report.messages == 5 and len(seen) == 1:
            redis.send(log, votes(5, 9))
            redis._client.xtrim(name_in(log), maxlen=0, approximate=False)
        elif len(seen) == 3:
            redis.send(log, votes(9, 11))

    report = follow(log, fusion, **{**ONCE, "until_idle": 1.0}, on_progress=trim)
    assert (report.learned, report.lost, report.lag) == (7, 4, 0)


def test_two_followers_of_one_group_learn_every_message_once(redis: Any, server: LocalServer) -> None:
    log = redis.new_log()
    messages, trials = stream(60, seed=4)
    with Client(server.url, server.token) as client:
        client.create("pair", learner=LEARNER)

        async def both() -> None:
            targets = [ServerTarget(server.url, server.token, "pair") for _ in range(2)]
            await asyncio.gather(*(follow_async(log, one, batch=7, **ONCE) for one in targets))

        redis.send(log, messages)
        asyncio.run(both())
        assert client.describe("pair")["trials"] == learned(trials).trials


class Prefixed(BaseHTTPRequestHandler):
    """A proxy that passes on what comes under /learn/."""

    target = ""

    def do_GET(self) -> None:
        assert self.path.startswith("/learn/v1/")
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {
            name: self.headers[name] for name in ("authorization", "content-type") if name in self.headers
        }
        answer = httpx.request(
            self.command,
            self.target + self.path.removeprefix("/learn"),
            content=body,
            headers=headers,
            verify=False,
        )
        self.send_response(answer.status_code)
        self.send_header("content-type", answer.headers.get("content-type", ""))
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.mark.parametrize("end", ["", "/"])
def test_a_server_may_be_under_a_path(end: str, redis: Any, server: LocalServer) -> None:
    log, name = redis.new_log(), "path" + "s" * len(end)
    messages, trials = stream(30)
    redis.send(log, messages)
    handler = type("Handler", (Prefixed,), {"target": server.url})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{proxy.server_port}/learn{end}"
        report = follow(log, ServerTarget(url, server.token, name, LEARNER), **ONCE)
        proxy.shutdown()
    assert report.learned == len(trials)


@pytest.mark.parametrize("kind", ["token", "nothing", "https", "query"])
def test_a_server_that_cannot_be_used_is_named_with_what_to_check(
    kind: str, redis: Any, server: LocalServer
) -> None:
    port = free_port()
    url, token, message = {
        "token": (server.url, "lmx_other", r"http://127\S+ cannot be used: .*token.*; check LINMAX_TOKEN$"),
        "nothing": (
            f"http://me:secret@127.0.0.1:{port}",
            "t",
            rf"at http://127.0.0.1:{port} cannot be .*; check",
        ),
        "https": (server.url.replace("http:", "https:"), "t", r"at https://127\S+ cannot be used: .*; check"),
        "query": (server.url + "/?x=1", "t", "which linmax does not; check the address$"),
    }[kind]
    with pytest.raises(ValueError, match=message) as found:
        follow(redis.new_log(), ServerTarget(url, token, "spam"), **ONCE)
    assert "secret" not in str(found.value)
