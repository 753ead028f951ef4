"""Update rules, one per file; a file that is here is registered."""

import importlib
import pkgutil

from linmax.rules.base import MOVED, MOVED_AND_SETTLE, OWN, SCALE, STILL, Rule, cycle

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")

__all__ = ["MOVED", "MOVED_AND_SETTLE", "OWN", "SCALE", "STILL", "Rule", "cycle"]
