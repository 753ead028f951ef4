"""The accuracy of hypotheses on forest cover, trial by trial."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments import data as files
from experiments.interface import Cell
from linmax import Averaged, Fusion, Voted, Winnow
from linmax.experts import Attributes

TRIALS = 4000
TESTED = 10_000
SPRUCE = 0
EVERY = 20  # trials between looks at the two steadier ones
LEARNERS = {"Balanced": Winnow(1.2), "averaged": Averaged(Winnow(1.2)), "voted": Voted(Winnow(1.2))}


@lru_cache(maxsize=1)
def rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return attributes in [0, 1] with a constant, and whether the forest is spruce."""
    kept = files.arrays(path)
    low, high = kept["quant"].min(axis=0), kept["quant"].max(axis=0)
    parts = [(kept["quant"] - low) / (high - low)]
    parts += [np.eye(size)[kept[name]] for name, size in (("wilderness", 4), ("soil", 40))]
    return np.hstack((*parts, np.ones((len(kept["y"]), 1)))), (kept["y"] == SPRUCE).astype(np.int64)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per shuffle of the rows."""
    sizes = {"trials": 500, "tested": 2000} if quick else {"trials": TRIALS, "tested": TESTED}
    return [{"learner": name, "seed": seed, **sizes} for name in LEARNERS for seed in range(runs)]


def run(cell: Cell, data: Path) -> dict[str, Any]:
    """Return accuracies over trials, and that of the constant prediction."""
    attributes, labels = rows(data / files.COVERTYPE)
    order = np.random.default_rng(cell["seed"]).permutation(len(labels))
    tested, order = order[: cell["tested"]], order[cell["tested"] :][: cell["trials"]]
    fresh = attributes[tested], labels[tested]
    step = 1 if cell["learner"] == "Balanced" else EVERY
    fusion = Fusion(LEARNERS[cell["learner"]].on(Attributes()), classes=[0, 1])
    curve: list[float] = []
    for begin in range(0, len(order), step):
        some = order[begin : begin + step]
        moved = fusion.learn(attributes=attributes[some], labels=labels[some]).moves
        if step > 1:
            curve.append(float((fusion.predict(attributes=fresh[0]) == fresh[1]).mean()))
        else:
            curve.append(accuracy(fusion, *fresh) if moved or not curve else curve[-1])
    return {"curve": curve, "never": float((labels[tested] == 0).mean())}


def accuracy(fusion: Fusion, attributes: np.ndarray, labels: np.ndarray) -> float:
    """Return the accuracy of many hypotheses, as `predict` would give it; ties go to class 0."""
    weights = fusion.weights
    lead = [
        weights.get(("attribute", i, 1), 0.0) - weights.get(("attribute", i, 0), 0.0)
        for i in range(attributes.shape[1])
    ]
    return float(((attributes @ np.array(lead) > 0) == labels).mean())
