"""Mistakes of single readings of the same scores and of committees over them, on one panel of scores."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.streams import OTHERS, UCI, plain, stream
from experiments.interface import Cell
from linmax import Averaged, Combine, Fusion, Mixture, Perceptron, Tempered, recommended
from linmax.experts import Thresholds, Votes
from linmax.experts.votes import SCALES
from linmax.problems import majority

LETTER = "letter/letter.npz"
FILES = {f"uci_streams/{name}.npz": plain for name in UCI} | {LETTER: OTHERS[LETTER]}
FITTED, SCORED = 1000, 1500  # items
ADDED = "2008, more noise"
GENERATED = {
    "2008, one scale": "every expert gives its vote 1 and adds noise below 1 to all classes, so that its vote"
    " has the largest score",
    "2008, a scale per expert": "the same, multiplied by 0.1, 1 or 10",
    "2008, a scale per item": "the same, multiplied by a log-normal number for every expert and item",
    ADDED: "one scale, with noise below 2, so that the largest score is not always the vote's",
}
COMBINE, MIXTURE, DEFAULT, WIDE = "V-Combine", "mixture", "the default", "default with readings"
METHODS = (*SCALES, COMBINE, MIXTURE, DEFAULT, WIDE)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per panel and order; in quick mode short generated ones."""
    generated = [
        {"problem": name, "trials": 40 if quick else 3000, "seed": seed}
        for name in list(GENERATED)[: 1 if quick else None]
        for seed in range(runs)
    ]
    return generated + [{"panel": file, "seed": seed} for file in FILES for seed in range(runs) if not quick]


def learners() -> dict[str, Any]:
    """Return the single readings, and committees over them."""
    read = {scale: Votes(as_=scale) + Thresholds() for scale in SCALES}
    single = {scale: Averaged(Perceptron(start="equal").on(source)) for scale, source in read.items()}
    return single | {
        COMBINE: Combine(tuple(single.values())),
        MIXTURE: Mixture(tuple(map(Tempered, single.values()))),
        DEFAULT: recommended(),
        WIDE: recommended(readings=True),
    }


def run(cell: Cell, data: Path) -> dict[str, dict[str, float]]:
    """Return mistakes, and microseconds per trial, by method; empty if a stream is missing."""
    if "panel" in cell:
        if not (data / cell["panel"]).is_file():
            return {}
        scores, labels, k = _panel(data, cell["panel"])
        order = np.random.default_rng(cell["seed"]).permutation(len(labels))[:SCORED]
        scores, labels = scores[order], labels[order]
    else:
        scores, labels, k = _generated(cell["problem"], cell["trials"], cell["seed"])
    found: dict[str, dict[str, float]] = {"mistakes": {}, "microseconds": {}}
    for name, learner in learners().items():
        Fusion(learner, classes=range(k)).learn(scores[:20], labels[:20])  # to compile
        fusion, before = Fusion(learner, classes=range(k)), time.process_time()
        found["mistakes"][name] = fusion.learn(scores, labels).mistakes
        found["microseconds"][name] = (time.process_time() - before) / len(labels) * 1e6
    return found


def _generated(name: str, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the majority problem of 2008 with scores in place of votes."""
    votes, labels = majority(trials, noise=0.05, seed=seed)
    rng = np.random.default_rng([seed, 1])
    k = int(votes.max()) + 1
    scores = np.eye(k)[votes] + (2.0 if name.endswith("noise") else 1.0) * rng.random((*votes.shape, k))
    if name.endswith("expert"):
        scores *= rng.choice([0.1, 1.0, 10.0], size=votes.shape[1])[:, None]
    elif name.endswith("item"):
        scores *= rng.lognormal(sigma=1.5, size=votes.shape)[:, :, None]
    return scores, labels, k


@lru_cache(maxsize=1)
def _panel(data: Path, file: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the scores of seven models on items they were not fitted to, each on the scale of its kind."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    given = stream(data / file, FILES[file])
    order = np.random.default_rng(0).permutation(len(given.labels))
    before, after = order[:FITTED], order[FITTED:]
    models = {
        DecisionTreeClassifier(max_depth=1, random_state=0): "predict_proba",
        DecisionTreeClassifier(max_depth=4, random_state=0): "predict_proba",
        DecisionTreeClassifier(random_state=0): "predict_proba",
        GaussianNB(): "predict_log_proba",
        KNeighborsClassifier(5): "predict_proba",
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)): "decision_function",
        make_pipeline(StandardScaler(), LinearSVC(random_state=0)): "decision_function",
    }
    scores = []
    for model, method in models.items():
        model.fit(given.attributes[before], given.labels[before])
        found = np.zeros((len(after), given.k))
        found[:, model.classes_] = getattr(model, method)(given.attributes[after])
        scores.append(np.clip(found, -1e3, 1e3))
    return np.stack(scores, axis=1), given.labels[after], given.k
