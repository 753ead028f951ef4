"""Batches: a line per item, an answer per line, and a bad line does not concern the others."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from linmax.service.event_log.database import FILE, Database
from linmax.service.event_log.stored_items import LearnedRun, find_items
from linmax.service.fusions import item_store, replay
from linmax.service.http import endpoints
from tests.service.api import Api, code, digest_of
from tests.service.test_amendments import TRIALS, expected
from tests.service.test_items import run

NDJSON = {"content-type": "application/x-ndjson"}


async def send(api: Api, verb: str, items: list[Any], name: str = "spam") -> list[dict[str, Any]]:
    lines = [item if isinstance(item, str) else json.dumps(item) for item in items]
    answer = await api("POST", f"/v1/fusions/{name}/{verb}", content="\n".join(lines), headers=NDJSON)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == NDJSON["content-type"]
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_batch_does_what_its_items_do_one_by_one(tmp_path: Path) -> None:
    learned = [{"id": id_, "votes": votes, "label": label} for id_, votes, label in TRIALS]
    predicted = [{"id": f"p{id_}", "votes": votes} for id_, votes, _ in TRIALS]
    labels = [{"id": f"p{id_}", "label": label} for id_, _, label in TRIALS]

    async def story(api: Api) -> None:
        await api.create()
        await api.create("alone")
        answers = await send(api, "learn", learned)
        for (id_, votes, label), answer in zip(TRIALS, answers, strict=True):
            alone = (await api.learn(id_, label, "alone", **votes)).json()
            assert (answer["id"], answer["prediction"]) == (id_, alone["prediction"])
        assert await api.digest() == expected({})
        assert await send(api, "learn", learned) == answers
        guesses = await send(api, "predict", predicted)
        assert await send(api, "predict", predicted) == guesses
        for (id_, votes, _), guess in zip(TRIALS, guesses, strict=True):
            alone = (await api.predict(f"p{id_}", "alone", **votes)).json()
            assert {**guess, "version": 0} == {**alone, "version": 0}
        told = await send(api, "labels", labels)
        assert [one["right"] for one in told] == [
            guess["prediction"] == label["label"] for guess, label in zip(guesses, labels, strict=True)
        ]
        assert await api.digest() == digest_of(*(trial[1:] for trial in TRIALS + TRIALS))

    run(story, tmp_path)


def test_a_bad_line_does_not_concern_the_others(tmp_path: Path) -> None:
    def codes(answers: list[dict[str, Any]]) -> list[Any]:
        return [answer["error"]["code"] if "error" in answer else answer["id"] for answer in answers]

    async def story(api: Api) -> None:
        await api.create(limits={"item_bytes": 200, "experts": 3})
        item: dict[str, Any] = {"votes": {"ann": "x", "bob": "y"}, "label": "x"}
        many = {"votes": {str(i): "x" for i in range(4)}, "label": "x"}
        answers = await send(api, "learn", [
            {**item, "id": "a"}, "{", "", {**item, "id": "b"}, {"id": "c"}, {**item, "id": "a", "label": "y"},
            {**item, "id": "d" * 180}, {**item, "id": "a"}, many, {**item, "id": "e"},
        ])  # fmt: skip
        assert codes(answers) == [
            "a", "bad_json", "b", "bad_request", "id_in_use", "too_large", "a", "too_many_names", "e",
        ]  # fmt: skip
        trial = item["votes"], "x"
        assert await api.digest() == digest_of(trial, trial, trial)
        guesses = [
            {"id": "p", "votes": {"ann": "x"}},
            {"votes": {"ann": 0.5}},
            {"id": "q", "votes": {"eve": "x"}},
        ]
        explained = {"id": "r", "votes": {"ann": "x"}, "explain": True}
        assert codes(await send(api, "predict", [*guesses, explained])) == [
            "p",
            "bad_request",
            "q",
            "bad_request",
        ]
        labels = [{"id": "p", "label": "x"}, {"id": "nobody", "label": "x"}, {"id": "q", "label": "y"},
            {"id": "p", "label": "y"}, {"id": "p", "label": "y", "replaces": "x"}]  # fmt: skip
        answers = await send(api, "labels", labels)
        assert codes(answers) == ["p", "unknown_item", "q", "labelled_otherwise", "p"]
        right = [trial] * 3 + [({"ann": "x"}, "y"), ({"eve": "x"}, "y")]
        assert await api.digest() == digest_of(*right)

    run(story, tmp_path)


def test_a_batch_shares_a_transaction(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        first = [{"votes": {"ann": "x"}, "label": "x"} for _ in range(100)]
        await send(api, "learn", first)  # what is called for the first time runs in a thread, between commits
        commits: list[int] = []
        api.service.database.sync_seconds = lambda seconds, writes: commits.append(writes)
        items = [{"id": str(i), "votes": {"ann": "x"}, "label": "x"} for i in range(100)]
        assert len(await send(api, "learn", items)) == 100
        assert len(commits) == 1

    run(story, tmp_path)


def test_batches_have_limits(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        path = "/v1/fusions/spam/predict"
        assert code(await api("POST", path, content=b"{}\n" * 10_001, headers=NDJSON)) == (413, "too_large")
        assert await send(api, "predict", []) == []
        header = {**NDJSON, **(await api.token("read"))}
        assert code(await api("POST", path, content=b"{}", headers=header)) == (403, "forbidden")

    run(story, tmp_path)


def test_a_line_that_is_not_utf_8_does_not_concern_the_others(tmp_path: Path) -> None:
    lines = [b'{"votes": {"ann": "x"}, "label": "x"}', b'{"id": "\xff", "votes": {}}']

    async def story(api: Api) -> None:
        await api.create()
        body = b"\n".join([lines[0], lines[1], lines[0]])
        answer = await api("POST", "/v1/fusions/spam/learn", content=body, headers=NDJSON)
        found = [json.loads(line) for line in answer.text.splitlines()]
        assert [one.get("error", {}).get("code") for one in found] == [None, "bad_json", None]
        assert (await api.describe())["trials"] == 2
        alone = await api("POST", "/v1/fusions/spam/predict", content=lines[1])
        assert code(alone) == (400, "bad_json")

    run(story, tmp_path)


@pytest.mark.parametrize("id_", [".", ".."])
def test_an_id_that_no_url_can_end_with_is_refused_unless_the_log_has_it(tmp_path: Path, id_: str) -> None:
    message = f"an item cannot have the id {id_!r}, which no URL can end with; choose another id"

    async def story(api: Api) -> None:
        await api.create()
        for answer in (await api.predict(id_, ann="x"), await api.learn(id_, "x", ann="x")):
            assert code(answer) == (422, "bad_request")
            assert answer.json()["detail"] == message
        assert code(await api.label(id_, "x")) == (404, "unknown_item")
        await api.learn("early", "x", ann="x")
        items = [{"id": f"{i}", "votes": {"ann": "x"}, "label": "x"} for i in range(40)]
        items[30]["id"] = id_
        answers = await send(api, "learn", items)
        assert [one["error"]["message"] for one in answers if "error" in one] == [message]
        assert (await api.describe())["trials"] == 40

    async def later(api: Api) -> None:
        assert (await api.learn(id_, "x", ann="x")).json()["position"] == 2
        assert code(await api.learn(id_, "y", ann="x")) == (409, "id_in_use")
        assert (await api.label(id_, "y", replaces="x")).status_code == 200
        assert (await api("POST", "/v1/fusions/spam/exclude", {"ids": [id_]})).json()["events"] == 1
        assert (await api.describe())["trials"] == 39

    run(story, tmp_path)
    connection = apsw.Connection(str(tmp_path / FILE))
    for table in ("events", "items"):
        connection.execute(f"UPDATE {table} SET id = ? WHERE id = 'early'", (id_,))
    connection.close()
    run(later, tmp_path)
    database = Database(tmp_path, read_only=True)
    assert replay.verify(database) == []
    database.close()


def test_ids_of_a_batch_are_looked_up_only_if_the_log_has_ids_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[list[str]] = []

    def note(database: Any, number: int, ids: list[str]) -> Any:
        looked_up.append(ids)
        return find_items(database, number, ids)

    monkeypatch.setattr(item_store, "find_items", note)

    async def story(api: Api) -> None:
        await api.create()
        first = [{"id": f"{i:03}", "votes": {"ann": "x"}, "label": "x"} for i in range(100, 120)]
        await send(api, "learn", first)
        later = [{**one, "id": f"{i:03}"} for i, one in enumerate(first, 120)]
        assert not any("error" in one for one in await send(api, "learn", later))
        assert not looked_up
        api.service.items.store._recent.clear()
        mixed = [{**one, "id": f"{i:03}", "label": "y"} for i, one in enumerate(first, 130)]
        answers = await send(api, "learn", mixed)
        assert looked_up == [[one["id"] for one in mixed]]
        assert [one.get("error", {}).get("code") for one in answers] == ["id_in_use"] * 10 + [None] * 10

    run(story, tmp_path)


def test_the_labels_of_a_batch_wait_together_for_their_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have come at once, so they wait once, and each group does not wait again."""
    monkeypatch.setattr(endpoints, "GROUP", 5)

    async def story(api: Api) -> None:
        await api.create()
        store = api.service.items.store
        store.label_wait = 1.0
        labels = [{"id": f"{i}", "label": "x"} for i in range(50)]
        start = time.monotonic()
        answers = await send(api, "labels", labels)
        assert 0.99 <= time.monotonic() - start < 5.0  # not ten seconds
        assert {one["error"]["code"] for one in answers} == {"unknown_item"}
        assert not store._awaited
        store.label_wait = 30.0
        sent = asyncio.ensure_future(send(api, "labels", labels))
        await asyncio.sleep(0.05)
        for one in labels:
            await api.predict(one["id"], ann="x")
        assert [one["right"] for one in await sent] == [True] * 50

    run(story, tmp_path)


