"""Many clients at once, with the same ids: everything is learned once, in one order."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from linmax.service.event_log import database as database_module
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import INSERT_EVENT
from linmax.service.event_log.trials import trials_of
from linmax.service.event_log.writes import Write
from linmax.service.fusions import replay
from tests.helpers.examples import EVERYTHING
from tests.service.api import Api, digest_of
from tests.service.test_durability import FailingWrites
from tests.service.test_items import run

FUSIONS = ["f0", "f1", "f2"]
NDJSON = {"content-type": "application/x-ndjson"}


async def trials_in_order(api: Api, name: str = "spam") -> list[tuple[Any, Any]]:
    """What the log says was learned."""
    await api.service.panels.flush()
    number = (await api.service.panels.open(name)).number
    database = api.service.database
    found = trials_of(database, number, 0, database.last_position())
    return [(trial.votes, trial.label) for trial in found]


def test_raced_requests_are_learned_once(tmp_path: Path) -> None:
    chance = random.Random(0)
    votes = [{"ann": chance.choice("xyz"), "bob": chance.choice("xyz")} for _ in range(10)]

    async def client(api: Api) -> list[tuple[int, str, Any]]:
        seen = []
        for i in chance.sample(range(10), 10):
            for send in chance.sample([0, 1, 2], 3):
                if send == 0:
                    answer = await api.predict(f"p{i}", **votes[i])
                elif send == 1:
                    answer = await api.label(f"p{i}", "xyz"[i % 3])
                else:
                    answer = await api.learn(f"l{i}", "xyz"[i % 3], **votes[i])
                assert answer.status_code in (200, 404), answer.text
                if answer.status_code == 200:
                    seen.append((send, answer.json()["id"], answer.json()))
        return seen

    async def story(api: Api) -> None:
        api.service.items.store.label_wait = 0.01
        api.service.panels.snapshot_every = 15
        await api.create()
        answers: dict[tuple[int, str], Any] = {}
        for seen in await asyncio.gather(*(client(api) for _ in range(50 if EVERYTHING else 15))):
            for send, id_, answer in seen:
                assert answers.setdefault((send, id_), answer) == answer
        found = await api.describe()
        assert (found["trials"], found["waiting"]) == (20, 0)
        assert found["digest"] == digest_of(*(await trials_in_order(api)))
        counts = api.service.database.rows(
            "SELECT count(*), count(DISTINCT id), kind FROM events GROUP BY kind"
        )
        assert {kind: (many, ids) for many, ids, kind in counts if kind in (1, 2, 3)} == dict.fromkeys(
            (1, 2, 3), (10, 10)
        )

    run(story, tmp_path)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))])
def test_relabels_evictions_deletions_and_labels_may_cross(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    async def send(api: Api, name: str) -> httpx.Response:
        id_, label = f"{chance.randrange(30)}", chance.choice("xy")
        what, path = chance.randrange(9), f"/v1/fusions/{name}"
        if what < 3:
            return await api.learn(id_, label, name, ann="x", bob="y")
        if what == 3:
            return await api.label(id_, label, name, replaces="y" if label == "x" else "x")
        if what == 4:
            return await api("POST", f"{path}/exclude", {"ids": [id_]})
        if what == 5:
            body = [{"id": f"b{i}", "votes": {"ann": "y"}, "label": label} for i in range(int(id_))]
            lines = "\n".join(map(json.dumps, body)).encode()
            return await api("POST", f"{path}/learn", content=lines or b"{}", headers=NDJSON)
        if what == 6:
            return await api("POST", f"{path}/rollback", {"position": 10 + int(id_)})
        if what == 7 and id_ < "2":
            await api("DELETE", path)
            return await api.create(name)
        return await api("GET", path)

    async def client(api: Api) -> None:
        for _ in range(12):
            answer = await send(api, chance.choice(FUSIONS))
            assert answer.status_code in (200, 201, 404, 409, 422), answer.text

    async def story(api: Api) -> None:
        api.service.items.store.label_wait = 0.0
        api.service.panels.snapshot_every = 5
        api.service.panels.memory = 500_000  # for two of them
        for name in FUSIONS:
            await api.create(name)
        await asyncio.gather(*(client(api) for _ in range(12)))
        for name in FUSIONS:
            await api.create(name)
            assert await api.digest(name) == digest_of(*(await trials_in_order(api, name)))
        assert await asyncio.to_thread(replay.verify, api.service.database) == []

    run(story, tmp_path)


def test_one_slow_fusion_does_not_hold_up_others(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create("slow")
        await api.create("quick")
        async with (await api.service.panels.open("slow")).lock:
            waiting = asyncio.ensure_future(api.predict("a", "slow", ann="x"))
            assert (await api.predict("a", "quick", ann="x")).status_code == 200
            assert not waiting.done()
        assert (await waiting).status_code == 200

    run(story, tmp_path)


async def learn_lines(api: Api, name: str, ids: list[str]) -> list[dict[str, Any]]:
    """Learn items in one request; return a line for each."""
    lines = [json.dumps({"id": id_, "votes": {"ann": "x", "bob": id_}, "label": "x"}) for id_ in ids]
    answer = await api("POST", f"/v1/fusions/{name}/learn", content="\n".join(lines).encode(), headers=NDJSON)
    return [json.loads(line) for line in answer.text.splitlines()]


def test_requests_that_come_together_share_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "GATHER", 60.0)  # else on a busy machine it begins with fewer

    async def story(api: Api) -> None:
        names = ["f0", "f1", "f2"]
        for name in names:
            await api.create(name)
            await api.learn("first", "x", name, ann="x")
        database = api.service.database
        groups: list[list[int]] = []
        commit = database._commit

        def count(writes: list[Write]) -> Any:
            groups.append([sum(sql == INSERT_EVENT for sql, _ in write.statements) for write in writes])
            return commit(writes)

        monkeypatch.setattr(database, "_commit", count)
        await asyncio.gather(*(api.learn(f"{i}", "x", name, ann="x") for i in range(20) for name in names))
        assert sum(map(sum, groups)) == 60
        assert len(groups) <= 10
        assert sum(map(len, groups)) <= 20  # those for one fusion share a write
        await api.learn("alone", "x", "f0", ann="x")
        assert groups[-1] == [1]

    run(story, tmp_path)


async def slow_down(api: Api, name: str, seconds: float) -> None:
    """Let a model take so long for an item."""
    fusion = (await api.service.panels.open(name)).fusion
    learn_one = fusion.learn_one

    def learn_slowly(*values: Any, **more: Any) -> Any:
        start = time.thread_time()
        while time.thread_time() < start + seconds:
            pass
        return learn_one(*values, **more)

    fusion.learn_one = learn_slowly  # type: ignore[method-assign]


def test_a_slow_model_does_not_hold_up_others(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create("slow")
        await api.create("quick")
        await api.predict(None, "quick", ann="x")
        await slow_down(api, "slow", 0.2)
        batch = asyncio.ensure_future(learn_lines(api, "slow", ["a", "b", "c", "d"]))
        answered = 0
        while not batch.done():
            assert (await api.predict(None, "quick", ann="x")).status_code == 200
            answered += 1
        assert answered > 4
        assert [line["id"] for line in await batch] == ["a", "b", "c", "d"]
        assert await api.digest("slow") == digest_of(*(({"ann": "x", "bob": id_}, "x") for id_ in "abcd"))
        quick = await api.service.panels.open("quick")
        for _ in range(100):  # on a busy machine, a call may take long
            if not quick.quick:
                await api.predict(None, "quick", ann="x")
        assert quick.quick
        assert not (await api.service.panels.open("slow")).quick

    run(story, tmp_path)


def test_batches_of_labels_of_two_fusions_may_cross(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        votes = [{"ann": "xy"[i % 2], "bob": "xyy"[i % 3]} for i in range(60)]
        for name in ("f0", "f1"):
            await api.create(name)
            await api.learn("first", "x", name, ann="x", bob="y")
            await api.learn("second", "y", name, ann="x", bob="y")
            for i in range(30 if name == "f0" else 60):
                await api.predict(f"{i}", name, **votes[i if name == "f0" else -1 - i])
        kind = {"content-type": "application/x-ndjson"}

        async def label(name: str, count: int) -> None:
            lines = "\n".join(json.dumps({"id": f"{i}", "label": "xxy"[i % 3]}) for i in range(count))
            answer = await api("POST", f"/v1/fusions/{name}/labels", content=lines.encode(), headers=kind)
            ids = [json.loads(line)["id"] for line in answer.text.splitlines()]
            assert ids == [f"{i}" for i in range(count)]

        await asyncio.gather(label("f0", 30), label("f1", 60))
        first = [({"ann": "x", "bob": "y"}, "x"), ({"ann": "x", "bob": "y"}, "y")]
        assert await api.digest("f0") == digest_of(*first, *((votes[i], "xxy"[i % 3]) for i in range(30)))
        assert await api.digest("f1") == digest_of(
            *first, *((votes[-1 - i], "xxy"[i % 3]) for i in range(60))
        )
        assert await asyncio.to_thread(replay.verify, api.service.database) == []
        assert {(await api.describe(name))["waiting"] for name in ("f0", "f1")} == {0}

    run(story, tmp_path)


def test_an_item_that_leaves_memory_while_the_model_is_slow_is_learned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.service.fusions.item_store.MAX_ITEMS", 3)
    monkeypatch.setattr(database_module, "CHECKPOINT", 0)  # the writer's thread commits, and may wait

    async def story(api: Api) -> None:
        await api.create("slow")
        await api.create("quick")
        await api.predict("a", "slow", ann="x")
        await slow_down(api, "slow", 0.1)
        database = api.service.database
        commit, wait = database._commit, threading.Event()
        labelling = asyncio.ensure_future(api.label("a", "x", "slow"))
        await asyncio.sleep(0)
        for i in range(5):
            await api.predict(f"{i}", "quick", ann="x")
        database._commit = lambda writes: (wait.wait(5), commit(writes))[1]  # type: ignore[method-assign]
        await asyncio.sleep(0.3)
        again = asyncio.ensure_future(api.label("a", "x", "slow"))
        await asyncio.sleep(0.1)
        wait.set()
        assert (await again).json() == (await labelling).json()

    run(story, tmp_path)


def test_a_write_that_fails_within_a_slow_batch_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 0.0)

    async def story(api: Api) -> None:
        await api.create()
        await slow_down(api, "spam", 0.02)
        FailingWrites(api.service.database, [False, True])
        first = await learn_lines(api, "spam", ["a", "b", "c", "d"])
        codes = [line.get("error", {}).get("code") for line in first]
        assert codes[:2] == [None, "storage_full"]
        assert set(codes[2:]) <= {"storage_full", "busy"}
        again = await learn_lines(api, "spam", ["a", "b", "c", "d"])
        assert again[0] == first[0]
        assert not any("error" in line for line in again)
        assert await api.digest() == digest_of(*(await trials_in_order(api)))
        assert (await api.describe())["trials"] == 4

    run(story, tmp_path)


def test_random_json_never_fails_the_server(tmp_path: Path) -> None:
    chance = random.Random(2)
    atoms: list[Any] = [
        None,
        True,
        False,
        0,
        1,
        -1,
        2**70,
        1.5,
        -1e308,
        "",
        "x",
        "ann",
        "\x00",
        "é",
        "x" * 300,
        "\ud7ff",
    ]
    keys = [
        "id",
        "votes",
        "label",
        "attributes",
        "explain",
        "replaces",
        "",
        "ids",
        "position",
        "from",
        "name",
    ]

    def make(depth: int) -> Any:
        kind = chance.randrange(4 if depth else 2)
        if kind < 2:
            return chance.choice(atoms)
        if kind == 2:
            return [make(depth - 1) for _ in range(chance.randrange(3))]
        return {chance.choice(atoms[9:]): make(depth - 1) for _ in range(chance.randrange(4))}

    async def story(api: Api) -> None:
        api.service.items.store.label_wait = 0.0
        await api.create()
        paths = [
            f"/v1/fusions/spam/{verb}"
            for verb in ("predict", "labels", "learn", "learn", "exclude", "rollback")
        ]
        for turn in range(400):
            body: dict[str, Any] = {key: make(3) for key in chance.sample(keys, chance.randrange(5))}
            if turn % 2:
                body = {"votes": {"ann": make(2), chance.choice(atoms[9:]): make(1)}, "label": make(0)}
            if turn % 10 == 3:
                body = {"id": chance.choice(["a", "b", "\x00"]), "label": make(0)}
            path = chance.choice(paths)
            answer = await api("POST", path, content=json.dumps(body).encode())
            assert answer.status_code < 500, (path, body, answer.text)
        assert await api.digest() == digest_of(*(await trials_in_order(api)))
        assert (await api.describe())["trials"] > 0

    run(story, tmp_path)


def test_threads_and_the_event_loop_write_in_turn(tmp_path: Path) -> None:
    database = Database(tmp_path)

    def statement(key: str, quick: bool) -> Any:
        if quick:
            return "INSERT INTO items VALUES (?, ?, ?, ?, ?)", (1, key, database.next_position(), b"", None)
        return "INSERT INTO meta VALUES (?, 1)", (key,)

    def write(name: str) -> None:
        for i in range(40):
            database.write([statement(f"{name} {i}", quick=False)])

    async def story() -> None:
        threads = [asyncio.to_thread(write, name) for name in "abc"]
        working = asyncio.gather(*threads)
        for i in range(100):
            written = [database.submit([statement(f"loop {i} {j}", quick=j % 3 > 0)]) for j in range(6)]
            if i % 2:
                await asyncio.gather(*written)
            await asyncio.sleep(0)
        await working
        last = [database.submit([statement(f"last {i}", quick=True)]) for i in range(10)]
        await asyncio.sleep(0)
        await asyncio.to_thread(database.close)  # writes what is waiting
        await asyncio.gather(*last)

    asyncio.run(asyncio.wait_for(story(), 60))
    database = Database(tmp_path, read_only=True)
    assert database.rows("SELECT count(*) FROM items") == [(410,)]
    assert database.rows("SELECT count(*) FROM meta WHERE key != 'created'") == [(120 + 200,)]
    database.close()
