"""The hybrid with and without vectors for sets of classes, on one stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform

from experiments import data as files
from experiments.interface import Cell
from experiments.sharing import learn
from linmax.experts import Attributes, Shared, Source

EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text())
GROUPS = "groups"  # the made-up problem
NAMES = (GROUPS, *EXPECTED["sets"])
WAYS = ("hybrid", "sets on x", "renamed, on x", "sets on phi", "renamed, on phi")
ALL = 10**9  # trials


def groups(seed: int, trials: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """Generate data: two attributes encode one of four groups, three others the class within it."""
    attributes = np.random.default_rng(seed).choice([-1.0, 1.0], (trials, 64))
    group = 2 * (attributes[:, 0] > 0) + (attributes[:, 1] > 0)
    own = np.stack([attributes[np.arange(trials), 2 + 3 * group + j] > 0 for j in range(3)], axis=1)
    return attributes, 8 * group + own @ [4, 2, 1]


def stream(name: str, seed: int, folder: Path) -> tuple[np.ndarray, np.ndarray, str]:
    """Return attributes with a constant, labels in a random order, and the feature map."""
    if name == GROUPS:
        return *groups(seed), "product"
    found = files.arrays(folder / EXPECTED["sets"][name])
    order = np.random.default_rng(seed).permutation(len(found["y"]))
    values = found["X"].astype(np.float64)[order]
    values = values[:, values.std(axis=0) > 0]
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    return np.hstack([values, np.ones((len(values), 1))]), found["y"][order], "distance"


def tree_of(guesses: Any, labels: Any) -> dict[str, list[int]]:
    """Return the inner nodes, without the root, of a tree of classes by confusion."""
    classes, codes = np.unique(labels, return_inverse=True)
    k = len(classes)
    counts = np.zeros((k, k))
    np.add.at(counts, (np.searchsorted(classes, guesses), codes), 1.0)
    often = counts / np.maximum(counts.sum(axis=0), 1.0)
    apart = 1.0 - (often + often.T) / 2.0
    np.fill_diagonal(apart, 0.0)
    root = to_tree(linkage(squareform(apart), "average"))
    nodes, found = [root.left, root.right], dict[str, list[int]]()
    while nodes:
        node = nodes.pop()
        if not node.is_leaf():
            found[f"set {len(found)}"] = [int(classes[leaf]) for leaf in node.pre_order()]
            nodes += [node.left, node.right]
    return found


def source_of(way: str, feature_map: str, sets: dict[str, list[int]], rename: dict[int, int]) -> Source:
    """Return the hybrid source, with or without vectors for sets of classes."""
    hybrid = Shared(feature_map) + Attributes()
    if way == "hybrid":
        return hybrid
    if way.startswith("renamed"):
        sets = {name: [rename[label] for label in labels] for name, labels in sets.items()}
    return hybrid + Shared("plain" if way.endswith("x") else feature_map, sets=sets)


def cells(runs: int, quick: bool) -> list[Cell]:
    """Return a cell per stream; in quick mode only its beginning."""
    return [
        {"set": name, "seed": seed, "trials": 1500 if quick else ALL}
        for seed in range(runs)
        for name in NAMES
    ]


def run(cell: Cell, data: Path) -> dict[str, float]:
    """Return the percentage of mistakes by method."""
    attributes, labels, feature_map = stream(cell["set"], cell["seed"], data)
    attributes, labels = (part[: cell["trials"]] for part in (attributes, labels))
    classes = np.unique(labels).tolist()
    rename = dict(
        zip(classes, np.random.default_rng(cell["seed"]).permutation(classes).tolist(), strict=True)
    )
    first = learn(Shared(feature_map) + Attributes(), attributes, labels)
    guesses = np.where(first.guesses == None, labels[0], first.guesses).astype(labels.dtype)  # noqa: E711
    sets = tree_of(guesses, labels)
    if cell["set"] == GROUPS:
        sets = {f"group {g}": [c for c in classes if c // 8 == g] for g in range(4)}
    return {
        way: 100 * learn(source_of(way, feature_map, sets, rename), attributes, labels).mistakes / len(labels)
        for way in WAYS
    }