@pytest.mark.parametrize("verb", ["predict", "learn"])
def test_items_on_their_way_to_disk_are_known_to_other_batches(
    tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the ranges of their ids follow each other, nest or cross."""
    found: list[str] = []
    item = LearnedRun.item

    def note(run: LearnedRun, id_: str) -> Any:
        found.append(id_)
        return item(run, id_)

    monkeypatch.setattr(LearnedRun, "item", note)

    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        await api.learn("before", "x", ann="x")  # from now on, rows are processed together
        commit = api.service.database._commit

        def commit_slowly(*values: Any) -> Any:
            time.sleep(0.05)
            return commit(*values)

        monkeypatch.setattr(api.service.database, "_commit", commit_slowly)
        ranges = [range(100, 200, 2), range(101, 200, 2), range(140, 160), range(20, 60), range(300, 350)]
        batches = [
            [
                {"id": f"{i:03}", "votes": {"ann": "xy"[i % 2]}}
                | ({"label": "xy"[i % 3 // 2]} if verb == "learn" else {})
                for i in some
            ]
            for some in [*ranges, range(40, 120), *ranges]
        ]
        answers = await asyncio.gather(*(send(api, verb, batch) for batch in batches))
        by_id: dict[str, set[str]] = {}
        for answer in itertools.chain(*answers):
            by_id.setdefault(answer["id"], set()).add(json.dumps(answer))
        assert {len(same) for same in by_id.values()} == {1}
        assert api.service.database.last_position() == 2 + len(by_id)
        assert len(found) > 20 or verb == "predict"

    run(story, tmp_path)
    database = Database(tmp_path, read_only=True)
    assert replay.verify(database) == []
    database.close()


@pytest.mark.parametrize("verb", ["predict", "learn"])
def test_the_ids_of_a_batch_are_found_again(tmp_path: Path, verb: str) -> None:
    async def story(api: Api) -> None:
        await api.create(classes=["x", "y"])
        label = {"label": "x"} if verb == "learn" else {}
        await api.learn("before", "x", ann="x")  # from now on, rows are processed together
        for first in (0, 100):
            await send(
                api,
                verb,
                [{"id": f"id {i:03}", "votes": {"ann": "x"}, **label} for i in range(first, first + 50)],
            )
        api.service.items.store._recent.clear()
        for id_ in ("id 149", "id 100", "id 049"):
            assert code(await api.predict(id_, ann="y")) == (409, "id_in_use")

    run(story, tmp_path)
