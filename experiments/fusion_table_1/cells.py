"""Final errors and mistakes of all algorithms on one stream."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.fusion import CLASSES, NOISES, bank, learner, optimum, stream
from experiments.interface import Cell
from linmax import Fusion

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text(encoding="utf-8"))
FAMILIES = ("AR", "A", "B")
COMMITTEES = ("VR-Combine", "V-Combine")
FRESH = 50_000
APART = 1_000_000  # between the seeds of trials and of fresh instances


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream; in quick mode only with the named algorithms."""
    noises = (0.01,) if quick else NOISES
    return [
        {"noise": noise, "seed": seed, "who": "named" if quick else "all"}
        for noise in noises
        for seed in range(runs)
    ]


def named(noise: float) -> list[str]:
    """Return the algorithms that the paper or the reference names."""
    return [cell["learner"] for cell in EXPECTED["final error"][str(noise)]]


def run(cell: Cell, _: Path) -> dict[str, Any]:
    """Return [final error, mistakes] of all algorithms."""
    noise, seed = cell["noise"], cell["seed"]
    who = [*named(noise), *COMMITTEES]
    if cell["who"] == "all":
        who += [repr(one) for family in FAMILIES for one in bank(family)]
    made = {one: final(one, noise, seed) for one in dict.fromkeys(who)}
    return made | {"optimum": [noise, int(optimum(noise, seed).sum())]}


def final(who: str, noise: float, seed: int, fresh: int = FRESH) -> list[float]:
    """Return the final error after 5000 trials, converted to noisy labels, and the mistakes."""
    fusion = Fusion(learner(who), classes=range(CLASSES))
    mistakes = fusion.learn(*stream(noise, seed)).mistakes
    votes, labels = clean(seed, fresh)
    error = float((fusion.predict(votes) != labels).mean())
    return [noise + error * (1 - noise - noise / (CLASSES - 1)), mistakes]


@lru_cache(maxsize=1)  # everyone is tried on the same
def clean(seed: int, fresh: int) -> Any:
    """Return new instances without noise."""
    return stream(0.0, seed + APART, trials=fresh)
