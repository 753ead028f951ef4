"""`make bench-scale`: keys, tasks and shards: rows per second, memory, overhead, what mixing and stores cost.

Every method runs in a process of its own, on the same files, after all of them have run on a few rows, so
that none has to compile kernels. CPU seconds include those of its workers, and other load on the machine
hardly changes them; wall seconds are those of a machine that may be busy. What is measured is kept at once.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from rich.console import Console

from benchmarks.checkpoint import Checkpoint
from benchmarks.scale_stores import CLASSES, EXPERTS, LEARNER, stores
from benchmarks.timing import machine, time_process
from linmax import Averaged, Fusion, Perceptron
from linmax._files import write_atomic
from linmax.problems import majority
from linmax.scale import keyed, mix, open_engine, sweep

RESULTS = Path(__file__).parent / "results" / "scale.json"
SWEPT = ("Winnow(1.2)", "Averaged(Winnow(1.2))", "Perceptron()", "Averaged(Perceptron())")
FILES = 16
UNFINISHED = Path(__file__).parents[1] / ".cache" / "bench-scale.json"
"""What a run that was stopped has measured."""
PARTS = ("keys", "tasks", "scaling", "mixing", "stores")
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


def measure_keys(
    data: Path, home: Path, methods: tuple[str, ...], rows: int, kept: Checkpoint
) -> list[dict[str, Any]]:
    """Run every method in a process of its own."""
    found = []
    for method in methods:
        row = kept.measure(f"keys, {method}", partial(measure_method, method, data, home))
        facts = (
            f"{rows / row['wall']:,.0f} rows/s, {rows / row['cpu']:,.0f} rows per CPU s, {row['mb']:,.0f} MB"
        )
        workers = f", {row['worker_mb']:,.0f} MB in a worker" if row["worker_mb"] else ""
        kept.console.print(f"  {facts}{workers}", highlight=False, soft_wrap=True)
        found.append(row)
    return found


def measure_method(method: str, data: Path, home: Path) -> dict[str, Any]:
    """Run a method in a process of its own; return what it has found and its cost."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", method, str(data), str(home / method)]
    cost, output = time_process(command)
    found = json.loads(output.splitlines()[-1])
    return {"method": method, "wall": cost.wall, "cpu": cost.cpu, "load": os.getloadavg()[0], **found}


def warm_up(home: Path, methods: tuple[str, ...]) -> None:
    """Run every method on a few rows, so that none of them has to compile kernels when it is measured."""
    write_data(home / "few", 50 * FILES, 4)
    for method in methods:
        measure_method(method, home / "few", home / "few models")


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


def scaling(data: Path, home: Path, rounds: int, kept: Checkpoint) -> dict[str, float]:
    """Return the share of the speed of two independent processes that two workers reach.

    For keys, each of the independent processes learns half of them; the split is not counted.
    """
    ratios = [
        kept.measure(
            f"scaling of keys, round {number + 1}", partial(_keyed_scaling, data, home / str(number))
        )
        for number in range(rounds)
    ]
    swept = kept.measure("scaling of a sweep", lambda: _sweep_scaling(data, rounds))
    return {"keyed": float(np.median(ratios)), **swept}


def _keyed_scaling(data: Path, store: Path) -> float:
    command = [sys.executable, "-m", "benchmarks.scale", "--child"]
    _, output = time_process([*command, "2 workers", str(data), str(store)])
    together = json.loads(output.splitlines()[-1])["learn"]
    halves = [
        subprocess.Popen([*command, "1 worker", f"{data}{name}", f"{store}{name}"], stdout=subprocess.PIPE)
        for name in HALVES
    ]
    alone = [json.loads(half.communicate()[0].splitlines()[-1])["learn"] for half in halves]
    return float(max(alone) / together)


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


def measure_parts(
    parts: list[str], rows: int, keys: int, methods: tuple[str, ...], kept: Checkpoint, *, quick: bool
) -> Iterator[tuple[str, Any]]:
    """Yield each part and its figures."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data = home / "data"
        if {"keys", "scaling"} & {*parts}:
            kept.console.print(f"writing {rows:,} rows of {keys:,} keys ...", highlight=False)
            write_data(data, rows, keys)
            if not quick:
                kept.console.print("warming up ...")
                warm_up(home, methods)
        if "keys" in parts:
            size = sum(one.stat().st_size for one in data.iterdir())
            costs = measure_keys(data, home, methods, rows, kept)
            assert len({one["mistakes"] for one in costs}) == 1, "all methods learn the same"
            load = float(np.mean([one["load"] for one in costs]))
            yield "keys", {"rows": rows, "keys": keys, "bytes": size, "load": load, "methods": costs}
        if "tasks" in parts:
            yield "tasks", kept.measure("tasks", lambda: overhead(50 if quick else 1000))
        if "scaling" in parts:
            yield "scaling", scaling(data, home, 1 if quick else 3, kept)
        if "mixing" in parts:
            yield "mixing", kept.measure("mixing", lambda: mixing(26_000 if quick else 220_000))
        if "stores" in parts:
            (home / "stores").mkdir()
            models = 500 if quick else 100_000
            yield "stores", kept.measure("stores", lambda: stores(models, home / "stores"))


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
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run of the same size that was stopped.")
    ] = False,
    results: Annotated[Path, typer.Option(help="The file of results.")] = RESULTS,
) -> None:
    """Measure, print and store."""
    console = Console()
    parts = only or list(PARTS)
    for part in parts:
        if part not in PARTS:
            raise typer.BadParameter(f"there is no part {part!r}, only {', '.join(PARTS)}")
    if method and parts != ["keys"]:
        raise typer.BadParameter("--method requires --only keys")
    rows, keys = (40_000, 40) if quick else (rows, keys)
    methods = tuple(method or (METHODS[:4] if quick else METHODS))
    settings = {"rows": rows, "keys": keys, **machine()}
    kept = Checkpoint(None if quick else UNFINISHED, settings, console, resume=resume)
    try:
        for name, figures in measure_parts(parts, rows, keys, methods, kept, quick=quick):
            console.print_json(json.dumps({name: figures}))
            if not quick:
                stored = json.loads(results.read_text()) if results.exists() else {}
                place = "some keys" if method else name
                content = json.dumps({**stored, **machine(), place: figures}, indent=1) + "\n"
                write_atomic(results, content.encode())
    except KeyboardInterrupt:
        console.print(
            f"stopped; measured and kept: {', '.join(kept.results) or 'nothing'}; go on with --resume"
        )
        raise typer.Exit(130) from None
    kept.finish()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        try:
            child(*sys.argv[2:])
        except KeyboardInterrupt:  # the program that has started this one tells
            sys.exit(130)
    else:
        typer.run(main)
