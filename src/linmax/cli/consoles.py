"""Where commands write: what was asked for to standard output, all else to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn, TextIO

from rich.console import Console


class Paper(Console):
    """A console whose reader may have had enough, which is for the command to say."""

    def on_broken_pipe(self) -> NoReturn:
        """Where rich would end the program with an error."""
        self.quiet = True
        raise BrokenPipeError


def out() -> Console:
    """Standard output."""
    return Paper(file=_safe(sys.stdout), highlight=False)


def err() -> Console:
    """Standard error."""
    return Console(file=_safe(sys.stderr), highlight=False)


def tell(sentence: str) -> None:
    """A line to standard error."""
    print(f"linmax: {sentence}", file=_safe(sys.stderr), flush=True)


def as_json(value: Any) -> None:
    """One JSON object to standard output, in many lines for eyes only; what is not a number is null."""
    from linmax.evaluate.findings import plain

    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(plain(value), indent=indent, allow_nan=False), flush=True)


def _safe(stream: TextIO) -> TextIO:
    """The same stream, which writes \\xe9 rather than fail where it has no é."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and getattr(stream, "errors", "") == "strict":
        reconfigure(errors="backslashreplace")
    return stream
