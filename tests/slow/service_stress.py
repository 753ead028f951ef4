"""A server with 10,000 fusions, with a full disk, with a torn log, and with a day of traffic: `make soak`."""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from linmax.service.event_log.database import Database
from linmax.service.fusions import replay
from tests.service.api import LEARNER, PROGRAM, digest_of, free_port, server_process
from tests.slow.service_soak import FUSION, HEADERS, Sent, load, repeat

MB = 1 << 20


def client_of(base: str) -> httpx.Client:
    return httpx.Client(base_url=base, headers=HEADERS, trust_env=False, timeout=60.0)


def resident(pid: int) -> int:
    """The memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def many_fusions(count: int, memory: int = 64) -> str:
    """Create fusions and learn an item in each, twice: memory stays within its limit, and nothing is lost."""
    votes = {"ann": "x", "bob": "y"}
    with (
        tempfile.TemporaryDirectory() as name,
        server_process(Path(name), memory=memory * MB) as (child, base),
        client_of(base) as client,
        ThreadPoolExecutor(8) as threads,
    ):

        def create(number: int) -> None:
            answer = client.put(f"/v1/fusions/f{number}", json={"learner": LEARNER})
            assert answer.status_code == 201, answer.text

        def learn(number: int, turn: int) -> None:
            body = {"id": f"{turn}", "votes": votes, "label": "x"}
            answer = client.post(f"/v1/fusions/f{number}/learn", json=body)
            assert answer.status_code == 200, answer.text

        create(0)
        before = resident(child.pid)
        list(threads.map(create, range(1, count)))
        for turn in range(2):
            list(threads.map(learn, range(count), [turn] * count))
        used = (resident(child.pid) - before) / MB
        assert len(client.get("/v1/fusions").json()["fusions"]) == count
        digest = digest_of((votes, "x"), (votes, "x"))
        for number in random.Random(0).sample(range(count), min(count, 20)):
            assert client.get(f"/v1/fusions/f{number}").json()["digest"] == digest
    assert used < 2 * memory + 100, used  # the limit is an estimate; items and connections come on top
    return f"{count} fusions with a limit of {memory} MB: {used:.0f} MB more than with one"


def full_disk(clients: int, seconds: float) -> str:
    """Limit the size of files under load, then lift the limit; the server goes on, and nothing is lost."""
    sent: Sent = {}
    refused = []

    def limited(base: str, seed: int) -> None:
        while not stop.is_set():
            try:
                load(base, seed, len(refused), sent)
            except AssertionError as error:  # 404 if the prediction could not be stored
                if not any(code in str(error) for code in ("storage_full", "unknown_item")):
                    raise
                refused.append(seed)
                time.sleep(0.05)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server_process(folder) as (child, base), client_of(base) as client:
            client.put(FUSION, json={"learner": LEARNER})
            size = max(file.stat().st_size for file in folder.iterdir())
            stop = threading.Event()
            threads = [threading.Thread(target=limited, args=(base, seed)) for seed in range(clients)]
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (size + MB, resource.RLIM_INFINITY))
            for thread in threads:
                thread.start()
            time.sleep(seconds)
            assert refused, "the disk was never full"
            answer = client.post(FUSION + "/predict", json={"votes": {"ann": "x"}})
            assert answer.status_code == 200, answer.text
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            time.sleep(max(2.5, seconds / 4))  # the server tries again every two seconds
            assert client.get("/readyz").status_code == 200
            stop.set()
            child.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
        acknowledged, wrong = check(folder, sent)
    assert wrong == 0
    return (
        f"full disk: {len(refused)} refusals, {wrong} of {acknowledged} acknowledged events lost or changed"
    )


def check(folder: Path, sent: Sent) -> tuple[int, int]:
    """Start a server and repeat all requests; return how many were acknowledged, and how many are wrong."""
    for verb, id_ in [key for key in sent if key[0] == "labels"]:
        if (
            ("predict", id_) not in sent
            or sent["predict", id_][1] is None
            or "stored" in sent["predict", id_][1]
        ):
            del sent[verb, id_]  # its prediction was not stored, so the label is unknown
    for key in [key for key, (_, answer) in sent.items() if answer is not None and "stored" in answer]:
        del sent[key]
    with server_process(folder) as (child, base):
        acknowledged, wrong, digest, expected = repeat(base, sent)
        child.send_signal(signal.SIGTERM)
        child.wait(60)
    assert digest == expected
    verify(folder)
    return acknowledged, wrong


def verify(folder: Path) -> None:
    database = Database(folder, read_only=True)
    problems = replay.verify(database)
    database.close()
    assert not problems, problems


def torn_tails(cuts: int) -> str:
    """Kill a server, and damage the end of its log in many ways: everything before the damage stays."""
    chance = random.Random(0)
    sent: Sent = {}
    kept = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        with server_process(folder) as (child, base), client_of(base) as client:
            client.put(FUSION, json={"learner": LEARNER})
            threads = [threading.Thread(target=load, args=(base, seed, 0, sent)) for seed in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(1.0)
            child.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
        main, wal = (folder / "linmax.db").read_bytes(), (folder / "linmax.db-wal").read_bytes()
        for number in range(cuts):
            torn = Path(name) / f"torn{number}"
            torn.mkdir()
            at = chance.randrange(100, len(wal))
            flipped = bytes([wal[at] ^ chance.randrange(1, 256)])
            (torn / "linmax.db").write_bytes(main)
            (torn / "linmax.db-wal").write_bytes(
                wal[:at] if number % 2 else wal[:at] + flipped + wal[at + 1 :]
            )
            database = Database(torn)
            positions = [row[0] for row in database.rows("SELECT position FROM events ORDER BY position")]
            assert positions == list(range(1, len(positions) + 1))
            assert replay.verify(database) == []
            database.close()
            kept.add(len(positions))
    return f"{cuts} torn logs: all open, with {min(kept)} to {max(kept)} events"


def two_servers() -> str:
    """A second server on a folder ends with one sentence, and the first goes on."""
    with (
        tempfile.TemporaryDirectory() as name,
        server_process(Path(name)) as (_, base),
        client_of(base) as client,
    ):
        second = subprocess.run(
            [sys.executable, "-c", PROGRAM, name, str(free_port()), "{}"], capture_output=True, text=True
        )
        assert second.returncode, "a second server was started"
        assert "is in use by another server" in second.stderr.splitlines()[-1]
        assert client.put(FUSION, json={"learner": LEARNER}).status_code == 201
    return "two servers: the second is refused"


def day(seconds: float, clients: int = 8) -> str:
    """Send traffic with snapshots, expiry and compaction: memory and file descriptors stay flat."""
    stop = threading.Event()
    done, expired = [0] * clients, [0] * clients

    def traffic(number: int) -> None:
        chance = random.Random(number)
        waiting: list[str] = []
        with client_of(base) as client:
            while not stop.is_set():
                items = [
                    {
                        "id": f"{number}-{done[number] + i}",
                        "votes": {e: chance.choice("xyz") for e in "abcdefgh"},
                    }
                    for i in range(50)
                ]
                done[number] += 50
                waiting += [item["id"] for item in items if chance.random() < 0.9]
                part, waiting = waiting[:-20], waiting[-20:]
                labels = [{"id": id_, "label": chance.choice("xyz")} for id_ in part]
                for verb, bodies in (("predict", items), ("labels", labels)):
                    text = "\n".join(map(json.dumps, bodies))
                    kind = {"content-type": "application/x-ndjson"}
                    answer = client.post(f"/v1/fusions/f{number % 3}/{verb}", content=text, headers=kind)
                    assert answer.status_code == 200, answer.text
                    late = answer.text.count('"error":{"code":"expired"')  # on a machine that does much else
                    assert answer.text.count('"error"') == late, answer.text
                    expired[number] += late

    options = {"snapshot_every": 2000, "sweep_every": 2.0, "keep": 5.0}
    with tempfile.TemporaryDirectory() as name:
        with server_process(Path(name), **options) as (child, base), client_of(base) as client:
            for number in range(3):
                settings = {"learner": LEARNER, "limits": {"retention": 5.0}}
                assert client.put(f"/v1/fusions/f{number}", json=settings).status_code == 201
            pool = ThreadPoolExecutor(clients)
            work = [pool.submit(traffic, number) for number in range(clients)]
            samples = []
            for _ in range(10):
                time.sleep(seconds / 10)
                size = sum(file.stat().st_size for file in Path(name).iterdir())
                samples.append((resident(child.pid) / MB, open_files(child.pid), size / MB))
            stop.set()
            for one in work:
                one.result()  # an error in a thread is one of this test
            pool.shutdown()
            child.send_signal(signal.SIGTERM)
            assert child.wait(60) in (0, -signal.SIGTERM)
        verify(Path(name))
    middle, last = samples[len(samples) // 2], samples[-1]
    assert last[0] < 1.2 * middle[0] + 20, samples
    assert abs(last[1] - middle[1]) <= 5, samples
    shown = ", ".join(f"{mb:.0f} MB / {files} files / log {log:.0f} MB" for mb, files, log in (middle, last))
    return (
        f"{sum(done)} items in {seconds:.0f} s, {sum(expired)} labels too late:"
        f" {shown} at half time and at the end"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fusions", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--cuts", type=int, default=300)
    options, _ = parser.parse_known_args()
    works: list[Callable[[], Any]] = [
        two_servers,
        lambda: torn_tails(options.cuts),
        lambda: full_disk(50, 8.0),
        lambda: day(options.seconds),
        lambda: many_fusions(options.fusions),
    ]
    for work in works:
        print(work(), flush=True)


if __name__ == "__main__":
    main()
