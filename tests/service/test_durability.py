"""What was acknowledged is in the log, and the log gives the state, also after failures."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import apsw
import pytest

from linmax import Fusion
from linmax.service.event_log import schema
from linmax.service.event_log.database import Database
from linmax.service.event_log.writes import Written
from linmax.service.fusions import replay
from linmax.service.fusions.served_panel import array_bytes
from tests.service.api import Api, code, digest_of, serving
from tests.service.test_amendments import TRIALS, expected, teach
from tests.service.test_items import run


@pytest.mark.parametrize("snapshot_every", [6, 20_000])
def test_a_restart_gives_the_same_state(tmp_path: Path, snapshot_every: int) -> None:
    async def main() -> None:
        async with serving(tmp_path) as api:
            api.service.panels.snapshot_every = snapshot_every
            await teach(api)
            await api.predict("waiting", ann="x")
            before = await api.describe()
        async with serving(tmp_path) as api:
            assert await api.describe() == before
            assert before["digest"] == expected({})
            assert (await api.label("waiting", "y")).status_code == 200
            assert await api.digest() == digest_of(*(trial[1:] for trial in TRIALS), ({"ann": "x"}, "y"))

    asyncio.run(main())


def test_a_snapshot_and_the_events_after_it_give_the_state_of_all_events(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        api.service.panels.snapshot_every = 10
        await teach(api)
        database = api.service.database
        panel = await api.service.panels.open("spam")
        for _ in range(3000):  # snapshots are written later
            snapshots = database.rows("SELECT position, trials FROM snapshots ORDER BY position")
            if len(snapshots) >= 4:
                break
            await asyncio.sleep(0.01)
        assert [trials // 10 for _, trials in snapshots] == [1, 2, 3, 4]
        state = replay.restore(database, panel.number, panel.settings, database.last_position())
        assert state.snapshot == snapshots[-1][0]
        assert replay.fingerprint(state.fusion) == expected({})

    run(story, tmp_path)


def test_of_many_snapshots_one_per_interval_stays(tmp_path: Path) -> None:
    async def main() -> None:
        for start in range(4):
            async with serving(tmp_path) as api:
                await api.create()
                await api.learn(f"item {start}", "x", ann="x")
        async with serving(tmp_path) as api:
            assert api.service.database.rows("SELECT trials FROM snapshots") == [(4,)]

    asyncio.run(main())


def test_fusions_that_are_not_used_leave_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.service.fusions.served_panels.FEW", 3)

    async def story(api: Api) -> None:
        names = [f"f{i}" for i in range(6)]
        for name in names:
            await api.create(name)
        api.service.panels.memory = 7 * (await api.service.panels.open("f0")).bytes // 2  # for three of them
        for turn in range(4):
            await asyncio.gather(*(api.learn(f"{turn}", "x", name, ann="x", bob="y") for name in names))
            assert len(api.service.panels.open_panels) <= 3
        trial = {"ann": "x", "bob": "y"}, "x"
        for name in names:
            assert await api.digest(name) == digest_of(*[trial] * 4)

    run(story, tmp_path)


@pytest.mark.parametrize(
    "learner", ["NaiveBayes()", "Averaged(Winnow(1.2))", "Recycled(Winnow(1.2), size=50)"]
)
def test_the_memory_of_a_fusion_is_estimated_without_copies(learner: str) -> None:
    """They would take long, and as much memory again."""
    fusion = Fusion(learner, classes=[f"class {at}" for at in range(60)])
    fusion.learn_one({f"expert {at}": "class 1" for at in range(99)}, "class 1")
    state = sum(array.nbytes for array in fusion.state().values())
    tracemalloc.start()
    found = array_bytes(fusion)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert state <= found < 3 * state + 100_000
    assert peak < 100_000 + state // 10


def fail(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    """Let the disk be full from now on."""
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 3600.0)
    limit = api.service.database._writer
    assert limit is not None
    (pages,) = next(iter(limit.execute("PRAGMA page_count")))
    limit.execute(f"PRAGMA max_page_count = {pages}")


def repair(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 0.0)
    assert api.service.database._writer is not None
    api.service.database._writer.execute("PRAGMA max_page_count = 1000000")


def test_on_a_full_disk_predictions_go_on_and_nothing_acknowledged_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(api: Api) -> None:
        await teach(api)
        await api.predict("early", ann="x")
        fail(monkeypatch, api)
        taught = [trial[1:] for trial in TRIALS]
        big = {f"expert {i}": "x" for i in range(100)}
        answers = await asyncio.gather(*(api.learn(f"big{i}", "x", **big) for i in range(30)))
        taught += [(big, "x")] * sum(answer.status_code == 200 for answer in answers)
        refused = [answer for answer in answers if answer.status_code != 200]
        assert refused
        assert {code(answer) for answer in refused} == {(507, "storage_full")}
        assert {answer.headers["retry-after"] for answer in refused} <= {"1", "10"}
        assert await api.digest() == digest_of(*taught)
        assert code(await api.label("early", "x")) == (507, "storage_full")
        predicted = (await api.predict("unstored", ann="x")).json()
        assert predicted["stored"] is False
        assert predicted["prediction"] in "xyz"
        assert (await api("GET", "/readyz")).json() == {"status": "read-only"}
        assert code(await api.create("other")) == (507, "storage_full")
        assert code(await api("POST", "/v1/tokens", {"name": "x", "scopes": ["read"]}))[0] == 507
        assert code(await api("DELETE", "/v1/fusions/spam"))[0] == 507

        repair(monkeypatch, api)
        assert code(await api.label("unstored", "x")) == (404, "unknown_item")
        for number, answer in enumerate(answers):
            again = await api.learn(f"big{number}", "x", **big)
            assert again.status_code == 200
            if answer.status_code == 200:
                assert again.json() == answer.json()
        taught += [(big, "x")] * len(refused)
        assert await api.digest() == digest_of(*taught)
        assert (await api.label("early", "x")).status_code == 200
        assert (await api("GET", "/readyz")).status_code == 200

    run(story, tmp_path)


class FailingWrites:
    """Lets the groups fail that a list says, in turn: in a statement, or in the commit."""

    def __init__(self, database: Database, fails: list[bool], step: str = "_insert") -> None:
        self._database, self._step, self._call = database, step, getattr(database, step)
        self.fails = fails
        setattr(database, step, self)

    def __call__(self, given: Any) -> Exception | None:
        some = given if self._step == "_insert" else [one for write in given for one in write.statements]
        if some and self.fails and self.fails.pop(0):
            wrong = "INSERT INTO nowhere VALUES (1)"
            if self._step == "_commit":
                assert self._database._writer is not None
                return self._database._try(self._database._writer.execute, wrong)
            given = [*given, (wrong, ())]
        found: Exception | None = self._call(given)
        return found


@pytest.mark.parametrize("step", ["_insert", "_commit"])
@pytest.mark.parametrize("pages", [0, 1000])  # 0: the writer's thread commits
def test_a_write_that_fails_takes_its_changes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, pages: int
) -> None:
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 0.0)
    monkeypatch.setattr("linmax.service.event_log.database.CHECKPOINT", pages)

    async def story(api: Api) -> None:
        await api.create()
        FailingWrites(api.service.database, [i % 3 == 1 for i in range(60)], step)
        taught = []
        for turn in range(12):
            sent = [(f"{turn} {i}", {"ann": "x", "bob": f"class {turn}"}) for i in range(5)]
            answers = await asyncio.gather(*(api.learn(id_, "x", **votes) for id_, votes in sent))
            assert {answer.status_code for answer in answers} <= {200, 507}
            order = sorted(
                (answer.json()["position"], votes)
                for answer, (_, votes) in zip(answers, sent, strict=True)
                if answer.status_code == 200
            )
            taught += [(votes, "x") for _, votes in order]
        assert 0 < len(taught) < 60
        assert await api.digest() == digest_of(*taught)
        database = api.service.database
        assert database.rows("SELECT count(*) FROM events WHERE kind = 3") == [(len(taught),)]

    run(story, tmp_path)


def test_predictions_of_a_write_that_fails_are_repeated_without_storing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linmax.service.event_log.database.RETRY", 3600.0)

    async def story(api: Api) -> None:
        await api.create()
        await api.learn("a", "x", ann="x")
        FailingWrites(api.service.database, [True])
        answers = await asyncio.gather(*(api.predict(f"{i}", ann="x") for i in range(5)))
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.json().get("stored", True) for answer in answers} == {False}
        assert (await api.describe())["waiting"] == 0

    run(story, tmp_path)


def test_a_request_that_is_cancelled_leaves_those_that_wait_for_the_same_write() -> None:
    async def main() -> None:
        written, kept = Written(), []

        async def wait(name: str) -> None:
            await written
            kept.append(name)

        tasks = [asyncio.create_task(wait(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)  # it is on its way to the disk
        written.set_result(None)
        await asyncio.wait(tasks)
        assert (kept, tasks[1].cancelled()) == (["a", "c"], True)
        given_up = Written()
        task = asyncio.create_task(asyncio.wait_for(given_up, 10))
        await asyncio.sleep(0)
        given_up.withdraw()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


def test_a_second_server_on_a_folder_is_refused(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        with pytest.raises(
            ValueError, match=r"is in use by another server \(process \d+\); stop that one first"
        ):
            Database(tmp_path)
        assert (await api.create()).status_code == 201

    run(story, tmp_path)


def test_files_that_are_not_a_log_are_refused_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "linmax.db").write_text("this is not a database" * 100)
    with pytest.raises(ValueError, match=r"cannot be opened: .*not a database"):
        Database(tmp_path)
    (tmp_path / "linmax.db").unlink()
    connection = sqlite3.connect(tmp_path / "linmax.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ValueError, match="has version 99 and this linmax reads up to 4; update linmax"):
        Database(tmp_path)
    with pytest.raises(ValueError, match=r"has no linmax.db"):
        Database(tmp_path / "absent", read_only=True)
    assert not (tmp_path / "absent").exists()


def test_the_database_itself_refuses_a_second_label_of_an_item(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await api.create()
        await api.predict("a", ann="x")
        await api.label("a", "x")
        item = api.service.items.store.find(await api.service.panels.open("spam"), "a")
        assert item is not None
        item.learned = None  # as if a fault had forgotten it
        assert code(await api.label("a", "x")) == (503, "log_conflict")
        assert await api.digest() == digest_of(({"ann": "x"}, "x"))
        assert (await api.label("a", "x")).json()["position"] == 3

    run(story, tmp_path)


def problems_of(folder: Path) -> list[str]:
    """What is wrong with a data folder."""
    try:
        database = Database(folder, read_only=True)
    except ValueError as error:
        return [str(error)]
    try:
        return replay.verify(database)
    finally:
        database.close()


def test_verify_finds_what_was_changed(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)

    run(story, tmp_path)

    assert problems_of(tmp_path) == []
    connection = apsw.Connection(str(tmp_path / "linmax.db"))
    connection.execute(
        'UPDATE events SET body = replace(body, \'"label":"x"\', \'"label":"y"\') WHERE id = \'3\''
    )
    connection.execute("UPDATE events SET body = CAST(body AS BLOB) WHERE id = '3'")
    assert problems_of(tmp_path) == ["the snapshot of spam at position 61 is not what the log gives"]
    connection.execute("DELETE FROM events WHERE id = '4'")
    assert problems_of(tmp_path) == ["the item '4' of spam has no event in the log"]
    connection.close()


def test_damaged_pages_are_found(tmp_path: Path) -> None:
    async def story(api: Api) -> None:
        await teach(api)

    run(story, tmp_path)
    file = tmp_path / "linmax.db"
    content = file.read_bytes()
    for page in range(4096, len(content), 4096):
        damaged = bytearray(content)
        damaged[page : page + 4096] = bytes(4096)
        file.write_bytes(damaged)
        assert problems_of(tmp_path)


def test_a_log_whose_end_is_torn_keeps_everything_before(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    chance = random.Random(0)

    async def story(api: Api) -> None:
        await teach(api)
        wal = (folder / "linmax.db-wal").read_bytes()
        main = (folder / "linmax.db").read_bytes()
        seen = set()
        for number in range(12):
            torn = tmp_path / f"torn{number}"
            torn.mkdir()
            at = chance.randrange(100, len(wal))
            damaged = wal[:at] if number % 2 else wal[:at] + bytes([wal[at] ^ 0x55]) + wal[at + 1 :]
            (torn / "linmax.db").write_bytes(main)
            (torn / "linmax.db-wal").write_bytes(damaged)
            database = Database(torn)
            positions = [row[0] for row in database.rows("SELECT position FROM events ORDER BY position")]
            assert positions == list(range(1, len(positions) + 1))
            assert replay.verify(database) == []
            database.close()
            seen.add(len(positions))
        assert len(seen) > 3

    run(story, folder)


def test_a_log_that_exists_is_opened_by_sqlite_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    close = os.close
    monkeypatch.setattr(schema.os, "close", lambda file: (closed.append(file), close(file)))
    for opened in (1, 1):
        schema.connect(tmp_path / "linmax.db").close()
        assert len(closed) == opened, "closing a file ends the locks that SQLite has on it"
    assert (tmp_path / "linmax.db").stat().st_mode & 0o777 == 0o600


def test_the_sources_of_linmax_are_read_before_requests_come(tmp_path: Path) -> None:
    """Else all requests of a fusion wait for that, when its first snapshot is made."""

    async def work() -> None:
        replay.code_of_linmax.cache_clear()
        async with serving(tmp_path):
            assert replay.code_of_linmax.cache_info().currsize == 1

    asyncio.run(work())
