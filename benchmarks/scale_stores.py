"""Two stores of the models of many keys: the folder that `keyed` writes, and a table of SQLite."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from linmax import Fusion
from linmax.fusion.model_file import from_bytes, to_bytes
from linmax.problems import majority
from linmax.scale import KeyedModels
from linmax.scale.by_key import store
from linmax.scale.by_key.split import bucket_of
from linmax.scale.by_key.store import write_manifest

LEARNER = "Averaged(Winnow(1.2))"
EXPERTS, CLASSES = 10, 5


def stores(models: int, home: Path) -> dict[str, Any]:
    """Compare a folder of models by key with a table of SQLite: CPU seconds per model, and bytes."""
    content = []
    for seed in range(min(models, 2000)):
        votes, labels = majority(40, experts=EXPERTS, classes=CLASSES, noise=0.1, seed=seed)
        fusion = Fusion(LEARNER)
        fusion.learn(votes, labels)
        content.append(to_bytes(fusion))
    empty = dict.fromkeys(store.STORED.names)
    rows = [
        {**empty, "key": f"customer {i}", "counts": "{}", "model": content[i % len(content)]}
        for i in range(models)
    ]
    buckets = [[row for row in rows if bucket_of(row["key"], 64) == number] for number in range(64)]
    files = [home / f"models-{number:05}-1.parquet" for number in range(64)]
    database = home / "models.sqlite"
    manifest: dict[str, Any] = {"format": store.FORMAT, "version": store.VERSION, "buckets": 64, "pooled": 0}
    manifest |= {"files": [file.name for file in files], "reader": {"by": "customer"}}
    write_manifest(home, manifest)
    folder = KeyedModels(home)
    in_order = [row["key"] for bucket in buckets for row in sorted(bucket, key=lambda row: row["key"])]
    drawn = np.random.default_rng(0).choice(in_order, min(models, 1000), replace=False).tolist()

    def write_folder() -> None:
        for file, bucket in zip(files, buckets, strict=True):
            store.write_models(file, bucket)

    def write_database() -> None:
        database.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute("CREATE TABLE models (key TEXT PRIMARY KEY, counts TEXT, model BLOB)")
            for bucket in buckets:
                values = ((row["key"], row["counts"], row["model"]) for row in bucket)
                with connection:
                    connection.executemany("INSERT INTO models VALUES (?, ?, ?)", values)

    def read_folder(keys: list[str]) -> None:
        for key in keys:
            folder.model_bytes(key)

    def read_database(keys: list[str]) -> None:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            for key in keys:
                connection.execute("SELECT model FROM models WHERE key = ?", (key,)).fetchone()

    found: dict[str, Any] = {"models": models}
    for name, write, read in (
        ("folder", write_folder, read_folder),
        ("SQLite", write_database, read_database),
    ):
        row = {"write": _cpu(write) / models, "read": _cpu(lambda read=read: read(in_order)) / models}
        row["random"] = _cpu(lambda read=read: read(drawn)) / len(drawn)
        row["bytes"] = sum(file.stat().st_size for file in (files if name == "folder" else [database]))
        found[name] = row
    found["load_model"] = _cpu(lambda: [from_bytes(one) for one in content[:200]]) / len(content[:200])
    return found


def _cpu(function: Callable[[], Any], rounds: int = 3) -> float:
    """Return the least processor time of some calls."""
    costs = []
    for _ in range(rounds):
        begun = time.process_time()
        function()
        costs.append(time.process_time() - begun)
    return min(costs)
