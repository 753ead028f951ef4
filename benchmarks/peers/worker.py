"""Run inside the peers' environment: `python -m benchmarks.peers.worker` reads a line for each cell.

A line names the file of a feed, and for each peer the file that its guesses go to, in the order fed; the
answer is a line, too: "", or why it failed. A file appears only when it is complete, so that an interrupted
run leaves what is finished.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.peers import river, vw
from benchmarks.peers.feed import Feed, kept
from benchmarks.peers.settings import LIBRARIES

RUNS = {"VW": vw.guesses, "River": river.guesses}


def main() -> None:
    """Run cell after cell until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else a library prints is no answer
    for line in sys.stdin:
        job = json.loads(line)
        why = ""
        try:
            feed = kept(Path(job["feed"]))
            for peer, target in job["targets"].items():
                run(peer, feed, Path(target))
        except Exception as error:  # whatever goes wrong in a peer leaves that cell out, and no other
            why = f"{type(error).__name__}: {error}"
        print(json.dumps(why), file=answers, flush=True)


def run(peer: str, feed: Feed, target: Path) -> None:
    """Write the guesses of one peer."""
    (library,) = (library for library, members in LIBRARIES[feed.form].items() if peer in members)
    said = np.asarray(RUNS[library](LIBRARIES[feed.form][library][peer], feed), dtype=np.int16)
    if said.shape != feed.labels.shape:
        raise ValueError(
            f"{peer} made {said.size} guesses for {feed.labels.size} items; it must make one each"
        )
    unfinished = target.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as out:
        np.savez_compressed(out, guesses=said)
    unfinished.replace(target)


if __name__ == "__main__":
    main()
