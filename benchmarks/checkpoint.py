"""Measurements that are kept as they are made, so that a run that is stopped loses only the current one."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from linmax._files import write_atomic


class Checkpoint:
    """Measures what was not measured by the run before, and writes each result to a file at once.

    Parameters
    ----------
    path : Path or None
        The file; None writes nothing.
    settings : dict
        What the results depend on: a run with others does not use them.
    console
        Where progress is printed.
    resume : bool
        Whether to use the results of the run before.
    """

    def __init__(
        self, path: Path | None, settings: dict[str, Any], console: Console, *, resume: bool = False
    ) -> None:
        self.path, self.settings, self.console = path, settings, console
        self.results: dict[str, Any] = {}
        if resume and path is not None and path.exists():
            stored = json.loads(path.read_text())
            if stored["settings"] == settings:
                self.results = stored["results"]

    def measure(self, name: str, function: Callable[[], Any]) -> Any:
        """Return the result of a function, or that of the run before."""
        if name in self.results:
            self._print(f"{name}: measured before")
            return self.results[name]
        self._print(f"{name} ...")
        begun = time.perf_counter()
        self.results[name] = function()
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = {"settings": self.settings, "results": self.results}
            write_atomic(self.path, json.dumps(content, indent=1).encode())
        self._print(f"{name}: {time.perf_counter() - begun:.0f} s")
        return self.results[name]

    def finish(self) -> None:
        """Remove the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)
