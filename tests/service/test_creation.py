"""Fusions that are created, deleted and used at the same time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from linmax.service.fusions import replay
from tests.service.api import Api, code
from tests.service.test_items import run


def test_items_may_come_while_their_fusion_is_created_again(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        restore = api.service.panels._restore

        def restore_slowly(*row: Any) -> Any:
            found = restore(*row)
            time.sleep(0.05)
            return found

        async def learn(number: int) -> int:
            """Learn one item when the fusion is there."""
            while (answer := await api.learn(f"{number}", "x", ann="x", bob="y")).status_code == 404:
                await asyncio.sleep(0.002 * number)
            return answer.status_code

        api.service.items.store.label_wait = 0.0
        api.service.panels._restore = restore_slowly  # type: ignore[method-assign]
        for _ in range(5):
            await api.create()
            await api("DELETE", "/v1/fusions/spam")
            _, *answers = await asyncio.gather(api.create(), *map(learn, range(8)))
            assert answers == [200] * 8
            assert (await api.describe())["trials"] == 8
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)


def test_a_fusion_that_is_closed_meanwhile_is_opened_again_to_be_deleted(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        panel = await api.service.panels.open("spam")
        async with panel.lock:
            deletion = asyncio.ensure_future(api("DELETE", "/v1/fusions/spam"))
            await asyncio.sleep(0.05)
            api.service.panels.discard(panel)
        assert (await deletion).status_code == 204
        assert (await api("GET", "/v1/fusions/spam")).status_code == 404

    run(story, tmp_path)


def test_a_fusion_may_be_created_while_it_is_deleted(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        panels = api.service.panels
        flush, deletions = panels.flush, []

        def delete() -> None:
            deletions.append(asyncio.ensure_future(panels.delete(panel, "test")))

        async def flush_and_delete() -> None:
            await flush()
            panels.flush = flush  # type: ignore[method-assign]
            delete()
            await asyncio.sleep(0)

        await api.create()
        await api.learn("a", "x", ann="x", bob="y")
        panel = await panels.open("spam")
        panels.flush = flush_and_delete  # type: ignore[method-assign]
        assert (await api.create()).status_code in (200, 201)
        panels.flush = flush  # type: ignore[method-assign]
        if not deletions:  # creating did not have to wait for the disk
            delete()
            await asyncio.sleep(0)
        assert (await api.create()).status_code == 201
        await deletions.pop()
        assert (await api.describe())["trials"] == 0
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)


def test_an_unknown_fusion_with_an_impossible_name_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        for name in ("-spam", "spam ham", "a" * 101, "späm"):
            for answer in (await api("GET", f"/v1/fusions/{name}"), await api.predict("a", name, ann="x")):
                assert code(answer) == (404, "unknown_fusion")
                created = await api.create(name)
                assert code(created) == (422, "bad_name")
                assert answer.json()["detail"] == created.json()["detail"]
                assert answer.json()["detail"].startswith(f"a fusion cannot be called {name[:100]!r}; use")
        possible = (await api("GET", "/v1/fusions/spam")).json()["detail"]
        assert possible == "there is no fusion 'spam'; PUT /v1/fusions/spam makes one"

    run(story, tmp_path)


def test_the_request_that_has_created_a_fusion_may_be_repeated_after_its_limits_were_changed(
    tmp_path: Path,
) -> None:
    async def story(api: Api) -> None:
        assert (await api.create(limits={"experts": 5})).status_code == 201
        changed = await api("PATCH", "/v1/fusions/spam", {"limits": {"experts": 7, "classes": 3}})
        await later(api)
        assert (await api.describe()) == changed.json()

    async def later(api: Api) -> None:
        position = api.service.database.last_position()
        first, present = {"experts": 5}, {"experts": 7, "classes": 3}
        for limits in (first, present):
            answer = await api.create(limits=limits)
            assert (answer.status_code, answer.json()["settings"]["limits"]) == (200, present)
        for limits in ({}, {"experts": 7}, {"experts": 5, "classes": 3}):
            assert code(await api.create(limits=limits)) == (409, "fusion_exists")
        assert code(await api.create(limits=first, classes=["x"])) == (409, "fusion_exists")
        assert api.service.database.last_position() == position

    async def deleted(api: Api) -> None:
        await api("DELETE", "/v1/fusions/spam")
        assert (await api.create()).status_code == 201
        assert code(await api.create(limits={"experts": 5})) == (409, "fusion_exists")

    run(story, tmp_path)
    run(later, tmp_path)
    run(deleted, tmp_path)


def test_truth_values_are_not_numbers_when_settings_are_compared(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        assert (await api.create(classes=[1, 0], abstain=2)).status_code == 201
        assert (await api.create(classes=[1, 0], abstain=2)).status_code == 200
        assert code(await api.create(classes=[True, False], abstain=2)) == (409, "fusion_exists")

    run(story, tmp_path)
