"""A process in the peers' environment that answers requests, one JSON object per line.

Two requests exist. `{"request": "time", "method": "VW oaa, file", "file": "rows.npz", "rows": 500}` learns
the first rows of a file and returns the wall and CPU seconds, the peak memory of the process in megabytes,
and the number of mistakes. `{"request": "predict", "feed": "feed.npz", "targets": {"VW oaa": "out.npz"}}`
runs each peer over a feed and writes its predictions to a file, which appears only when it is complete. A
request that fails is answered by `{"error": "..."}`, and the next one runs.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import river, vw
from benchmarks.peers.feed import Feed, load_feed
from benchmarks.peers.settings import LIBRARIES
from benchmarks.peers.timed import river as timed_river
from benchmarks.peers.timed import sklearn as timed_sklearn
from benchmarks.peers.timed import vw as timed_vw
from benchmarks.peers.timed.rows import Rows, read
from benchmarks.peers.timed.stopwatch import Stopwatch

METHODS = {**timed_vw.METHODS, **timed_river.METHODS, **timed_sklearn.METHODS}
PREDICTORS = {"VW": vw.predictions, "River": river.predictions}
DIE_WITH_PARENT = "--die-with-parent"
PR_SET_PDEATHSIG = 1


class PeerServer:
    """Answers requests; the inputs of timed methods are prepared once and kept until the file changes."""

    file = ""
    rows: Rows

    def __init__(self) -> None:
        self.prepared: dict[tuple[str, int], Callable[[Stopwatch], int]] = {}

    def answer(self, request: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        if request == "time":
            return self.time(**arguments)
        if request == "predict":
            return self.predict(**arguments)
        raise ValueError(f"there is no request {request!r}")

    def time(self, method: str, file: str, rows: int) -> dict[str, Any]:
        """Time a method on the first rows of a file; preparing its input is not timed."""
        if method not in METHODS:
            raise ValueError("there is no such method")
        if file != self.file:
            self.prepared.clear()
            gc.unfreeze()
            self.file, self.rows = file, read(Path(file))
        if (method, rows) not in self.prepared:
            make, setting = METHODS[method]
            self.prepared[method, rows] = make(setting, self.rows.first(rows))
            gc.collect()
            gc.freeze()  # the collector need not visit the inputs while the method runs
        stopwatch = Stopwatch()
        mistakes = self.prepared[method, rows](stopwatch)
        return {"wall": stopwatch.wall, "cpu": stopwatch.cpu, "megabytes": peak(), "result": mistakes}

    def predict(self, feed: str, targets: dict[str, str]) -> dict[str, Any]:
        """Write the predictions of each peer on a feed."""
        items = load_feed(Path(feed))
        for peer, target in targets.items():
            write_predictions(peer, items, Path(target))
        return {}


def peak() -> float:
    """Return the largest memory of this process so far, in megabytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux, where this would be at least the memory of the process that has started it
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def write_predictions(peer: str, feed: Feed, target: Path) -> None:
    """Write the predictions of one peer, in the order of the feed."""
    (library,) = (library for library, members in LIBRARIES[feed.form].items() if peer in members)
    predictions = np.asarray(PREDICTORS[library](LIBRARIES[feed.form][library][peer], feed), dtype=np.int16)
    if predictions.shape != feed.labels.shape:
        raise ValueError(
            f"{peer} made {predictions.size} predictions for {feed.labels.size} items; one each is required"
        )
    unfinished = target.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as out:
        np.savez_compressed(out, guesses=predictions)
    unfinished.replace(target)


def main() -> None:
    """Answer requests until the input ends."""
    if DIE_WITH_PARENT in sys.argv[1:]:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not be mixed with answers
    server = PeerServer()
    for line in sys.stdin:
        try:
            answer = server.answer(**json.loads(line))
        except Exception as error:  # a failing peer must not stop the others
            reason = (str(error).strip() or "no reason given").splitlines()[0]
            answer = {"error": f"{type(error).__name__}: {reason}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
