"""Who was right, counted in one loop over the trials: linmax, the plurality and every expert."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from linmax._jit import Kernel
from linmax.inputs import Batch

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

SURE = 1e-9  # probabilities that linmax itself makes add up to 1 so nearly
LINMAX, PLURALITY, EXPERTS = 0, 1, 2  # the seats: experts have all from the third on


def count(said, truth, known, guess, support, hits, silent):  # type: ignore[no-untyped-def]
    """Count the trials whose label was known, and return how many there were.

    `hits` has a row for those that linmax gets wrong and one for those it gets right, with a column per seat;
    `silent` counts who abstains. `support` has a zero for each class and, at its end, one for abstentions; it
    keeps them.
    """
    n = said.shape[1]
    classes = len(support) - 1
    trials = 0
    for t in range(len(truth)):
        y = truth[t]
        if y < 0 or y >= known[t]:
            continue
        trials += 1
        for i in range(n):
            support[said[t, i]] += 1
        most = 0
        votes = 0
        if classes <= n:
            for c in range(classes):
                if support[c] > votes:
                    most = c
                    votes = support[c]
                support[c] = 0
        else:
            for i in range(n):
                c = said[t, i]
                if c >= 0 and (support[c] > votes or (support[c] == votes and c < most)):
                    most = c
                    votes = support[c]
            for i in range(n):
                c = said[t, i]
                support[c] *= c < 0
        ours = 1 * (guess[t] == y)
        hits[ours, LINMAX] += ours
        hits[ours, PLURALITY] += most == y
        for i in range(n):
            hits[ours, EXPERTS + i] += said[t, i] == y
        if support[classes] > 0:
            support[classes] = 0
            for i in range(n):
                silent[i] += said[t, i] < 0
    return trials


def lead(board, known, guess, margins):  # type: ignore[no-untyped-def]
    """By how much a guess leads the runner-up; NaN without a rival."""
    for t in range(len(guess)):
        k = known[t]
        first = -np.inf
        second = -np.inf
        largest = 0.0
        for c in range(k):
            score = board[t, c]
            largest = max(largest, abs(score))
            if score > first:
                second = first
                first = score
            elif score > second:
                second = score
        total = 0.0
        if first <= 0.0:  # perhaps logarithms of probabilities
            for c in range(k):
                total += math.exp(board[t, c])
        if k < 2:
            margins[t] = np.nan
        elif abs(total - 1.0) < SURE:
            margins[t] = math.exp(first) - math.exp(second)
        elif largest > 0.0:
            margins[t] = (first - second) / largest
        else:
            margins[t] = 0.0


_count = Kernel(count)
_lead = Kernel(lead)


@dataclass
class Counts:
    """Right guesses up to a moment: of linmax, the plurality, and each expert, in this order.

    >>> counts = Counts()
    >>> said = np.array([[0, 1, 1], [1, 1, -1]], np.int32)
    >>> truth, known = np.array([0, 1], np.int32), np.array([2, 2], np.int32)
    >>> counts.add(said, truth, known, guess=truth, classes=2)
    >>> counts.trials, counts.right.tolist(), counts.both.tolist(), counts.spoke.tolist()
    (2, [2, 1, 2, 1, 0], [2, 1, 2, 1, 0], [2, 2, 1])
    """

    trials: int
    right: Longs
    both: Longs  # linmax and the other
    spoke: Longs  # experts only

    def __init__(self, trials: int = 0, right: Any = (0, 0), both: Any = (0, 0), spoke: Any = ()) -> None:
        self.trials = trials
        self.right, self.both, self.spoke = (np.array(one, np.int64) for one in (right, both, spoke))

    def add(self, said: Codes, truth: Codes, known: Codes, guess: Codes, classes: int) -> None:
        """Count some more trials; experts and classes may have become more."""
        self.widen(said.shape[1])
        support, hits = np.zeros(classes + 1, np.int64), np.zeros((2, len(self.right)), np.int64)
        silent = np.zeros(len(self.spoke), np.int64)
        trials = int(_count(np.ascontiguousarray(said), truth, known, guess, support, hits, silent))
        self.trials += trials
        self.right += hits[0] + hits[1]
        self.both += hits[1]
        self.spoke[: said.shape[1]] += trials - silent[: said.shape[1]]

    def widen(self, experts: int) -> None:
        """Make room for experts who came later."""
        more = experts - len(self.spoke)
        if more > 0:
            self.right, self.both, self.spoke = (
                np.pad(one, (0, more)) for one in (self.right, self.both, self.spoke)
            )

    def copy(self) -> Counts:
        """The counts of now."""
        return Counts(self.trials, self.right, self.both, self.spoke)

    def since(self, before: Counts) -> Counts:
        """What came after an earlier moment."""
        before = before.copy()
        before.widen(len(self.spoke))
        return Counts(
            self.trials - before.trials, self.right - before.right,
            self.both - before.both, self.spoke - before.spoke,
        )  # fmt: skip

    @property
    def mistakes(self) -> Longs:
        """Trials that were not right, of each; who abstains is not right."""
        return self.trials - self.right

    @property
    def leader(self) -> int | None:
        """The seat of the expert who was right most often, the first of several."""
        return EXPERTS + int(self.right[EXPERTS:].argmax()) if len(self.spoke) else None

    def state(self) -> list[Any]:
        """As plain numbers."""
        return [self.trials, self.right.tolist(), self.both.tolist(), self.spoke.tolist()]

    @classmethod
    def of(cls, state: Any) -> Self:
        """From plain numbers."""
        trials, right, both, spoke = state
        return cls(int(trials), right, both, spoke)


def margins(board: Floats, known: Codes, guess: Codes, out: Floats | None = None) -> Floats:
    """How far each guess is ahead of the runner-up: from 0, a tie, to 1, or 2 where scores have signs.

    It is the difference of their probabilities, where scores are logarithms of such (`recommended()`), and
    else that of their scores, in parts of the largest.

    >>> margins(np.array([[3.0, 1.0], [-1.0, 1.0]]), np.array([2, 2], np.int32), np.array([0, 1], np.int32))
    array([0.66666667, 2.        ])
    """
    out = np.empty(len(guess)) if out is None else out
    _lead(np.ascontiguousarray(board), known, guess, out)
    return out


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
