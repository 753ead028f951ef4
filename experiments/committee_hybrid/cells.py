"""Mistakes of Winnow with and without attributes and splitting, on three problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.interface import Cell
from linmax import Fusion, Winnow
from linmax.experts import Attributes, Source, Split, Thresholds, Votes

CLASSES, EXPERTS, ATTRIBUTES, RELEVANT = 3, 20, 20, 5
TRIALS = 5000
ALPHA = 1.1
SOURCES: dict[str, Source] = {
    "sub-experts": Votes() + Thresholds(),
    "attributes": Attributes() + Thresholds(),
    "sub-experts and attributes": Votes() + Attributes() + Thresholds(),
    "sub-experts split": Votes() + Split() + Thresholds(),
    "all": Votes() + Split() + Attributes() + Thresholds(),
}
USEFUL, USELESS = EXPERTS + CLASSES, CLASSES * (EXPERTS + ATTRIBUTES)
PROBLEMS = ("mixed", "one class each", "votes")


def stream(problem: str, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return votes, attributes and labels; ties go to the first class."""
    rng = np.random.default_rng(seed)
    attributes = rng.integers(0, 2, (trials, ATTRIBUTES))
    if problem == "one class each":
        labels = rng.integers(CLASSES, size=trials)
        skill = np.arange(EXPERTS) % CLASSES
        knows = (skill[None] == labels[:, None]) & (rng.random((trials, EXPERTS)) < 0.6)
        votes = np.where(knows, labels[:, None], rng.integers(CLASSES, size=(trials, EXPERTS)))
        return votes, attributes, labels
    votes = rng.integers(CLASSES, size=(trials, EXPERTS))
    scores = np.stack([(votes[:, :RELEVANT] == j).sum(axis=1) for j in range(CLASSES)], axis=1).astype(float)
    if problem == "mixed":
        scores += 1.5 * (attributes[:, 0 : 2 * CLASSES : 2] + attributes[:, 1 : 2 * CLASSES : 2])
    return votes, attributes, scores.argmax(axis=1)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream."""
    trials = 1000 if quick else TRIALS
    return [
        {"problem": problem, "trials": trials, "seed": seed} for problem in PROBLEMS for seed in range(runs)
    ]


def run(cell: Cell, _: Path) -> dict[str, int]:
    """Return the mistakes by source."""
    votes, attributes, labels = stream(cell["problem"], cell["trials"], cell["seed"])
    made = {}
    for name, source in SOURCES.items():
        fusion = Fusion(Winnow(ALPHA).on(source), classes=range(CLASSES))
        given = {"votes": None if name == "attributes" else votes, "attributes": attributes}
        if "attributes" not in name and name != "all":
            del given["attributes"]
        made[name] = fusion.learn(labels=labels, **given).mistakes
    return made
