"""Kill a run that writes checkpoints at random moments, let it go on, and compare the end: `make soak`."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.progress import track
from typer.testing import CliRunner

from linmax import load
from linmax.cli import app
from linmax.problems import majority
from tests.helpers.sessions import same

PROGRAM = "from linmax.cli import app; app()"
LEARNER = "Averaged(Winnow(1.2))"


def write(path: Path, rows: int) -> None:
    """A CSV of votes."""
    votes, labels = majority(rows, relevant=3, experts=7, classes=3, noise=0.1, speak=0.9)
    names = np.array(["x", "y", "z", ""])
    table = np.column_stack((names[votes], names[labels]))
    header = ",".join([*(f"e{i}" for i in range(7)), "truth"])
    path.write_text("\n".join([header, *(",".join(row) for row in table.tolist())]) + "\n")


def words(file: Path, model: Path, every: int) -> list[str]:
    """What runs, or goes on."""
    start = ["--from", str(model)] if model.exists() else ["--learner", LEARNER]
    return ["fuse", str(file), "--save", str(model), "--checkpoint", str(every), "--json", *start]


def run(file: Path, model: Path, every: int) -> None:
    """Run, or go on, to the end, in this process."""
    done = CliRunner().invoke(app, words(file, model, every))
    assert done.exit_code == 0, done.output


def killed(file: Path, model: Path, every: int, checkpoints: int, delay: float) -> bool:
    """Run, and kill -9 some seconds after so many checkpoints; whether it was still running."""
    program = [sys.executable, "-c", PROGRAM, *words(file, model, every)]
    child = subprocess.Popen(program, stdout=subprocess.DEVNULL)
    seen: set[int] = set()
    while len(seen) < checkpoints and child.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.001)
        if model.exists():
            seen.add(model.stat().st_mtime_ns)
    try:
        child.wait(delay)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
    return child.wait() == -signal.SIGKILL


def finished(model: Path) -> bool:
    """Whether a model is there, whole, and of a run that came to its end."""
    return model.exists() and "audit" not in load(model).notes["fuse"]


def soak(kills: int, rows: int, every: int, seed: int = 0) -> tuple[int, int]:
    """How many of so many kills came in time, and how many ends differed from the uninterrupted run's."""
    chance = random.Random(seed)
    hits = wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, whole = folder / "votes.csv", folder / "whole.linmax"
        write(file, rows)
        run(file, whole, every)
        for number in track(range(kills), "killing", disable=not sys.stderr.isatty()):
            model = folder / f"part{number}.linmax"
            checkpoints = chance.randrange(rows // every // 2)  # then there is half of the file to go
            hits += killed(file, model, every, checkpoints, chance.uniform(0.0, 0.01))
            if not finished(model):
                run(file, model, every)
            wrong += not same(load(model), load(whole))
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
