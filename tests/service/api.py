"""A server in this process, and one in another, for the tests of the service."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx

from linmax import Fusion
from linmax.fusion.model_file import fingerprint
from linmax.service.app import Service
from linmax.service.server import first_token

ADMIN = "lmx_" + "a" * 43
LEARNER = "Averaged(Winnow(1.2))"
BASE = "http://127.0.0.1"
LONGEST_START = 300.0  # seconds until a server is ready on a machine that does much else


class Api:
    """Requests to a server, as its administrator unless another token is given."""

    def __init__(self, service: Service, client: httpx.AsyncClient) -> None:
        self.service = service
        self.client = client
        self.tokens: list[str] = []

    async def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        content = {} if body is None else {"json": body}
        return await self.client.request(method, path, **content, **more)

    async def create(self, name: str = "spam", **settings: Any) -> httpx.Response:
        return await self("PUT", f"/v1/fusions/{name}", {"learner": LEARNER, **settings})

    async def predict(self, id_: str | None, name: str = "spam", **votes: Any) -> httpx.Response:
        given = {} if id_ is None else {"id": id_}
        return await self("POST", f"/v1/fusions/{name}/predict", {**given, "votes": votes})

    async def label(self, id_: str, label: Any, name: str = "spam", **more: Any) -> httpx.Response:
        return await self("POST", f"/v1/fusions/{name}/labels", {"id": id_, "label": label, **more})

    async def learn(self, id_: str | None, label: Any, name: str = "spam", **votes: Any) -> httpx.Response:
        given = {} if id_ is None else {"id": id_}
        return await self("POST", f"/v1/fusions/{name}/learn", {**given, "label": label, "votes": votes})

    async def describe(self, name: str = "spam") -> dict[str, Any]:
        """The description of a fusion, when nothing is rebuilt any more."""
        for _ in range(3000):
            found = (await self("GET", f"/v1/fusions/{name}")).json()
            if not found["rebuilding"]:
                return dict(found)
            await asyncio.sleep(0.01)
        raise TimeoutError

    async def digest(self, name: str = "spam") -> str:
        return str((await self.describe(name))["digest"])

    async def token(self, *scopes: str, fusions: str = "*", **more: Any) -> dict[str, str]:
        """The header with a new token."""
        name = "-".join(scopes)
        self.tokens.append(name)
        if self.tokens.count(name) > 1:
            name = f"{name} {len(self.tokens)}"
        wanted = {"name": name, "scopes": scopes, "fusions": fusions, **more}
        made = await self("POST", "/v1/tokens", wanted)
        assert made.status_code == 201, made.text
        return {"authorization": f"Bearer {made.json()['token']}"}


@contextlib.asynccontextmanager
async def serving(folder: Path, **options: Any) -> AsyncIterator[Api]:
    """A server in this process, without a socket."""
    service = Service(folder, **options)
    first_token(service, ADMIN)
    transport = httpx.ASGITransport(app=service.app())
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with (
        service.lifespan(None),
        httpx.AsyncClient(transport=transport, base_url=BASE, headers=headers) as client,
    ):
        yield Api(service, client)


def code(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of an error."""
    body = response.json()
    assert body["status"] == response.status_code
    assert body["detail"] == body["error"]["message"]
    assert "\n" not in body["detail"]
    return response.status_code, body["error"]["code"]


def digest_of(*trials: tuple[dict[str, Any], Any], learner: str = LEARNER, classes: Any = None) -> str:
    """The digest of a new session that has learned these trials."""
    fusion = Fusion(learner, classes=classes)
    for votes, label in trials:
        fusion.learn_one(votes, label)
    return fingerprint(fusion)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


PROGRAM = """
import json, sys
from pathlib import Path
from linmax.service import app
from linmax.service.fusions import served_panels
from linmax.service.server import serve
options = json.loads(sys.argv[3])
served_panels.SNAPSHOT_EVERY = options.pop("snapshot_every", served_panels.SNAPSHOT_EVERY)
app.SWEEP_EVERY = app.COMPACT_EVERY = options.pop("sweep_every", app.SWEEP_EVERY)
serve(Path(sys.argv[1]), port=int(sys.argv[2]), announce=lambda line: None, **options)
"""


@contextlib.contextmanager
def server_process(folder: Path, **options: Any) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server in another process that is ready; killed at the end if it still runs."""
    port = free_port()
    words = [sys.executable, "-c", PROGRAM, str(folder), str(port), json.dumps(options)]
    child = subprocess.Popen(words, env={**os.environ, "LINMAX_ADMIN_TOKEN": ADMIN})
    base = f"http://127.0.0.1:{port}"
    try:
        # one client: a new one loads all certificates, which takes longer than a request
        with httpx.Client(base_url=base, trust_env=False, verify=False, timeout=60.0) as client:
            end = time.monotonic() + LONGEST_START
            while True:
                assert child.poll() is None, "the server has ended"
                with contextlib.suppress(httpx.TransportError):
                    if client.get("/readyz").status_code == 200:
                        break
                assert time.monotonic() < end, f"the server is not ready after {LONGEST_START:.0f} s"
                time.sleep(0.05)
        yield child, base
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
        child.wait()
