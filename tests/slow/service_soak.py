"""Kill a server at random moments under load, and look for what it has acknowledged: `make soak`."""

from __future__ import annotations

import argparse
import json
import math
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from rich.progress import track

from linmax.service.event_log.database import Database
from linmax.service.fusions import replay
from tests.service.api import ADMIN, LEARNER, LONGEST_START, digest_of, server_process

HEADERS = {"authorization": f"Bearer {ADMIN}"}
FUSION = "/v1/fusions/spam"
STOPS = signal.SIGHUP, signal.SIGTERM, signal.SIGINT
Sent = dict[tuple[str, str], tuple[dict[str, Any], Any]]  # (verb, id): request, answer or None


def load(base: str, seed: int, turn: int, sent: Sent) -> None:
    """Send requests until the server is gone; note what was sent, and what was answered."""
    chance = random.Random(f"{seed} {turn}")

    def send(verb: str, body: dict[str, Any]) -> None:
        key = verb, body["id"]
        sent[key] = body, None
        answer = client.post(f"{FUSION}/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        sent[key] = body, answer.json()

    def send_batch(verb: str, bodies: list[dict[str, Any]]) -> None:
        for body in bodies:
            sent[verb, body["id"]] = body, None
        for body, line in zip(bodies, post_lines(client, verb, bodies), strict=True):
            if "error" not in line:  # the last ones when the server is killed
                sent[verb, body["id"]] = body, line

    with httpx.Client(base_url=base, headers=HEADERS, trust_env=False, timeout=30.0) as client:
        try:
            for number in range(1_000_000):
                id_ = f"{turn}-{seed}-{number}"
                votes: dict[str, Any] = {name: chance.choice("xyz") for name in ("ann", "bob", "eve")}
                if number % 50 == 49:  # most rows of the batch are learned one by one
                    scores = votes | {"ann": {"x": chance.random(), "y": 0.5}}
                    send_batch(
                        "learn",
                        [
                            {"id": f"{id_}-{row}", "votes": scores if row % 20 else votes, "label": "x"}
                            for row in range(chance.choice([5, 300]))
                        ],
                    )
                elif chance.random() < 0.3:
                    send("learn", {"id": id_, "votes": votes, "label": chance.choice("xyz")})
                else:
                    send("predict", {"id": id_, "votes": votes})
                    send("labels", {"id": id_, "label": chance.choice("xyz")})
        except httpx.TransportError:
            pass


def post_lines(client: httpx.Client, verb: str, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send a batch; return its answers."""
    lines = "\n".join(map(json.dumps, bodies))
    answer = client.post(f"{FUSION}/{verb}", content=lines, headers={"content-type": "application/x-ndjson"})
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def repeat(base: str, sent: Sent) -> tuple[int, int, str, str]:
    """Repeat every request: what was answered is answered alike, and what was not is done now.

    Returns
    -------
    tuple
        The number of events that had been acknowledged, of those among them that are lost or changed, the
        digest of the server, and that of a session that learned the same trials.
    """
    acknowledged = wrong = 0
    trials: list[tuple[int, dict[str, Any], str]] = []
    with httpx.Client(base_url=base, headers=HEADERS, trust_env=False, timeout=60.0) as client:
        for verb in ("predict", "learn", "labels"):
            keys = [key for key in sent if key[0] == verb]
            for start in range(0, len(keys), 5000):
                part = keys[start : start + 5000]
                answers = post_lines(client, verb, [sent[key][0] for key in part])
                for key, answer in zip(part, answers, strict=True):
                    body, before = sent[key]
                    acknowledged += before is not None
                    wrong += before is not None and before != answer
                    assert "error" not in answer or before is not None, answer
                    if verb != "predict" and "error" not in answer:
                        votes = body if verb == "learn" else sent["predict", key[1]][0]
                        trials.append((answer["position"], votes["votes"], body["label"]))
        found = client.get(FUSION).json()
    trials.sort(key=lambda trial: trial[0])
    assert len({position for position, _, _ in trials}) == len(trials)
    return acknowledged, wrong, found["digest"], digest_of(*(trial[1:] for trial in trials))


def kill_server(folder: Path, turn: int, clients: int, seconds: float, sent: Sent) -> None:
    """Start the server, load it, and kill it after so many seconds."""
    with server_process(folder) as (child, base):
        httpx.put(
            base + FUSION, json={"learner": LEARNER}, headers=HEADERS, trust_env=False, timeout=LONGEST_START
        )
        threads = [threading.Thread(target=load, args=(base, seed, turn, sent)) for seed in range(clients)]
        for thread in threads:
            thread.start()
        wait = time.monotonic() + 30.0
        while turn == 0 and time.monotonic() < wait and not any(answer for _, answer in [*sent.values()]):
            time.sleep(0.01)  # the first kill has something to lose, also on a slow machine
        time.sleep(seconds)
        child.send_signal(signal.SIGKILL)
        child.wait()
        for thread in threads:
            thread.join()


def soak(
    kills: int, clients: int, longest: float, seed: int = 0, minutes: float = math.inf
) -> tuple[int, int, int, bool]:
    """The kills, the acknowledged events, those that were lost or changed, and whether the states agree.

    After so many minutes there are no more kills, and what was done is checked.
    """
    chance = random.Random(seed)
    sent: Sent = {}
    end = time.monotonic() + 60 * minutes
    done = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        for turn in track(range(kills), "killing", disable=not sys.stderr.isatty()):
            if time.monotonic() > end:
                break
            kill_server(folder, turn, clients, chance.uniform(0.05, longest), sent)
            done += 1
        with server_process(folder) as (child, base):
            acknowledged, wrong, digest, expected = repeat(base, sent)
            child.send_signal(STOPS[done % len(STOPS)])
            child.wait(60)
        database = Database(folder, read_only=True)
        problems = replay.verify(database)
        if (digest,) not in database.rows("SELECT digest FROM snapshots"):
            problems.append("the server did not store its state when it ended")
        database.close()
    for line in problems:
        print(line, file=sys.stderr)
    return done, acknowledged, wrong, digest == expected and not problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--service-kills", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=math.inf, help="of each of the two runs, at most")
    options, _ = parser.parse_known_args()
    bad = False
    for kills, clients in (
        (options.service_kills, options.clients),
        (max(1, options.service_kills // 10), 50),
    ):
        done, acknowledged, wrong, same = soak(kills, clients, 1.0, minutes=options.minutes)
        print(
            f"{done} kills, {clients} clients: {wrong} of {acknowledged} acknowledged events lost;",
            "the state is that of the events" if same else "THE STATE IS NOT THAT OF THE EVENTS",
            flush=True,
        )
        bad |= wrong > 0 or not same
    sys.exit(bad)


if __name__ == "__main__":
    main()
