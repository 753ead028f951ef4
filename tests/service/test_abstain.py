"""The setting `abstain`: single items, batches, tables and replays leave out the same votes."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from linmax import Fusion
from linmax.client import AsyncClient, ClientError
from linmax.fusion.model_file import fingerprint
from linmax.service.event_log.database import Database
from linmax.service.fusions import replay
from linmax.service.fusions.bulk import Bulk
from linmax.service.local import LocalServer
from tests.service.api import LEARNER, Api
from tests.service.test_items import run

EXPERTS = ("ann", "bob", "eve")


def draw(values: list[int], labels: list[int]) -> list[tuple[dict[str, int], int]]:
    """Items of which the first has no vote that abstains, so that all experts are known."""
    rng = random.Random(0)
    items = [({name: rng.choice(values) for name in EXPERTS}, rng.choice(labels)) for _ in range(60)]
    return [(dict.fromkeys(EXPERTS, 1), label) for label in labels] + items


@pytest.mark.parametrize(
    ("abstain", "values", "labels"), [(None, [-1, 1], [-1, 1]), (0, [-1, 0, 1], [-1, 1]), (0, [0, 1], [0, 1])]
)
def test_all_ways_learn_the_same(
    tmp_path: Path, abstain: int | None, values: list[int], labels: list[int]
) -> None:
    items = draw(values, labels)
    fusion = Fusion(LEARNER, abstain=abstain)
    expected = [fusion.learn_one(votes, label) for votes, label in items]
    rows = [{"id": str(row), "votes": votes, "label": label} for row, (votes, label) in enumerate(items)]
    columns: dict[str, list[Any]] = {name: [votes[name] for votes, _ in items] for name in EXPERTS}
    table = pa.table({"id": [row["id"] for row in rows], **columns, "label": [row["label"] for row in rows]})

    async def story(server: LocalServer) -> None:
        async with AsyncClient(server.url, server.token) as client:
            for name in ("single", "lines", "table", "late"):
                await client.create(name, learner=LEARNER, abstain=abstain)
            one = [(await client.learn("single", **row))["prediction"] for row in rows]
            many = [answer["prediction"] for answer in await client.learn_many("lines", rows)]
            answers = (await client.learn_table("table", table))["prediction"].to_pylist()
            assert one == many == answers == expected
            again = (await client.learn_table("table", table))["prediction"].to_pylist()
            assert again == expected
            await client.predict_many("late", [{"id": row["id"], "votes": row["votes"]} for row in rows])
            await client.label_many("late", [{"id": row["id"], "label": row["label"]} for row in rows])
            for name in ("single", "lines", "table", "late"):
                found = await client.describe(name)
                assert (found["trials"], found["digest"]) == (len(items), fingerprint(fusion)), name

    with LocalServer(tmp_path) as server:
        asyncio.run(story(server))
    database = Database(tmp_path, read_only=True)
    assert replay.verify(database) == []
    database.close()


@pytest.mark.parametrize(
    ("abstain", "votes", "label", "wrong", "given"),
    [
        (None, {"ann": -1, "bob": -1, "eve": 2}, -1, (0, 0, 1), (1, 1, 1)),
        (0, {"ann": 0, "bob": 0, "eve": 1}, 1, (1, 1, 0), (0, 0, 1)),
        (0, {"ann": 0, "bob": {"0": 1.0}, "eve": 1}, 0, (1, 0, 1), (0, 1, 1)),
        ("skip", {"ann": "skip", "bob": "skip", "eve": "x"}, "x", (1, 1, 0), (0, 0, 1)),
        (None, {"ann": "", "bob": "", "eve": "x"}, "", (0, 0, 1), (1, 1, 1)),
    ],
)
def test_histories_and_pictures_leave_out_the_votes_that_abstain(
    tmp_path: Path, abstain: Any, votes: dict[str, Any], label: Any, wrong: Any, given: Any
) -> None:
    async def story(api: Api) -> None:
        await api.create(abstain=abstain)
        for row in range(1, 11):
            assert (await api.learn(f"{row}", label, **votes)).status_code == 200
            answer = (await api("GET", "/v1/fusions/spam/history")).json()
            assert answer["experts"] == {name: row * part for name, part in zip(votes, wrong, strict=True)}
        assert answer["points"]["plurality"][-1] == 0
        recent = await api("GET", "/dashboard/fusions/spam/recent")
        assert recent.status_code == 200, recent.text
        rows = {row["name"]: (row["votes"], row["right"]) for row in recent.json()["experts"]}
        assert rows == {
            name: (10 * vote, 10 - 10 * part) for name, vote, part in zip(votes, given, wrong, strict=True)
        }
        assert recent.json()["history"]["experts"] == answer["experts"]
        agreed = recent.json()["agreement"]
        ann, bob = map(agreed["experts"].index, ("ann", "bob"))
        assert agreed["table"][ann][bob] == (1.0 if given[0] else None)
        assert (await api("GET", "/dashboard/fusions/spam/trust")).status_code == 200

    run(story, tmp_path)


def test_a_batch_with_votes_that_may_abstain_or_not_is_refused_as_single_items_are(tmp_path: Path) -> None:
    items = draw([-1, 1], [-1, 1])

    async def story(server: LocalServer) -> None:
        async with AsyncClient(server.url, server.token) as client:
            await client.create("spam", learner=LEARNER, classes=[-1, 1])
            await client.learn("spam", dict.fromkeys(EXPERTS, 1), 1)
            with pytest.raises(ClientError, match="votes contain -1, which is also a label"):
                await client.learn("spam", dict.fromkeys(EXPERTS, -1), 1)
            bodies = [{"votes": votes, "label": label} for votes, label in items]
            answers = await client.learn_many("spam", bodies)
            refused = [-1 in votes.values() for votes, _ in items]
            assert [answer.get("status") == 422 for answer in answers] == refused

    with LocalServer(tmp_path) as server:
        asyncio.run(story(server))


@pytest.mark.parametrize(
    ("abstain", "silent", "classes"),
    [("default", "", ["x", "y"]), ("default", -1, [1, 2]), ("default", -1, ["x", "y"]), (0, 0, [0, 1])],
)
@pytest.mark.parametrize("form", ["single", "lines", "table"])
def test_a_vote_that_abstains_is_no_new_class(
    tmp_path: Path, form: str, abstain: Any, silent: Any, classes: list[Any]
) -> None:
    """So it needs no token that may add names, and does not count for the limit; a label does both."""
    first, second = classes
    settings: dict[str, Any] = {} if abstain == "default" else {"abstain": abstain}
    rows = [
        {"id": f"{row:02}", "votes": {"ann": classes[row % 2], "bob": silent}, "label": second}
        for row in range(40)
    ]

    async def send(client: AsyncClient, rows: list[dict[str, Any]]) -> list[Any]:
        if form == "single":
            return [await client.learn("spam", **row) for row in rows]
        if form == "lines":
            return await client.learn_many("spam", rows)
        columns = {name: [row["votes"][name] for row in rows] for name in ("ann", "bob")}
        names = {"id": [row["id"] for row in rows], "label": [row["label"] for row in rows]}
        return (await client.learn_table("spam", pa.table({**names, **columns}))).to_pylist()

    async def story(server: LocalServer) -> None:
        async with AsyncClient(server.url, server.token) as admin:
            await admin.create("spam", learner=LEARNER, limits={"classes": 2}, **settings)
            fusion = Fusion(LEARNER, **settings)
            for row, label in enumerate(classes):
                await admin.learn("spam", {"ann": first, "bob": first}, label, id=f"before {row}")
                fusion.learn_one({"ann": first, "bob": first}, label)
            wanted = {"name": "few", "scopes": ["learn"], "days": 0.01}
            header = {"authorization": f"Bearer {server.token}"}
            made = httpx.post(f"{server.url}/v1/tokens", json=wanted, headers=header, trust_env=False)
            async with AsyncClient(server.url, made.json()["token"]) as client:
                answers = await send(client, rows)
                assert [one["right"] for one in answers] == [
                    fusion.learn_one(row["votes"], row["label"]) == row["label"] for row in rows
                ]
                assert await send(client, rows) == answers
                left_out = {**rows[0], "votes": {"ann": first}}
                with pytest.raises(ClientError, match="other content"):
                    await client.learn("spam", **left_out)
                if type(silent) is type(first) and silent not in classes:
                    with pytest.raises(ClientError, match="may have 2 classes"):
                        await client.learn("spam", {"ann": first}, silent)
            found = await admin.describe("spam")
            assert (found["digest"], found["classes"]) == (fingerprint(fusion), classes)

    with LocalServer(tmp_path) as server:
        asyncio.run(story(server))
    database = Database(tmp_path, read_only=True)
    assert replay.verify(database) == []
    database.close()


@pytest.mark.parametrize("form", ["lines", "table"])
def test_rows_with_votes_that_abstain_are_learned_together(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    find_run = Bulk.find_run

    def note(bulk: Bulk, panel: Any, rows: Any, start: int) -> int:
        stop = find_run(bulk, panel, rows, start)
        runs.append(stop - start)
        return stop

    monkeypatch.setattr(Bulk, "find_run", note)
    items = draw([-1, 1, 2], [1, 2])
    rows: list[Any] = [
        {"id": str(row), "votes": votes, "label": label} for row, (votes, label) in enumerate(items)
    ]

    async def story(server: LocalServer) -> None:
        async with AsyncClient(server.url, server.token) as client:
            await client.create("spam", learner=LEARNER)
            for row in rows[:2]:
                await client.learn("spam", **row)
            if form == "lines":
                await client.learn_many("spam", rows[2:])
                return
            columns = {name: [row["votes"][name] for row in rows[2:]] for name in EXPERTS}
            names = {name: [row[name] for row in rows[2:]] for name in ("id", "label")}
            await client.learn_table("spam", pa.table({**names, **columns}))

    with LocalServer(tmp_path) as server:
        asyncio.run(story(server))
    assert runs[-1] == len(rows) - 2
