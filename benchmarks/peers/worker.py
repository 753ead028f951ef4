"""Run inside the peers' environment: `python -m benchmarks.peers.worker stream.npz "VW oaa" oaa.npz ...`.

The stream holds votes, y, k and order; each peer's guesses, in the order fed, go to the file after its name.
A file appears only when it is complete, so that an interrupted run leaves what is finished.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.peers import river, vw
from benchmarks.peers.settings import SETTINGS, VW


def main(stream: str, *wanted: str) -> None:
    """Run each named peer on the stream and write its guesses."""
    with np.load(stream, allow_pickle=False) as held:
        order, k = held["order"], int(held["k"])
        votes, labels = held["votes"][order], held["y"][order]
    for name, target in zip(wanted[::2], wanted[1::2], strict=True):
        run = vw.guesses if name in VW else river.guesses
        said = np.asarray(run(SETTINGS[name], votes, labels, k), dtype=np.int16)
        if said.shape != labels.shape:
            raise ValueError(
                f"{name} made {said.size} guesses for {labels.size} items; it must make one each"
            )
        unfinished = Path(target).with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as file:
            np.savez_compressed(file, guesses=said)
        unfinished.replace(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
