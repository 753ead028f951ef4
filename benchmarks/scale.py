"""`make bench-scale`: keys, tasks and shards: rows per second, memory, overhead, what mixing and stores cost.

Every method runs in a process of its own. CPU seconds include those of its workers, and other load on the
machine hardly changes them; wall seconds are those of a machine that may be busy.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console

from benchmarks.timing import machine, time_process
from linmax import Averaged, Fusion, Perceptron
from linmax.fusion.model_file import from_bytes, to_bytes
from linmax.problems import majority
from linmax.scale import KeyedModels, keyed, mix, open_engine, store, sweep
from linmax.scale.split import bucket_of
from linmax.scale.store import write_manifest

RESULTS = Path(__file__).parent / "results" / "scale.json"
LEARNER = "Averaged(Winnow(1.2))"
SWEPT = ("Winnow(1.2)", "Averaged(Winnow(1.2))", "Perceptron()", "Averaged(Perceptron())")
EXPERTS, CLASSES, FILES = 10, 5, 16
METHODS = ("loop", "pandas", "polars", "1 worker", "2 workers", "local cluster")
HALVES = ("-even", "-odd")
SHARDS = (1, 2, 4, 8, 16, 32, 64)


def write_data(folder: Path, rows: int, keys: int) -> None:
    """Write votes of some keys to Parquet files, and those of each half of the keys to other folders."""
    for name in ("", *HALVES):
        (folder.parent / (folder.name + name)).mkdir(parents=True)
    names = np.array([f"class {c}" for c in range(CLASSES)])
    for part in range(FILES):
        count = rows // FILES
        votes, labels = majority(count, experts=EXPERTS, classes=CLASSES, noise=0.1, seed=part)
        own = np.random.default_rng(part).integers(0, keys, count)
        columns: dict[str, Any] = {"customer": [f"c{key}" for key in own.tolist()], "when": np.arange(count)}
        columns |= {f"e{j}": names[votes[:, j]] for j in range(EXPERTS)}
        table = pa.table({**columns, "truth": names[labels]})
        pq.write_table(table, folder / f"part-{part:02}.parquet")
        for number, name in enumerate(HALVES):
            half = table.filter(pa.array(own % 2 == number))
            pq.write_table(half, folder.parent / (folder.name + name) / f"part-{part:02}.parquet")


def run_method(method: str, data: str, store: str) -> dict[str, Any]:
    """Learn one session per key with a method; return the seconds of its steps, and the mistakes."""
    votes = [f"e{j}" for j in range(EXPERTS)]
    begun = time.perf_counter()
    if method == "loop":
        table = pa.concat_tables([pq.read_table(one) for one in sorted(Path(data).iterdir())])
        found = table.sort_by([("customer", "ascending"), ("when", "ascending")])
        keys, starts = np.unique(found.column("customer").to_numpy(zero_copy_only=False), return_index=True)
        mistakes = 0
        for start, stop in zip(starts, [*starts[1:], len(found)], strict=True):
            own = found.slice(start, stop - start)
            mistakes += Fusion(LEARNER).learn(own.select(votes), own.column("truth").to_pylist()).mistakes
        return {"mistakes": mistakes, "keys": len(keys), "learn": time.perf_counter() - begun}
    if method == "pandas":
        import pandas as pd

        frame = pd.read_parquet(data)
        groups = frame.groupby("customer", sort=False)

        def learn(own: Any) -> int:
            own = own.sort_values("when", kind="stable")
            return Fusion(LEARNER).learn(own[votes], own["truth"]).mistakes

        found = groups.apply(learn, include_groups=False)
        return {"mistakes": int(found.sum()), "keys": len(found), "learn": time.perf_counter() - begun}
    if method == "polars":
        import polars as pl

        def learned(own: Any) -> Any:
            own = own.sort("when", maintain_order=True)
            run = Fusion(LEARNER).learn(own.select(votes), own["truth"])
            return pl.DataFrame({"mistakes": [run.mistakes]})

        found = pl.read_parquet(f"{data}/*.parquet").group_by("customer").map_groups(learned)
        return {
            "mistakes": int(found["mistakes"].sum()),
            "keys": len(found),
            "learn": time.perf_counter() - begun,
        }
    cluster = "local" if method == "local cluster" else None
    steps: dict[str, float] = {}

    def note(what: str, done: int, total: int) -> None:
        if what == "learn" and not done:
            steps["split_bytes"] = sum(one.stat().st_size for one in (Path(store) / "split").iterdir())
        steps[what] = time.perf_counter() - begun

    with open_engine(cluster, 1 if method == "1 worker" else 2) as engine:
        begun = time.perf_counter()
        result = keyed(
            data, by="customer", store=store, learner=LEARNER, time="when", label="truth", cluster=engine,
            buckets=64, on_progress=note,
        )  # fmt: skip
    steps["learn"] -= steps["split"]
    mistakes = sum(result.models.table().column("mistakes").to_pylist())
    size = sum(path.stat().st_size for path in Path(store).glob("models-*.parquet"))
    return {"mistakes": mistakes, "keys": result.keys, "model_bytes": size, **steps}


def child(method: str, data: str, store: str) -> None:
    """Run a method, and print what it has found and the largest memory of one of its processes."""
    found = run_method(method, data, store)
    status = Path(
        "/proc/self/status"
    ).read_text()  # ru_maxrss would include the program that has started this one
    own = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps({**found, "mb": own, "worker_mb": workers}))


def measure_keys(data: Path, home: Path, methods: tuple[str, ...], console: Console) -> list[dict[str, Any]]:
    """Run every method in a process of its own."""
    rows = []
    for method in methods:
        command = [sys.executable, "-m", "benchmarks.scale", "--child", method, str(data), str(home / method)]
        cost, output = time_process(command)
        row = {"method": method, "wall": cost.wall, "cpu": cost.cpu, **json.loads(output.splitlines()[-1])}
        console.print(
            {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}
        )
        rows.append(row)
    return rows


def do_nothing(number: int) -> int:
    """A task."""
    return number


def overhead(tasks: int) -> dict[str, float]:
    """Return the milliseconds per task that does nothing, after one round of warm-up."""
    found = {}
    for name, cluster in (("processes", None), ("local cluster", "local")):
        begun = time.perf_counter()
        with open_engine(cluster, 2) as engine:
            engine.gather(engine.map(do_nothing, range(4)))
            found[f"{name}, start"] = 1e3 * (time.perf_counter() - begun)
            begun = time.perf_counter()
            engine.gather(engine.map(do_nothing, range(tasks)))
            found[name] = 1e3 * (time.perf_counter() - begun) / tasks
    return found


def scaling(data: Path, home: Path, rounds: int) -> dict[str, float]:
    """Return the share of the speed of two independent processes that two workers reach.

    For keys, each of the independent processes learns half of them; the split is not counted.
    """
    ratios = []
    for number in range(rounds):
        command = [sys.executable, "-m", "benchmarks.scale", "--child"]
        store = str(home / f"two {number}")
        _, output = time_process([*command, "2 workers", str(data), store])
        together = json.loads(output.splitlines()[-1])["learn"]
        halves = [
            subprocess.Popen([*command, "1 worker", f"{data}{name}", store + name], stdout=subprocess.PIPE)
            for name in HALVES
        ]
        alone = [json.loads(half.communicate()[0].splitlines()[-1])["learn"] for half in halves]
        ratios.append(max(alone) / together)
    return {"keyed": float(np.median(ratios)), **_sweep_scaling(data, rounds)}


def _sweep_scaling(data: Path, rounds: int) -> dict[str, float]:
    files = [str(one) for one in sorted(data.iterdir())[:1]]
    columns: Any = {"label": "truth", "ignore": ("customer", "when")}
    ratios = []
    with open_engine(None, 2) as engine:
        sweep(SWEPT, {"data": files}, cluster=engine, **columns)
        for _ in range(rounds):
            begun = time.perf_counter()
            sweep(SWEPT, {"data": files}, [None, 1], cluster=engine, **columns)
            together = time.perf_counter() - begun
            begun = time.perf_counter()
            halves = [engine.submit(run_half, files, columns, order) for order in (None, 1)]
            engine.gather(halves)
            ratios.append((time.perf_counter() - begun) / together)
    return {"sweep": float(np.median(ratios)), "rounds": rounds}


def run_half(files: list[str], columns: dict[str, Any], order: int | None) -> int:
    """Run the learners one after the other, as an independent process would."""
    return len(sweep(SWEPT, {"data": files}, [order], workers=1, **columns))


def mixing(trials: int, epochs: int = 1) -> list[dict[str, Any]]:
    """Compare shards: mistakes on the way, accuracy on new items, and the CPU seconds of a shard.

    The first row, with 0 shards, is one pass of the averaged rule.
    """
    votes, labels = majority(trials, relevant=5, experts=20, noise=0.1, seed=0)
    new_votes, new_labels = votes[-20_000:], labels[-20_000:]
    votes, labels = votes[:-20_000], labels[:-20_000]
    averaged = Fusion(Averaged(Perceptron()))
    on_one = averaged.learn(votes, labels).mistakes
    rows = [
        {
            "shards": 0,
            "mistakes": on_one,
            "accuracy": float((averaged.predict(new_votes) == new_labels).mean()),
        }
    ]
    for shards in SHARDS:
        parts = list(zip(np.array_split(votes, shards), np.array_split(labels, shards), strict=True))
        result = mix(Perceptron(), parts, epochs=epochs, workers=1)
        begun = time.process_time()
        Fusion(Perceptron()).learn(*parts[0])
        rows.append(
            {
                "shards": shards,
                "mistakes": int(result.mistakes.sum()),
                "mixed_mistakes": result.mixed_mistakes,
                "accuracy": float((result.fusion.predict(new_votes) == new_labels).mean()),
                "shard_seconds": time.process_time() - begun,
            }
        )
    return rows


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


def main(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small data, in seconds; nothing is stored.")
    ] = False,
    rows: Annotated[int, typer.Option(help="The rows of the data set.")] = 10_000_000,
    keys: Annotated[int, typer.Option(help="Its keys.")] = 10_000,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="keys, tasks, scaling, mixing, stores.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", help="With --only keys: some methods; they are stored as a run of their own."
        ),
    ] = None,
) -> None:
    """Measure, print and store."""
    console = Console()
    parts = only or ["keys", "tasks", "scaling", "mixing", "stores"]
    rows, keys = (40_000, 40) if quick else (rows, keys)
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() and not quick else {}
    found: dict[str, Any] = {**stored, **machine()}
    with tempfile.TemporaryDirectory() as home:
        data = Path(home) / "data"
        if {"keys", "scaling"} & {*parts}:
            write_data(data, rows, keys)
        if "keys" in parts:
            methods = tuple(method or (METHODS[:4] if quick else METHODS))
            size = sum(one.stat().st_size for one in data.iterdir())
            costs = measure_keys(data, Path(home), methods, console)
            parts = [{"keys": "some keys"}.get(part, part) if method else part for part in parts]
            found[parts[0] if method else "keys"] = {
                "rows": rows, "keys": keys, "bytes": size, "load": os.getloadavg()[1], "methods": costs,
            }  # fmt: skip
            assert len({one["mistakes"] for one in costs}) == 1, "all methods learn the same"
        if "tasks" in parts:
            found["tasks"] = overhead(50 if quick else 1000)
        if "scaling" in parts:
            found["scaling"] = scaling(data, Path(home), 1 if quick else 3)
        if "mixing" in parts:
            found["mixing"] = mixing(26_000 if quick else 220_000)
        if "stores" in parts:
            (Path(home) / "stores").mkdir()
            found["stores"] = stores(500 if quick else 100_000, Path(home) / "stores")
    console.print_json(json.dumps({name: found[name] for name in parts}))
    if not quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        typer.run(main)
