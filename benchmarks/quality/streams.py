"""Real streams with attributes, read from a folder of .npz files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.quality.problem import Stream

WORK = 800_000  # items times attributes times classes that River's slowest is given
FEWEST, MOST = 300, 2500  # items
MANY, FEW, SLOW = 4, 3, 2  # random orders, and those of streams that are so many times that work nevertheless
BY_CLASS = ("yaleb_32x32", "beck_s_correspondents")  # files sorted by class: their order gives the truth away


def streams(folder: Path) -> list[Stream]:
    """Every stream of the folder that is there."""
    files = {folder / "uci_streams" / f"{name}.npz": plain for name in UCI}
    files |= {folder / path: read for path, read in OTHERS.items()}
    return [stream(file, read) for file, read in files.items() if file.exists()]


def stream(file: Path, read: Callable[[dict[str, Any]], Any]) -> Stream:
    """One file; as many of its items are fed as the slowest peer finishes in seconds."""
    with np.load(file, allow_pickle=False) as held:
        arrays: dict[str, Any] = dict(held)
    attributes, labels = read(arrays), arrays["y"].astype(np.int64)
    k = int(labels.max()) + 1
    each = attributes.nnz / len(labels) if sparse.issparse(attributes) else attributes.shape[1]
    fed = int(np.clip(WORK / (each * k), FEWEST, MOST)) // 100 * 100
    name, most = file.stem, FEW if fed * each * k > SLOW * WORK else MANY
    return Stream(name, attributes, labels, k, min(fed, len(labels)), name not in BY_CLASS, most)


def plain(arrays: dict[str, Any]) -> Any:
    """A table of numbers."""
    return arrays["X"].astype(np.float64)


def faces(arrays: dict[str, Any]) -> Any:
    """Yale's pictures of 32 by 32 pixels as 16 by 16, each the mean of four."""
    return arrays["X"].reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(-1, 256)


def sounds(arrays: dict[str, Any]) -> Any:
    """Isolet's numbers, which are kept as whole ones."""
    return arrays["X_times_10000"] / 1e4


def forest(arrays: dict[str, Any]) -> Any:
    """Covertype's ten numbers, and a column for each wilderness and each soil."""
    kinds = [np.eye(4)[arrays["wilderness"]], np.eye(40)[arrays["soil"]]]
    return np.hstack([arrays["quant"].astype(np.float64), *kinds])


def words(arrays: dict[str, Any]) -> Any:
    """A sparse matrix of 1 where a word is there."""
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
