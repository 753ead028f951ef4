"""The command line. This module needs the base installation only; `linmax.cli.app` needs `linmax[cli]`."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

from linmax.validation import require_extra

if TYPE_CHECKING:
    from linmax.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the `linmax` program."""
    try:
        _require_cli()
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    from linmax.cli.commands import app

    try:
        app()
    finally:
        gc.freeze()  # skips the last collections of the interpreter: 0.25 s less at exit


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'linmax.cli' has no attribute {name!r}")
    _require_cli()
    from linmax.cli.commands import app

    return app


def _require_cli() -> None:
    try:
        require_extra("typer", "cli", "the command line")
        require_extra("rich", "cli", "the command line")
    except ImportError as error:
        raise ImportError(
            "the command line requires typer and rich: pip install 'linmax[cli]'", name=error.name
        ) from None
