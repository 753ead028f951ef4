"""Who was right, counted in one loop over the trials: linmax, the plurality and every expert."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linmax._jit import Kernel

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
