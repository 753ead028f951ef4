"""Finished cells are kept, each in a file of its own, until the code that made them changes."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import linmax
from experiments.interface import Cell, Experiment
from linmax._files import write_atomic

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "experiments"
SHOWS = {"cli", "report", "checks", "adapters"}  # layers that no number can depend on


class Kept:
    """The cells of one experiment on one folder of data."""

    def __init__(self, experiment: Experiment, data: Path, folder: Path = FOLDER) -> None:
        self.folder = folder / experiment.name
        self.stamp = stamp(experiment, data)

    def path(self, cell: Cell) -> Path:
        """The file of a cell: the name says all that its numbers depend on."""
        told = json.dumps([self.stamp, cell], sort_keys=True)
        return self.folder / f"{hashlib.sha256(told.encode()).hexdigest()[:32]}.json"

    def get(self, cell: Cell) -> Any:
        """What running the cell gave, or None."""
        return self._read(cell).get("value")

    def seconds(self, cell: Cell) -> float:
        """How long it took."""
        return float(self._read(cell).get("seconds", 0.0))

    def put(self, cell: Cell, value: Any, seconds: float) -> None:
        """Keep what running the cell gave; None would mean that it never ran."""
        self.folder.mkdir(parents=True, exist_ok=True)
        whole = {"cell": cell, "value": value, "seconds": round(seconds, 3)}
        write_atomic(self.path(cell), json.dumps(whole).encode())

    def _read(self, cell: Cell) -> dict[str, Any]:
        try:
            whole = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # not there, or not whole: then it is run again
        return whole if isinstance(whole, dict) else {}


def stamp(experiment: Experiment, data: Path) -> str:
    """A digest of the library, of the code that runs the cells, and of the data they read."""
    home = Path(linmax.__file__).parent
    files = [path for path in home.rglob("*.py") if path.relative_to(home).parts[0] not in SHOWS]
    digest = hashlib.sha256()
    for path in (*sorted(files), *sorted(behind(experiment.run))):
        digest.update(path.name.encode() + path.read_bytes())
    for name in (*experiment.data, *experiment.optional):
        file = data / name
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()


def behind(run: Any) -> set[Path]:
    """The files of `run` and of whatever it takes from other modules of the experiments.

    >>> from experiments.fusion_table_1 import EXPERIMENT
    >>> sorted(path.name for path in behind(EXPERIMENT.run))
    ['cells.py', 'fusion.py']
    """
    waiting, seen = [sys.modules[inspect.unwrap(run).__module__]], set()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += _taken(module)
    return {Path(module.__file__) for module in seen if module.__file__}


def _taken(module: ModuleType) -> Iterator[ModuleType]:
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.startswith("experiments.") and name in sys.modules:
            yield sys.modules[name]
