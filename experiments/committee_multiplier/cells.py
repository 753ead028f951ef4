"""Mistakes of Winnow with many fixed multipliers and of all adapted ones, on one stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.panels import panel
from experiments.committee_multiplier.variants import mistakes
from experiments.interface import Cell
from linmax import AdaptiveWinnow, Fusion, Winnow
from linmax.problems import majority

GRID = (1.001, 1.003, 1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)
KEPT = repr(AdaptiveWinnow())
TRIED = (
    ("steps", 0.4),
    ("sqrt", 0.5),
    ("sqrt", 1.0),
    ("adahedge", 1.0),
    ("potential", 1.0),
    ("squint", 1.0),
    ("greedy", 0.1),
    ("greedy", 0.03),
    ("greedy sqrt", 0.1),
    ("greedy steps", 0.15),
    ("doubling", 1.0),
    ("restart", 1.0),
)
GENERATED: dict[str, dict[str, Any]] = {
    **{f"2008, p={p:g}": {"trials": 5000, "noise": p} for p in (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)},
    "2003, 5 of 300": {"trials": 100_000, "relevant": 5, "experts": 300, "classes": 3, "speak": 0.5},
    "2003, 10 of 100": {"trials": 100_000, "relevant": 10, "experts": 100, "classes": 5, "speak": 0.05},
    "2003, 2 of 100": {"trials": 100_000, "relevant": 2, "experts": 100, "classes": 20, "speak": 0.001},
    "lecture, 3 of 1000": {"trials": 10_000, "relevant": 3, "experts": 1000, "classes": 2},
}
PANELS = (
    "mmlu_pro_votes/mmlu_pro_votes.npz",
    "trec_rules_votes/trec_rules_votes.npz",
    *(
        f"crowd_votes/{name}.npz"
        for name in (
            "adult4",
            "bluebird_binary",
            "dog",
            "face_sentiment",
            "fact_eval",
            "labelme_dense",
            "relevance4",
            "weather_cf",
            "weather_cf_amt",
        )
    ),
)
FIRST_SEED = 100  # the rate was chosen on the seeds 0 to 4


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream; in quick mode short streams, and no panels."""
    return streams(FIRST_SEED, runs, 2000 if quick else 100_000, quick)


def streams(first_seed: int, runs: int, most: int, quick: bool) -> list[Cell]:
    """Return a cell per generated problem, of at most `most` trials, and per panel unless `quick`."""
    seeds = range(first_seed, first_seed + runs)
    generated = [
        {"problem": name, "seed": seed, "trials": min(options["trials"], most)}
        for name, options in GENERATED.items()
        for seed in seeds
    ]
    return generated + [{"panel": file, "seed": seed} for file in PANELS for seed in seeds if not quick]


def stream(cell: Cell, data: Path, most: int | None = None) -> tuple[Any, Any, int] | None:
    """Return votes, labels and the number of classes, of at most `most` items; None without the panel."""
    if "problem" in cell:
        options = GENERATED[cell["problem"]] | {"trials": cell["trials"]}
        return *majority(seed=cell["seed"], **options), options.get("classes", 5)
    if not (data / cell["panel"]).is_file():
        return None
    held = panel(data / cell["panel"])
    order = np.random.default_rng(cell["seed"]).permutation(len(held.labels))[:most]
    return held.votes[order], held.labels[order], held.k


def run(cell: Cell, data: Path) -> dict[str, int]:
    """Return the mistakes by learner or variant; empty if a panel is missing."""
    items = stream(cell, data)
    if items is None:
        return {}
    votes, labels, k = items
    own = {repr(one): one for one in (*map(Winnow, GRID), AdaptiveWinnow())}
    found = {name: Fusion(one, classes=range(k)).learn(votes, labels).mistakes for name, one in own.items()}
    return found | {
        f"{variant} {parameter:g}": mistakes(votes, labels, k, variant, parameter)
        for variant, parameter in TRIED
    }
