"""Real streams with attributes, read from .npz files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.quality.problem import Stream

WORK = 800_000  # items x attributes x classes, the limit for River's slowest member
FEWEST, MOST = 300, 2500  # items
MANY, FEW, SLOW = 4, 3, 2  # random orders, or FEW of them for streams above SLOW times that limit
BY_CLASS = ("yaleb_32x32", "beck_s_correspondents")  # files sorted by class: their order reveals the labels


def streams(folder: Path) -> list[Stream]:
    """Return all streams of the folder that exist."""
    files = {folder / "uci_streams" / f"{name}.npz": plain for name in UCI}
    files |= {folder / path: read for path, read in OTHERS.items()}
    return [stream(file, read) for file, read in files.items() if file.exists()]


def stream(file: Path, read: Callable[[dict[str, Any]], Any]) -> Stream:
    """Read a stream; the number of items is limited so that the slowest peer takes seconds."""
    with np.load(file, allow_pickle=False) as held:
        arrays: dict[str, Any] = dict(held)
    attributes, labels = read(arrays), arrays["y"].astype(np.int64)
    k = int(labels.max()) + 1
    each = attributes.nnz / len(labels) if sparse.issparse(attributes) else attributes.shape[1]
    fed = int(np.clip(WORK / (each * k), FEWEST, MOST)) // 100 * 100
    name, most = file.stem, FEW if fed * each * k > SLOW * WORK else MANY
    return Stream(name, attributes, labels, k, min(fed, len(labels)), name not in BY_CLASS, most)


def plain(arrays: dict[str, Any]) -> Any:
    """Return a table of numbers."""
    return arrays["X"].astype(np.float64)


def faces(arrays: dict[str, Any]) -> Any:
    """Return Yale's images of 32 by 32 pixels, reduced to 16 by 16 by means."""
    return arrays["X"].reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(-1, 256)


def sounds(arrays: dict[str, Any]) -> Any:
    """Return Isolet's numbers, which are stored as integers."""
    return arrays["X_times_10000"] / 1e4


def forest(arrays: dict[str, Any]) -> Any:
    """Return Covertype's ten numbers, and a column for each wilderness and each soil."""
    kinds = [np.eye(4)[arrays["wilderness"]], np.eye(40)[arrays["soil"]]]
    return np.hstack([arrays["quant"].astype(np.float64), *kinds])


def words(arrays: dict[str, Any]) -> Any:
    """Return a sparse binary matrix of words."""
    indices, indptr = arrays["indices"], arrays["indptr"]
    return sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=tuple(arrays["shape"]))


UCI = ("penbased", "satimage", "optdigits", "texture", "segment")
OTHERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "letter/letter.npz": plain,
    "isolet/isolet.npz": sounds,
    "covtype/covtype_first20k.npz": forest,
    "yaleb/yaleb_32x32.npz": faces,
    "enron/kaminski_v_folders.npz": words,
    "enron/beck_s_correspondents.npz": words,
}
