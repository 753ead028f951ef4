"""Timed runs of scikit-learn: `predict`, then `partial_fit`, over chunks or single rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.timed.rows import Rows
from benchmarks.peers.timed.stopwatch import Stopwatch

CHUNK = 1000


def in_chunks(name: str, rows: Rows, size: int = CHUNK) -> Callable[[Stopwatch], int]:
    """Return a run that predicts and learns chunk by chunk; the first chunk is predicted as class 0."""
    from sklearn import linear_model, set_config

    set_config(assume_finite=True, skip_parameter_validation=True)
    make = getattr(linear_model, name)
    matrix, classes = rows.matrix(), np.arange(rows.k)
    chunks = [
        (matrix[at : at + size], rows.labels[at : at + size]) for at in range(0, len(rows.labels), size)
    ]

    def run(stopwatch: Stopwatch) -> int:
        mistakes = 0
        with stopwatch:
            learner = make()
            for at, (chunk, labels) in enumerate(chunks):
                guesses: Any = learner.predict(chunk) if at else 0
                mistakes += np.count_nonzero(guesses != labels)
                learner.partial_fit(chunk, labels, classes)
        return int(mistakes)

    return run


METHODS: dict[str, tuple[Callable[[str, Rows], Callable[[Stopwatch], int]], str]] = {
    f"{name}, {way}": (make, name)
    for name in ("SGDClassifier", "Perceptron")
    for way, make in (("chunks", in_chunks), ("rows", partial(in_chunks, size=1)))
}
METHODS = {f"scikit-learn {name}": method for name, method in METHODS.items()}
