"""Ids and values arrive at the server as a session takes them; what cannot be sent is one sentence."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from linmax.client import Client, ClientError
from linmax.service.local import LocalServer
from tests.service.api import LEARNER, digest_of

VOTES = {"ann": "ham", "bob": "spam"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(tmp_path_factory.mktemp("server")) as running:
        running.service.items.store.label_wait = 0.0
        yield running


@pytest.fixture
def client(server: LocalServer) -> Iterator[Client]:
    with Client(server.url, server.token) as found:
        yield found


# --- ids in paths


@pytest.mark.parametrize("id_", ["...", "a/../b", "../..", "a/b", "%2E%2E", "a b?c#d", "é", "a+b"])
def test_every_id_that_is_allowed_arrives(client: Client, id_: str) -> None:
    client.create("ids", learner=LEARNER)
    client.learn("ids", VOTES, "spam", id=id_)
    found = client.item("ids", id_)
    assert (found["id"], found["label"]) == (id_, "spam")


@pytest.mark.parametrize("name", [".", ".."])
def test_names_of_dots_are_names(client: Client, name: str) -> None:
    for send in (client.describe, client.weights, lambda name: client.predict(name, VOTES)):
        with pytest.raises(ClientError) as caught:
            send(name)
        assert caught.value.code == "unknown_fusion"


@pytest.mark.parametrize("id_", ["", None, "\ud800"])
def test_an_id_that_is_none_is_one_sentence(client: Client, id_: Any) -> None:
    with pytest.raises(ClientError, match=r"(an id should be|half of a pair)") as caught:
        client.item("ids", id_)
    assert caught.value.status == 422


# --- values


class Kind(enum.Enum):
    HAM = "ham"


@pytest.mark.parametrize(
    ("votes", "label", "plain"),
    [
        ({"a": np.int64(1), "b": np.uint8(2)}, np.int32(1), ({"a": 1, "b": 2}, 1)),
        ({"a": np.bool_(True), "b": np.bool_(False)}, np.bool_(True), ({"a": True, "b": False}, True)),
        ({np.str_("a"): np.str_("x")}, np.str_("x"), ({"a": "x"}, "x")),
        ({"a": {np.int64(1): np.float32(0.5), 2: np.float64(0.25)}}, 1, ({"a": {1: 0.5, 2: 0.25}}, 1)),
        ({"a": np.float64(1.0), "b": 2.0}, np.float32(1.0), ({"a": 1, "b": 2}, 1)),
        ({"a": float("nan"), "b": "x"}, "x", ({"a": None, "b": "x"}, "x")),
        ({"a": Kind.HAM}, Kind.HAM, ({"a": "ham"}, "ham")),
    ],
)
def test_values_of_a_session_are_learned_as_a_session_does(
    client: Client, votes: Any, label: Any, plain: Any
) -> None:
    digests = []
    for name, item in (("given", (votes, label)), ("plain", plain)):
        client.create(name, learner=LEARNER)
        client.predict(name, item[0], id="a")
        client.label(name, "a", item[1])
        client.learn(name, *item)
        answers = client.learn_many(name, [{"votes": item[0], "label": item[1]}])
        assert answers[0]["right"] is True
        digests.append(client.describe(name)["digest"])
        client.delete(name)
    assert digests == [digest_of(*[(votes, label)] * 3)] * 2


def test_numbers_of_numpy_are_attributes_prices_and_limits(client: Client) -> None:
    client.create(
        "numbers", learner=LEARNER, classes=[np.int64(1), np.int64(2)], limits={"experts": np.int64(9)}
    )
    client.learn("numbers", {"a": 1}, 2, attributes={"x": np.float32(0.5), "y": np.int16(3)}, id="i")
    assert client.item("numbers", "i")["attributes"] == {"x": 0.5, "y": 3}
    client.label(
        "numbers",
        "i",
        np.int64(1),
        replaces=np.int64(2),
        after=np.int64(client.item("numbers", "i")["position"]),
    )
    assert client.next_expert("numbers", {}, prices={"a": np.float32(2)})["expert"] == "a"
    assert client.describe("numbers")["classes"] == [1, 2]


NAN = {"votes": {"ann": {"x": float("nan")}}}
INFINITE, SET = {"votes": {"ann": {"x": float("inf")}}}, {"votes": {"ann": {"x"}}}
WRONG: list[Any] = [NAN, INFINITE, SET, 7, None, "text", ["list"]]


@pytest.mark.parametrize("verb", ["predict_many", "learn_many"])
def test_an_item_that_is_wrong_does_not_concern_the_others(client: Client, verb: str) -> None:
    client.create(verb.replace("_", "-"), learner=LEARNER)
    label = {"label": "x"} if verb == "learn_many" else {}
    good = [{"id": str(i), "votes": {"ann": "x"}} | label for i in range(len(WRONG) + 1)]
    items = [good[0]]
    for i, wrong in enumerate(WRONG):
        items += [wrong | label if isinstance(wrong, dict) else wrong, good[i + 1]]
    answers = getattr(client, verb)(verb.replace("_", "-"), iter(items))
    assert [answer.get("id") for answer in answers[::2]] == [item["id"] for item in good]
    for answer in answers[1::2]:
        assert answer.keys() == answers[-4].keys(), "as the server answers the item that is text"
        assert (answer["status"], answer["error"]["code"]) == (422, "bad_request")
    assert answers[1]["error"]["message"].startswith("nan is not a finite number")
    assert answers[5]["error"]["message"].startswith("{'x'} (set) cannot be written as JSON; use text")


def test_a_label_that_is_wrong_does_not_concern_the_others(client: Client) -> None:
    client.create("labels", learner=LEARNER)
    client.predict_many("labels", [{"id": id_, "votes": {"ann": "x"}} for id_ in "ab"])
    items = [
        {"id": "a", "label": {1}},
        3,
        {"id": "a", "label": "x"},
        {"label": "x"},
        {"id": "b", "label": np.str_("y")},
    ]
    found = client.label_many("labels", items)
    assert [one.get("right") for one in found] == [None, None, True, None, False]
    assert all("error" in found[i] for i in (0, 1, 3))


def test_a_batch_without_an_item_that_can_be_sent_is_answered(client: Client) -> None:
    client.create("none", learner=LEARNER)
    assert [one["status"] for one in client.predict_many("none", [NAN, NAN])] == [422, 422]
    assert client.predict_many("none", []) == []
    with pytest.raises(ClientError, match="there is no fusion 'nobody'"):
        client.predict_many("nobody", [NAN])


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {1}, b"x", "large"])
def test_a_value_that_json_does_not_have_is_one_sentence(client: Client, value: Any) -> None:
    value = 10**5000 if value == "large" else value
    for send in (client.predict, lambda name, votes: client.learn(name, votes, "x")):
        with pytest.raises(ClientError, match=r"(finite number|cannot be written as JSON)") as caught:
            send("spam", {"ann": {"x": value}})
        assert (caught.value.status, caught.value.code) == (422, "bad_request")


def test_a_value_that_contains_itself_is_one_sentence(client: Client) -> None:
    votes: dict[str, Any] = {}
    votes["ann"] = votes
    with pytest.raises(ClientError, match="cannot be written as JSON"):
        client.predict("spam", votes)
