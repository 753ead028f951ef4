"""`linmax reproduce`: the papers' experiments, which are in a checkout of linmax, not in the package."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import linmax
from linmax.cli.output import stdout_console


def import_experiments(root: Path | None = None) -> Any:
    """Import the experiments' command from a checkout of linmax.

    >>> import_experiments(Path("nowhere"))
    Traceback (most recent call last):
    ValueError: the experiments are in the repository of linmax and not in nowhere; ...
    """
    root = root or Path(linmax.__file__).resolve().parents[2]
    if not (root / "experiments" / "command.py").is_file():
        raise ValueError(
            f"the experiments are in the repository of linmax and not in {root};"
            " clone it and run make reproduce there"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))  # the processes that run the cells inherit it
    return import_module("experiments.command")


def reproduce(
    names: list[str],
    *,
    runs: int | None,
    quick: bool,
    data: Path | None,
    folder: Path | None,
    engine: dict[str, Any],
) -> int:
    """List the experiments, or run the named ones; return how many could not run because data are missing."""
    command, console = import_experiments(), stdout_console()
    if not names:
        command.listing(console)
        return 0
    without_data: int = command.reproduce(
        names, runs=runs, quick=quick, data=data, folder=folder, console=console, **engine
    )
    return without_data
