"""Speed on attributes: dense digits and sparse texts, with a weight for each class and attribute."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.peers.peer_client import PeerTimer
from benchmarks.peers.timed.rows import Rows, write
from benchmarks.row_counts import Plan
from benchmarks.speed.linmax_methods import Run, time_run
from benchmarks.speed.time_methods import peer_run, time_methods
from benchmarks.speed.votes import Report
from benchmarks.timing import TimedRun
from linmax import Averaged, Fusion, Perceptron, recommended
from linmax.experts import Attributes

SINGLE = "linmax Perceptron"
LEARNERS: dict[str, Any] = {
    SINGLE: Perceptron().on(Attributes()),
    "linmax averaged": Averaged(Perceptron().on(Attributes())),
    "linmax default": recommended(votes=False, attributes=True),
}
CLASSES, WORDS, LENGTH, TOPIC = 10, 20_000, 50, 200
OWN = 0.15  # share of the words of a text from the topic of its class
PEERS = [
    "VW oaa, file",
    "VW oaa, cache",
    "VW oaa logistic, file",
    "VW oaa, Python",
    "VW oaa, parsed",
    "scikit-learn SGDClassifier, chunks",
    "scikit-learn Perceptron, chunks",
    "scikit-learn SGDClassifier, rows",
    "River one against the rest",
    "River softmax",
]


def digits(times: int, seed: int = 0) -> Rows:
    """Return scikit-learn's digits several times, each time in another order."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(labels)) for _ in range(times)])
    return Rows(None, (pixels / 16)[order], labels[order], CLASSES)


def texts(rows: int, words: int = WORDS, length: int = LENGTH, seed: int = 0) -> Rows:
    """Generate bags of words by Zipf's law, some from a topic of the class; each row has norm 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=rows)
    topics = np.array([rng.permutation(words)[:TOPIC] for _ in range(CLASSES)])
    common = zipf(rng, words, (rows, length))
    special = topics[labels[:, None], zipf(rng, TOPIC, (rows, length))]
    drawn = np.where(rng.random((rows, length)) < OWN, special, common)
    ends = np.arange(0, rows * length + 1, length)
    counts = csr_matrix((np.ones(rows * length), drawn.ravel(), ends), shape=(rows, words))
    counts.sum_duplicates()
    norms = np.sqrt(counts.multiply(counts).sum(axis=1)).A1
    counts.data /= np.repeat(norms, np.diff(counts.indptr))
    return Rows(None, counts, labels, CLASSES)


def zipf(rng: np.random.Generator, words: int, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Draw words with probability proportional to 1 / rank."""
    ranks = np.cumsum(1 / np.arange(1, words + 1))
    return np.asarray(np.searchsorted(ranks, rng.random(shape) * ranks[-1]))


def runs(rows: Rows) -> dict[str, Run]:
    """Return the runs of linmax on these rows, and on dense rows also as CSR."""
    ways = {"": rows.attributes}
    if isinstance(rows.attributes, np.ndarray):
        ways[", as CSR"] = csr_matrix(rows.attributes)
    return {
        f"{name}{way}": _run(learner, matrix, rows.labels)
        for name, learner in LEARNERS.items()
        for way, matrix in ways.items()
    }


def _run(learner: Any, matrix: Any, labels: np.ndarray[Any, Any]) -> Run:
    def run(count: int) -> TimedRun:
        fusion = Fusion(learner, classes=range(CLASSES))
        return time_run(lambda: fusion.learn(attributes=matrix[:count], labels=labels[:count]).mistakes)

    return run


def sets(quick: bool) -> dict[str, Rows]:
    """Return digits and texts."""
    return {"digits": digits(3 if quick else 20), "texts": texts(5000 if quick else 30_000)}


def time_all(
    named: dict[str, Rows], timer: PeerTimer | None, plan: Plan, report: Report
) -> list[dict[str, Any]]:
    """Time all methods on each data set."""
    found = []
    for at, (name, rows) in enumerate(named.items()):
        report(name, at / len(named))
        found.append({"set": name, **describe(rows), "methods": time_set(rows, timer, plan)})
    return found


def describe(rows: Rows) -> dict[str, Any]:
    """Return the number of attributes, and of non-zero ones per row."""
    many, attributes = rows.attributes.shape
    return {"attributes": attributes, "nonzeros": round(np.count_nonzero(dense_part(rows)) / many, 1)}


def dense_part(rows: Rows) -> np.ndarray[Any, Any]:
    """Return the stored numbers."""
    stored = rows.attributes if isinstance(rows.attributes, np.ndarray) else rows.attributes.data
    return np.asarray(stored)


def time_set(rows: Rows, timer: PeerTimer | None, plan: Plan) -> dict[str, Any]:
    """Time all methods on one data set."""
    everyone = runs(rows)
    with TemporaryDirectory() as folder:
        if timer is not None:
            file = write(Path(folder) / "rows.npz", rows)
            everyone |= {name: peer_run(timer, name, file) for name in PEERS}
        return time_methods(everyone, dict.fromkeys(everyone, len(rows.labels)), plan)
