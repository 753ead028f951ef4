"""Logs of earlier versions open, and are brought up to date as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import linmax
from linmax.service import administration
from linmax.service.event_log import schema
from linmax.service.event_log.database import Database
from tests.service.api import Api
from tests.service.test_amendments import TRIALS, expected
from tests.service.test_items import run

VERSION_1 = Path(__file__).parent / "log-v1.db"  # TRIALS; then 7 was excluded and 3 relabelled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder of version 1."""
    administration.restore(tmp_path / "data", VERSION_1)
    return tmp_path / "data"


def test_a_log_of_version_1_opens(folder: Path) -> None:
    async def story(api: Api) -> None:
        found = await api.describe()
        assert (found["trials"], found["waiting"], found["experts"]) == (39, 1, ["ann", "bob", "eve"])
        assert found["horizon"] == 0
        assert (await api("GET", "/v1/fusions/spam/items/3")).json()["label"] == "y"
        assert (await api("GET", "/v1/fusions/spam/items/7")).json()["excluded"] is True
        assert (await api.label("waiting", "x")).status_code == 200
        assert (await api.label("4", TRIALS[4][2])).status_code == 200
        for id_, votes, label in TRIALS[:4]:  # by checksum
            repeated = [await api.predict(id_, **votes), await api.learn(id_, label, **votes)]
            assert sorted(answer.status_code for answer in repeated) == [200, 409]
            assert (await api.learn(id_, label, **votes, new="x")).status_code == 409
        assert (await api.describe())["trials"] == 40
        assert api.service.database.rows("SELECT version, linmax FROM versions") == [
            (schema.VERSION, linmax.__version__)
        ]

    run(story, folder)
    assert administration.verify(folder, lambda *_: None) == []


def test_a_migrated_log_has_the_tables_of_a_new_one(folder: Path, tmp_path: Path) -> None:
    columns = """
    SELECT m.type, m.name, i.name, i.type, i."notnull", i.pk FROM sqlite_master m
    LEFT JOIN pragma_table_info(m.name) i ORDER BY 1, 2, 3
    """
    tables = []
    for each in (folder, tmp_path / "new"):
        database = Database(each)
        tables.append(database.rows(columns))
        database.close()
    assert tables[0] == tables[1]


def test_amendments_of_version_1_can_be_rolled_back(folder: Path) -> None:
    async def story(api: Api) -> None:
        ((position,),) = api.service.database.rows("SELECT max(position) FROM events WHERE id = '39'")
        answer = await api("POST", "/v1/fusions/spam/rollback", {"position": position})
        assert answer.json()["events"] == 2
        assert await api.digest() == expected({})

    run(story, folder)


def test_a_migration_that_fails_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dump() -> list[str]:
        connection = apsw.Connection(str(folder / "linmax.db"))
        found = [str(connection.pragma("user_version"))]
        for (table,) in list(
            connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        ):
            found += [f"{table} {row}" for row in connection.execute(f"SELECT * FROM {table}")]
        connection.close()
        return found

    before = dump()
    with monkeypatch.context() as patch:
        patch.setitem(schema.STEPS, 2, schema.SECOND + "INSERT INTO nowhere VALUES (1);")
        with pytest.raises(ValueError, match=r"cannot be opened: .*nowhere"):
            Database(folder)
    assert dump() == before
    with pytest.raises(ValueError, match="has a version before 4; start a server on it once"):
        Database(folder, read_only=True)
    Database(folder).close()
    Database(folder, read_only=True).close()
