"""`make bench-service`: requests per second of a server, beside a raw ASGI echo in the same run (needs wrk).

wrk and the servers share the machine, so only ratios are comparable between machines: of the rates, and of
the CPU time of the server per request, which other load on the machine hardly changes.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import httpx
import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.local_servers import ECHO, HEADERS, TOKEN, Server, running, serving
from benchmarks.markdown import table
from benchmarks.peers.environment import PeersMissingError, python
from benchmarks.timing import machine
from linmax.client import Client
from linmax.client.requests import Call, table_batch
from linmax.service.event_log.database import Database
from linmax.service.fusions import replay
from linmax.service.messages.requests import FusionSettings

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PEERS = Path(__file__).parent / "peers"
LUA = """
local paths, bodies = {}, {}
for line in io.lines("%(requests)s") do
  local path, body = line:match("^(%%S*) (.*)$")
  paths[#paths + 1], bodies[#bodies + 1] = path, body
end
local next = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer %(token)s"
wrk.headers["Content-Type"] = "application/json"
request = function()
  next = next %% #bodies + 1
  return wrk.format(nil, paths[next], nil, bodies[next])
end
"""
LEARNERS = {"Averaged(Winnow(1.2))": "Averaged(Winnow(1.2))", "Fusion()": None}
FUSION = "/v1/fusions/panel"
MANY, DELAY = 256, 0.01  # connections, and seconds per commit of a slow disk
ROWS = 1000  # of a batch
BEHIND = 19_999  # labels behind the snapshot of a server that is killed
Requests = list[tuple[str, str]]  # path, body


class Rate(NamedTuple):
    """What wrk reports, and the CPU time of the server per request in microseconds."""

    per_second: float
    p99_ms: float
    cpu_us: float


def measure(server: Server, requests: Requests, connections: int, seconds: int) -> Rate:
    """Load a server with requests, in their order and again from the first."""
    with tempfile.TemporaryDirectory() as name:
        file, script = Path(name) / "requests", Path(name) / "script.lua"
        file.write_text("\n".join(f"{path} {body}" for path, body in requests))
        script.write_text(LUA % {"requests": file, "token": TOKEN})
        words = [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds}s",
            "--latency",
            "-s",
            str(script),
            server.base,
        ]
        before = server.cpu()
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        used = server.cpu() - before
    if "Non-2xx" in shown:
        raise ValueError(f"some requests to {requests[0][0]} were refused: {shown}")
    rate = float(re.findall(r"Requests/sec:\s*([\d.]+)", shown)[0])
    number, unit = re.findall(r"99%\s*([\d.]+)(us|ms|s)", shown)[0]
    done = int(re.findall(r"(\d+) requests in", shown)[0])
    return Rate(rate, float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit], 1e6 * used / done)


def make_items(items: int, prefix: str) -> list[dict[str, Any]]:
    """Items of twenty experts and three classes."""
    chance = np.random.default_rng(0)
    votes = chance.integers(3, size=(items, 20))
    return [
        {"id": f"{prefix}{i:07}", "votes": {f"expert {j}": "abc"[vote] for j, vote in enumerate(row)}}
        for i, row in enumerate(votes)
    ]


def labels_of(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A label for each item."""
    return [{"id": one["id"], "label": "abc"[i % 3]} for i, one in enumerate(items)]


def to(path: str, bodies: list[dict[str, Any]]) -> Requests:
    """Requests to one path."""
    return [(path, json.dumps(body)) for body in bodies]


def mix(first: Requests, second: Requests) -> Requests:
    """Requests of both, in turn."""
    return [one for pair in zip(first, second, strict=True) for one in pair]


def send_lines(server: Server, verb: str, bodies: list[dict[str, Any]]) -> float:
    """Send batches of 1000; return the items per second."""
    kind = {**HEADERS, "content-type": "application/x-ndjson"}
    start = time.perf_counter()
    with httpx.Client(base_url=server.base, headers=kind, timeout=600.0, trust_env=False) as client:
        for at in range(0, len(bodies), 1000):
            lines = "\n".join(json.dumps(body) for body in bodies[at : at + 1000])
            client.post(f"{FUSION}/{verb}", content=lines).raise_for_status()
    return len(bodies) / (time.perf_counter() - start)


def create(server: Server, learner: str | None) -> None:
    """Create the fusion, and teach it some items."""
    settings = {} if learner is None else {"learner": learner}
    url = server.base + FUSION
    httpx.put(url, json=settings, headers=HEADERS, timeout=600.0, trust_env=False).raise_for_status()
    taught = [{**item, "label": "abc"[i % 3]} for i, item in enumerate(make_items(2000, "l"))]
    send_lines(server, "learn", taught)


def echo_rate(connections: int, seconds: int) -> Rate:
    """The rate of a raw ASGI application that returns the body."""
    with running(sys.executable, "-c", ECHO, "") as server:
        return measure(server, to("/", make_items(1000, "e")), connections, seconds)


def measure_single(learner: str | None, connections: int, seconds: int, items: int) -> dict[str, Rate]:
    """Measure single requests, each acknowledged after it is on disk."""
    found: dict[str, Rate] = {}
    predict, label = FUSION + "/predict", FUSION + "/labels"
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as server:
        create(server, learner)
        found["predict"] = measure(server, to(predict, make_items(items, "p")), connections, seconds)
        waiting = make_items(items, "w")
        send_lines(server, "predict", waiting)
        found["label by id"] = measure(server, to(label, labels_of(waiting)), connections, seconds)
        waiting = make_items(items, "x")
        send_lines(server, "predict", waiting)
        both = mix(to(predict, make_items(items, "m")), to(label, labels_of(waiting)))
        found["half and half"] = measure(server, both, connections, seconds)
        unknown = [
            {**item, "votes": {**item["votes"], f"unknown {at}": "a"}}
            for at, item in enumerate(make_items(items, "u"))
        ]
        found["predict, with an unknown expert"] = measure(server, to(predict, unknown), connections, seconds)
    waiting = make_items(items, "w")
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name)) as server:
            create(server, learner)
            send_lines(server, "predict", waiting)
        with serving(Path(name)) as server:
            late = labels_of(waiting)
            send_lines(server, "labels", late[:1])  # opens the fusion
            found["label by id, of items on disk"] = measure(
                server, to(label, late[1:]), connections, seconds
            )
    with tempfile.TemporaryDirectory() as name, serving(Path(name), DELAY) as server:
        create(server, learner)
        send_lines(server, "predict", waiting)
        both = mix(to(predict, make_items(items, "m")), to(label, labels_of(waiting)))
        found[f"half and half, {1000 * DELAY:.0f} ms more per commit, {MANY} connections"] = measure(
            server, both, MANY, seconds
        )
    return found


