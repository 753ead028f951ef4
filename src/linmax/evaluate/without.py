"""Who could be dropped: the same learner on the same items, with one expert after the other left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.ballots import Batch, Dense, Hard, Sparse
from linmax.evaluate.sample import Rows
from linmax.fusion import Fusion

TRIALS = 40_000  # of all these runs together
LEAST = 50  # items, below which it tells nothing


class Without(NamedTuple):
    """What happens on some items when an expert is left out."""

    expert: Any
    accuracy: float
    costs: float  # accuracy that is lost


def without_each(
    fusion: Fusion,
    rows: Rows,
    *,
    trials: int = TRIALS,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[int, list[Without]]:
    """How many items were looked at, and what each expert's absence costs on them, the dearest first.

    A new session of the same learner goes over the first items of the sample with everybody, and then once
    without each; with many experts over fewer items, so that `trials` are run in all.

    >>> import io
    >>> from linmax import Winnow
    >>> from linmax.evaluate.audit import Audit
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,eve,truth\\n" + b"a,b,a,b\\nb,a,b,a\\na,a,b,a\\nb,b,a,b\\n" * 30
    >>> fusion, audit = Fusion(Winnow(1.5)), Audit()
    >>> for piece in open_stream(io.BytesIO(text)):
    ...     outcome = audit.learn(fusion, piece)
    >>> items, found = without_each(fusion, audit.sample.rows())
    >>> items, found[0].expert, found[0].costs > 0.3
    (120, 'bob', True)
    """
    experts = fusion.experts
    items = min(len(rows.row), trials // (len(experts) + 1))
    if items < LEAST or len(experts) < 2:
        return 0, []
    piece, labels = rows.piece.part(0, items), named(fusion, rows.truth[:items])
    fresh = _afresh(fusion)
    batch = fresh.read(piece.votes, labels, attributes=piece.attributes)
    whole = _right(fresh, batch)
    found = []
    for i, expert in enumerate(experts):
        told(i, len(experts))
        right = _right(_afresh(fusion), replace(batch, votes=silenced(batch.votes, i)))
        found.append(Without(expert, right, whole - right))
    return items, sorted(found, key=lambda one: -one.costs)


def _afresh(fusion: Fusion) -> Fusion:
    """A new session that knows all classes and experts from the start."""
    return Fusion(
        fusion.learner,
        classes=fusion.classes,
        experts=fusion.experts,
        abstain=fusion.abstain,
        seed=fusion.seed,
    )


def _right(fusion: Fusion, batch: Batch) -> float:
    return float((fusion.learn_batch(batch).guesses == batch.labels).mean())


def silenced(votes: Any, i: int) -> Any:
    """The same votes, but for those of one expert, who abstains.

    >>> silenced(Hard(np.array([[0, 1], [1, 1]], np.int32)), 1).codes.tolist()
    [[0, -1], [1, -1]]
    """
    if isinstance(votes, Hard):
        codes = votes.codes.copy()
        codes[:, i : i + 1] = -1
        return Hard(codes)
    if isinstance(votes, Dense):
        values = votes.values.copy()
        values[:, i : i + 1] = 0.0
        return Dense(values)
    there = votes.expert != i
    trial = np.repeat(np.arange(len(votes.indptr) - 1), np.diff(votes.indptr))[there]
    starts = np.searchsorted(trial, np.arange(len(votes.indptr)))
    return Sparse(starts, votes.expert[there], votes.label[there], votes.value[there])


def named(fusion: Fusion, codes: NDArray[np.int32]) -> NDArray[Any]:
    """The labels behind codes."""
    return np.array([*fusion.classes, None], object)[codes]
