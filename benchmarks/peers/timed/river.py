"""Timed runs of River: `predict_one`, then `learn_one`, on dicts that are built in advance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.timed.rows import Rows
from benchmarks.peers.timed.stopwatch import Stopwatch


def model(setting: str) -> Any:
    """Return a new model."""
    from river.linear_model import (  # type: ignore[import-not-found]  # only the peers' environment has it
        Perceptron,
        SoftmaxRegression,
    )
    from river.multiclass import OneVsRestClassifier  # type: ignore[import-not-found]

    return SoftmaxRegression() if setting == "softmax" else OneVsRestClassifier(Perceptron())


def one_by_one(setting: str, rows: Rows) -> Callable[[Stopwatch], int]:
    """Return a run that predicts and learns row by row."""
    model(setting)
    items, labels = dicts(rows), rows.labels.tolist()

    def run(stopwatch: Stopwatch) -> int:
        mistakes = 0
        with stopwatch:
            learner = model(setting)
            for item, y in zip(items, labels, strict=True):
                mistakes += learner.predict_one(item) != y
                learner.learn_one(item, y)
        return mistakes

    return run


def dicts(rows: Rows) -> list[dict[Any, float]]:
    """Return each row as a dict of its non-zero features."""
    if rows.votes is not None:
        return [
            {f"{expert}={said}": 1 for expert, said in enumerate(row) if said >= 0}
            for row in rows.votes.tolist()
        ]
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(rows.attributes)
    cuts = zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
    pairs = (matrix.indices.tolist(), matrix.data.tolist())
    return [dict(zip(pairs[0][a:b], pairs[1][a:b], strict=True)) for a, b in cuts]


METHODS = {
    "River one against the rest": (one_by_one, "one against the rest"),
    "River softmax": (one_by_one, "softmax"),
}
