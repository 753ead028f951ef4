"""Cumulative mistakes of all algorithms on one stream of Figure 5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.curves import thin
from experiments.fusion import TRIALS, bank, learn, learner, optimum, stream
from experiments.interface import Cell

NOISE = 0.05
FAMILIES = ("B", "R", "A", "AR")
COMMITTEES = ("VR-Combine", "V-Combine")


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream; in quick mode with every tenth member of a family."""
    return [{"seed": seed, "every": 10 if quick else 1} for seed in range(runs)]


def run(cell: Cell, _: Path) -> dict[str, Any]:
    """Return the thinned curves by algorithm."""
    panel = stream(NOISE, cell["seed"])
    racing = [repr(one) for family in FAMILIES for one in bank(family)[:: cell["every"]]]
    made = {who: thin(learn(learner(who), panel).curve) for who in (*racing, *COMMITTEES)}
    return made | {"optimum": thin(np.cumsum(optimum(NOISE, cell["seed"])))}


__all__ = ["COMMITTEES", "FAMILIES", "NOISE", "TRIALS", "cells", "run"]
