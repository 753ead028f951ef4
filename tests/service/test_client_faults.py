"""Answers, tokens and addresses that the clients must not take for what they are not, and attempts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from linmax.client import AsyncClient, Client, ClientError
from linmax.client import client as client_module
from linmax.client.requests import ARROW, ATTEMPTS, FILE, JSON, NDJSON
from linmax.service.local import LocalServer
from tests.service.api import LEARNER

VOTES = {"ann": "ham", "bob": "spam"}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses, which are not waited for."""
    found: list[float] = []

    async def pause(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=found.append))
    monkeypatch.setattr(client_module, "asyncio", SimpleNamespace(sleep=pause))
    return found


@contextmanager
def answering(status: int, body: bytes = b"", **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A server with one answer to everything; yields its address and the paths that were asked for."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            seen.append(self.path)
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(b"" if status == 204 else body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as stub:
        thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{stub.server_port}", seen
        stub.shutdown()
        thread.join()


def table() -> Any:
    return pytest.importorskip("pyarrow").table({"ann": ["x", "y"], "label": ["x", "y"]})


VERBS: dict[str, Callable[[Any], Any]] = {
    "create": lambda client: client.create("spam"),
    "predict": lambda client: client.predict("spam", VOTES),
    "label": lambda client: client.label("spam", "a", "ham"),
    "learn": lambda client: client.learn("spam", VOTES, "ham"),
    "next_expert": lambda client: client.next_expert("spam", VOTES),
    "next_expert_many": lambda client: client.next_expert_many("spam", [{"votes": VOTES}]),
    "next_expert_table": lambda client: client.next_expert_table("spam", table()),
    "label_many": lambda client: client.label_many("spam", [{"id": "a", "label": "ham"}]),
    "learn_table": lambda client: client.learn_table("spam", table()),
    "download_model": lambda client: client.download_model("spam"),
    "upload_model": lambda client: client.upload_model("spam", b"model"),
    "change_limits": lambda client: client.change_limits("spam", {"experts": 3}),
    "fusions": lambda client: client.fusions(),
    "item": lambda client: client.item("spam", "a"),
    "delete": lambda client: client.delete("spam"),
}


def errors_of(url: str, *verbs: str) -> list[ClientError]:
    """The errors of both clients, for some verbs or all."""
    found: list[ClientError] = []

    async def send() -> None:
        async with AsyncClient(url, "token") as client:
            for verb in verbs or VERBS:
                with pytest.raises(ClientError) as caught:
                    await VERBS[verb](client)
                found.append(caught.value)

    with Client(url, "token") as client:
        for verb in verbs or VERBS:
            with pytest.raises(ClientError) as caught:
                VERBS[verb](client)
            found.append(caught.value)
    asyncio.run(send())
    assert not any("\n" in str(error) for error in found)
    return found


# --- answers that are not those of linmax


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirection_is_an_error_with_the_address_and_is_not_followed(status: int) -> None:
    with (
        answering(200, b"{}", content_type=JSON) as (target, followed),
        answering(status, location=f"{target}/v1/elsewhere") as (url, seen),
    ):
        for error in errors_of(url):
            assert (error.status, error.code) == (status, "redirected")
            assert str(error).endswith(f"points to {target}/v1/elsewhere; use that address")
        assert (len(seen), followed) == (2 * len(VERBS), [])


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (304, b"", {}),
        (200, b"", {}),
        (200, b"", {"content_type": JSON}),
        (200, b"<html>welcome</html>", {"content_type": "text/html; charset=utf-8"}),
        (200, b"<html>welcome</html>", {"content_type": JSON}),
        (200, b"<html>welcome</html>", {"content_type": NDJSON}),
        (200, b"<html>welcome</html>", {"content_type": ARROW}),
        (200, b"[1]", {"content_type": JSON}),
        (200, b"", {"content_type": FILE}),
    ],
)
def test_an_answer_that_is_not_one_of_linmax_is_an_error(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    with answering(status, body, **headers) as (url, _):
        for error in errors_of(url):
            assert (error.status, error.code) == (status, "no_linmax_answer")
            assert str(error).startswith(f"the server, or a proxy, has answered {status} w")
            assert str(error).endswith("which linmax does not; check the address")


def test_204_is_the_answer_to_a_deletion_only() -> None:
    with answering(204) as (url, _):
        with Client(url, "token") as client:
            assert client.delete("spam") is None
        others = errors_of(url, *(verb for verb in VERBS if verb != "delete"))
    assert {error.code for error in others} == {"no_linmax_answer"}


def test_a_batch_has_as_many_answers_as_items() -> None:
    for lines, found in ((b"", "0 answers"), (b'{"id": "b"}\n{"id": "c"}\n', "2 answers")):
        with answering(200, lines, content_type=NDJSON) as (url, _):
            assert all(f"with {found} to 1 item," in str(error) for error in errors_of(url, "label_many"))
            with Client(url, "token") as client:
                items = [{"id": "a", "label": "x"}] * lines.count(b"\n")
                assert len(client.label_many("spam", items)) == len(items)


def test_a_table_has_as_many_answers_as_rows() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    stream = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(stream, table().schema) as writer:
        writer.write_table(table().slice(1))
    with answering(200, stream.getvalue().to_pybytes(), content_type=ARROW) as (url, _):
        assert all("with 1 answer to 2 items," in str(error) for error in errors_of(url, "learn_table"))


@pytest.mark.parametrize("name", ["", "spam/weights", None])
def test_a_name_that_is_no_part_of_a_path_is_refused_before_anything_is_sent(name: Any) -> None:
    with answering(204) as (url, seen), Client(url, "token") as client:
        for send in (
            client.delete,
            client.describe,
            lambda name: client.learn_many(name, []),
            lambda name: client.learn_table(name, table()),
            lambda name: client.item(name, "a"),
        ):
            with pytest.raises(ClientError, match=r"a fusion cannot be called .*; use at most 100 letters"):
                send(name)
    assert seen == []


# --- tokens and addresses


def test_space_around_a_token_is_left_out(tmp_path: Path) -> None:
    with LocalServer(tmp_path) as server, Client(server.url, f" {server.token}\r\n") as client:
        assert "fusions" in client.fusions()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("token", ["", " \n", "adm_0123\n4567", "adm_0123 4567", "é", "adm_0123\x7f", None])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(kind: Any, token: Any) -> None:
    with pytest.raises(ValueError, match="token should be text of one or more visible ASCII") as caught:
        kind("http://127.0.0.1:1", token)
    assert "0123" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not isinstance(caught.value, UnicodeError)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "localhost", "", "ftp://127.0.0.1", "http:/127.0.0.1", "http://", "http://h:99999",
     "http://h:x", "http://h\n", None],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_with_its_value(kind: Any, url: Any) -> None:
    with pytest.raises(ValueError, match=r"is not the address of a server; .*http://") as caught:
        kind(url, "token")
    assert repr(url) in str(caught.value)


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(ValueError, match=r"'127\.0\.0\.1' is not the address") as caught:
        Client("ftp://user:secret@127.0.0.1", "token")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("error", [httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL])
