"""Single requests that arrive together: each has its own answer, and all are learned in their order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from linmax.service.fusions import single_requests
from linmax.service.fusions.served_panels import PanelClosedError
from tests.service.api import Api, code, digest_of
from tests.service.test_concurrency import trials_in_order
from tests.service.test_durability import FailingWrites
from tests.service.test_items import run


async def until_quick(api: Api) -> None:
    """Create a fusion, and teach it until its calls need no thread."""
    await api.create()
    panel = await api.service.panels.open("spam")
    for i in range(200):
        await api.learn(f"early {i}", "xy"[i % 2], ann="x", bob="y")
        await api.label((await api.predict(None, ann="x", bob="y")).json()["id"], "x")
        if len(panel.quick) > 1:
            return
    raise TimeoutError


def test_requests_of_one_turn_are_learned_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_requests, "MOST", 7)

    async def story(api: Api) -> None:
        await until_quick(api)
        answers = await asyncio.gather(
            *(api.learn(f"{i}", "xy"[i % 2], ann="x", bob="xy"[i % 3 % 2]) for i in range(40))
        )
        positions = [answer.json()["position"] for answer in answers]
        assert positions == list(range(positions[0], positions[0] + 40))
        assert await api.digest() == digest_of(*(await trials_in_order(api)))

    run(story, tmp_path)


def test_requests_of_one_turn_have_their_own_errors(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        await api.predict("known", ann="x", bob="y")
        answers = await asyncio.gather(
            api.learn("a", "x", ann="x", bob="y"),
            api.learn("a", "y", ann="x", bob="y"),  # other content
            api.learn("a", "x", ann="x", bob="y"),  # the same again
            api.label("known", "y"),
            api.label("unknown", "y"),
            api.label("known", "x"),
            api.learn("b", "y", ann="x", bob="x"),
            api.predict("new", ann="x", bob="y"),
            api.label("new", "x"),  # may overtake its prediction
        )
        assert [answer.status_code for answer in answers] == [200, 409, 200, 200, 404, 409, 200, 200, 200]
        assert answers[0].json() == answers[2].json()
        assert code(answers[4]) == (404, "unknown_item")
        assert [answer.headers["content-length"] for answer in answers] == [
            str(len(answer.content)) for answer in answers
        ]
        assert await api.digest() == digest_of(*(await trials_in_order(api)))

    run(story, tmp_path)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_request_that_fails_the_program_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        before = (await api.describe())["trials"]
        process = api.service.items.process_request

        async def fail(panel: Any, request: Any, token: Any) -> Any:
            found = await process(panel, request, token) if when == "after" else None
            if request.id == "bad":
                raise KeyError("bad")
            return found or await process(panel, request, token)

        monkeypatch.setattr(api.service.items, "process_request", fail)
        ids = ["a", "b", "bad", "c", "d"]
        answers = await asyncio.gather(*(api.learn(id_, "x", ann="x", bob="y") for id_ in ids))
        assert [answer.status_code for answer in answers] == [200, 200, 500, 200, 200]
        found = await api.describe()
        assert found["trials"] == before + 4
        assert found["digest"] == digest_of(*(await trials_in_order(api)))

    run(story, tmp_path)


def test_requests_whose_clients_have_gone_hold_up_nobody(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        panel = await api.service.panels.open("spam")
        async with panel.lock:
            sent = [asyncio.ensure_future(api.learn(f"{i}", "x", ann="x", bob="y")) for i in range(6)]
            while len(panel.arrivals) < 6:
                await asyncio.sleep(0)
            for gone in sent[::2]:
                gone.cancel()
            await asyncio.sleep(0)
        done = await asyncio.gather(*sent, return_exceptions=True)
        assert [getattr(answer, "status_code", None) for answer in done] == [None, 200] * 3
        learned = await trials_in_order(api)
        assert [api.service.database.rows("SELECT 1 FROM items WHERE id = ?", f"{i}") for i in range(6)] == [
            [],
            [(1,)],
        ] * 3
        assert await api.digest() == digest_of(*learned)

    run(story, tmp_path)


def test_a_client_that_goes_while_the_model_is_slow_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        process, sent = api.service.items.process_request, []

        async def process_slowly(panel: Any, request: Any, token: Any) -> Any:
            if request.id == "1":
                sent[1].cancel()
                await asyncio.sleep(0.01)
            return await process(panel, request, token)

        monkeypatch.setattr(api.service.items, "process_request", process_slowly)
        sent += [asyncio.ensure_future(api.learn(f"{i}", "x", ann="x", bob="y")) for i in range(4)]
        done = await asyncio.gather(*sent, return_exceptions=True)
        assert [getattr(answer, "status_code", None) for answer in done] == [200, None, 200, 200]
        assert await api.digest() == digest_of(*(await trials_in_order(api)))

    run(story, tmp_path)


def test_requests_that_wait_while_a_fusion_is_deleted_get_an_answer(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        panel = await api.service.panels.open("spam")
        async with panel.lock:
            deleting = asyncio.ensure_future(api("DELETE", "/v1/fusions/spam"))
            await asyncio.sleep(0.05)
            sent = [asyncio.ensure_future(api.learn(f"{i}", "x", ann="x", bob="y")) for i in range(5)]
            await asyncio.sleep(0.05)
        assert (await deleting).status_code == 204
        assert {code(answer) for answer in await asyncio.gather(*sent)} == {(404, "unknown_fusion")}

    run(story, tmp_path)


def test_requests_whose_write_fails_are_refused_but_predictions_go_on(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        learned = await trials_in_order(api)
        FailingWrites(api.service.database, [True])
        answers = await asyncio.gather(
            api.learn("a", "y", ann="x", bob="y"),
            api.predict("p", ann="x", bob="y"),
            api.learn("b", "y", ann="x", bob="y"),
        )
        assert [answer.status_code for answer in answers] == [507, 200, 507]
        assert answers[1].json()["stored"] is False
        assert await trials_in_order(api) == learned
        assert await api.digest() == digest_of(*learned)

    run(story, tmp_path)


def test_a_request_for_a_fusion_that_was_closed_opens_it_again(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await until_quick(api)
        panel = await api.service.panels.open("spam")
        token = api.service.tokens.find(api.client.headers["authorization"].split()[1])
        api.service.panels.discard(panel)
        request = single_requests.LabelRequest("early 0", "x")
        with pytest.raises(PanelClosedError):
            await api.service.singles.process(panel, request, token)
        assert (await api.label("early 0", "x")).status_code == 200

    run(story, tmp_path)
