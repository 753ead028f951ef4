"""Attributes instead of votes: dense digits and sparse texts, with a weight for each class and attribute."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.peers.desk import Desk
from benchmarks.peers.timed.rows import Rows, write
from benchmarks.sizing import Plan
from benchmarks.speed.own import Run, Taken, taken
from benchmarks.speed.race import asked, race
from benchmarks.speed.votes import Tell
from linmax import Averaged, Fusion, Perceptron
from linmax.experts import Attributes

SINGLE = "linmax Perceptron"
LEARNERS: dict[str, Any] = {
    SINGLE: Perceptron().on(Attributes()),
    "linmax averaged": Averaged(Perceptron().on(Attributes())),
}
CLASSES, WORDS, LENGTH, TOPIC = 10, 20_000, 50, 200
OWN = 0.15  # of the words of a text are of its class's topic
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
    """scikit-learn's digits, several times over, each time in another order."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(labels)) for _ in range(times)])
    return Rows(None, (pixels / 16)[order], labels[order], CLASSES)


def texts(rows: int, words: int = WORDS, length: int = LENGTH, seed: int = 0) -> Rows:
    """Bags of words by Zipf's law, some of them of a topic of the class; each row has norm 1."""
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
    """Words with a chance in proportion to one over their rank."""
    ranks = np.cumsum(1 / np.arange(1, words + 1))
    return np.asarray(np.searchsorted(ranks, rng.random(shape) * ranks[-1]))


def runs(rows: Rows) -> dict[str, Run]:
    """linmax on these rows, as they are and, where they are dense, as sparse ones."""
    ways = {"": rows.attributes}
    if isinstance(rows.attributes, np.ndarray):
        ways[", as CSR"] = csr_matrix(rows.attributes)
    return {
        f"{name}{way}": _run(learner, matrix, rows.labels)
        for name, learner in LEARNERS.items()
        for way, matrix in ways.items()
    }


def _run(learner: Any, matrix: Any, labels: np.ndarray[Any, Any]) -> Run:
    def run(count: int) -> Taken:
        fusion = Fusion(learner, classes=range(CLASSES))
        return taken(lambda: fusion.learn(attributes=matrix[:count], labels=labels[:count]).mistakes)

    return run


def sets(quick: bool) -> dict[str, Rows]:
    """Digits and texts."""
    return {"digits": digits(3 if quick else 20), "texts": texts(5000 if quick else 30_000)}


def everybody(named: dict[str, Rows], desk: Desk | None, plan: Plan, tell: Tell) -> list[dict[str, Any]]:
    """A race on each set."""
    found = []
    for at, (name, rows) in enumerate(named.items()):
        tell(name, at / len(named))
        found.append({"set": name, **described(rows), "methods": raced(rows, desk, plan)})
    return found


def described(rows: Rows) -> dict[str, Any]:
    """How large the rows are."""
    many, attributes = rows.attributes.shape
    return {"attributes": attributes, "nonzeros": round(np.count_nonzero(dense_part(rows)) / many, 1)}


def dense_part(rows: Rows) -> np.ndarray[Any, Any]:
    """The numbers that are stored."""
    stored = rows.attributes if isinstance(rows.attributes, np.ndarray) else rows.attributes.data
    return np.asarray(stored)


def raced(rows: Rows, desk: Desk | None, plan: Plan) -> dict[str, Any]:
    """Everybody on one set."""
    everyone = runs(rows)
    with TemporaryDirectory() as folder:
        if desk is not None:
            file = write(Path(folder) / "rows.npz", rows)
            everyone |= {name: asked(desk, name, file) for name in PEERS}
        return race(everyone, dict.fromkeys(everyone, len(rows.labels)), plan)
