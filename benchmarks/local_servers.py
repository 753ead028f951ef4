"""Servers in other processes: the service, and the raw echo that it is compared with."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx

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
import sys, time
from pathlib import Path
from linmax.service.event_log.database import Database
from linmax.service.server import serve
delay, commit = float(sys.argv[3]), Database._commit
def commit_slowly(self, writes):
    time.sleep(delay)
    return commit(self, writes)
if delay:
    Database._commit = commit_slowly
serve(Path(sys.argv[2]), port=int(sys.argv[1]), announce=lambda line: None)
"""


class Server(NamedTuple):
    """A server in another process."""

    base: str
    process: subprocess.Popen[bytes]

    def cpu(self) -> float:
        """The seconds of CPU time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(*words: str) -> Iterator[Server]:
    """Run a server in another process, whose port is the word that is empty."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [word or str(port) for word in words]
    child = subprocess.Popen(command, env={**os.environ, "LINMAX_ADMIN_TOKEN": TOKEN})
    base = f"http://127.0.0.1:{port}"
    try:
        while True:
            if child.poll() is not None:
                raise RuntimeError(f"{command[0]} ... has ended with {child.returncode}")
            with contextlib.suppress(httpx.TransportError):
                httpx.get(base + "/readyz", trust_env=False)
                break
            time.sleep(0.02)
        yield Server(base, child)
    finally:
        child.terminate()
        child.wait()


def serving(folder: Path, delay: float = 0.0) -> contextlib.AbstractContextManager[Server]:
    """Run the service."""
    return running(sys.executable, "-c", SERVER, "", str(folder), str(delay))
