"""A linear machine, learned with implicit and with explicit sub-experts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.interface import Cell
from linmax import Fusion, Winnow
from linmax.bounds import Case, bound
from linmax.experts import Attributes, Votes

SETTINGS = ((10, 3), (30, 3), (30, 5), (100, 5))  # attributes, the constant not counted, and classes
RELEVANT = 5  # attributes with weights, for each class


class Problem(NamedTuple):
    """Attributes with labels, and the normalized weights of the target."""

    attributes: np.ndarray  # (trials, m), the last column is 1
    labels: np.ndarray
    target: np.ndarray  # (m, k), sum 1, none negative
    delta: float


def problem(attributes: int, classes: int, trials: int, seed: int) -> Problem:
    """Generate data of a linear machine with a margin."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((attributes + 1, classes))
    for j in range(classes):
        weights[rng.choice(attributes, RELEVANT, replace=False), j] = rng.integers(1, 4, RELEVANT)
    total = weights.sum()
    kept, said = [], []
    while len(kept) < trials:
        rows = np.hstack((rng.integers(0, 2, (trials, attributes)), np.ones((trials, 1), dtype=np.int64)))
        scores = np.sort(rows @ weights, axis=1)
        clear = scores[:, -1] - scores[:, -2] >= 1  # integers: what is no tie has this margin
        kept += list(rows[clear])
        said += list((rows @ weights).argmax(axis=1)[clear])
    return Problem(np.array(kept[:trials], dtype=float), np.array(said[:trials]), weights / total, 1 / total)


def explicit(attributes: np.ndarray, classes: int) -> np.ndarray:
    """Return the votes of explicit sub-experts: (i, j) votes x_i for class j only."""
    votes = np.zeros((len(attributes), attributes.shape[1] * classes, classes))
    for j in range(classes):
        votes[:, j::classes, j] = attributes
    return votes


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per target and stream."""
    settings = SETTINGS[:2] if quick else SETTINGS
    return [
        {"attributes": m, "classes": k, "trials": 500 if quick else 2000, "seed": seed}
        for m, k in settings
        for seed in range(runs)
    ]


def run(cell: Cell, _: Path) -> dict[str, Any]:
    """Return the mistakes of both, the largest difference of weights, and the bound."""
    k = cell["classes"]
    made = problem(cell["attributes"], k, cell["trials"], cell["seed"])
    winnow = Winnow.for_margin(made.delta)
    machine = Fusion(winnow.on(Attributes()), classes=range(k))
    implicit = machine.learn(attributes=made.attributes, labels=made.labels)
    experts = Fusion(winnow.on(Votes()), classes=range(k))
    voted = experts.learn(explicit(made.attributes, k), made.labels)
    ones, others = machine.weights, experts.weights
    apart = [
        abs(ones["attribute", i, j] - others[i * k + j])
        for i in range(made.target.shape[0])
        for j in range(k)
    ]
    case = Case(n=made.target.size, delta=made.delta, u=made.target[made.target > 0])
    return {
        "machine": implicit.mistakes, "sub-experts": voted.mistakes,
        "same guesses": bool((implicit.wrong == voted.wrong).all()),
        "apart": max(apart),
        "bound": bound(winnow, case), "printed": 2 * math.log(made.target.size) / made.delta**2,
    }  # fmt: skip
