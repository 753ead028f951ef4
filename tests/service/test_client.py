"""The clients: the verbs of a session over HTTP, with ids and safe retries."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax import load
from linmax.client import AsyncClient, Client, ClientError
from linmax.client import client as client_module
from linmax.client.requests import ATTEMPTS, table_batch
from linmax.service.local import LocalServer
from tests.service.api import LEARNER, digest_of


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with LocalServer(tmp_path) as running:
        yield running


VOTES = {"ann": "ham", "bob": "spam"}


def test_the_client_has_the_verbs_of_a_session(server: LocalServer) -> None:
    with Client(server.url, server.token) as client:
        assert client.create("spam", learner=LEARNER)["trials"] == 0
        assert client.create("spam", learner=LEARNER)["trials"] == 0
        answer = client.predict("spam", VOTES)
        assert (answer["prediction"], len(answer["id"])) == ("ham", 32)
        assert client.label("spam", answer["id"], "spam")["right"] is False
        assert client.learn("spam", VOTES, "spam", id="x")["prediction"] == "spam"
        assert client.learn("spam", VOTES, "spam", id="x")["prediction"] == "spam"
        first = client.item("spam", "x")["position"]
        changed = client.label("spam", "x", "ham", replaces="spam", after=first)
        assert changed["right"] is False
        back = client.label("spam", "x", "spam", replaces="ham", after=changed["position"])
        with pytest.raises(ClientError, match="was set at position") as caught:
            client.label("spam", "x", "ham", replaces="spam", after=first)
        assert caught.value.code == "labelled_since"
        client.label("spam", "x", "ham", replaces="spam", after=back["position"])
        assert "explanation" in client.predict("spam", VOTES, explain=True)
        assert client.item("spam", "x")["label"] == "ham"
        assert client.fusions() == {"fusions": ["spam"]}
        assert client.describe("spam")["trials"] == 2
        assert client.weights("spam")["weights"]
        client.delete("spam")
        with pytest.raises(ClientError, match="there is no fusion 'spam'") as caught:
            client.describe("spam")
        assert (caught.value.status, caught.value.code) == (404, "unknown_fusion")


def test_tables_are_batches(server: LocalServer) -> None:
    pyarrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"ann": ["ham", "spam", None], "bob": ["spam", "spam", "ham"]})
    with Client(server.url, server.token) as client:
        client.create("tables", learner=LEARNER, classes=["ham", "spam"])
        client.create("items", learner=LEARNER, classes=["ham", "spam"])
        labels = ["spam", "spam", "ham"]
        learned = client.learn_table("tables", frame.assign(label=labels))
        for votes, label in zip(pyarrow.Table.from_pandas(frame).to_pylist(), labels, strict=True):
            client.learn("items", votes, label)
        assert client.describe("tables")["digest"] == client.describe("items")["digest"]
        assert learned["position"].to_pylist() == sorted(learned["position"].to_pylist())
        predicted = client.predict_table("tables", pyarrow.Table.from_pandas(frame))
        assert all(len(name) == 32 for name in predicted["id"].to_pylist())
        answers = client.label_table("tables", pyarrow.table({"id": predicted["id"], "label": labels}))
        assert answers["right"].to_pylist() == [
            guess == label for guess, label in zip(predicted["prediction"].to_pylist(), labels, strict=True)
        ]


def test_an_empty_id_is_refused_and_an_empty_table_has_no_answers(server: LocalServer) -> None:
    with Client(server.url, server.token) as client:
        client.create("spam", learner=LEARNER)
        for call in (
            lambda: client.learn("spam", VOTES, "spam", id=""),
            lambda: client.predict("spam", VOTES, id=""),
        ):
            with pytest.raises(ClientError) as caught:
                call()
            assert caught.value.status == 422
        pyarrow = pytest.importorskip("pyarrow")
        column = pyarrow.array([], pyarrow.string())
        assert client.predict_table("spam", pyarrow.table({"ann": column})).num_rows == 0
        assert client.learn_table("spam", pyarrow.table({"ann": column, "label": column})).num_rows == 0


def test_the_index_of_a_frame_is_no_expert(server: LocalServer) -> None:
    """Its numbers would be votes and, where classes are numbers, new classes."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"ann": [1, 2, 1, 2], "bob": [2, 2, 1, 1], "label": [1, 2, 1, 2]})
    named = frame.set_axis(pandas.Index([5, 1, 9, 4], name="row"))
    ids = frame.set_axis(pandas.Index(["a", "b", "c", "d"], name="id"))
    with Client(server.url, server.token) as client:
        client.create("index", learner=LEARNER)
        for table in (frame[[True, False, True, True]], named, ids):
            answers = client.learn_table("index", table)
            assert answers["code"].null_count == len(table)
        assert answers["id"].to_pylist() == ["a", "b", "c", "d"]
        found = client.describe("index")
        assert (found["experts"], found["classes"], found["trials"]) == (["ann", "bob"], [1, 2], 11)


def test_certificates_are_read_once_for_all_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ssl.SSLContext] = []
    load = httpx.create_ssl_context
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: made.append(load()) or made[-1])
    client_module._trusted.cache_clear()
    for _ in range(2):
        Client("https://127.0.0.1:9", "token").close()
        asyncio.run(AsyncClient("http://127.0.0.1:9", "token").close())
    client_module._trusted.cache_clear()
    assert [(one.verify_mode, one.check_hostname) for one in made] == [(ssl.CERT_REQUIRED, True)]