def measure_log(learner: str | None) -> dict[str, float]:
    """Measure batches, the time until a server that was killed predicts again, and replay."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name)) as server:
            create(server, learner)
            send_lines(server, "predict", make_items(1000, "a"))  # loads the machine code
            items = make_items(BEHIND - 2000, "b")
            found["predict, NDJSON of 1000, items per second"] = send_lines(server, "predict", items)
            found["label, NDJSON of 1000, items per second"] = send_lines(server, "labels", labels_of(items))
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
        start = time.perf_counter()
        with serving(Path(name)) as server:
            body = make_items(1, "after")[0]
            url = server.base + FUSION + "/predict"
            httpx.post(url, json=body, headers=HEADERS, timeout=60.0, trust_env=False).raise_for_status()
            found["seconds to a prediction after a kill"] = time.perf_counter() - start
            found["of them CPU time"] = server.cpu()
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
        database = Database(Path(name), read_only=True)
        settings = FusionSettings(learner)
        start, used = time.perf_counter(), time.process_time()
        state = replay.restore(database, 1, settings, database.last_position())
        found["replay, events per second"] = state.learned / (time.perf_counter() - start)
        found["replay, events per second of CPU time"] = state.learned / (time.process_time() - used)
        assert state.learned == BEHIND
        database.close()
    return found


def measure_tables(learner: str | None, items: int = 20_000) -> dict[str, float]:
    """Measure batches as Arrow streams: sent by the client, one at a time and four at once, and as bytes.

    What the client does to make a stream of a table, and a table of the answer, is included but for bytes.
    """
    votes, labels, learned = make_tables(3 * items + ROWS)
    name = FUSION.rpartition("/")[2]
    found: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as server,
        Client(server.base, TOKEN) as client,
        ThreadPoolExecutor(4) as threads,
    ):
        create(server, learner)
        for what, send, table_ in (
            ("predict", client.predict_table, votes),
            ("label", client.label_table, labels),
            ("learn", client.learn_table, learned),
        ):
            parts = [table_.slice(at, ROWS) for at in range(0, len(table_), ROWS)]
            send(name, parts[0])  # loads the machine code
            half = items // ROWS
            for way, run, some in (
                ("", map, parts[1 : half + 1]),
                (", four at once", threads.map, parts[half + 1 : 2 * half + 1]),
            ):
                start = time.perf_counter()
                list(run(partial(send, name), some))
                rate = items / (time.perf_counter() - start)
                found[f"{what}, Arrow of {ROWS}{way}, items per second"] = rate
            verb = "labels" if what == "label" else what
            calls = [table_batch(name, verb, part) for part in parts[2 * half + 1 :]]
            start = time.perf_counter()
            list(threads.map(partial(send_calls, server), [calls[at::4] for at in range(4)]))
            rate = items / (time.perf_counter() - start)
            found[f"{what}, Arrow of {ROWS}, as bytes, four at once, items per second"] = rate
    return found


def send_calls(server: Server, calls: list[Call]) -> None:
    """Send prepared requests over one connection, and check that each is answered."""
    connection = HTTPConnection(server.base.removeprefix("http://"), timeout=600.0)
    for call in calls:
        connection.request(call.method, call.path, call.body, {**HEADERS, "content-type": call.sends})
        response = connection.getresponse()
        if response.status != 200 or not response.read():
            raise ValueError(f"{call.path} was answered with {response.status}")
    connection.close()


def make_tables(rows: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Tables to predict, to label, and to learn with other ids."""
    items = make_items(rows, "a")
    votes = pa.Table.from_pylist([{"id": one["id"], **one["votes"]} for one in items])
    labels = pa.Table.from_pylist(labels_of(items))
    ids = pa.array([f"b{at:07}" for at in range(rows)])
    return votes, labels, votes.set_column(0, "id", ids).append_column("label", labels["label"])


