"""The list of all experiments."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

from experiments.interface import Experiment

HERE = Path(__file__).parent


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, in the order of papers and names."""
    folders = sorted(path.parent.name for path in HERE.glob("*/expected.json"))
    found: list[Experiment] = [import_module(f"experiments.{folder}").EXPERIMENT for folder in folders]
    return {one.name: one for one in sorted(found, key=lambda one: (one.paper, one.name))}


def select(names: list[str]) -> list[Experiment]:
    """Return the named experiments; `all` selects all.

    >>> select(["fusion-tabel-1"])
    Traceback (most recent call last):
    ValueError: there is no experiment 'fusion-tabel-1'; did you mean 'fusion-table-1'?
    """
    known = experiments()
    if names == ["all"]:
        return list(known.values())
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            cure = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise ValueError(f"there is no experiment {name!r}; {cure}")
    return [known[name] for name in dict.fromkeys(names)]
