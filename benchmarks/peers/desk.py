"""Where the peers are asked: a process in their environment, started when it is first needed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from benchmarks.measuring import Cost
from benchmarks.peers.environment import PeersMissingError, python

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".cache" / "peers"
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class PeerError(Exception):
    """A peer failed; the message names it and says why."""


class Answer(NamedTuple):
    """What a peer took, and its mistakes."""

    cost: Cost
    mistakes: int


class Desk:
    """Asks peers in turn; one process answers all. It ends with the `with`, or with this process."""

    def __init__(self, home: Path = HOME, *, install: bool = True, interpreter: Path | None = None) -> None:
        self.home, self.install, self.interpreter = home, install, interpreter
        self.process: subprocess.Popen[str] | None = None

    def missing(self) -> str:
        """Why no peer can be asked; empty where they can. Makes their environment if need be."""
        try:
            self.interpreter = self.interpreter or python(self.home, make=self.install)
        except PeersMissingError as why:
            return str(why)
        return ""

    def ask(self, method: str, file: Path, rows: int) -> Answer:
        """Let a peer learn the first rows of a file."""
        process = self.process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"method": method, "file": str(file), "rows": rows}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            raise PeerError(f"{method} failed: its process ended with {process.returncode}")
        said = json.loads(line)
        if "error" in said:
            raise PeerError(said["error"])
        return Answer(Cost(said["wall"], said["cpu"], said["megabytes"]), said["result"])

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def __enter__(self) -> Desk:
        """As it is."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """End the process."""
        self.close()

    def _started(self) -> subprocess.Popen[str]:
        why = self.missing()
        if why:
            raise PeersMissingError(why)
        assert self.interpreter is not None
        # scikit-learn scales weights in BLAS: with several threads one row took 20 times as long
        usual = os.environ | dict.fromkeys(ONE_THREAD, "1") | {"PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen(
            [str(self.interpreter.absolute()), "-m", "benchmarks.peers.clerk"],
            cwd=ROOT,
            env=usual,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self.process
