"""Kill consumers of message logs at random moments, and restart the brokers meanwhile: `make soak`."""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from linmax import load
from linmax.client import Client
from linmax.fusion.model_file import fingerprint
from linmax.service import administration
from linmax.service.local import LocalServer
from tests.scale.brokers import KINDS, Broker, make_broker
from tests.scale.killed import follow_and_kill
from tests.scale.logs import learned, stream
from tests.service.api import LEARNER, serving


async def digest_in(folder: Path) -> str:
    async with serving(folder) as api:
        return await api.digest()


def restart_now_and_then(broker: Broker, end: threading.Event) -> None:
    """Kill a broker and start it again, until the end."""
    chance = random.Random(0)
    while not end.wait(chance.uniform(0.5, 3.0)):
        broker.stop(chance.choice((signal.SIGTERM, signal.SIGKILL)))
        broker.start()


def soak(kind: str, kills: int, items: int) -> bool:
    """Follow a log of one kind into each target with kills; return whether the states are as without."""
    messages, trials = stream(items, delay=60)
    expected = fingerprint(learned(trials))
    end = threading.Event()
    with tempfile.TemporaryDirectory() as name, LocalServer(Path(name) / "server") as server:
        folder = Path(name)
        server.service.items.store.label_wait = 0.0
        (folder / kind).mkdir()
        broker = make_broker(kind, folder / kind)
        log = broker.new_log()
        broker.send(log, messages)
        restarts = threading.Thread(target=restart_now_and_then, args=(broker, end))
        if kind != "kafka":  # the mock is not durable
            restarts.start()
        targets = {
            "model": [str(folder / "panel.linmax")],
            "log": [str(folder / "data")],
            "server": [server.url, server.token, "spam"],
        }
        killed = 0
        for target, words in targets.items():
            begun = time.monotonic()
            killed += follow_and_kill(
                log, {target: words}, LEARNER, kills=kills, longest=1.0, idle=2.0, patient=True
            )
            print(f"{kind} into {target}: {time.monotonic() - begun:.0f} s", flush=True)
        end.set()
        if kind != "kafka":
            restarts.join()
        problems = administration.verify(folder / "data", lambda *_: None)
        with Client(server.url, server.token) as client:
            over_http = client.describe("spam")["digest"]
        found = {
            "model": fingerprint(load(folder / "panel.linmax")),
            "log": asyncio.run(digest_in(folder / "data")),
            "server": over_http,
        }
        broker.stop()
    wrong = [target for target, digest in found.items() if digest != expected]
    verdict = f"WRONG STATES: {', '.join(wrong + problems)}" if wrong or problems else "all states are equal"
    print(f"{kind}: {killed} kills, {len(messages)} messages into each of 3 targets: {verdict}", flush=True)
    return not wrong and not problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--follow-kills", type=int, default=20)
    parser.add_argument("--follow-items", type=int, default=5000)
    options, _ = parser.parse_known_args()
    done = [soak(kind, options.follow_kills, options.follow_items) for kind in KINDS]
    sys.exit(not all(done))


if __name__ == "__main__":
    main()
