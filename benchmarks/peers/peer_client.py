"""The client of `peer_server`: a process in the peers' environment, and timing of peers by requests to it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.peers.environment import PeersMissingError, python
from benchmarks.timing import Cost, TimedRun

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".cache" / "peers"
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class PeerError(Exception):
    """A peer failed; the message names it and the reason."""


class PeerProcess:
    """A running `peer_server`.

    Parameters
    ----------
    interpreter : Path
        The Python of the peers' environment.
    timed : bool
        Whether the process is timed: it then has one thread per library, ignores Ctrl-C and ends with its
        parent.
    """

    def __init__(self, interpreter: Path, *, timed: bool) -> None:
        command = [str(interpreter.absolute()), "-m", "benchmarks.peers.peer_server"]
        environment = dict(os.environ)
        if timed:
            command.append("--die-with-parent")
            # scikit-learn scales weights in BLAS: with several threads one row took 20 times as long
            environment |= dict.fromkeys(ONE_THREAD, "1") | {"PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if timed else subprocess.DEVNULL,
            text=True,
        )

    def request(self, request: str, **arguments: Any) -> dict[str, Any] | None:
        """Send a request and return its answer; None if the process has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"request": request, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def close(self) -> None:
        """Close the input, and wait for the end of the process."""
        self.process.communicate()

    def kill(self) -> int:
        """Kill the process, and return its exit code."""
        self.process.kill()
        self.process.communicate()
        return self.process.returncode


class PeerTimer:
    """Times peers in one process, which is started by the first request and ended by `close`.

    Parameters
    ----------
    home : Path
        The folder of the peers' environment.
    install : bool
        Whether to create the environment if it is missing.
    interpreter : Path, optional
        A Python to use instead of that environment's.
    """

    def __init__(self, home: Path = HOME, *, install: bool = True, interpreter: Path | None = None) -> None:
        self.home, self.install, self.interpreter = home, install, interpreter
        self.server: PeerProcess | None = None

    def missing(self) -> str:
        """Return why no peer can run, or an empty text; creates the environment if it may."""
        try:
            self.interpreter = self.interpreter or python(self.home, make=self.install)
        except PeersMissingError as error:
            return str(error)
        return ""

    def run(self, method: str, file: Path, rows: int) -> TimedRun:
        """Let a peer learn the first rows of a file."""
        server = self.server or self._start()
        answer = server.request("time", method=method, file=str(file), rows=rows)
        if answer is None:
            code = self.close()
            raise PeerError(f"{method} failed: its process ended with {code}")
        if "error" in answer:
            raise PeerError(f"{method} failed: {answer['error']}")
        return TimedRun(Cost(answer["wall"], answer["cpu"], answer["megabytes"]), answer["result"])

    def close(self) -> int | None:
        """End the process, and return its exit code."""
        server, self.server = self.server, None
        return None if server is None else server.kill()

    def __enter__(self) -> PeerTimer:
        """Return the timer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """End the process."""
        self.close()

    def _start(self) -> PeerProcess:
        reason = self.missing()
        if reason:
            raise PeersMissingError(reason)
        assert self.interpreter is not None
        self.server = PeerProcess(self.interpreter, timed=True)
        return self.server
