"""Chunks in the log: how they are written, replayed, compacted and checked."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import numpy as np
import pytest

from linmax.service import administration
from linmax.service.event_log import schema
from linmax.service.event_log.chunks import ChunkNames, EventChunk, make_chunk, read_chunk
from linmax.service.event_log.database import Database
from linmax.service.event_log.trials import CodedTrials, read_trials
from linmax.service.fusions.compaction import Compaction
from linmax.service.fusions.history import History
from tests.service.api import Api, digest_of
from tests.service.test_arrow import items_of, send_table
from tests.service.test_chunks import (
    ROWS,
    begin,
    digest_after,
    forget_states,
    get,
    ids_of,
    in_chunks,
    table,
    teach,
    trials,
)
from tests.service.test_compaction import compact
from tests.service.test_items import run


def test_a_log_of_version_3_is_brought_up_to_date(tmp_path: Path) -> None:
    votes, labels = table(30)

    async def story(api: Api) -> None:
        await api.create()
        for row, (item, label) in enumerate(trials(votes, labels)):
            await api.learn(f"a{row}", label, **item)

    async def later(api: Api) -> None:
        assert await api.digest() == digest_of(*trials(votes, labels))
        await send_table(api, "learn", {"id": ids_of("b", 30), **votes, "label": labels})
        assert in_chunks(api) == (30, 1)
        assert await api.digest() == digest_of(*trials(votes, labels) * 2)
        assert (await get(api, "a3"))["votes"] == (await get(api, "b3"))["votes"]

    run(story, tmp_path)
    connection = apsw.Connection(str(tmp_path / "linmax.db"))
    connection.execute("DROP TABLE chunks; UPDATE versions SET version = 3; PRAGMA user_version = 3")
    connection.close()
    run(later, tmp_path)
    database = Database(tmp_path, read_only=True)
    assert database.rows("SELECT version FROM versions ORDER BY 1") == [(3,), (schema.VERSION,)]
    database.close()


def test_compaction_removes_chunks_none_of_whose_events_is_left(tmp_path: Path) -> None:
    (votes, labels), (later, truth) = table(), table(seed=1)

    async def story(api: Api) -> None:
        await begin(api)
        await send_table(api, "learn", {"id": ids_of("a"), **votes, "label": labels})
        await send_table(api, "predict", {"id": ids_of("p"), **later})
        await send_table(api, "labels", {"id": ids_of("p", 50), "label": truth[:50]})
        assert in_chunks(api) == (2 * ROWS + 50, 3)
        digest = await api.digest()
        await api.learn("last", "x", ann="x")
        await compact(api)
        assert in_chunks(api) == (ROWS - 50, 1)  # of predictions that wait
        assert (await get(api, "p70"))["votes"] == items_of(later)[70]
        assert (await api("GET", "/v1/fusions/spam/items/p7")).status_code == 410
        assert digest != await api.digest()
        rest = {"id": [f"p{row}" for row in range(50, ROWS)], "label": truth[50:]}
        assert not any(one["code"] for one in await send_table(api, "labels", rest))
        await api.learn("very last", "x", ann="x")
        await compact(api)
        assert in_chunks(api) == (0, 0)

    async def again(api: Api) -> None:
        taught = [*trials(votes, labels), *trials(later, truth)]
        taught.insert(ROWS + 50, ({"ann": "x"}, "x"))
        assert await api.digest() == digest_after(*taught, ({"ann": "x"}, "x"))

    run(story, tmp_path)
    run(again, tmp_path)
    assert administration.verify(tmp_path, lambda *_: None) == []


def test_a_horizon_within_a_chunk_leaves_its_other_events(tmp_path: Path) -> None:
    votes, labels = table()
    other = {"x": "y"}.get(labels[60], "x")

    async def story(api: Api) -> None:
        await begin(api)
        await send_table(api, "learn", {"id": ids_of("a"), **votes, "label": labels})
        before = await api.digest()
        ((position,),) = api.service.database.rows("SELECT max(position) FROM events")
        time = api.service.database.now()
        await api.label("a60", other, replaces=labels[60])
        changed = await api.digest()
        await Compaction(api.service.items.store, api.service.histories).run(time)
        ((first,),) = api.service.database.rows("SELECT min(position) FROM events WHERE id = 'a60'")
        assert (await api.describe())["horizon"] == first - 1
        assert in_chunks(api) == (ROWS - 60, 1)
        assert (await get(api, "a61"))["votes"] == items_of(votes)[61]
        assert await api.digest() == changed
        await api("POST", "/v1/fusions/spam/rollback", {"position": position})
        assert await api.digest() == before

    async def again(api: Api) -> None:
        assert await api.digest() == digest_after(*trials(votes, labels))

    run(story, tmp_path)
    assert administration.verify(tmp_path, lambda *_: None) == []
    run(again, tmp_path)


def test_labels_of_items_from_several_requests_are_replayed(tmp_path: Path) -> None:
    later, truth = table(seed=1)
    items, ids = items_of(later), ids_of("p")

    async def story(api: Api) -> None:
        await begin(api)
        for part in (slice(0, 60), slice(60, 120)):
            await send_table(
                api, "predict", {"id": ids[part], **{name: one[part] for name, one in later.items()}}
            )
        for row in range(120, ROWS):
            await api.predict(ids[row], **items[row])
        for rows in (
            range(110, -1, -1),
            range(ROWS - 1, 110, -1),
        ):  # from two chunks; and from single requests
            columns = {"id": [ids[row] for row in rows], "label": [truth[row] for row in rows]}
            assert not any(one["code"] for one in await send_table(api, "labels", columns))
        await check(api)

    async def check(api: Api) -> None:
        rows = [*range(110, -1, -1), *range(ROWS - 1, 110, -1)]
        taught = [(items[row], truth[row]) for row in rows]
        assert await api.digest() == digest_after(*taught)
        assert (await get(api, "p130"))["label"] == truth[130]

    run(story, tmp_path)
    forget_states(tmp_path)
    run(check, tmp_path)


def test_verify_finds_content_that_is_missing_or_damaged(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)

    run(story, tmp_path)
    forget_states(tmp_path)
    connection = apsw.Connection(str(tmp_path / "linmax.db"))
    ((first, votes),) = list(connection.execute("SELECT first, votes FROM chunks ORDER BY first LIMIT 1"))
    connection.execute("UPDATE chunks SET votes = ? WHERE first = ?", (votes[:-1], first))
    assert administration.verify(tmp_path, lambda *_: None) == [
        f"spam cannot be replayed: the chunk at position {first} is damaged: cannot reshape array of size"
        f" {4 * ROWS - 1} into shape ({ROWS},4)"
    ]
    connection.execute("DELETE FROM chunks WHERE first = ?", (first,))
    found = administration.verify(tmp_path, lambda *_: None)
    assert found[0] == f"the content of the event at position {first} is missing"
    connection.close()


def test_what_was_rolled_back_is_not_read_again(tmp_path: Path) -> None:
    database = Database(tmp_path)
    event = "INSERT INTO events VALUES (5, 1, 3, 'a', NULL, 1.5, 'me', x'')"
    copy = "INSERT INTO meta SELECT ?, body_of(position) FROM events"

    def write(label: int, more: str) -> None:
        codes = np.array([label], np.int8)
        chunk = EventChunk(5, ChunkNames(["ann"], ["x", "y"]), codes[:, None], codes, codes)
        database.write([(event, ()), chunk.statement(1), (copy, (f"body {label}",)), (more, ())])

    with pytest.raises(Exception, match="the log cannot be written"):
        write(0, "INSERT INTO nowhere VALUES (1)")
    write(1, "DELETE FROM tokens")
    ((body,),) = database.rows("SELECT value FROM meta WHERE key LIKE 'body%'")
    assert json.loads(body) == {"votes": {"ann": "y"}, "label": "y", "prediction": "y", "right": True}
    database.close()


@pytest.mark.parametrize("classes", [3, 128, 129, 300, 40_000])
def test_a_chunk_is_read_as_it_was_written(classes: int) -> None:
    names = [f"class {i}" for i in range(classes)]
    known = SimpleNamespace(
        classes=SimpleNamespace(names=names), experts=SimpleNamespace(names=["ann", "never", "bob"])
    )
    fusion: Any = SimpleNamespace(names=known)  # a real one takes too much memory
    votes = np.array([[classes - 1, -1, 0], [-1, -1, 1]], np.int32)
    labels, predictions = np.array([1, classes - 1], np.int32), np.array([1, 0], np.int32)
    parts = np.random.default_rng(0).random((2, classes))
    for given in (None, parts):
        chunk = make_chunk(9, fusion, votes, None if given is not None else labels, predictions, given, 7)
        _, (first, last, number, *blobs) = chunk.statement(4)
        assert (first, last, number) == (9, 10, 4)
        found = read_chunk(first, last, *blobs)
        assert [found.body(position) for position in (9, 10)] == [chunk.body(9), chunk.body(10)]
        body = json.loads(found.body(9))
        assert body["votes"] == {"ann": names[-1], "bob": names[0]}
        assert body["prediction"] == names[1]
        assert (body["version"], json.loads(found.body(10))["votes"]) == (7, {"bob": names[1]})
        if given is not None:
            assert list(body["probabilities"].values()) == given[0].tolist()
        else:
            assert (body["label"], body["right"]) == (names[1], True)
            assert found.label(10) == names[-1]
            assert found.votes is not None
            assert found.votes.itemsize == 1  # only the classes that occur
        codes = {name: code for code, name in enumerate(reversed(names))}
        table = found.votes_for({"bob": 0, "eve": 1, "ann": 2}, codes, slice(None))
        assert table is not None
        assert table.tolist() == [[codes[names[0]], -1, codes[names[-1]]], [codes[names[1]], -1, -1]]
        assert found.votes_for({"bob": 0}, codes, slice(None)) is None
        assert found.votes_for({"bob": 0, "ann": 1}, {"class 0": 0}, slice(None)) is None


def test_whole_chunks_are_replayed_unless_they_were_amended(tmp_path: Path) -> None:
    def pieces(api: Api) -> list[tuple[type, int]]:
        database = api.service.database
        with database.consistent():
            found = list(read_trials(database, 1, 0, database.last_position(), 100, 100))
        return [(type(piece), len(piece)) for piece in found]

    async def story(api: Api) -> None:
        await teach(api)
        assert pieces(api) == [(list, 1), (CodedTrials, ROWS), (CodedTrials, ROWS)]
        label = (await get(api, "p5"))["label"]
        await api.label("p5", "y" if label == "x" else "x", replaces=label)
        await api.describe()
        assert pieces(api) == [(list, 1), (CodedTrials, ROWS), (list, 100), (list, ROWS - 100)]

    run(story, tmp_path)


def test_single_labels_of_items_in_chunks_are_read_with_their_codes(tmp_path: Path) -> None:
    votes, labels = table()
    expected: list[Any] = []

    def pieces(api: Api) -> list[tuple[type, int]]:
        database = api.service.database
        with database.consistent():
            found = list(read_trials(database, 1, 0, database.last_position(), 40, 40))
        return [(type(piece), len(piece)) for piece in found]

    def counted(api: Api) -> tuple[Any, Any]:
        """The history by item, and as it is read."""
        database, both = api.service.database, []
        with database.consistent():
            for by_item in (True, False):
                history = History([])
                for piece in read_trials(database, 1, 0, database.last_position(), 40, 40):
                    if isinstance(piece, list):
                        history.add(piece)
                    elif by_item or not history.add_coded(piece):
                        history.add(piece.by_item(database, 1))
                both.append(history.answer(1000))
        return both[0], both[1]

    async def story(api: Api) -> None:
        await begin(api)
        await send_table(api, "predict", {"id": ids_of("p"), **votes})
        for row in reversed(range(100)):
            await api.label(f"p{row}", labels[row])
        await api.describe()
        assert pieces(api) == [
            (list, 40),
            (CodedTrials, 40),
            (CodedTrials, 21),
        ]  # the first was learned alone
        first, second = counted(api)
        assert first == second
        assert first.trials == 101
        await api.learn("alone", "x", ann="x", bob="y")  # its votes are in no chunk
        await api.label("p100", labels[100])
        await api.describe()
        assert pieces(api)[1:] == [(CodedTrials, 40), (CodedTrials, 21), (list, 2)]
        assert len(set(map(repr, counted(api)))) == 1
        await api.label("p50", "y" if labels[50] == "x" else "x", replaces=labels[50])
        expected.append(await api.digest())
        assert pieces(api) == [(list, 40), (CodedTrials, 10), (list, 40), (CodedTrials, 11), (list, 2)]
        assert len(set(map(repr, counted(api)))) == 1

    async def again(api: Api) -> None:
        assert await api.digest() == expected[0]

    run(story, tmp_path)
    forget_states(tmp_path)
    run(again, tmp_path)
    assert administration.verify(tmp_path, lambda *_: None) == []
