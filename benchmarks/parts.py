"""The parts of `make bench`: each is a module with `measure`, `page`, `draw` and `highlights`.

`measure` takes, by name, those it needs of `quick`, `timer` (a `PeerTimer`), `data` (the folder of data),
`fresh` (whether to run peers again whose predictions are cached), `where` (the engine of tasks that are not
timed: arguments of `linmax.scale.open_engine`) and `report(what, share)` (a progress callback), and returns
the content of its JSON file. `page(results)` returns Markdown, `draw(results, path)` writes a PNG and an SVG,
and `highlights(results)` returns a few lines for the terminal.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = {
    "speed": "benchmarks.speed",
    "growth": "benchmarks.growth",
    "quality": "benchmarks.quality",
    "startup": "benchmarks.startup",
}


def names() -> list[str]:
    """Return the names of all parts."""
    return list(MODULES)


def module(name: str) -> ModuleType:
    """Import a part."""
    return import_module(MODULES[name])


def measure(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Run a part with the arguments that it takes."""
    function = module(name).measure
    wanted = inspect.signature(function).parameters
    results: dict[str, Any] = function(**{key: options[key] for key in wanted if key in options})
    return results


def draw(name: str, results: dict[str, Any], path: Path) -> None:
    """Draw the figure of a part; a part with several names them after the path."""
    module(name).draw(results, path)


def highlights(name: str, results: dict[str, Any]) -> list[str]:
    """Return the main results of a part in a few lines."""
    return list(module(name).highlights(results))
