"""The command line. This module needs the base installation only; `linmax.cli.app` needs `linmax[cli]`."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

from linmax.validation import require_extra

if TYPE_CHECKING:
    from linmax.cli.commands import app

__all__ = ["app", "load_app", "main", "run_app"]

READS_FILES = ("fuse", "predict", "compare", "explain")
"""Commands that read files with pyarrow."""


def main() -> None:
    """Run the command in `sys.argv`."""
    run_app(load_app())


def load_app() -> Any:
    """Import the commands, and pyarrow if the one in `sys.argv` reads files; exit if an extra is missing."""
    try:
        _require_cli()
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    from linmax.cli.commands import app

    if sys.argv[1:2] and sys.argv[1] in READS_FILES:
        _start_arrow()
    return app


def run_app(app: Any) -> None:
    """Run the command in `sys.argv`."""
    if sys.stdout is None:  # closed by the shell: linmax ... >&-
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    try:
        app()
    except KeyboardInterrupt:  # between commands.py and Python's exit; a command handles its own
        sys.exit(130)
    finally:
        gc.freeze()  # skips the last collections of the interpreter: 0.25 s less at exit


class _NoPandas:
    """An import hook for which pandas is not installed."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ImportError("not needed")


def _start_arrow() -> None:
    """Let pyarrow start without pandas, which it would import (0.25 s) and no command uses."""
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow

        pyarrow.array([0]).to_numpy()
    except ImportError:
        pass  # the command says which extra is missing
    finally:
        sys.meta_path.remove(_NoPandas)


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
