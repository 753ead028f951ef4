"""Ten million labels, and ten thousand fusions: no answer is large, and no view is slow.

The logs are written by SQL, since ten million requests would take hours; `LINMAX_DASHBOARD_TRIALS=10000000`
sets the number of labels.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from linmax import Fusion
from linmax.client import Client
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import CREATED, LEARNED
from linmax.service.fusions import replay
from linmax.service.fusions.history import COLUMNS, History, _Stored
from linmax.service.local import LocalServer
from linmax.service.messages.requests import FusionSettings
from tests.service.dashboard.browser import Dashboard

LARGEST = 1_000_000  # bytes of an answer
TRIALS = int(os.environ.get("LINMAX_DASHBOARD_TRIALS", "200000"))
FUSIONS = 10_000
SETTINGS = FusionSettings(learner="Averaged(Winnow(1.2))", classes=[0, 1, 2])
EXPERTS = ["ann", "bob", "eve"]
VOTES = np.array([[t % 3, (t + t // 7) % 3, (t * 2) % 3] for t in range(21)])
LABELS = VOTES[:, 0]
BEGIN = 1_600_000_000.0  # seconds since 1970 of the first label; then one in a second
NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"
LEARN = f"""
{NUMBERS} INSERT INTO events SELECT n + 1, 1, {LEARNED}, 'item ' || n, NULL, {BEGIN} + n, 'test', b.body
FROM numbers JOIN bodies b ON b.number = n % 21
"""
ITEMS = f"{NUMBERS} INSERT INTO items SELECT 1, 'item ' || n, n + 1, x'00', n + 1 FROM numbers"
INSERT_FUSION = "INSERT INTO fusions (fusion, name, settings, created) VALUES (?, ?, ?, ?)"
CREATE = f"""
{NUMBERS} INSERT INTO events SELECT n, n, {CREATED}, NULL, NULL, {BEGIN}, 'test', ? FROM numbers
"""
NAME = f"""
{NUMBERS} INSERT INTO fusions (fusion, name, settings, created)
SELECT n, printf('f%05d', n), ?, {BEGIN} FROM numbers
"""


def write_labels(folder: Path, trials: int) -> None:
    """Write a log of labels, with a snapshot of every 40th of them, and the history at the end."""
    database = Database(folder)
    settings = msgspec.json.encode(SETTINGS)
    bodies = [
        (i, msgspec.json.encode({"votes": dict(zip(EXPERTS, votes.tolist(), strict=True)),
             "label": int(label), "prediction": int(votes[1]), "right": bool(votes[1] == label)}))
        for i, (votes, label) in enumerate(zip(VOTES, LABELS, strict=True))
    ]  # fmt: skip
    database.write(
        [
            (INSERT_FUSION, (1, "large", settings, BEGIN)),
            ("INSERT INTO events VALUES (1, 1, ?, NULL, NULL, ?, 'test', ?)", (CREATED, BEGIN, settings)),
            ("CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB)", ()),
            ("INSERT INTO bodies VALUES (?, ?)", bodies),
        ]
    )  # fmt: skip
    fusion = Fusion(SETTINGS.learner, classes=[0, 1, 2], experts=EXPERTS)
    part = trials // 40
    for start in range(0, trials, part):
        rows = np.arange(start + 1, min(start + part, trials) + 1) % 21
        fusion.learn(VOTES[rows], LABELS[rows])
        last = start + len(rows)
        database.write([
            (LEARN, (start + 1, last)),
            (replay.INSERT_SNAPSHOT, replay.snapshot_row(fusion, 1, last + 1)),
        ])  # fmt: skip
    width = 1
    while trials // width > 900:
        width *= 2
    wrong = {
        "linmax": VOTES[:, 1],
        "plurality": VOTES[:, 1],
        "best_expert": LABELS,
        "most_frequent_class": 0 * LABELS,
    }

    def counts(count: int) -> list[int]:
        shares = [float(np.mean(wrong[name] != LABELS)) for name in COLUMNS[2:]]
        return [count, count + 1, *(int(share * count) for share in shares)]

    ends = list(range(width, trials + 1, width))
    stored = _Stored(
        trials + 1, width, 0, [0, 1, 2], EXPERTS, [trials // 3] * 3, [trials, trials // 3, trials // 2],
        counts(trials), BEGIN + trials, [counts(end) for end in ends], [BEGIN + end for end in ends],
    )  # fmt: skip
    assert History.from_bytes(msgspec.msgpack.encode(stored)).trials == trials
    row = 1, trials + 1, trials, msgspec.msgpack.encode(stored)
    database.write([
        ("INSERT INTO histories VALUES (?, ?, ?, ?)", row),
        (ITEMS, (max(1, trials - 100_000), trials)), ("DROP TABLE bodies", ()),
    ])  # fmt: skip
    database.close()


def measured(server: LocalServer, *paths: str) -> dict[str, tuple[float, int]]:
    """The seconds and bytes of the answers to requests."""
    found = {}
    headers = {"authorization": f"Bearer {server.token}"}
    with httpx.Client(
        base_url=server.url, headers=headers, trust_env=False, verify=False, timeout=60
    ) as client:
        for path in paths:
            start = time.perf_counter()
            answer = client.get(path)
            assert answer.status_code == 200, answer.text
            found[path] = round(time.perf_counter() - start, 3), len(answer.content)
            assert len(answer.content) < LARGEST, path
    return found


@pytest.mark.slow
def test_views_of_many_labels_are_small_and_quick(browser: Any, thread: Any, tmp_path: Path) -> None:
    write_labels(tmp_path, TRIALS)

    def story() -> None:
        start = time.perf_counter()
        with LocalServer(tmp_path) as server:
            ready = time.perf_counter() - start
            shown = "/dashboard/fusions/large"
            middle = int(BEGIN + TRIALS // 2)
            paths = (
                "/dashboard/overview", f"{shown}/summary", "/v1/fusions/large/history?points=300",
                "/v1/fusions/large/history?points=1000", f"{shown}/recent?window=5000",
                f"{shown}/recent?window=5000&from={middle}&until={middle + 86400}", f"{shown}/trust",
                f"{shown}/items?list=mistakes", f"{shown}/items?list=uncertain", f"{shown}/items?search=item",
                "/v1/fusions/large", f"{shown}/snapshots",
            )  # fmt: skip
            first, again = measured(server, *paths), measured(server, *paths)
            dashboard = Dashboard(server, browser)
            page = dashboard.sign_in()
            page.set_default_timeout(30_000)
            start = time.perf_counter()
            page.goto(f"{server.url}/#/fusions/large")
            page.get_by_role("img", name="Experts asked per item").wait_for()
            opened = time.perf_counter() - start
            assert page.locator("#live-trials").inner_text() == f"{TRIALS:,}"
            page.get_by_label("Range").select_option("dates")
            page.get_by_label("From").fill("2020-09-14T00:00:00")
            page.get_by_text("labels of this time").first.wait_for()
            dashboard.check_console()
            dashboard.close()
            sizes = round(sum(file.stat().st_size for file in tmp_path.iterdir()) / 1e6)
            print(json.dumps({"labels": TRIALS, "log MB": sizes, "ready": ready, "view": opened}))
            for path in paths:
                print(f"{path}: {first[path][0]} s, then {again[path][0]} s, {again[path][1]} bytes")
            assert max(seconds for seconds, _ in first.values()) < 5.0
            assert max(seconds for seconds, _ in again.values()) < 2.0

    thread.submit(story).result()


@pytest.mark.slow
def test_ten_thousand_fusions_are_shown_in_pages(browser: Any, thread: Any, tmp_path: Path) -> None:
    database = Database(tmp_path)
    settings = msgspec.json.encode(SETTINGS)
    database.write([(CREATE, (1, FUSIONS, settings)), (NAME, (1, FUSIONS, settings))])
    database.close()

    def story() -> None:
        with LocalServer(tmp_path) as server:
            with Client(server.url, server.token) as client:
                client.learn_many("f00101", [{"votes": {"ann": t % 3}, "label": t % 3} for t in range(50)])
            paths = [f"/dashboard/overview?start={start}" for start in (0, 100, 5000, 9900)]
            paths.append("/dashboard/overview?search=777")
            first, again = measured(server, *paths), measured(server, *paths)
            print(json.dumps({"first": first, "again": again}))
            assert max(seconds for seconds, _ in again.values()) < 2.0
            dashboard = Dashboard(server, browser)
            page = dashboard.sign_in()
            page.get_by_text("1 to 100 of 10,000 fusions").wait_for()
            page.get_by_role("button", name="Next").click()
            page.get_by_text("101 to 200 of 10,000 fusions").wait_for()
            assert page.locator("tbody th a").first.inner_text() == "f00101"
            assert "100.0%" in page.locator("tbody tr").first.inner_text()
            dashboard.check_accessible()
            dashboard.check_fits()
            page.get_by_role("searchbox").fill("09999")
            page.get_by_text("1 fusion", exact=True).wait_for()
            dashboard.check_console()
            dashboard.close()

    thread.submit(story).result()
