"""A program that follows a log and is killed with SIGKILL at random moments, again and again.

Each run is a fork of this process, which has imported everything; the last one ends by itself.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from linmax import Fusion, load
from linmax.scale import follow
from linmax.scale.targets import Target
from linmax.scale.targets.log import LogTarget
from linmax.scale.targets.model import ModelTarget
from linmax.scale.targets.server import ServerTarget


def make_target(kind: str, words: list[str], learner: str) -> Target:
    """The target of a run: a model file, a data folder, or the address and token of a server and a name."""
    if kind == "model":
        path = Path(words[0])
        return ModelTarget(load(path) if path.exists() else Fusion(learner), path)
    if kind == "log":
        return LogTarget(words[0], "spam", learner)
    url, token, name = words
    return ServerTarget(url, token, name, learner)


def run(request: dict[str, Any]) -> None:
    """Follow a log until it is idle."""
    target = make_target(request["kind"], request["words"], request["learner"])
    mark = "&" if "?" in request["url"] else "?"
    follow(
        f"{request['url']}{mark}group={request['kind']}", target, from_start=True,
        until_idle=request["idle"], batch=random.randint(1, request["batch"]),
        save_every=request["save_every"],
    )  # fmt: skip


def run_patiently(request: dict[str, Any]) -> None:
    """Follow a log; a broker that is just being restarted is tried again if the request says so."""
    while True:
        try:
            return run(request)
        except ValueError as error:
            if not request.get("patient") or "cannot be read" not in str(error):
                raise
            time.sleep(0.2)


def run_and_kill(request: dict[str, Any], chance: random.Random) -> int:
    """Follow a log in forks of this process, and kill all but the last; return how many were killed."""
    killed = 0
    for turn in range(request["kills"] + 1):
        seed = chance.random()
        child = os.fork()
        if child == 0:
            random.seed(seed)
            try:
                run_patiently(request)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        if turn < request["kills"]:
            time.sleep(chance.uniform(0.0, request["longest"]))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            sys.exit(1)
    return killed


def main() -> None:
    request = json.loads(sys.argv[1])
    fusion = Fusion(request["learner"])  # each run has its kernels from here
    fusion.learn_one({"ann": "x"}, "x")
    fusion.learn([{"ann": "x"}] * 20, ["x", "y"] * 10)
    fusion.predict_proba([{"ann": "x"}] * 20)
    fusion.predict_proba_one({"ann": "x"})
    chance = random.Random(request["seed"])
    print(sum(run_and_kill({**request, **one}, chance) for one in request["targets"]))


def follow_and_kill(url: str, targets: dict[str, list[str]], learner: str, **options: Any) -> int:
    """Follow a log into each of some targets, with kills; return how many there were."""
    request = {
        "url": url, "learner": learner, "kills": 3, "longest": 0.3, "seed": 0, "batch": 200,
        "save_every": 150, "idle": 0.1,
        "targets": [{"kind": kind, "words": words} for kind, words in targets.items()], **options,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.scale.killed", json.dumps(request)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


if __name__ == "__main__":
    main()
