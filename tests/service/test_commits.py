"""Where groups of requests are committed: in the event loop while the disk is quick, else in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest

from linmax.service.event_log import database as database_module
from linmax.service.event_log.database import FILE, Database
from linmax.service.event_log.schema import INSERT_ITEM


def statement(database: Database, key: str) -> Any:
    """Return a statement that takes little time."""
    return INSERT_ITEM, (1, key, database.next_position(), b"", None)


class Commits:
    """Notes the thread of every commit, which takes some more seconds than usual.

    Parameters
    ----------
    database
        The database.
    """

    def __init__(self, database: Database) -> None:
        self.threads: list[str] = []
        self.seconds = 0.0
        self._commit = database._commit
        database._commit = self  # type: ignore[method-assign, assignment]

    def __call__(self, writes: Any) -> Any:
        self.threads.append("log" if threading.current_thread().name == "linmax-log" else "loop")
        time.sleep(self.seconds)
        return self._commit(writes)


async def write(database: Database, *keys: str) -> None:
    for key in keys:
        await database.submit([statement(database, key)])


def test_the_event_loop_commits_while_the_disk_is_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "QUICK_COMMIT", 0.1)
    monkeypatch.setattr(database_module, "STALL", 60.0)
    monkeypatch.setattr(database_module, "SLOW_FOR", 0.5)
    database = Database(tmp_path)
    commits = Commits(database)

    async def story() -> None:
        await write(database, "a", "b")
        commits.seconds = 0.15
        await write(database, "c", "d", "e", "f")
        commits.seconds = 0.0
        await write(database, "g", "h")
        assert commits.threads == ["loop"] * 6 + ["log"] * 2
        await asyncio.sleep(0.6)
        await write(database, "i")
        assert commits.threads[8:] == ["loop"]
        await database.submit([("UPDATE items SET learned = 1 WHERE id = ?", ("a",))])  # may take long
        assert commits.threads[9:] == ["log"]

    asyncio.run(story())
    database.close()
    database = Database(tmp_path, read_only=True)
    assert database.rows("SELECT count(*) FROM items") == [(9,)]
    database.close()


def test_a_disk_that_stays_slow_holds_the_event_loop_up_less_and_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "QUICK_COMMIT", 0.01)
    monkeypatch.setattr(database_module, "SLOW_FOR", 0.2)
    database = Database(tmp_path)
    commits = Commits(database)
    commits.seconds = 0.03  # more than STALL

    async def story() -> None:
        until = time.monotonic() + 2.0
        for number in count():
            if time.monotonic() > until:
                break
            await write(database, f"{number}")

    asyncio.run(story())
    # it tries at the start, and after 0.2, 0.6 and 1.4 seconds
    assert commits.threads[0] == "loop"
    assert 2 <= commits.threads.count("loop") <= 4
    assert commits.threads.count("log") > 10
    database.close()


def test_a_disk_that_is_quick_now_and_then_is_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "QUICK_COMMIT", 0.1)
    monkeypatch.setattr(database_module, "STALL", 60.0)
    monkeypatch.setattr(database_module, "SLOW_FOR", 60.0)
    database = Database(tmp_path)
    commits = Commits(database)

    async def story() -> None:
        for number in range(12):
            commits.seconds = 0.15 * (number % 4 > 0)
            await write(database, f"{number}")

    asyncio.run(story())
    assert commits.threads == ["loop"] * 7 + ["log"] * 5
    database.close()


def test_the_thread_writes_the_pages_of_the_wal_to_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "CHECKPOINT", 30)
    monkeypatch.setattr(database_module, "QUICK_COMMIT", 60.0)
    database = Database(tmp_path)
    commits = Commits(database)
    before = (tmp_path / FILE).stat().st_size

    async def story() -> None:
        for turn in range(300):
            await write(database, f"{turn}")

    asyncio.run(story())
    assert 2 <= commits.threads.count("log") <= 100
    assert commits.threads.count("loop") >= 200
    wal = (tmp_path / f"{FILE}-wal").stat().st_size
    assert wal < 100 * 4200  # of about 900 pages that were written
    assert (tmp_path / FILE).stat().st_size > before
    database.close()


def test_closing_in_a_thread_waits_for_the_commit_of_the_event_loop(tmp_path: Path) -> None:
    for turn in range(20):
        database = Database(tmp_path)
        commits = Commits(database)
        commits.seconds = 0.01

        async def story(turn: int = turn, database: Database = database) -> None:
            written = [database.submit([statement(database, f"{turn} {i}")]) for i in range(3)]
            closing = asyncio.ensure_future(asyncio.to_thread(database.close))
            await asyncio.sleep(0.001 * (turn % 4))
            await asyncio.gather(*written)
            await closing

        asyncio.run(asyncio.wait_for(story(), 30))
    database = Database(tmp_path, read_only=True)
    assert database.rows("SELECT count(*) FROM items") == [(60,)]
    database.close()


def test_another_process_that_writes_does_not_hold_up_the_event_loop(tmp_path: Path) -> None:
    database = Database(tmp_path)

    async def story() -> None:
        await write(database, "a")
        other = apsw.Connection(str(tmp_path / FILE))
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(write(database, "b"))
        start = time.monotonic()
        await asyncio.sleep(0.3)
        assert time.monotonic() - start < 2.0  # the thread waits for up to five seconds
        assert not waiting.done()
        other.execute("ROLLBACK")
        other.close()
        await waiting
        await write(database, "c")

    asyncio.run(story())
    assert database.rows("SELECT count(*) FROM items") == [(3,)]
    database.close()
