"""Whom to ask next, over HTTP: the same as a session says, for one item and for batches of them."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion
from linmax.client import Client, ClientError
from linmax.service.fusions.served_panels import PanelClosedError, ServedPanels
from linmax.service.http import next_expert
from linmax.service.local import LocalServer
from linmax.service.messages.answers import NextExpertAnswer
from linmax.service.messages.requests import NextExpertRequest
from tests.service.api import LEARNER, Api
from tests.service.test_batches import send
from tests.service.test_items import run

EXPERTS, CLASSES = ("ann", "bob", "eve"), ["ham", "spam"]
TRIALS = [
    ({"ann": "ham", "bob": "spam", "eve": "spam"}, "spam"),
    ({"ann": "ham", "bob": "ham", "eve": "spam"}, "ham"),
    ({"ann": "spam", "bob": "spam", "eve": "ham"}, "spam"),
]
ITEMS: list[dict[str, Any]] = [
    {"votes": {}},
    {"votes": {"ann": "ham"}, "id": "second"},
    {"votes": {"bob": "ham", "ann": "ham", "eve": "spam"}},
    {"votes": {"bob": None}},
    {"votes": {}, "prices": {"ann": 1.0, "bob": 50.0, "eve": 2.0}},
    {"votes": {"ann": "spam"}, "experts": ["ann", "eve"]},
    {"votes": {"ann": {"ham": 0.75, "spam": 0.25}}, "score_range": (0.0, 1.0)},
    {"votes": {"ann": {"ham": 0.75, "spam": 0.25}}},
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with LocalServer(tmp_path) as server, Client(server.url, server.token) as client:
        client.create("spam", learner=LEARNER, classes=CLASSES)
        for votes, label in TRIALS:
            client.learn("spam", votes, label)
        yield client


def session() -> Fusion:
    """A session that has learned what the server has."""
    fusion = Fusion(LEARNER, classes=CLASSES)
    for votes, label in TRIALS:
        fusion.learn_one(votes, label)
    return fusion


def expected(items: list[dict[str, Any]]) -> list[str | None]:
    """Whom a session asks next."""
    fusion = session()
    return [
        fusion.next_expert(item["votes"], **{name: item[name] for name in item.keys() - {"votes", "id"}})
        for item in items
    ]


def count_answers(monkeypatch: pytest.MonkeyPatch) -> list[NextExpertRequest]:
    """Let each answer take a hundredth of a second; what is asked is added to the list."""
    asked: list[NextExpertRequest] = []
    answer = next_expert._answer

    def note(fusion: Fusion, wanted: NextExpertRequest) -> NextExpertAnswer:
        asked.append(wanted)
        time.sleep(0.01)
        return answer(fusion, wanted)

    monkeypatch.setattr(next_expert, "_answer", note)
    return asked


def test_the_next_expert_is_that_of_a_session(client: Client) -> None:
    fusion, answers, prices = session(), dict[str, Any](), {"ann": 1.0, "bob": 5.0, "eve": 2.0}
    while (name := client.next_expert("spam", answers, prices=prices)["expert"]) is not None:
        assert name == fusion.next_expert(answers, prices=prices)
        answers[name] = "ham"
    assert fusion.next_expert(answers, prices=prices) is None
    assert answers
    for item in ITEMS:
        given = {name: value for name, value in item.items() if name not in ("votes", "id")}
        assert [client.next_expert("spam", item["votes"], **given)["expert"]] == expected([item])


def test_a_range_of_scores_lets_a_prediction_be_settled(client: Client) -> None:
    scores = {name: {"ham": 1.0, "spam": 0.0} for name in ("bob", "eve")}
    assert client.next_expert("spam", scores)["expert"] == "ann"
    assert client.next_expert("spam", scores, score_range=(0.0, 1.0))["expert"] is None


def test_a_batch_of_lines_asks_as_a_session_does_and_stores_nothing(client: Client) -> None:
    before = client.describe("spam")
    wrong = [{"votes": {"zoe": "ham"}}, {"votes": 7}, {"votes": {}, "prices": {"ann": -1}}, "text"]
    found = client.next_expert_many("spam", [*ITEMS, *wrong, *ITEMS])
    for part in (found[: len(ITEMS)], found[-len(ITEMS) :]):
        assert [answer["expert"] for answer in part] == expected(ITEMS)
        assert [answer.get("id") for answer in part] == [item.get("id") for item in ITEMS]
    errors = [answer["error"]["code"] for answer in found[len(ITEMS) : -len(ITEMS)]]
    assert errors == ["bad_item", "bad_request", "bad_item", "bad_request"]
    assert client.describe("spam") == before
    assert client.next_expert_many("spam", []) == []


def test_a_table_asks_as_a_session_does(client: Client) -> None:
    """Null is not asked; a vote that abstains was."""
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "ann": ["ham", None, "", None, "ham"],
        "bob": [None, None, None, "spam", "spam"],
        "eve": ["ham", None, "ham", "spam", "new class"],
        "id": ["a", "b", None, "d", "e"],
    }
    found = client.next_expert_table("spam", pyarrow.table(columns))
    rows = zip(*(columns[name] for name in EXPERTS), strict=True)
    items = [
        {"votes": {name: vote or None for name, vote in zip(EXPERTS, row, strict=True) if vote is not None}}
        for row in rows
    ]
    assert found["expert"].to_pylist() == expected(items)
    assert found["id"].to_pylist() == columns["id"]
    assert found["code"].null_count == len(found)
    assert client.describe("spam")["classes"] == CLASSES


def test_what_a_table_cannot_ask_is_an_error(client: Client) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    found = client.next_expert_table("spam", pyarrow.table({"ann": ["ham", None], "zoe": ["ham", None]}))
    assert found["code"].to_pylist() == ["bad_item", None]
    assert found["expert"].to_pylist() == [None, expected([{"votes": {}}])[0]]
    with pytest.raises(ClientError, match="the column 'label'"):
        client.next_expert_table("spam", pyarrow.table({"ann": ["ham"], "label": ["ham"]}))
    empty = pyarrow.table({"ann": pyarrow.array([], pyarrow.string())})
    assert client.next_expert_table("spam", empty).num_rows == 0


def test_questions_are_limited_as_items_are(client: Client) -> None:
    client.change_limits("spam", {"item_bytes": 200})
    with pytest.raises(ClientError) as caught:
        client.next_expert("spam", {"ann": "x" * 200})
    assert (caught.value.status, caught.value.code) == (413, "too_large")
    (answer,) = client.next_expert_many("spam", [{"votes": {"ann": "x" * 200}}])
    assert answer["error"]["code"] == "too_large"


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 201])
def test_names_that_no_expert_can_have_are_refused(client: Client, name: str) -> None:
    for votes, experts in (({}, ["ann", name]), ({name: "ham"}, ["ann", name]), ({name: "ham"}, None)):
        with pytest.raises(ClientError) as caught:
            client.next_expert("spam", votes, experts=experts)
        assert caught.value.status == 422


def test_experts_are_a_list(client: Client) -> None:
    with pytest.raises(ClientError, match=r"experts= must be a list of experts \(got 'ann'\)"):
        client.next_expert("spam", {}, experts="ann")


def test_a_batch_ends_with_its_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_expert, "TURN", 0.0)
    asked = count_answers(monkeypatch)
    with LocalServer(tmp_path) as server, Client(server.url, server.token) as client:
        client.create("spam", learner=LEARNER, classes=CLASSES)
        client.learn("spam", *TRIALS[0])
        body = b'{"votes":{}}\n' * 1000
        head = (
            b"POST /v1/fusions/spam/next-expert HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n"
            b"Content-Type: application/x-ndjson\r\nAuthorization: Bearer %b\r\n\r\n"
        ) % (len(body), server.token.encode())
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as one:
            one.sendall(head + body)
            end = time.monotonic() + 60.0
            while not asked and time.monotonic() < end:
                time.sleep(0.01)
        client.learn("spam", *TRIALS[1])
        before = -1
        while before != len(asked):
            before = len(asked)
            time.sleep(1.0)
        assert 0 < before < 1000


@pytest.mark.parametrize("turn", [0.0, math.inf])
def test_others_have_their_turn_during_a_batch(
    turn: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_expert, "TURN", turn)
    asked = count_answers(monkeypatch)

    async def story(api: Api) -> None:
        await api.create(classes=CLASSES)
        for votes, label in TRIALS:
            await api.learn(None, label, **votes)
        batch = asyncio.ensure_future(send(api, "next-expert", [{"votes": {}}] * 100))
        while not asked:
            await asyncio.sleep(0.001)
        await api.predict("one", ann="ham")
        before = len(asked)
        assert {answer["expert"] for answer in await batch} <= set(EXPERTS)
        assert (before == 100) is (turn == math.inf)

    run(story, tmp_path)


def test_a_fusion_that_is_closed_during_a_batch_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_expert, "TURN", 0.0)
    calls = 0
    check = ServedPanels.check_open

    def check_open(panels: ServedPanels, panel: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise PanelClosedError
        check(panels, panel)

    async def story(api: Api) -> None:
        await api.create(classes=CLASSES)
        for votes, label in TRIALS:
            await api.learn(None, label, **votes)
        monkeypatch.setattr(ServedPanels, "check_open", check_open)
        found = await send(
            api, "next-expert", [{"votes": item["votes"], "id": str(at)} for at, item in items]
        )
        assert [answer["expert"] for answer in found] == expected(
            [{"votes": one["votes"]} for _, one in items]
        )
        assert [answer["id"] for answer in found] == [str(at) for at, _ in items]
        assert calls == len(items) + 1

    items = list(enumerate(ITEMS[:5]))
    run(story, tmp_path)
