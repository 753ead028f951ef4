"""The parts of `make bench`: each is a module that measures, writes a page, draws and sums up.

`measure` takes by name what it needs of `quick`, `desk` (where peers are asked), `data` (the folder of real
data), `fresh` (whether peers run again whose guesses are kept) and `tell(what, share)` (how far it is), and
returns what goes into its JSON file. `page(results)` is
Markdown, `draw(results, path)` a PNG with an SVG beside it, `found(results)` a few lines for the terminal.
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
    """The parts there are."""
    return list(MODULES)


def module(name: str) -> ModuleType:
    """A part, imported when it is needed."""
    return import_module(MODULES[name])


def measured(name: str, offered: dict[str, Any]) -> dict[str, Any]:
    """Run a part with what it asks for."""
    measure = module(name).measure
    wanted = inspect.signature(measure).parameters
    results: dict[str, Any] = measure(**{key: offered[key] for key in wanted if key in offered})
    return results


def draw(name: str, results: dict[str, Any], path: Path) -> None:
    """Draw a part's picture; a part whose page shows several itself names them after the path."""
    module(name).draw(results, path)


def summed_up(name: str, results: dict[str, Any]) -> list[str]:
    """What a part found, in a few lines."""
    return list(module(name).found(results))
