"""`make bench-service`: requests per second of a server, beside a raw ASGI echo in the same run (needs wrk).

wrk and the servers share the machine, so only the ratios to the echo are comparable between machines.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import httpx
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

TOKEN = "lmx_" + "b" * 43
HEADERS = {"authorization": f"Bearer {TOKEN}"}
ECHO = """
import sys, uvicorn
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": kind + ".complete"})
            if kind == "lifespan.shutdown":
                return
    body = (await receive()).get("body", b"")
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
"""
SERVER = """
import sys
from pathlib import Path
from linmax.service.server import serve
serve(Path(sys.argv[2]), port=int(sys.argv[1]), announce=lambda line: None)
"""
LUA = """
local bodies = {}
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
local next = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer %(token)s"
request = function()
  next = next %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[next])
end
"""
LEARNERS = {"Averaged(Winnow(1.2))": "Averaged(Winnow(1.2))", "Fusion()": None}


class Rate(NamedTuple):
    """What wrk reports."""

    per_second: float
    p99_ms: float


@contextlib.contextmanager
def running(program: str, *words: str) -> Iterator[str]:
    """Run a server in another process; yield its address."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    words = (sys.executable, "-c", program, str(port), *words)
    child = subprocess.Popen(words, env={**os.environ, "LINMAX_ADMIN_TOKEN": TOKEN})
    base = f"http://127.0.0.1:{port}"
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(base + "/readyz", trust_env=False)
                break
            time.sleep(0.05)
        yield base
    finally:
        child.terminate()
        child.wait()


def measure(url: str, bodies: list[str], connections: int, seconds: int, folder: Path) -> Rate:
    """Load an address with bodies, in their order and again from the first."""
    (folder / "bodies").write_text("\n".join(bodies))
    script = folder / "script.lua"
    script.write_text(LUA % {"bodies": folder / "bodies", "token": TOKEN})
    words = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script), url]
    shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in shown:
        raise ValueError(f"some requests to {url} were refused: {shown}")
    rate = float(re.findall(r"Requests/sec:\s*([\d.]+)", shown)[0])
    number, unit = re.findall(r"99%\s*([\d.]+)(us|ms|s)", shown)[0]
    return Rate(rate, float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit])


def make_items(items: int, prefix: str) -> list[dict[str, object]]:
    """Items of twenty experts and three classes."""
    chance = np.random.default_rng(0)
    votes = chance.integers(3, size=(items, 20))
    return [
        {"id": f"{prefix}{i:07}", "votes": {f"expert {j}": "abc"[vote] for j, vote in enumerate(row)}}
        for i, row in enumerate(votes)
    ]


def post_lines(base: str, verb: str, bodies: list[str]) -> float:
    """Send batches of 1000; return the items per second."""
    kind = {**HEADERS, "content-type": "application/x-ndjson"}
    start = time.perf_counter()
    with httpx.Client(base_url=base, headers=kind, timeout=600.0, trust_env=False) as client:
        for at in range(0, len(bodies), 1000):
            client.post(
                f"/v1/fusions/panel/{verb}", content="\n".join(bodies[at : at + 1000])
            ).raise_for_status()
    return len(bodies) / (time.perf_counter() - start)


def measure_learner(
    learner: str | None, connections: int, seconds: int, items: int
) -> dict[str, Rate | float]:
    """Measure a new server."""
    found: dict[str, Rate | float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(SERVER, str(folder / "data")) as base:
            url = base + "/v1/fusions/panel"
            settings = {} if learner is None else {"learner": learner}
            httpx.put(url, json=settings, headers=HEADERS, timeout=600.0, trust_env=False).raise_for_status()
            taught = [
                json.dumps({**item, "label": "abc"[i % 3]}) for i, item in enumerate(make_items(2000, "l"))
            ]
            found["learn, batches of 1000"] = post_lines(base, "learn", taught)
            single = [json.dumps(item) for item in make_items(items, "p")]
            found["predict"] = measure(url + "/predict", single, connections, seconds, folder)
            waiting = make_items(items, "w")
            found["predict, batches of 1000"] = post_lines(
                base, "predict", [json.dumps(one) for one in waiting]
            )
            labels = [json.dumps({"id": one["id"], "label": "abc"[i % 3]}) for i, one in enumerate(waiting)]
            found["label by id"] = measure(url + "/labels", labels, connections, seconds, folder)
    return found


def main(
    connections: Annotated[int, typer.Option(help="connections that wrk opens")] = 32,
    seconds: Annotated[int, typer.Option(help="duration of one measurement")] = 5,
    items: Annotated[
        int, typer.Option(help="different items; they are repeated if they do not last")
    ] = 40_000,
) -> None:
    """Measure single requests and batches, each acknowledged after it is on disk."""
    if shutil.which("wrk") is None:
        raise SystemExit("bench-service requires wrk, which is not installed: apt-get install wrk")
    body = [json.dumps(item) for item in make_items(1000, "e")]
    table = Table("learner", "request", "per second", "p99 ms", "ratio to the echo")
    for name, learner in LEARNERS.items():
        with tempfile.TemporaryDirectory() as folder, running(ECHO) as base:
            echo = measure(base, body, connections, seconds, Path(folder))
        table.add_row("", "raw ASGI echo", f"{echo.per_second:,.0f}", f"{echo.p99_ms:.1f}", "1")
        for request, rate in measure_learner(learner, connections, seconds, items).items():
            if isinstance(rate, Rate):
                ratio = f"{rate.per_second / echo.per_second:.3f}"
                table.add_row(name, request, f"{rate.per_second:,.0f}", f"{rate.p99_ms:.1f}", ratio)
            else:
                table.add_row(name, request, f"{rate:,.0f} items", "", "")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
