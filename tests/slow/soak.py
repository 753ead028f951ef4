"""Kill a run that writes checkpoints at random moments, let it go on, and compare the end: `make soak`."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.progress import track

from linmax import Fusion, load
from linmax.problems import majority

PROGRAM = "from linmax.cli import app; app()"
LEARNER = "Averaged(Winnow(1.2))"


def write(path: Path, rows: int) -> None:
    """A CSV of votes."""
    votes, labels = majority(rows, relevant=3, experts=7, classes=3, noise=0.1, speak=0.9)
    names = np.array(["x", "y", "z", ""])
    table = np.column_stack((names[votes], names[labels]))
    header = ",".join([*(f"e{i}" for i in range(7)), "truth"])
    path.write_text("\n".join([header, *(",".join(row) for row in table.tolist())]) + "\n")


def command(file: Path, model: Path, every: int) -> list[str]:
    """What runs, or goes on."""
    start = ["--from", str(model)] if model.exists() else ["--learner", LEARNER]
    words = ["fuse", str(file), "--save", str(model), "--checkpoint", str(every), "--json", *start]
    return [sys.executable, "-c", PROGRAM, *words]


def killed(file: Path, model: Path, every: int, after: float) -> bool:
    """Run, and kill -9 after some seconds; whether it was still running."""
    child = subprocess.Popen(command(file, model, every), stdout=subprocess.DEVNULL)
    try:
        child.wait(after)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def finished(model: Path) -> bool:
    """Whether a model is there, whole, and of a run that came to its end."""
    return model.exists() and "audit" not in load(model).notes["fuse"]


def differs(one: Fusion, other: Fusion) -> bool:
    """Whether two sessions have other bits anywhere."""
    mine, theirs = one.state(), other.state()
    return mine.keys() != theirs.keys() or any(
        mine[name].tobytes() != theirs[name].tobytes() for name in mine
    )


def soak(kills: int, rows: int, every: int, seed: int = 0) -> tuple[int, int]:
    """How many of so many kills came in time, and how many ends differed from the uninterrupted run's."""
    chance = random.Random(seed)
    hits = wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, whole = folder / "votes.csv", folder / "whole.linmax"
        write(file, rows)
        begun = time.perf_counter()
        subprocess.run(command(file, whole, every), stdout=subprocess.DEVNULL, check=True)
        seconds = time.perf_counter() - begun
        for number in track(range(kills), "killing", disable=not sys.stderr.isatty()):
            model = folder / f"part{number}.linmax"
            hits += killed(file, model, every, chance.uniform(0.0, seconds))
            if not finished(model):
                subprocess.run(command(file, model, every), stdout=subprocess.DEVNULL, check=True)
            wrong += differs(load(model), load(whole))
            model.unlink()
    return hits, wrong


def main() -> int:
    """Soak, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--every", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    hits, wrong = soak(options.kills, options.rows, options.every, options.seed)
    print(
        f"{hits} of {options.kills} kills came while it ran; {wrong} ends differ from the uninterrupted run"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
