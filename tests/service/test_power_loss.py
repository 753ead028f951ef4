"""Power loss: after every prefix of the writes the log opens and has what was acknowledged."""

from __future__ import annotations

import asyncio
import functools
import random
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from linmax.service.event_log import schema
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import LogConnection
from linmax.service.fusions.replay import verify
from tests.service.api import Api
from tests.service.test_amendments import TRIALS
from tests.service.test_items import run

Step = tuple[str, str, int, bytes]  # what, file, offset or size or position, content


class Recording(apsw.VFS):
    """A file system that notes all writes, truncations, deletions and syncs in their order."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.lock = threading.Lock()
        super().__init__("recording", "")

    def note(self, what: str, file: Any, number: int = 0, content: bytes = b"") -> None:
        with self.lock:
            self.steps.append((what, Path(str(file)).name, number, content))

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.note("delete", filename)
        super().xDelete(filename, syncdir)


class RecordedFile(apsw.VFSFile):
    def __init__(self, files: Recording, name: Any, flags: list[int]) -> None:
        self.files = files
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.files.note("write", self.name, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.files.note("truncate", self.name, newsize)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self.files.note("sync", self.name)


def files_after(steps: list[Step], chance: random.Random) -> tuple[dict[str, bytearray], int]:
    """The files after a crash, and the position that had been acknowledged.

    Of the writes to a file since it was last synced, some are lost, and one may be torn.
    """
    synced = {file: number for number, (what, file, _, _) in enumerate(steps) if what == "sync"}
    files: dict[str, bytearray] = {}
    acknowledged = 0
    for number, (what, file, at, content) in enumerate(steps):
        if what == "acknowledge":
            acknowledged = at
        elif what == "delete":
            files.pop(file, None)
        elif number > synced.get(file, -1) and chance.random() < 0.3:
            continue
        elif what == "truncate":
            del files.setdefault(file, bytearray())[at:]
        elif what == "write":
            if number > synced.get(file, -1) and chance.random() < 0.2:
                content = content[: chance.randrange(len(content))]
            held = files.setdefault(file, bytearray())
            held.extend(bytes(max(0, at + len(content) - len(held))))
            held[at : at + len(content)] = content
    return files, acknowledged


def test_every_prefix_of_the_writes_opens_and_has_what_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Recording()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "LogConnection", functools.partial(LogConnection, vfs="recording"))

        async def story(api: Api) -> None:
            database = api.service.database
            assert database._writer is not None
            database._writer.execute("PRAGMA wal_autocheckpoint = 40")
            commit = database._commit

            def acknowledge(writes: Any) -> Any:
                error = commit(writes)
                files.note("acknowledge", "", database.last_position())
                return error

            patch.setattr(database, "_commit", acknowledge)
            await api.create()
            for start in range(0, 40, 4):
                await asyncio.gather(
                    *(api.learn(id_, label, **votes) for id_, votes, label in TRIALS[start : start + 4])
                )
                await api.predict(f"p{start}", ann="x")
            await api.label("5", "y", replaces=TRIALS[5][2])

        run(story, tmp_path / "data")
    names = {file for what, file, _, _ in files.steps if what == "write"}
    assert {"linmax.db", "linmax.db-wal"} <= names
    chance = random.Random(0)
    most = 0
    for number in range(40):
        cut = chance.randrange(30 if number < 10 else len(files.steps) + 1)
        found, acknowledged = files_after(files.steps[:cut], chance)
        folder = tmp_path / f"crash{number}"
        folder.mkdir()
        for name, content in found.items():
            (folder / name).write_bytes(content)
        database = Database(folder)
        positions = [
            position for (position,) in database.rows("SELECT position FROM events ORDER BY position")
        ]
        assert positions == list(range(1, len(positions) + 1)), (number, cut)
        assert len(positions) >= acknowledged, (number, cut)
        assert database.rows("PRAGMA integrity_check") == [("ok",)]
        if number % 10 == 0:
            assert verify(database) == []
        database.close()
        most = max(most, acknowledged)
    assert most > 40