def test_tables_that_cannot_be_sent_are_one_sentence() -> None:
    pandas = pytest.importorskip("pandas")
    with Client("http://127.0.0.1:1", "token") as client:
        for table in ({"ann": ["x"]}, None):
            with pytest.raises(TypeError, match=r"a batch is a table of .*; convert it first"):
                client.predict_table("spam", table)
        with pytest.raises(ValueError, match="give each column values of one type"):
            client.predict_table("spam", pandas.DataFrame({"ann": ["x", 1, None]}))


def test_rows_without_an_id_get_one_before_they_are_sent() -> None:
    """A request that is repeated would be learned twice otherwise."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"ann": ["x", "y"], "id": ["a", None]})
    for given in (table, table.to_batches()[0]):
        sent = pyarrow.ipc.open_stream(table_batch("spam", "learn", given).body).read_all()
        first, second = sent["id"].to_pylist()
        assert (first, len(second)) == ("a", 32)


def test_models_go_from_one_fusion_to_another(server: LocalServer, tmp_path: Path) -> None:
    with Client(server.url, server.token) as client:
        client.create("first", learner=LEARNER)
        client.learn("first", VOTES, "spam")
        content = client.download_model("first")
        client.create("second", learner=LEARNER)
        assert client.upload_model("second", content)["experts"] == ["ann", "bob"]
        assert client.weights("second") == client.weights("first")
        (tmp_path / "model.linmax").write_bytes(content)
        assert load(tmp_path / "model.linmax").experts == ["ann", "bob"]
        limits = client.change_limits("second", {"experts": 2})["settings"]["limits"]
        assert limits["experts"] == 2
        with pytest.raises(ClientError, match="experts"):
            client.predict("second", {"eve": "ham"})


def test_batches_answer_for_every_item(server: LocalServer) -> None:
    with Client(server.url, server.token) as client:
        client.create("spam", learner=LEARNER)
        answers = client.predict_many("spam", [{"votes": VOTES}] * 3)
        labels = [{"id": answer["id"], "label": "spam"} for answer in answers]
        told = client.label_many("spam", [*labels, {"id": "nobody", "label": "spam"}])
        assert [one.get("right") for one in told] == [False, False, False, None]
        assert told[3]["error"]["code"] == "unknown_item"
        client.learn_many("spam", [{"votes": VOTES, "label": "ham"}])
        trials = [(VOTES, "spam")] * 3 + [(VOTES, "ham")]
        assert client.describe("spam")["digest"] == digest_of(*trials)


def test_the_asynchronous_client_does_the_same(server: LocalServer) -> None:
    async def story() -> None:
        async with AsyncClient(server.url, server.token) as client:
            await client.create("spam", learner=LEARNER)
            answers = await asyncio.gather(*(client.predict("spam", VOTES) for _ in range(10)))
            await asyncio.gather(*(client.label("spam", one["id"], "spam") for one in answers))
            found = await client.describe("spam")
            assert (found["trials"], found["digest"]) == (10, digest_of(*[(VOTES, "spam")] * 10))
            with pytest.raises(ClientError, match="has the label"):
                await client.label("spam", answers[0]["id"], "ham")
        async with AsyncClient("http://127.0.0.1:9", "x", attempts=1) as client:
            with pytest.raises(ClientError, match="did not answer"):
                await client.describe("spam")

    asyncio.run(story())


class Stub(BaseHTTPRequestHandler):
    """A server that fails in given ways before it answers."""

    failures: list[Any]
    seen: list[bytes]

    def do_POST(self) -> None:
        self.seen.append(self.rfile.read(int(self.headers["content-length"])))
        failure = self.failures.pop(0) if self.failures else None
        if failure == "hang up":
            self.close_connection = True
            return
        body = b'{"id": "a"}' if failure is None else b"not of linmax"
        self.send_response(200 if failure is None else failure)
        self.send_header("content-length", str(len(body)))
        self.send_header("content-type", "application/json")
        self.send_header("retry-after", "3")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_requests_are_repeated_unchanged_when_that_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(client_module.time, "sleep", pauses.append)
    kind: Any = type("OneStub", (Stub,), {"failures": [503, "hang up", 429, 507], "seen": []})
    with HTTPServer(("127.0.0.1", 0), kind) as stub:
        thread = threading.Thread(target=stub.serve_forever, daemon=True)
        thread.start()
        with Client(f"http://127.0.0.1:{stub.server_port}", "token") as client:
            assert client.predict("spam", VOTES) == {"id": "a"}
            assert len(kind.seen) == 5
            assert len(set(kind.seen)) == 1  # the same id each time
            assert [pause for pause in pauses if pause == 3.0] == [3.0] * 3
            kind.failures += [500]
            with pytest.raises(ClientError, match="has answered 500"):
                client.predict("spam", VOTES)
            kind.failures += [503] * ATTEMPTS
            with pytest.raises(ClientError, match="has answered 503") as caught:
                client.predict("spam", VOTES)
            assert caught.value.code == "no_linmax_error"
        stub.shutdown()
        thread.join()
