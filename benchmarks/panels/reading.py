"""Real panels: votes and truth, read from a folder of .npz files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

DENSE = ("mmlu_pro_votes", "trec_rules_votes")  # files named as their folders
CROWDS = "crowd_votes"
ENOUGH = 500  # a crowd set with fewer labels says little


@dataclass(frozen=True, eq=False)
class Panel:
    """What experts said about items whose truth is known."""

    name: str
    votes: Ints  # (items, experts), -1 abstains
    labels: Ints  # (items,)
    k: int  # classes

    def orders(self, permutations: int) -> dict[str, Ints]:
        """The items as they come, and in some random orders."""
        items = len(self.labels)
        orders = {"file order": np.arange(items, dtype=np.int64)}
        for seed in range(permutations):
            orders[str(seed)] = np.random.default_rng(seed).permutation(items)
        return orders


def panels(folder: Path, enough: int = ENOUGH) -> list[Panel]:
    """Every panel of the folder with enough labels; none where the folder is missing."""
    files = [folder / name / f"{name}.npz" for name in DENSE]
    files += sorted((folder / CROWDS).glob("*.npz"))
    found = [panel(file) for file in files if file.exists()]
    return [one for one in found if len(one.labels) >= enough]


def panel(file: Path) -> Panel:
    """The items of a file that have a label."""
    with np.load(file, allow_pickle=False) as held:
        arrays: dict[str, Any] = dict(held)
    labels = arrays["y"].astype(np.int64)
    votes = arrays["votes"].astype(np.int64) if "votes" in arrays else _filled(arrays, len(labels))
    k = int(arrays["n_classes"]) if "n_classes" in arrays else len(arrays["class_names"])
    known = labels >= 0
    return Panel(file.stem.removesuffix("_dense"), votes[known], labels[known], k)


def _filled(arrays: dict[str, Any], items: int) -> Ints:
    """A list of votes as a table; who voted twice on an item is taken at the last word."""
    votes = np.full((items, int(arrays["worker"].max()) + 1), -1, dtype=np.int64)
    votes[arrays["item"], arrays["worker"]] = arrays["label"]
    return votes
