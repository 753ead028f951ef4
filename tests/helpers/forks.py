"""Programs in fresh processes, of which numba is imported only once: each program runs in a fork.

Importing numba takes longer than most of what these tests do in a process. linmax is not imported before the
fork, so a program may change numba first, or take linmax from another folder.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Forks:
    """A process that has imported numba and executed `prelude`, and forks for each program."""

    def __init__(self, prelude: str = "") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.forks", textwrap.dedent(prelude)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def run(self, program: str, path: list[Path], cache: Path) -> str:
        """Return what a program prints, with these folders first on `sys.path` and this cache of numba."""
        request = {
            "program": textwrap.dedent(program),
            "path": [str(folder) for folder in path],
            "cache": str(cache),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        reply = json.loads(self._process.stdout.readline())
        assert reply["status"] == 0, reply["errors"] or reply["printed"]
        return str(reply["printed"]).strip()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def disk_cache() -> Path:
    """The folder of machine code that all tests share."""
    return Path(os.environ.get("NUMBA_CACHE_DIR", Path.home() / ".cache" / "numba"))


@contextmanager
def forks(prelude: str = "") -> Iterator[Forks]:
    """Start a process to fork from, and end it."""
    made = Forks(prelude)
    try:
        yield made
    finally:
        made.close()


def _run(request: dict[str, Any], printed: int, errors: int) -> int:
    """Run a program in this process, a fork."""
    import numba

    os.dup2(printed, 1)
    os.dup2(errors, 2)
    sys.path[:0] = request["path"]
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = request["cache"]
    try:
        exec(compile(request["program"], "<program>", "exec"), {"__name__": "__main__"})
        return 0
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def main() -> None:
    """Answer the requests on standard input."""
    import numba

    exec(sys.argv[1], {"numba": numba})
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
            child = os.fork()
            if child == 0:
                os._exit(_run(json.loads(line), printed.fileno(), errors.fileno()))
            _, status = os.waitpid(child, 0)
            printed.seek(0)
            errors.seek(0)
            reply = {"status": status, "printed": printed.read(), "errors": errors.read()}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
