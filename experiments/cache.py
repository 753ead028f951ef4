"""A cache of finished cells, one file each, which is valid until the code or the data change."""

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
SHOWS = {
    "cli",
    "scale",
    "service",
    "client",
    "report",
    "checks",
    "adapters",
}  # layers that no number can depend on


class CellCache:
    """The cached cells of one experiment on one folder of data."""

    def __init__(self, experiment: Experiment, data: Path, folder: Path = FOLDER) -> None:
        self.folder = folder / experiment.name
        self.stamp = stamp(experiment, data)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell; its name is a digest of all that the result depends on."""
        told = json.dumps([self.stamp, cell], sort_keys=True)
        return self.folder / f"{hashlib.sha256(told.encode()).hexdigest()[:32]}.json"

    def get(self, cell: Cell) -> Any:
        """Return the result of a cell, or None."""
        return self._read(cell).get("value")

    def seconds(self, cell: Cell) -> float:
        """Return the run time of a cell."""
        return float(self._read(cell).get("seconds", 0.0))

    def put(self, cell: Cell, value: Any, seconds: float) -> None:
        """Store the result of a cell, which must not be None."""
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
    """Return a digest of the library, of the code of the cells, and of their data."""
    home = Path(linmax.__file__).parent
    files = [path for path in home.rglob("*.py") if path.relative_to(home).parts[0] not in SHOWS]
    digest = hashlib.sha256()
    for path in (*sorted(files), *sorted(source_files(experiment.run))):
        digest.update(path.name.encode() + path.read_bytes())
    for name in (*experiment.data, *experiment.optional):
        file = data / name
        digest.update(file.read_bytes() if file.is_file() else b"")
    return digest.hexdigest()


def source_files(run: Any) -> set[Path]:
    """Return the source files of `run` and of the modules of the experiments that it imports.

    >>> from experiments.fusion_table_1 import EXPERIMENT
    >>> sorted(path.name for path in source_files(EXPERIMENT.run))
    ['cells.py', 'fusion.py']
    """
    waiting, seen = [sys.modules[inspect.unwrap(run).__module__]], set()
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += _imported_modules(module)
    return {Path(module.__file__) for module in seen if module.__file__}


def _imported_modules(module: ModuleType) -> Iterator[ModuleType]:
    for value in vars(module).values():
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.startswith("experiments.") and name in sys.modules:
            yield sys.modules[name]
