"""Three curves of mistakes on one stream of 2006."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.curves import thin
from experiments.interface import Cell
from experiments.sharing import learn, sources
from linmax import problems

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text())
TRIALS: int = EXPECTED["trials"]
SETS = tuple(EXPECTED["reference"])


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per run and problem."""
    return [{"set": one, "seed": seed, "trials": TRIALS} for seed in range(runs) for one in SETS]


def run(cell: Cell, _: Path) -> dict[str, Any]:
    """Return the three curves, and the last trial at which the shared vector was ahead."""
    attributes, labels = getattr(problems, cell["set"])(cell["trials"], seed=cell["seed"])
    whole = {method: learn(source, attributes, labels).curve for method, source in sources("product").items()}
    ahead = np.flatnonzero(whole["single"] < whole["multi"])
    made: dict[str, Any] = {method: thin(curve) for method, curve in whole.items()}
    return made | {"ahead": int(ahead[-1]) + 1 if len(ahead) else 0}
