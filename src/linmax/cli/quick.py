"""What the command line does without, to start quickly: its process is all its own."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def start() -> None:
    """Let pyarrow set itself up without pandas, which it would like to know of: that takes half a second."""
    import pyarrow  # type: ignore[import-untyped]

    with _Absent("pandas"):
        pyarrow.array([0]).to_numpy()


def main() -> None:
    """The program: as `app`, but without taking Python apart at the end, which takes a fifth of a second."""
    from linmax.cli.frame import app

    code: object = 0
    try:
        app()
    except SystemExit as done:
        code = done.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


class _Absent:
    """For a while a module cannot be imported, unless it is there already."""

    def __init__(self, module: str) -> None:
        self.module = module

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self.module:
            raise ModuleNotFoundError(f"linmax does without {name}", name=name)

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *error: object) -> None:
        sys.meta_path.remove(self)