def measure_peer(connections: int, seconds: int, items: int) -> dict[str, Rate]:
    """Measure a River model behind FastAPI, with nothing on disk."""
    home = ROOT / ".cache" / "peers-service"
    peer = python(home, make=True, requirements=PEERS / "service_requirements.txt")
    with running(str(peer), "-P", str(PEERS / "river_service.py"), "") as server:
        predict = to("/predict", make_items(items, "p"))
        found = {"predict": measure(server, predict, connections, seconds)}
        with httpx.Client(base_url=server.base, trust_env=False) as client:
            for path, body in predict:
                client.post(path, json=json.loads(body)).raise_for_status()
        labels = to("/labels", labels_of(make_items(items, "p")))
        found["label by id"] = measure(server, labels, connections, seconds)
    return found


HEAD = """\
## The service

Generated by `make bench-service`: wrk with 32 connections, the service and its log are on one machine, items
have twenty votes for three classes, and every answer leaves after its event is on disk. The ratio is that to
the rate of a raw ASGI echo of the same body in the same run. CPU time is that of the server per request, all
threads. The peer is a River model behind FastAPI that keeps everything in memory only.

"""


def page(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    lines = [["server", "request", "per second", "ratio", "p99, ms", "CPU, us", "CPU of the echo / CPU"]]
    lines += [
        [one["server"], one["request"], f"{one['per second']:,.0f}", f"{one['ratio']:.3f}",
         f"{one['p99 ms']:.1f}", f"{one['cpu us']:.0f}", f"{one['cpu ratio']:.3f}"]
        for one in results["single"]
    ]  # fmt: skip
    more = [["learner", "what", ""]]
    more += [
        [learner, what, f"{value:,.0f}" if value > 100 else f"{value:.2f}"]
        for learner, found in results["log"].items()
        for what, value in found.items()
    ]
    return HEAD + table(lines) + "\n" + table(more)


def main(
    connections: Annotated[int, typer.Option(help="connections that wrk opens")] = 32,
    seconds: Annotated[int, typer.Option(help="duration of one measurement")] = 5,
    items: Annotated[
        int, typer.Option(help="different items; they are repeated if they do not last")
    ] = 40_000,
    quick: Annotated[bool, typer.Option("--quick", help="one second each; results are not stored")] = False,
) -> None:
    """Measure single requests and batches, recovery and replay."""
    if shutil.which("wrk") is None:
        raise SystemExit("bench-service requires wrk, which is not installed: apt-get install wrk")
    console = Console()
    seconds, items = (1, 5000) if quick else (seconds, items)
    rows: list[dict[str, Any]] = []

    def note(server: str, found: dict[str, Rate], echo: Rate) -> None:
        for request, rate in found.items():
            rows.append({
                "server": server, "request": request, "per second": round(rate.per_second, 1),
                "ratio": round(rate.per_second / echo.per_second, 4), "p99 ms": rate.p99_ms,
                "cpu us": round(rate.cpu_us, 1), "cpu ratio": round(echo.cpu_us / rate.cpu_us, 4),
            })  # fmt: skip

    def note_between_echoes(server: str, measured: Callable[[], dict[str, Rate]]) -> None:
        """The better of two echoes counts: a machine that was busy during one would flatter the ratios."""
        before = echo_rate(connections, seconds)
        found = measured()
        echo = max(before, echo_rate(connections, seconds))
        note("", {"raw ASGI echo": echo}, echo)
        note(server, found, echo)

    for name, learner in LEARNERS.items():
        note_between_echoes(name, partial(measure_single, learner, connections, seconds, items))
    try:
        note_between_echoes("River, FastAPI", partial(measure_peer, connections, seconds, min(items, 5000)))
    except PeersMissingError as error:
        console.print(f"without River: {error}", soft_wrap=True)
    logs = {name: measure_tables(learner) | measure_log(learner) for name, learner in LEARNERS.items()}
    results = {**machine(), "connections": connections, "seconds": seconds, "single": rows, "log": logs}
    shown = Table("server", "request", "per second", "ratio", "p99 ms", "CPU us", "CPU ratio")
    for row in rows:
        shown.add_row(*(str(value) for value in row.values()))
    console.print(shown)
    console.print(logs)
    if not quick:
        (RESULTS / "service.json").write_text(json.dumps(results, indent=1) + "\n")
        console.print(f"results are in {RESULTS / 'service.json'}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
