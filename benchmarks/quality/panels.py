"""Real panels of votes and labels, read from .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.feed import Ints
from benchmarks.quality.problem import Panel

DENSE = ("mmlu_pro_votes", "trec_rules_votes")  # files named as their folders
CROWDS = "crowd_votes"


def panels(folder: Path) -> list[Panel]:
    """Return all panels of the folder; none if it is missing."""
    files = [folder / name / f"{name}.npz" for name in DENSE]
    files += sorted((folder / CROWDS).glob("*.npz"))
    return [panel(file) for file in files if file.exists()]


def panel(file: Path) -> Panel:
    """Return the labelled items of a file."""
    with np.load(file, allow_pickle=False) as held:
        arrays: dict[str, Any] = dict(held)
    labels = arrays["y"].astype(np.int64)
    votes = arrays["votes"].astype(np.int64) if "votes" in arrays else _filled(arrays, len(labels))
    k = int(arrays["n_classes"]) if "n_classes" in arrays else len(arrays["class_names"])
    known = labels >= 0
    return Panel(file.stem.removesuffix("_dense"), votes[known], labels[known], k)


def _filled(arrays: dict[str, Any], items: int) -> Ints:
    """Return a list of votes as a table; the last of repeated votes counts."""
    votes = np.full((items, int(arrays["worker"].max()) + 1), -1, dtype=np.int64)
    votes[arrays["item"], arrays["worker"]] = arrays["label"]
    return votes