def test_a_request_that_cannot_be_sent_is_not_repeated(error: Any, pauses: list[float]) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error("Illegal header value b'Bearer adm_0123'")

    async def send() -> None:
        async with AsyncClient("http://127.0.0.1:1", "token") as client:
            client._client = httpx.AsyncClient(transport=httpx.MockTransport(fail), base_url="http://h")
            await client.fusions()

    with Client("http://127.0.0.1:1", "token") as client:
        client._client = httpx.Client(transport=httpx.MockTransport(fail), base_url="http://h")
        with pytest.raises(ClientError) as caught:
            client.fusions()
    with pytest.raises(ClientError) as again:
        asyncio.run(send())
    for one in (caught.value, again.value):
        assert (one.status, one.code) == (422, "bad_request")
        assert str(one).startswith(f"the request cannot be sent ({error.__name__});")
        assert "0123" not in str(one)
    assert pauses == []


def test_an_id_that_is_too_long_for_an_address_is_one_sentence(pauses: list[float]) -> None:
    with (
        Client("http://127.0.0.1:1", "token") as client,
        pytest.raises(ClientError, match=r"cannot be sent \(InvalidURL\); check the address, the name and"),
    ):
        client.item("spam", "a" * 70_000)
    assert pauses == []


# --- attempts


@pytest.mark.parametrize("failure", ["503", "no connection"])
def test_the_default_attempts_outlast_a_restart(failure: str, pauses: list[float]) -> None:
    def seconds(url: str) -> float:
        pauses.clear()
        errors_of(url, "fusions")
        assert len(pauses) == 2 * (ATTEMPTS - 1)
        assert max(pauses) <= 5.0
        return sum(pauses) / 2  # of both clients

    if failure == "503":
        with answering(503, retry_after="0") as (url, _):
            found = [seconds(url) for _ in range(3)]
    else:
        found = [seconds("http://127.0.0.1:9") for _ in range(3)]
    assert all(15 <= one <= 32 for one in found)
    assert len(set(found)) > 1, "clients that begin together do not all come back together"


def test_a_server_that_comes_back_is_sent_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server starts again after 12 seconds of pauses, which are not waited for."""
    first = LocalServer(tmp_path).start()
    with Client(first.url, first.token) as client:
        client.create("spam", learner=LEARNER)
        first.stop()
        second = LocalServer(tmp_path, int(first.url.rpartition(":")[2]))
        waited: list[float] = []

        def pause(seconds: float) -> None:
            waited.append(seconds)
            if sum(waited) >= 12.0 and not second.url:
                second.start()

        monkeypatch.setattr(client_module, "time", SimpleNamespace(sleep=pause))
        try:
            assert client.learn("spam", VOTES, "spam", id="a")["prediction"] == "ham"
            assert client.describe("spam")["trials"] == 1
            assert sum(waited) >= 12.0
        finally:
            if second.url:
                second.stop()
