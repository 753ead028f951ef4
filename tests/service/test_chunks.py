"""Chunks: what a batch has said is stored once, and everybody reads the same as of single requests."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import apsw
import httpx
import numpy as np
import pytest

from linmax.service import administration
from linmax.service.event_log.chunks import EventChunk
from linmax.service.export import export
from linmax.service.fusions import item_store
from linmax.service.http.events import AFTER, format_event
from tests.helpers.examples import EVERYTHING
from tests.service.api import ADMIN, LEARNER, Api, digest_of, server_process
from tests.service.test_arrow import KIND, items_of, send_table, to_stream
from tests.service.test_batches import send
from tests.service.test_items import run

ROWS = 150
NAMES: dict[str, list[Any]] = {
    "text": ["x", "y", 'zü"\\'],
    "numbers": [3, -5, 2],
    "truth": [True, False],
    "many": [f"class {i}" for i in range(200)],
    "many numbers": list(range(200)),
}
RARE = ("numbers", "many")  # the other names are text and numbers, few and many


def table(rows: int = ROWS, kind: str = "text", seed: int = 0) -> tuple[dict[str, list[Any]], list[Any]]:
    """Votes with abstentions of four experts, and labels; all classes are in the first rows."""
    names, chance = NAMES[kind], np.random.default_rng(seed)
    codes = chance.integers(len(names) + 1, size=(rows, 4))
    votes = {
        expert: [None if code == len(names) else names[code] for code in column]
        for expert, column in zip(("ann", "zoe", "bob", "eve"), codes.T.tolist(), strict=True)
    }
    return votes, [names[code] for code in chance.integers(len(names), size=rows).tolist()]


def first_of(kind: str = "text") -> tuple[dict[str, Any], Any]:
    """An item that names all experts."""
    return dict.fromkeys(("ann", "zoe", "bob", "eve"), NAMES[kind][0]), NAMES[kind][0]


def learner_of(kind: str) -> str:
    """A learner that other tests compile, too, for so many classes."""
    return "Perceptron()" if kind.startswith("many") else LEARNER


async def begin(api: Api, kind: str = "text", name: str = "spam") -> None:
    """Create a fusion that knows all names."""
    await api.create(name, learner=learner_of(kind), classes=NAMES[kind])
    votes, label = first_of(kind)
    assert (await api.learn("first", label, name, **votes)).status_code == 200


def digest_after(*taught: tuple[dict[str, Any], Any], kind: str = "text") -> str:
    """The digest of a session that has learned these trials after the first one."""
    return digest_of(first_of(kind), *taught, learner=learner_of(kind), classes=NAMES[kind])


def ids_of(prefix: str, rows: int = ROWS) -> list[str]:
    return [f"{prefix}{row}" for row in range(rows)]


def trials(votes: dict[str, list[Any]], labels: list[Any]) -> list[tuple[dict[str, Any], Any]]:
    return list(zip(items_of(votes), labels, strict=True))


async def teach(api: Api, kind: str = "text") -> list[tuple[dict[str, Any], Any]]:
    """Learn a table, then predict and label another one; return the trials in their order."""
    await begin(api, kind)
    (votes, labels), (later, truth) = table(kind=kind), table(kind=kind, seed=1)
    assert not any(
        one["code"] for one in await send_table(api, "learn", {"id": ids_of("a"), **votes, "label": labels})
    )
    await send_table(api, "predict", {"id": ids_of("p"), **later})
    order = np.random.default_rng(2).permutation(ROWS).tolist()
    told = {"id": [f"p{row}" for row in order], "label": [truth[row] for row in order]}
    assert not any(one["code"] for one in await send_table(api, "labels", told))
    items = items_of(later)
    return trials(votes, labels) + [(items[row], truth[row]) for row in order]


def in_chunks(api: Api) -> tuple[int, int]:
    """The number of events whose content is in a chunk, and of chunks."""
    rows = api.service.database.rows
    return rows("SELECT count(*) FROM events WHERE length(body) = 0")[0][0], rows(
        "SELECT count(*) FROM chunks"
    )[0][0]


async def get(api: Api, id_: str, name: str = "spam") -> dict[str, Any]:
    answer = await api("GET", f"/v1/fusions/{name}/items/{id_}")
    assert answer.status_code == 200, answer.text
    moments = {"position", "predicted", "labelled", "learned"}
    return {key: value for key, value in answer.json().items() if key not in moments}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind in RARE else ()) for kind in NAMES]
)
def test_items_of_tables_have_the_content_of_single_ones(tmp_path: Path, kind: str) -> None:
    found: list[Any] = []
    shown = [*ids_of("a"), *ids_of("p")][:: 1 if EVERYTHING else 7]

    async def story(api: Api) -> None:
        taught = await teach(api, kind)
        await begin(api, kind, "alone")
        (votes, labels), (later, _) = table(kind=kind), table(kind=kind, seed=1)
        for row, (item, label) in enumerate(trials(votes, labels)):
            await api.learn(f"a{row}", label, "alone", **item)
        for row, item in enumerate(items_of(later)):
            await api.predict(f"p{row}", "alone", **item)
        order = np.random.default_rng(2).permutation(ROWS).tolist()
        for row, (_, label) in zip(order, taught[ROWS:], strict=True):
            await api.label(f"p{row}", label, "alone")
        assert in_chunks(api) == (3 * ROWS, 3)
        for id_ in shown:
            one, other = await get(api, id_), await get(api, id_, "alone")
            assert {**one, "version": 0} == {**other, "version": 0}
            found.append(one)
        assert await history(api, "spam") == await history(api, "alone")
        assert await api.digest() == await api.digest("alone") == digest_after(*taught, kind=kind)

    async def again(api: Api) -> None:
        assert await api.digest() == await api.digest("alone")
        assert await history(api, "spam") == await history(api, "alone")
        assert [await get(api, id_) for id_ in shown] == found
        for name in ("spam", "alone"):
            await asyncio.to_thread(export, api.service.database, name, tmp_path / f"{name}.jsonl")
        tables = [
            [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
            for name in ("spam", "alone")
        ]
        assert len(tables[0]) == 2 * ROWS + 1
        assert [{**row, "time": 0} for row in tables[0]] == [{**row, "time": 0} for row in tables[1]]

    run(story, tmp_path / "data")
    forget_states(tmp_path / "data")
    run(again, tmp_path / "data")
    assert administration.verify(tmp_path / "data", lambda *_: None) == []


async def history(api: Api, name: str) -> Any:
    """The mistakes over time, without positions and times."""
    found = (await api("GET", f"/v1/fusions/{name}/history")).json()
    del found["position"], found["points"]["position"], found["points"]["time"]
    return found


def forget_states(folder: Path) -> None:
    """Remove snapshots and histories, so that all is derived from the events."""
    connection = apsw.Connection(str(folder / "linmax.db"))
    connection.execute("DELETE FROM snapshots; DELETE FROM histories")
    connection.close()


def test_amendments_of_items_of_tables_give_the_state_without_them(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        taught = await teach(api)
        before = await api.digest()
        other = {"x": "y"}.get(taught[7][1], "x")
        answer = await api.label("a7", other, replaces=taught[7][1])
        assert answer.status_code == 200, answer.text
        taught[7] = taught[7][0], other
        assert await api.digest() == digest_after(*taught) != before
        assert (await get(api, "a7"))["label"] == other
        ids = ["a9", "p3"]
        gone = await api("POST", "/v1/fusions/spam/exclude", {"ids": ids})
        assert gone.json()["events"] == 2
        order = np.random.default_rng(2).permutation(ROWS).tolist()
        left_out = {9, ROWS + order.index(3)}
        kept = [trial for place, trial in enumerate(taught) if place not in left_out]
        assert await api.digest() == digest_after(*kept)
        ((last,),) = api.service.database.rows("SELECT position FROM events WHERE id = 'a99'")
        back = await api("POST", "/v1/fusions/spam/rollback", {"position": last})
        assert back.status_code == 200, back.text
        first = trials(*table())[:100]
        assert await api.digest() == digest_after(*first)

    async def again(api: Api) -> None:
        assert await api.digest() == digest_after(*trials(*table())[:100])

    run(story, tmp_path)
    run(again, tmp_path)
    assert administration.verify(tmp_path, lambda *_: None) == []


@pytest.mark.parametrize("where", ["memory", "log", "restarted"])
def test_repeats_are_recognised_wherever_the_items_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    answers: list[Any] = []
    (votes, labels), (later, _) = table(), table(seed=1)
    learned = {"id": ids_of("a"), **votes, "label": labels}
    predicted = {"id": ids_of("p"), **later}

    async def check(api: Api) -> None:
        digest = await api.digest()
        assert await send_table(api, "learn", learned) == answers[0]
        assert await send_table(api, "predict", predicted) == answers[1]
        other = {**learned, "label": [{"x": "y"}.get(label, "x") for label in labels]}
        assert {one["code"] for one in await send_table(api, "learn", other)} == {"id_in_use"}
        swapped = {**predicted, "ann": [{"x": "y"}.get(vote, "x") for vote in later["ann"]]}
        assert {one["code"] for one in await send_table(api, "predict", swapped)} == {"id_in_use"}
        for row in (0, 50, ROWS - 1):
            item = items_of(votes)[row]
            assert (await api.learn(f"a{row}", labels[row], **item)).json()["right"] is answers[0][row][
                "right"
            ]
            assert (await api.learn(f"a{row}", labels[row], **item, new="x")).status_code == 409
        assert await api.digest() == digest
        assert (await api.describe())["waiting"] == ROWS

    async def story(api: Api) -> None:
        await begin(api)
        answers.append(await send_table(api, "learn", learned))
        answers.append(await send_table(api, "predict", predicted))
        await check(api)

    if where == "log":
        monkeypatch.setattr(item_store, "MAX_ITEMS", 0)
    run(story, tmp_path)
    if where == "restarted":
        run(check, tmp_path)


def test_labels_of_items_that_are_only_in_the_log_come_in_any_order(tmp_path: Path) -> None:
    (votes, labels), (more, others) = table(), table(seed=1)
    items = {**dict(zip(ids_of("p"), items_of(votes), strict=True)),
             **dict(zip(ids_of("q"), items_of(more), strict=True))}  # fmt: skip
    truth = dict(zip([*ids_of("p"), *ids_of("q")], [*labels, *others], strict=True))
    order = list(items)
    random.Random(0).shuffle(order)
    single, bulk = order[:20], order[20:-40]  # the last ones get no label
    answers: list[Any] = []

    async def predict(api: Api) -> None:
        await begin(api)
        await send_table(api, "predict", {"id": ids_of("p"), **votes})
        await send_table(api, "predict", {"id": ids_of("q"), **more})

    async def label(api: Api) -> None:
        for id_ in single:
            assert (await api.label(id_, truth[id_])).status_code == 200
        columns = {"id": bulk, "label": [truth[id_] for id_ in bulk]}
        answers.append(await send_table(api, "labels", columns))
        assert {type(one["right"]) for one in answers[0]} == {bool}
        kept = [
            item for item in api.service.items.store._recent.values() if isinstance(item.stored, EventChunk)
        ]
        assert sum({id(item.stored): item.stored.nbytes for item in kept}.values()) <= sum(
            item.size + 1 for item in kept
        )  # no item keeps the memory of others

    async def repeat(api: Api) -> None:
        columns = {"id": bulk, "label": [truth[id_] for id_ in bulk]}
        assert await send_table(api, "labels", columns) == answers[0]
        learned = [(items[id_], truth[id_]) for id_ in [*single, *bulk]]
        assert await api.digest() == digest_after(*learned)
        assert (await api.describe())["waiting"] == 40

    run(predict, tmp_path)
    run(label, tmp_path)
    run(repeat, tmp_path)


def test_a_table_that_is_sent_twice_at_once_is_learned_once(tmp_path: Path) -> None:
    votes, labels = table()
    learned = {"id": ids_of("a"), **votes, "label": labels}

    async def story(api: Api) -> None:
        await begin(api)
        answers = await asyncio.gather(*[send_table(api, "learn", learned) for _ in range(3)])
        assert answers[0] == answers[1] == answers[2]
        relabelled = await asyncio.gather(
            send_table(api, "learn", {**learned, "id": ids_of("b")}),
            api.label("b40", labels[40]),
        )
        assert relabelled[1].status_code == 200, relabelled[1].text
        assert await api.digest() == digest_after(*trials(votes, labels) * 2)
        assert not api.service.items.store._runs  # what is on disk is not kept

    run(story, tmp_path)


def test_rows_without_ids_get_new_ones(tmp_path: Path) -> None:
    votes, labels = table()
    ids = [None if row % 3 else f"a{row}" for row in range(ROWS)]
    known: list[Any] = []

    async def story(api: Api) -> None:
        await begin(api)
        known.extend(await send_table(api, "learn", {"id": ids, **votes, "label": labels}))
        assert [one["id"] for one in known][::3] == ids[::3]
        await check(api)

    async def check(api: Api) -> None:
        items = items_of(votes)
        for row in (0, 100, 101, ROWS - 1):
            assert (await get(api, known[row]["id"]))["votes"] == items[row]
        for row, status in ((99, 200), (100, 409)):  # nobody can repeat a request without an id
            again = await api.learn(known[row]["id"], labels[row], **items[row])
            assert again.status_code == status, again.text

    run(story, tmp_path)
    run(check, tmp_path)


def test_a_table_is_in_the_log_when_the_server_is_killed(tmp_path: Path) -> None:
    (votes, labels), (later, truth) = table(), table(seed=1)
    with server_process(tmp_path) as (child, base):
        with httpx.Client(
            base_url=base, headers={"authorization": f"Bearer {ADMIN}"}, verify=False, timeout=60.0
        ) as client:
            client.put("/v1/fusions/spam", json={"learner": LEARNER, "classes": NAMES["text"]})
            first = {"id": "first", "votes": first_of()[0], "label": first_of()[1]}
            assert client.post("/v1/fusions/spam/learn", json=first).status_code == 200
            for verb, columns in (
                ("learn", {"id": ids_of("a"), **votes, "label": labels}),
                ("predict", {"id": ids_of("p"), **later}),
                ("labels", {"id": ids_of("p"), "label": truth}),
            ):
                answer = client.post(f"/v1/fusions/spam/{verb}", content=to_stream(columns), headers=KIND)
                assert answer.status_code == 200, answer.text
        child.kill()
        child.wait()

    async def story(api: Api) -> None:
        expected = digest_after(*trials(votes, labels), *trials(later, truth))
        assert await api.digest() == expected
        assert in_chunks(api) == (3 * ROWS, 3)

    run(story, tmp_path)
    assert administration.verify(tmp_path, lambda *_: None) == []


def test_a_null_in_json_is_not_the_same_as_no_vote(tmp_path: Path) -> None:
    lines = [{"id": f"a{row}", "votes": {"ann": "x", "bob": None}, "label": "x"} for row in range(40)]

    async def story(api: Api) -> None:
        await begin(api)
        answers = await send(api, "learn", lines)
        assert await send(api, "learn", lines) == answers
        assert (await get(api, "a30"))["votes"] == {"ann": "x", "bob": None}
        assert (await api.learn("a30", "x", ann="x")).status_code == 409

    run(story, tmp_path)


def test_few_votes_of_many_experts_are_not_a_table(tmp_path: Path) -> None:
    experts = [f"expert {i}" for i in range(100)]
    lines = [{"id": f"a{row}", "votes": {experts[row % 100]: "x"}, "label": "x"} for row in range(200)]

    async def story(api: Api) -> None:
        await api.create(classes=NAMES["text"])
        await api.learn("first", "x", **dict.fromkeys(experts, "x"))
        await send(api, "learn", lines)
        assert in_chunks(api) == (0, 0)
        assert (await get(api, "a130"))["votes"] == {experts[30]: "x"}

    run(story, tmp_path)


def test_the_lines_of_a_batch_are_in_a_chunk(tmp_path: Path) -> None:
    votes, labels = table()
    lines = [
        {"id": f"a{row}", "votes": item, "label": label}
        for row, (item, label) in enumerate(trials(votes, labels))
    ]

    async def story(api: Api) -> None:
        await begin(api)
        await send(api, "learn", lines)
        assert in_chunks(api) == (ROWS, 1)
        for row in (0, 77):
            assert (await get(api, f"a{row}"))["votes"] == lines[row]["votes"]
        events = await asyncio.to_thread(read_events, api)
        assert [(one["id"], one["label"]) for one in events[-ROWS:]] == [(x["id"], x["label"]) for x in lines]

    run(story, tmp_path)


def read_events(api: Api) -> list[dict[str, Any]]:
    """The events that a stream has."""
    texts = [format_event(*row).decode() for row in api.service.database.rows(AFTER, 1, 0, 10**6)]
    return [json.loads(text.partition("data: ")[2]) for text in texts]
