"""Compaction removes old events, and neither the state nor the memory of ids changes."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax.service.fusions import replay
from linmax.service.fusions.compaction import Compaction
from linmax.service.fusions.history import Histories
from linmax.service.messages.errors import ServiceError
from tests.service.api import Api, code, digest_of, serving
from tests.service.test_amendments import TRIALS, expected, teach
from tests.service.test_durability import FailingWrites
from tests.service.test_items import run


async def compact(api: Api, last: str | None = None) -> int:
    """Compact the log up to the last event of an item, or all of it; return the horizon."""
    database = api.service.database
    time = database.now()
    if last is not None:
        ((time,),) = database.rows(
            "SELECT min(time) FROM events WHERE position > (SELECT max(position) FROM events WHERE id = ?)",
            last,
        )
    await Compaction(api.service.items.store, api.service.histories).run(time or database.now())
    return int((await api.describe())["horizon"])


async def post(api: Api, verb: str, body: Any) -> httpx.Response:
    return await api("POST", f"/v1/fusions/spam/{verb}", body)


def kinds(api: Api) -> dict[int, int]:
    """How many events of each kind the log has."""
    rows = api.service.database.rows("SELECT kind, count(*) FROM events WHERE fusion > 0 GROUP BY kind")
    return {kind: count for kind, count in rows}


def test_events_before_the_horizon_are_gone_and_the_state_is_the_same(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        before = await api.describe()
        mistakes = (await api("GET", "/v1/fusions/spam/history")).json()
        horizon = await compact(api, last="19")
        assert horizon == 31
        assert kinds(api) == {6: 1, 1: 10, 2: 10, 3: 10}
        assert {**await api.describe(), "horizon": 0} == before
        assert (await api("GET", "/v1/fusions/spam/history")).json() == mistakes
        assert await asyncio.to_thread(replay.verify, api.service.database) == []
        await api.learn("new", "x", ann="y")

    async def later(api: Api) -> None:
        assert (await api("GET", "/v1/fusions/spam/history")).json()["trials"] == 41
        trials = [trial[1:] for trial in TRIALS]
        assert await api.digest() == digest_of(*trials, ({"ann": "y"}, "x"))
        assert await compact(api) > 31
        assert sum(kinds(api).values()) <= 2
        position = api.service.database.last_position()
        assert (await api.learn("newer", "x", ann="y")).json()["position"] == position + 1

    run(story, tmp_path)
    run(later, tmp_path)
    run(lambda api: check_digest(api, [*(t[1:] for t in TRIALS), *[({"ann": "y"}, "x")] * 2]), tmp_path)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_history_that_has_not_counted_what_is_compacted_starts_at_the_horizon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: bool
) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        assert (await api("GET", "/v1/fusions/spam/history")).json()["trials"] == 40
        for number in range(10):
            await api.learn(f"new {number}", "x", ann="y")
        loop, advance = asyncio.get_running_loop(), Histories._advance

        def advance_late(*values: Any) -> Any:
            monkeypatch.setattr(Histories, "_advance", advance)
            assert asyncio.run_coroutine_threadsafe(compact(api, last="new 5"), loop).result() > 0
            return advance(*values)

        if meanwhile:
            monkeypatch.setattr(Histories, "_advance", advance_late)
        else:
            assert await compact(api, last="new 5") > 0
        assert (await api("GET", "/v1/fusions/spam/history")).json()["trials"] == 50

    run(story, tmp_path)


async def check_digest(api: Api, trials: list[Any]) -> None:
    assert await api.digest() == digest_of(*trials)


def test_repeats_of_what_was_compacted_are_recognised(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        await compact(api, last="19")
        before = await api.describe()
        for answer in (
            await api.predict("0", **TRIALS[0][1]),
            await api.label("0", TRIALS[0][2]),
            await api.learn("1", TRIALS[1][2], **TRIALS[1][1]),
            await api("GET", "/v1/fusions/spam/items/0"),
        ):
            assert code(answer) == (410, "compacted")
        for id_, votes, label in TRIALS[20:22]:
            known = await api.label(id_, label)
            assert known.status_code == 200, (votes, known.text)
        lines = b'{"id":"0","label":"x"}\n{"id":"20","label":"%s"}' % TRIALS[20][2].encode()
        kind = {"content-type": "application/x-ndjson"}
        both = await api("POST", "/v1/fusions/spam/labels", content=lines, headers=kind)
        assert ["error" in line for line in both.text.splitlines()] == [True, False]
        assert await api.describe() == before

    run(story, tmp_path)


def test_items_that_wait_keep_their_votes(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.predict("waiting", ann="x", bob="y")
        await api.predict("labelled late", ann="y", bob="y")
        await teach(api)
        await api.label("labelled late", "y")
        await compact(api, last="39")
        assert kinds(api) == {6: 1, 1: 2, 2: 1}
        then = await api("GET", "/v1/fusions/spam/items/waiting", params={"explain": "then"})
        assert code(then) == (410, "compacted")
        assert (await api.label("waiting", "x")).status_code == 200
        late = [({"ann": "y", "bob": "y"}, "y"), ({"ann": "x", "bob": "y"}, "x")]
        trials = [*(trial[1:] for trial in TRIALS), *late]
        assert await api.digest() == digest_of(*trials)
        assert await asyncio.to_thread(replay.verify, api.service.database) == []
        await compact(api)
        assert kinds(api) == {6: 1, 2: 1, 1: 1}  # the last event of the log stays, and its votes
        assert await api.digest() == digest_of(*trials)

    run(story, tmp_path)


def test_what_is_before_the_horizon_cannot_be_changed(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        horizon = await compact(api, last="19")
        ((time,),) = api.service.database.rows("SELECT horizon_time FROM fusions")
        before = await api.digest()
        for verb, body in (
            ("rollback", {"position": horizon - 1}),
            ("exclude", {"ids": ["30", "3"]}),
            ("exclude", {"actor": "admin (environment)"}),
            ("exclude", {"from": time - 1.0}),
            ("exclude", {"until": time + 1.0}),
        ):
            answer = await post(api, verb, body)
            assert code(answer) == (409, "compacted"), body
            assert f"compacted up to position {horizon}: " in answer.json()["detail"]
            preview = await api("POST", "/dashboard/fusions/spam/preview", body)
            assert (code(preview), preview.json()) == (code(answer), answer.json()), body
        assert code(await api.label("3", "other", replaces=TRIALS[3][2])) == (410, "compacted")
        assert await api.digest() == before
        assert (await post(api, "exclude", {"ids": ["30"]})).json()["events"] == 1
        assert await api.digest() == expected({"30": None})
        assert (await post(api, "exclude", {"from": time})).json()["events"] == 19
        assert await api.digest() == expected({str(i): None for i in range(20, 40)})

    run(story, tmp_path)


def test_rollback_to_the_horizon_is_exact(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 7
        await teach(api)
        horizon = await compact(api, last="19")
        assert (await post(api, "rollback", {"position": horizon})).json()["events"] == 20
        assert await api.digest() == expected({str(i): None for i in range(20, 40)})
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)


def test_events_that_were_amended_after_the_horizon_stay(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        position = api.service.database.last_position()
        await api.label("10", "other", replaces=TRIALS[10][2])
        await api.describe()
        assert await compact(api, last="19") == 17  # just before the label of item 10
        await post(api, "rollback", {"position": position})
        assert await api.digest() == expected({})

    run(story, tmp_path)


def test_no_amendment_crosses_the_horizon(tmp_path: Path) -> None:
    """An exclusion before the moment of compaction has its event behind one that was relabelled after it."""

    async def story(api: Api) -> None:
        await api.create()
        votes = {"ann": "x", "bob": "y"}
        ends = [(await api.learn(f"{i}", "y", **votes)).json()["position"] for i in range(3)]
        before = await api.digest()
        await post(api, "exclude", {"ids": ["1"]})
        await asyncio.sleep(0.002)
        time = api.service.database.now()
        await api.label("2", "x", replaces="y")
        await api.describe()
        compaction = Compaction(api.service.items.store, api.service.histories)
        assert await compaction.run(time) == 1
        assert (await api.describe())["horizon"] == ends[0]
        assert await compaction.run(time) == 0
        for id_ in "12":
            start = (await api("GET", f"/v1/fusions/spam/items/{id_}")).json()["labelled"]
            answer = await post(api, "exclude", {"from": start})
            assert answer.status_code == 200, answer.text
        ((first,),) = api.service.database.rows("SELECT horizon_time FROM fusions")
        assert code(await post(api, "exclude", {"from": first - 1e-6})) == (409, "compacted")
        assert (await post(api, "rollback", {"position": ends[2]})).status_code == 200
        assert await api.digest() == before
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)


def test_events_of_deleted_fusions_are_compacted(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        await api("DELETE", "/v1/fusions/spam")
        await api.create("other")
        await Compaction(api.service.items.store, api.service.histories).run(api.service.database.now())
        assert kinds(api) == {6: 2, 7: 1}

    run(story, tmp_path)


def test_expired_items_are_compacted(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create(limits={"retention": 1000.0})
        for i in range(5):
            await api.predict(f"{i}", ann="x")
        api.service.database._clock_start += 2000.0
        assert await api.service.items.store.expire_all() == 5
        await api.predict("last", ann="x")
        await compact(api)
        assert kinds(api) == {6: 1, 1: 1}
        known = "was learned or has expired"  # a hash does not tell which of them
        for answer in (await api.label("3", "x"), await api.predict("3", ann="x")):
            assert code(answer) == (410, "compacted")
            assert f"the item '3' is from before the horizon of the log of spam, and {known};" in answer.text
        excluded = await post(api, "exclude", {"ids": ["3"]})
        assert code(excluded) == (409, "compacted")
        assert excluded.json()["detail"].endswith(f"the item '3' is from before it, and {known}")

    run(story, tmp_path)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_compaction_amendments_and_restarts_in_any_order_give_the_state_of_the_log(
    tmp_path: Path, seed: int
) -> None:
    """The oracle keeps every trial and every amendment, and learns all of them anew."""
    chance = random.Random(seed)
    taught: dict[str, tuple[int, dict[str, str], str | None]] = {}  # position, votes, label that counts
    past: list[tuple[int, dict[str, Any]]] = []  # states that a rollback can return to
    horizon = 0

    async def act(api: Api, turn: int) -> None:
        nonlocal horizon, taught
        what = chance.choice(["learn"] * 6 + ["relabel", "exclude", "rollback", "compact"])
        if what == "learn":
            votes, label = {"ann": chance.choice("xyz"), "bob": chance.choice("xyz")}, chance.choice("xyz")
            answer = (await api.learn(f"{turn}", label, **votes)).json()
            taught = {**taught, f"{turn}": (answer["position"], votes, label)}
            past.append((answer["position"], taught))
        elif what == "compact":
            horizon = await compact(api, last=max(taught, key=int, default=None) if turn % 2 else None)
        elif what == "rollback":
            known = [state for state in past if state[0] >= horizon]
            if known:
                position, then = chance.choice(known)
                answer = (await post(api, "rollback", {"position": position})).json()
                gone = {id_: (*trial[:2], None) for id_, trial in taught.items() if id_ not in then}
                taught = {**then, **gone}
                past.append((answer["position"], taught))
        elif taught:
            id_ = chance.choice(list(taught))
            position, votes, label = taught[id_]
            if what == "exclude":
                answer_ = await post(api, "exclude", {"ids": [id_]})
                new = None
            else:
                current = (await api("GET", f"/v1/fusions/spam/items/{id_}")).json()
                new = "xyz"[("xyz".index(current["label"]) + 1) % 3] if "label" in current else "x"
                answer_ = await api.label(id_, new, replaces=current.get("label", "x"))
            if position <= horizon:
                assert code(answer_)[1] == "compacted"
            else:
                assert answer_.status_code == 200, answer_.text
                taught = {**taught, id_: (position, votes, new)}
                made = answer_.json()["position"]
                past.append((made, taught))
        order = sorted(taught.values(), key=lambda trial: trial[0])
        right = [(votes, label) for _, votes, label in order if label is not None]
        assert await api.digest() == digest_of(*right), (what, turn)

    async def story(api: Api, turns: range) -> None:
        api.service.panels.snapshot_every = 5
        await api.create()
        for turn in turns:
            await act(api, turn)
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    for start in range(0, 60, 20):
        run(lambda api, start=start: story(api, range(start, start + 20)), tmp_path)


def test_a_compaction_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted() -> None:
        async with serving(tmp_path) as api:
            await teach(api)
            with monkeypatch.context() as patch:
                patch.setattr(Compaction, "_remove", lambda *_: asyncio.sleep(0))
                horizon = await compact(api, last="19")
            assert kinds(api) == {6: 1, 1: 20, 2: 20, 3: 20}
            assert code(await api.label("3", "other", replaces=TRIALS[3][2])) == (409, "compacted")
            assert code(await post(api, "exclude", {"ids": ["3"]})) == (409, "compacted")
            assert horizon == 31

    asyncio.run(interrupted())

    async def story(api: Api) -> None:
        await compact(api, last="19")
        assert kinds(api) == {6: 1, 1: 10, 2: 10, 3: 10}
        assert await api.digest() == expected({})

    run(story, tmp_path)


@pytest.mark.parametrize("fails", [[True], [False, True], [False, False, True]])
def test_a_compaction_on_a_full_disk_changes_nothing_and_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: list[bool]
) -> None:
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 0.0)
    monkeypatch.setattr("linmax.service.fusions.compaction.CHUNK", 10)

    async def story(api: Api) -> None:
        await teach(api)
        FailingWrites(api.service.database, fails)
        with contextlib.suppress(ServiceError):
            await compact(api, last="19")
        assert not fails
        assert await api.digest() == expected({})
        assert await asyncio.to_thread(replay.verify, api.service.database) == []
        await compact(api, last="30")
        assert kinds(api) == {6: 1, 1: 4, 2: 4, 3: 5}
        assert await api.digest() == expected({})

    run(story, tmp_path)
