"""The parts of `make bench`: each is a module that measures, writes a page, and may draw and sum up.

`measure` takes by name what it needs of `quick`, `desk` (where peers are asked), `data` (the folder of real
data) and `tell(what, share)` (how far it is), and returns what goes into its JSON file. `page(results)` is
Markdown, `draw(results, path)` a PNG with an SVG beside it, `found(results)` a few lines for the terminal.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from importlib.util import find_spec
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
    return [name for name, module in MODULES.items() if find_spec(module)]


def module(name: str) -> ModuleType:
    """A part, imported when it is needed."""
    return import_module(MODULES[name])


def measured(name: str, offered: dict[str, Any]) -> dict[str, Any]:
    """Run a part with what it asks for."""
    measure = module(name).measure
    wanted = inspect.signature(measure).parameters
    results: dict[str, Any] = measure(**{key: offered[key] for key in wanted if key in offered})
    return results


def drawn(name: str, results: dict[str, Any], path: Path) -> bool:
    """Draw a part's picture, where it has one."""
    draw = getattr(module(name), "draw", None)
    if draw is not None:
        draw(results, path)
    return draw is not None


def summed_up(name: str, results: dict[str, Any]) -> list[str]:
    """What a part found, in a few lines."""
    found = getattr(module(name), "found", None)
    return [] if found is None else list(found(results))
