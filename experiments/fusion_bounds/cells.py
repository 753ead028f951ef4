"""Balanced Winnow on a disjunction, with and without one noisy instance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.interface import Cell
from linmax import Fusion, Winnow
from linmax.experts import Attributes

RELEVANT = 5
DELTA = 1 / 11
ALPHA = 1 + DELTA
WIDTHS = (10, 30, 100, 300, 1000)  # attributes, the constant not counted
TRIALS = 10_000
FLIP = 4000  # when the noisy instance comes
ONES = 1 - 0.5 ** (1 / RELEVANT)  # how often an attribute is 1, for labels of either kind equally often


def stream(width: int, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return attributes with a constant, and whether one of the first five is 1."""
    rng = np.random.default_rng(seed)
    attributes = np.ones((trials, width + 1))
    attributes[:, :width] = rng.random((trials, width)) < ONES
    return attributes, attributes[:, :RELEVANT].any(axis=1).astype(np.int64)


def hostile(width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's noisy instance: all five relevant attributes are 1 and the label is 0."""
    attributes, labels = stream(width, 1, seed + 1_000_003)
    attributes[:, :RELEVANT] = 1
    return attributes, labels * 0


def target(width: int) -> np.ndarray:
    """Return u over the weights of class 0, then of class 1."""
    u = np.zeros((width + 1, 2))
    u[:RELEVANT, 1] = 2 / 11
    u[width, 0] = 1 / 11
    return u.ravel()


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream, with and without the noisy instance."""
    widths, trials = (WIDTHS[:2], TRIALS // 2) if quick else (WIDTHS, TRIALS)
    return [{"width": width, "trials": trials, "seed": seed} for width in widths for seed in range(runs)]


def run(cell: Cell, _: Path) -> dict[str, Any]:
    """Return the mistakes without noise, and the additional ones with a noisy instance."""
    width, flip = cell["width"], min(FLIP, cell["trials"] // 2)
    attributes, labels = stream(width, cell["trials"], cell["seed"])
    made = {}
    for noisy in (False, True):
        fusion = Fusion(Winnow(ALPHA).on(Attributes()), classes=[0, 1])
        made[noisy] = fusion.learn(attributes=attributes[:flip], labels=labels[:flip]).mistakes
        if noisy:
            extra, wrong = hostile(width, cell["seed"])
            made[noisy] += fusion.learn(attributes=extra, labels=wrong).mistakes
        made[noisy] += fusion.learn(attributes=attributes[flip:], labels=labels[flip:]).mistakes
    return {"clean": made[False], "noisy": made[True]}
