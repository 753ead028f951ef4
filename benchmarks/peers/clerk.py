"""Run inside the peers' environment: a process that stays, is asked by a line of JSON, and answers by one.

`{"method": "VW oaa, file", "file": "rows.npz", "rows": 500}` is answered by the wall and CPU seconds of
learning these rows, the megabytes at this process's peak, and the mistakes; or by an error that names the
peer. Inputs are prepared when they are first asked for, outside the watch, and kept until another file is.
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

from benchmarks.peers.timed import river, sklearn, vw
from benchmarks.peers.timed.rows import Rows, read
from benchmarks.peers.timed.watch import Watch

METHODS = {**vw.METHODS, **river.METHODS, **sklearn.METHODS}
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


class Clerk:
    """The rows of one file, and what has been prepared of them."""

    file = ""
    rows: Rows

    def __init__(self) -> None:
        self.prepared: dict[tuple[str, int], Callable[[Watch], int]] = {}

    def answer(self, method: str, file: str, rows: int) -> dict[str, Any]:
        """Time a method on the first rows of a file."""
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
            gc.freeze()  # what is prepared need not be looked through again
        watch = Watch()
        mistakes = self.prepared[method, rows](watch)
        return {"wall": watch.wall, "cpu": watch.cpu, "megabytes": peak(), "result": mistakes}


def peak() -> float:
    """Megabytes of memory at the peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks decides when it is over
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints is no answer
    clerk = Clerk()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = clerk.answer(**asked)
        except Exception as error:
            why = (str(error).strip() or "no reason given").splitlines()[0]
            answer = {"error": f"{asked['method']} failed: {type(error).__name__}: {why}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
