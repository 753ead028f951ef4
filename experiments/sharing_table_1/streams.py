"""The available data of Table 1, with their differences from the paper."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from experiments import data as files
from experiments.sharing import kernels, sources
from linmax.experts import Source

PEOPLE, IMAGES, COEFFICIENTS = 30, 64, 60


class Stream(NamedTuple):
    """Instances and labels, in the order of the file."""

    attributes: Any
    labels: np.ndarray


class Set(NamedTuple):
    """One row of Table 1."""

    file: str
    load: Callable[[Path], Stream]
    methods: dict[str, Source]
    caveat: str
    ordered: bool = True  # has the file an order that means something?


def letter(path: Path) -> Stream:
    """Return 16 features of images of letters; the scaling by 1/10 was fitted."""
    found = files.arrays(path)
    return Stream(found["X"] / 10.0, found["y"])


def isolet(path: Path) -> Stream:
    """Return 617 features of spoken letters, subsets 1 to 4, scaled by 1/10."""
    found = files.arrays(path)
    part = found["subset"] <= 4
    return Stream(found["X_times_10000"][part] / 1e5, found["y"][part])


def words(path: Path) -> Stream:
    """Return messages as sets of words."""
    found = files.arrays(path)
    ones = np.ones(len(found["indices"]))
    return Stream(csr_array((ones, found["indices"], found["indptr"]), tuple(found["shape"])), found["y"])


def faces(path: Path) -> Stream:
    """Return the first 60 principal components of each image, scaled to standard deviation 1."""
    found = files.arrays(path)
    people = np.flatnonzero(np.bincount(found["y"]) == IMAGES)[:PEOPLE]
    part = np.isin(found["y"], people)
    pixels = found["X"][part].astype(np.float64)
    left, size, _ = np.linalg.svd(pixels - pixels.mean(axis=0), full_matrices=False)
    components = left[:, :COEFFICIENTS] * size[:COEFFICIENTS]
    return Stream(components / components.std(axis=0), found["y"][part])


SETS = {
    "LETTER": Set(
        files.LETTER,
        letter,
        kernels(0.07),
        "features divided by 10, which was fitted: the paper's scaling is unknown",
    ),
    "ISOLET": Set(
        files.ISOLET,
        isolet,
        kernels(0.16),
        "features divided by 10, which was fitted; the order of subsets 1 to 4 is rebuilt",
    ),
    "Enron3": Set(
        files.KAMINSKI,
        words,
        sources("ternary"),
        "1780 messages in 8 folders of the 4477 in 41: levels cannot be compared",
    ),
    "Enron1": Set(
        files.BECK,
        words,
        sources("ternary"),
        "only correspondents, the texts and the dates are lost: permuted",
        ordered=False,
    ),
    "YaleB": Set(
        files.YALEB,
        faces,
        sources("distance"),
        "images are not aligned as in the paper; sorted by person in the file: permuted",
        ordered=False,
    ),
}


@lru_cache(maxsize=2)
def stream(name: str, folder: Path) -> Stream:
    """Read a data set once."""
    return SETS[name].load(folder / SETS[name].file)


def shuffled(whole: Stream, seed: int) -> Stream:
    """Return the data set in a random order."""
    order = np.random.default_rng(seed).permutation(len(whole.labels))
    return Stream(whole.attributes[order], whole.labels[order])
