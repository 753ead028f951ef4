"""scikit-learn under the clock: `predict`, then `partial_fit`, in one pass over chunks or single rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.timed.rows import Rows
from benchmarks.peers.timed.watch import Watch

CHUNK = 1000


def in_chunks(name: str, rows: Rows, size: int = CHUNK) -> Callable[[Watch], int]:
    """Guess and learn each chunk; before the first nothing is known, and the guess is class 0."""
    from sklearn import linear_model, set_config

    set_config(assume_finite=True, skip_parameter_validation=True)
    make = getattr(linear_model, name)
    matrix, classes = rows.matrix(), np.arange(rows.k)
    chunks = [
        (matrix[at : at + size], rows.labels[at : at + size]) for at in range(0, len(rows.labels), size)
    ]

    def run(watch: Watch) -> int:
        mistakes = 0
        with watch:
            learner = make()
            for at, (chunk, labels) in enumerate(chunks):
                guesses: Any = learner.predict(chunk) if at else 0
                mistakes += np.count_nonzero(guesses != labels)
                learner.partial_fit(chunk, labels, classes)
        return int(mistakes)

    return run


METHODS: dict[str, tuple[Callable[[str, Rows], Callable[[Watch], int]], str]] = {
    f"{name}, {way}": (make, name)
    for name in ("SGDClassifier", "Perceptron")
    for way, make in (("chunks", in_chunks), ("rows", partial(in_chunks, size=1)))
}
METHODS = {f"scikit-learn {name}": method for name, method in METHODS.items()}
