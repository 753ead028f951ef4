"""Mistakes of Winnow with many fixed multipliers and of all adapted ones, on one stream."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.panels import panel
from experiments.committee_multiplier.variants import adversary_mistakes, mistakes
from experiments.interface import Cell
from linmax import AdaptiveWinnow, Fusion, Perceptron, Winnow
from linmax.bounds import Case, bound, multiplier_bound
from linmax.bounds.multipliers import MULTIPLIERS
from linmax.problems import majority
from linmax.svm import instances

GRID = (1.001, 1.003, 1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0)
KEPT = repr(AdaptiveWinnow())
TRIED = (
    ("steps", 0.4),
    ("sqrt", 0.5),
    ("sqrt", 1.0),
    ("adahedge", 1.0),
    ("potential", 1.0),
    ("squint", 1.0),
    ("squint", 2.0),
    ("greedy", 0.1),
    ("greedy", 0.03),
    ("greedy sqrt", 0.1),
    ("greedy steps", 0.15),
    ("doubling", 1.0),
    ("restart", 1.0),
)
Problems = dict[str, dict[str, Any]]  # the arguments of `majority` by name
GENERATED: Problems = {
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
SIZES, EXPERTS, MOST = (3, 5), 100, 5000  # of the adversary's panel, all experts, and most trials
NOISES = (0.0, 0.05)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream; in quick mode short streams, and no panels."""
    found = streams(FIRST_SEED, runs, 2000 if quick else 100_000, quick)
    checks = [{"adversary": size} for size in SIZES]
    random = [
        {"random": noise, "seed": FIRST_SEED + i, "trials": 1000 if quick else 20_000}
        for noise in NOISES
        for i in range(runs)
    ]
    return found + checks + random


def streams(first_seed: int, runs: int, most: int, quick: bool, problems: Problems = GENERATED) -> list[Cell]:
    """Return a cell per generated problem, of at most `most` trials, and per panel unless `quick`."""
    seeds = range(first_seed, first_seed + runs)
    generated = [
        {"problem": name, "seed": seed, "trials": min(options["trials"], most)}
        for name, options in problems.items()
        for seed in seeds
    ]
    return generated + [{"panel": file, "seed": seed} for file in PANELS for seed in seeds if not quick]


def stream(
    cell: Cell, data: Path, most: int | None = None, problems: Problems = GENERATED
) -> tuple[Any, Any, int] | None:
    """Return votes, labels and the number of classes, of at most `most` items; None without the panel."""
    if "problem" in cell:
        options = problems[cell["problem"]] | {"trials": cell["trials"]}
        return *majority(seed=cell["seed"], **options), options.get("classes", 5)
    if not (data / cell["panel"]).is_file():
        return None
    held = panel(data / cell["panel"])
    order = np.random.default_rng(cell["seed"]).permutation(len(held.labels))[:most]
    return held.votes[order], held.labels[order], held.k


def check_bounds(cell: Cell) -> dict[str, tuple[int, float | None]]:
    """Return the mistakes and the bound of `AdaptiveWinnow` and of each variant that may have one."""
    if "adversary" in cell:
        size = cell["adversary"]
        case = Case(n=EXPERTS, delta=1 / size, u=[1 / size] * size)
        rate = AdaptiveWinnow().rate / math.sqrt(math.log(EXPERTS))
        kept = adversary_mistakes("steps", rate, EXPERTS, size, MOST)
    else:
        u, votes, labels, k = margin_stream(cell["seed"], cell["random"], cell["trials"])
        fusion = Fusion(Perceptron(), classes=range(k), experts=range(len(u)))
        found = instances(fusion, votes, labels)
        weights = np.append(u, np.zeros(found.z.shape[1] - len(u)))
        case = Case.of(weights, found, MARGIN if cell["random"] else None)
        kept = Fusion(AdaptiveWinnow(), classes=range(k)).learn(votes, labels).mistakes
    pairs = {KEPT: (kept, bound(AdaptiveWinnow(), case))}
    for variant, parameter in TRIED:
        if variant in MULTIPLIERS:
            made = (
                adversary_mistakes(variant, parameter, EXPERTS, cell["adversary"], MOST)
                if "adversary" in cell
                else mistakes(votes, labels, k, variant, parameter)
            )
            pairs[f"{variant} {parameter:g}"] = made, multiplier_bound(variant, case, parameter).value
    return pairs


MARGIN = 0.1


def margin_stream(seed: int, noise: float, trials: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return weights u with sum u = 1, votes on which u has the margin, labels with noise, and k.

    >>> u, votes, labels, k = margin_stream(0, 0.0, 100)
    >>> votes.shape[1] == len(u), set(labels.tolist()) == set(range(k))
    (True, True)
    """
    rng, n, k = np.random.default_rng(seed), 12, 4
    u = rng.random(n) ** 3
    u /= u.sum()
    votes = rng.integers(k, size=(trials, n))
    scores = ((votes[:, :, None] == np.arange(k)) * u[:, None]).sum(axis=1)
    ordered = np.sort(scores, axis=1)
    kept = ordered[:, -1] - ordered[:, -2] >= MARGIN
    labels = scores.argmax(axis=1)
    flips = rng.random(trials) < noise
    labels = np.where(flips, (labels + rng.integers(1, k, size=trials)) % k, labels)
    return u, votes[kept], labels[kept], k


def run(cell: Cell, data: Path) -> dict[str, Any]:
    """Return the mistakes by learner or variant, or also the bounds; empty if a panel is missing."""
    if "adversary" in cell or "random" in cell:
        return check_bounds(cell)
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
