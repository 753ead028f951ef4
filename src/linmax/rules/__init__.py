"""Update rules, one per file; every file in this folder is imported, which registers its rule."""

import importlib
import pkgutil

from linmax.rules.base import MOVED, MOVED_AND_SETTLE, OWN, SCALE, STILL, Cycle, Rule

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")

__all__ = ["MOVED", "MOVED_AND_SETTLE", "OWN", "SCALE", "STILL", "Cycle", "Rule"]
