"""Trials told apart in one loop: what is confused, what the sample wants, what is worth a look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax._jit import Kernel
from linmax.ballots import Batch

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Marks = NDArray[np.uint8]

SAMPLED, HARD, DOUBTFUL = 1, 2, 4  # marks: they add up
CELLS = 1 << 12  # a table of pairs so large is filled at once; those of more classes are sorted


class Bars(NamedTuple):
    """What a trial has to exceed to be marked."""

    limit: int  # below which the key of a sampled row is
    hardest: float  # margin of a mistake
    doubtful: float  # minus the margin of a guess without a label


class Sifted(NamedTuple):
    """What was found in some trials."""

    unlabelled: int
    novel: int
    pairs: list[tuple[tuple[int, int], int]]  # of truth and guess, in order, and how many trials have them


def sift(first: int, batch: Batch, guess: Codes, margin: Floats, bars: Bars, marks: Marks) -> Sifted:
    """Mark trials that follow one another from row `first` on."""
    k = batch.classes_seen
    table = np.zeros(k * k if k * k <= CELLS else 0, np.int64)
    limit = np.uint64(max(bars.limit - 1, 0))
    truth = batch.labels
    unlabelled, novel = _sift(
        truth, batch.known, guess, margin, first, k, limit, bars.hardest, bars.doubtful, table, marks
    )
    if len(table) or not k:
        found, times, width = np.flatnonzero(table), table[table > 0], max(k, 1)
    else:
        counted = (truth >= 0) & (truth < batch.known)
        pairs = truth[counted].astype(np.int64) << 32 | guess[counted]
        (found, times), width = np.unique(pairs, return_counts=True), 1 << 32
    return Sifted(unlabelled, novel, list(_told(found.tolist(), times.tolist(), width)))


def _told(found: list[int], times: list[int], width: int) -> Iterator[tuple[tuple[int, int], int]]:
    for pair, count in zip(found, times, strict=True):
        yield divmod(pair, width), count


def mark(  # type: ignore[no-untyped-def]
    truth, known, guess, margin, first, classes, limit, hardest, doubtful, table, marks
):
    """The loop; what is sampled is what `Sample.wants`, without an array of keys."""
    unlabelled = 0
    novel = 0
    for t in range(len(truth)):
        y = truth[t]
        lead = margin[t]
        if lead != lead:
            lead = 0.0
        found = 0
        if y < 0:
            unlabelled += 1
            found = DOUBTFUL * (-lead > doubtful)
        elif y >= known[t]:
            novel += 1
        else:
            x = np.uint64(first + t) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
            found = SAMPLED * (x <= limit) + HARD * (guess[t] != y and lead > hardest)
            if len(table) > 0:
                table[y * classes + guess[t]] += 1
        marks[t] = found
    return unlabelled, novel


_sift = Kernel(mark)
