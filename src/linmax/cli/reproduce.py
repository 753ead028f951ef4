"""The papers' experiments: they are no part of the package, and lie beside it in a checkout."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import linmax


def experiments(root: Path | None = None) -> Any:
    """The command of the experiments in a checkout of linmax.

    >>> experiments(Path("nowhere"))
    Traceback (most recent call last):
    ValueError: the experiments come with the source of linmax and are not in nowhere; ...
    """
    root = root or Path(linmax.__file__).resolve().parents[2]
    if not (root / "experiments" / "command.py").is_file():
        raise ValueError(
            f"the experiments come with the source of linmax and are not in {root};"
            " get a checkout and run make reproduce in it"
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
    cores: int | None,
) -> int:
    """List the experiments, or run those that are named; how many could not be run for want of data."""
    from rich.console import Console

    command, console = experiments(), Console()
    if not names:
        command.listing(console)
        return 0
    without: int = command.reproduce(
        names, runs=runs, quick=quick, data=data, folder=folder, workers=cores, console=console
    )
    return without
