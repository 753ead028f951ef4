"""`linmax serve`: its actions work on a data folder, also while a server uses it, where that is safe."""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from linmax import load
from linmax.cli.commands import app
from linmax.cli.servers.demo import Traffic
from linmax.client import Client
from linmax.service.local import LocalServer
from tests.service.api import ADMIN, Api, server_process, serving
from tests.service.test_amendments import TRIALS, expected, teach


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, ["serve", *map(str, words)])


def refused(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return str(result.stderr).removeprefix("linmax: ").strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a server that was stopped."""

    async def main() -> None:
        async with serving(tmp_path / "data") as api:
            await fill(api)

    asyncio.run(main())
    return tmp_path / "data"


async def fill(api: Api) -> None:
    await teach(api)
    await api.predict("waiting", ann="x")
    await api("POST", "/v1/fusions/spam/exclude", {"ids": ["7"]})
    await api.label("3", "y", replaces=TRIALS[3][2])
    await api.describe()


def test_actions_that_read_work_while_the_server_runs(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path / "data") as api:
            await fill(api)
            data = "--data", tmp_path / "data"
            done = await asyncio.to_thread(run, "verify", *data)
            assert done.exit_code == 0, done.output
            assert (await api.digest())[:16] in done.stdout
            done = await asyncio.to_thread(run, "backup", tmp_path / "copy.db", *data)
            assert done.exit_code == 0, done.output
            done = await asyncio.to_thread(run, "export", tmp_path / "items.csv", *data)
            assert "41 items, 39 of them with a label" in done.stderr
            done = await asyncio.to_thread(run, "token", *data)
            assert "admin (environment)" in done.stdout
            for words in (("create", "--name", "ann"), ("revoke", 1)):
                message = await asyncio.to_thread(refused, "token", *words, *data)
                assert re.search(
                    r"is in use by another server \(process \d+\); stop that one first \(kill \d+\), or use",
                    message,
                )
            assert (await api.label("waiting", "x")).status_code == 200

    asyncio.run(main())


def test_a_backup_restores_the_state(folder: Path, tmp_path: Path) -> None:
    copy, new = tmp_path / "copy.db", tmp_path / "new"
    assert run("backup", copy, "--data", folder).exit_code == 0
    assert copy.stat().st_mode & 0o077 == 0
    assert run("restore", copy, "--data", new).exit_code == 0
    assert run("verify", "--data", new).stdout == run("verify", "--data", folder).stdout

    async def main() -> None:
        async with serving(new) as api:
            assert await api.digest() == expected({"3": "y", "7": None})

    asyncio.run(main())
    assert refused("backup", copy, "--data", folder) == f"{copy} exists; choose another name for the backup"
    assert refused("restore", copy, "--data", new).endswith("exists; restore into a new folder")
    (tmp_path / "bad.db").write_bytes(copy.read_bytes()[:5000])
    assert "bad.db" in refused("restore", tmp_path / "bad.db", "--data", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_restore_on_a_full_disk_names_its_target_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="the size of files cannot be limited here")
    copy, old = tmp_path / "copy.db", tmp_path / "old"
    assert run("backup", copy, "--data", folder).exit_code == 0
    old.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for new in (tmp_path / "new" / "data", old):
        resource.setrlimit(resource.RLIMIT_FSIZE, (copy.stat().st_size // 2, limits[1]))
        try:
            message = refused("restore", copy, "--data", new)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert message == (
            f"{new / 'linmax.db'} cannot be written: File too large; free some space, or restore into another"
            " folder"
        )
    assert not (tmp_path / "new").exists()
    assert list(old.iterdir()) == []
    copy.unlink()
    assert refused("restore", copy, "--data", old) == f"there is no file {copy}"


def test_logs_are_for_their_user_alone_whatever_the_folder_allows(tmp_path: Path) -> None:
    old, new, copy = tmp_path / "old", tmp_path / "new", tmp_path / "copy.db"
    for folder in (old, new):
        folder.mkdir(mode=0o755)

    async def main() -> None:
        async with serving(old) as api:
            await teach(api)
            assert [file.name for file in old.glob("linmax.db*") if file.stat().st_mode & 0o077] == []
            assert (old / "linmax.db-wal").exists()

    asyncio.run(main())
    assert run("backup", copy, "--data", old).exit_code == 0
    copy.chmod(0o644)
    assert run("restore", copy, "--data", new).exit_code == 0
    assert (new / "linmax.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_a_backup_is_not_restored_beside_what_is_left_of_another_log(
    folder: Path, tmp_path: Path, ending: str
) -> None:
    copy, left = tmp_path / "copy.db", folder / f"linmax.db{ending}"
    assert run("backup", copy, "--data", folder).exit_code == 0
    for file in folder.glob("linmax.db*"):
        file.unlink()
    left.write_bytes(b"changes")
    assert refused("restore", copy, "--data", folder).startswith(f"{left} is left of a log that was removed")
    assert left.read_bytes() == b"changes"
    assert not (folder / "linmax.db").exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_export_is_input_for_fuse(folder: Path, tmp_path: Path, ending: str) -> None:
    file, model = tmp_path / f"items.{ending}", tmp_path / "panel.linmax"
    done = run("export", file, "--data", folder, "--fusion", "spam")
    assert done.exit_code == 0, done.output
    words = shlex.split(done.stderr.splitlines()[1].removeprefix("linmax: linmax "))
    fused = CliRunner().invoke(app, [*words, "--learner", "Winnow(1.2)", "--save", str(model)])
    assert fused.exit_code == 0, fused.output
    again = load(model)
    assert again.trials == 39
    assert sorted(again.experts) == ["ann", "bob", "eve"]
    assert sorted(again.classes) == ["x", "y", "z"]


def test_the_command_for_an_export_names_odd_columns(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path / "data") as api:
            await api.create()
            for row in range(30):
                votes = {"label": "xy"[row % 2], "ann": "xy"[row % 3 > 0]}
                body = {"votes": votes, "attributes": {"it's": row}, "label": "xy"[row % 5 > 2]}
                await api("POST", "/v1/fusions/spam/learn", {"id": f"i{row}", **body})

    asyncio.run(main())
    done = run("export", tmp_path / "the items.csv", "--data", tmp_path / "data")
    words = shlex.split(done.stderr.splitlines()[1].removeprefix("linmax: linmax "))
    model = tmp_path / "panel.linmax"
    fused = CliRunner().invoke(app, [*words, "--learner", "Winnow(1.2)", "--save", str(model)])
    assert fused.exit_code == 0, fused.output
    assert sorted(load(model).experts) == ["ann", "label_"]


@pytest.mark.parametrize(("abstain", "option"), [(0, "0"), (None, "none"), ("no idea", "no idea")])
def test_the_command_for_an_export_names_the_vote_that_abstains(
    tmp_path: Path, abstain: Any, option: str
) -> None:
    async def main() -> None:
        async with serving(tmp_path / "data") as api:
            await api.create(abstain=abstain)
            await api.learn("i", 1, ann=1, bob=2)

    asyncio.run(main())
    done = run("export", tmp_path / "items.csv", "--data", tmp_path / "data")
    assert shlex.split(done.stderr)[-2:] == ["--abstain", option]


def test_scores_and_attributes_are_columns_of_numbers(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path / "data") as api:
            await api.create()
            body = {
                "votes": {"ann": {"x": 0.25, "y": 0.75}, "label": "x"},
                "attributes": {"size": 2.5},
                "label": "y",
            }
            await api("POST", "/v1/fusions/spam/learn", {"id": "a", **body})
            body = {"votes": {"ann": "y", "label": None}, "label": "x"}
            await api("POST", "/v1/fusions/spam/learn", {"id": "b", **body})

    asyncio.run(main())
    assert run("export", tmp_path / "items.csv", "--data", tmp_path / "data").exit_code == 0
    header, first, second = (tmp_path / "items.csv").read_text().splitlines()
    assert header == "id,time,ann_x,ann_y,label_,size,prediction,label"
    assert re.fullmatch(r"a,[\d.]+,0\.25,0\.75,x,2\.5,\w,y", first)
    assert re.fullmatch(r"b,[\d.]+,0\.0,1\.0,,,\w,x", second)


def test_tokens_are_created_listed_and_revoked(folder: Path) -> None:
    rights = "--scopes", "predict, label", "--fusions", "spam-*", "--days", 3
    made = run("token", "create", "--name", "ann", *rights, "--data", folder)
    assert made.exit_code == 0, made.output
    text = made.stdout.strip()
    assert text.startswith("lmx_")
    listed = run("token", "--data", folder).stdout
    assert re.search(r"2\s+ann\s+label,predict\s+spam-\*\s+\d{4}-", listed)
    assert text not in listed

    async def main(status: int) -> None:
        async with serving(folder) as api:
            header = {"authorization": f"Bearer {text}"}
            assert (await api("GET", "/v1/fusions", headers=header)).status_code == status

    asyncio.run(main(200))
    assert run("token", "revoke", 2, "--data", folder).exit_code == 0
    asyncio.run(main(401))
    assert (
        refused("token", "revoke", 2, "--data", folder)
        == "there is no token 2; linmax serve token lists them"
    )


def test_wrong_words_are_one_sentence(folder: Path, tmp_path: Path) -> None:
    data = "--data", folder
    assert refused() == "pass --data DIR, the folder for the log of the server, or --demo"
    assert refused("start", *data).startswith("linmax serve has no action 'start'")
    assert refused("--demo", *data).startswith("--demo has its own data")
    assert refused("backup", *data) == "linmax serve backup needs one file (none was given)"
    assert refused("verify", "x", *data).startswith("linmax serve verify needs no argument")
    assert "has no linmax.db" in refused("verify", "--data", tmp_path / "absent")
    assert "has no linmax.db" in refused("token", "create", "--name", "x", "--data", tmp_path / "absent")
    assert not (tmp_path / "absent").exists()
    assert "should end in .csv, .jsonl or .parquet" in refused("export", tmp_path / "x.txt", *data)
    assert "there is no fusion 'ham'" in refused("export", tmp_path / "x.csv", "--fusion", "ham", *data)
    assert refused("token", "create", *data).startswith("pass --name")
    assert "predict, label, learn" in refused("token", "create", "--name", "x", "--scopes", "root", *data)
    assert "is not known" in refused("token", "remove", *data)
    assert "does not listen on 0.0.0.0" in refused("--host", "0.0.0.0", "--data", tmp_path / "absent")
    with LocalServer(tmp_path / "other") as server:
        port = server.url.rpartition(":")[2]
        assert f"cannot listen on 127.0.0.1:{port}" in refused("--port", port, *data)


def test_verify_names_what_is_wrong(folder: Path) -> None:
    import apsw

    connection = apsw.Connection(str(folder / "linmax.db"))
    connection.execute("UPDATE snapshots SET digest = 'other'")
    connection.close()
    assert "is not what the log gives" in run("verify", "--data", folder).stderr


def test_the_demo_learns_from_late_labels(tmp_path: Path) -> None:
    lines: list[str] = []
    with LocalServer(tmp_path) as server:
        Traffic(server.url, server.token, pause=0.0).run(lines.append, items=100)
        with Client(server.url, server.token) as client:
            found = client.describe("demo")
    assert found["trials"] + found["waiting"] == 100
    assert found["trials"] > 30
    assert server.url in lines[0]
    assert re.fullmatch(r"\d+ labels learned, \d+ wait, \d+ mistakes \(\d+\.\d%\)", lines[-1])


def test_how_long_a_label_waits_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    monkeypatch.setattr(
        "linmax.service.server.serve", lambda folder, **given: found.append(given["label_wait"])
    )
    assert run("--data", tmp_path).exit_code == 0
    assert run("--data", tmp_path, "--label-wait", 1.5).exit_code == 0
    assert found == [0.2, 1.5]
    assert run("--data", tmp_path, "--label-wait", -1).exit_code == 2
    with server_process(tmp_path / "data", label_wait=1.0) as (_, base):
        header = {"authorization": f"Bearer {ADMIN}"}
        with httpx.Client(base_url=base, headers=header, trust_env=False) as client:
            client.put("/v1/fusions/spam", json={}).raise_for_status()
            start = time.monotonic()
            answer = client.post("/v1/fusions/spam/labels", json={"id": "nobody", "label": "x"})
            assert answer.status_code == 404
            assert time.monotonic() - start >= 0.99
