"""The kernels of counting: what each expert said when the truth was this or that.

A table N[i, j, a] holds how often expert i said a when the truth was j; the pooled table of all experts
is what an expert is taken for before it has been heard, and what it is drawn towards later. An expert
that gives scores is counted in parts: max(x, 0) over their sum.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import Kernel, dispatched, inline
from linmax.kernels.ensembles import tell

POOL = 10.0  # so many judgements the first idea of an expert is worth
TRUST = 0.6  # and it is: right this often, else wrong in any way


@dispatched
def add_log_odds(counts, i, a, part, k, shrink, r):
    """Add to r[c] what the vote of expert i for class a, of weight `part`, says in favour of each class c."""


@dispatched
def count_vote(counts, i, a, part, y):
    """Count that expert i voted for class a, with weight `part`, when the label was y."""


class Tables(NamedTuple):
    """What each expert said under each truth."""

    said: np.ndarray  # (experts, truths, labels)
    heard: np.ndarray  # (experts, truths): its sums
    pooled: np.ndarray  # (truths, labels)
    pool: np.ndarray  # (truths,): its sums
    truths: np.ndarray  # (truths,): how often each was the truth

    def add_log_odds(self, i, a, part, k, shrink, r):
        """Add to r the log-probability of saying a under each truth."""
        for j in range(k):
            first = TRUST if j == a else (1.0 - TRUST) / max(k - 1, 1)
            g = (POOL * first + self.pooled[j, a]) / (POOL + self.pool[j])
            r[j] += part * math.log((shrink * g + self.said[i, j, a]) / (shrink + self.heard[i, j]))

    def count_vote(self, i, a, part, y):
        """Expert i said a, in part, and the truth was y."""
        self.said[i, y, a] += part
        self.heard[i, y] += part
        self.pooled[y, a] += part
        self.pool[y] += part


class Accuracies(NamedTuple):
    """How often each expert was right."""

    right: np.ndarray  # (experts,)
    heard: np.ndarray  # (experts,)
    pooled: np.ndarray  # (2,): both, of all experts together
    truths: np.ndarray  # (truths,)

    def add_log_odds(self, i, a, part, k, shrink, r):
        """Add to r the log-odds of a against any other class."""
        g = (POOL * TRUST + self.pooled[0]) / (POOL + self.pooled[1])
        p = (shrink * g + self.right[i]) / (shrink + self.heard[i])
        r[a] += part * math.log(p * max(k - 1, 1) / (1.0 - p))

    def count_vote(self, i, a, part, y):
        """Expert i said a, in part, and the truth was y."""
        self.right[i] += part * (a == y)
        self.heard[i] += part
        self.pooled[0] += part * (a == y)
        self.pooled[1] += part


@inline
def end_of(votes, begin, end):
    """Where the entries of the next expert begin."""
    i = votes.expert[begin]
    while begin < end and votes.expert[begin] == i:
        begin += 1
    return begin


@inline
def total_of(votes, begin, end):
    """The sum of one expert's scores that are above 0."""
    total = 0.0
    for e in range(begin, end):
        if votes.label[e] >= 0:
            total += max(votes.value[e], 0.0)
    return total


@inline
def says(votes, begin, end, k, shrink, book, r):
    """What one expert's votes add to each class, the best at 0: before any label, equal counts tie."""
    total = total_of(votes, begin, end)
    for c in range(k):
        r[c] = 0.0
    for e in range(begin, end):
        if votes.label[e] >= 0 and votes.value[e] > 0.0:
            add_log_odds(book, votes.expert[e], votes.label[e], votes.value[e] / total, k, shrink, r)
    top = -math.inf
    for c in range(k):
        top = max(top, r[c])
    for c in range(k):
        r[c] -= top


@inline
def hear(votes, begin, end, y, book):
    """Count what one expert said, now that the truth is known."""
    total = total_of(votes, begin, end)
    for e in range(begin, end):
        if votes.label[e] >= 0 and votes.value[e] > 0.0:
            count_vote(book, votes.expert[e], votes.label[e], votes.value[e] / total, y)


def count_trials(votes, begin, labels, known, shrink, book, r, scores, guesses, board):
    """Naive Bayes: the log of how frequent each class is, and what every expert's word adds to it."""
    for t in range(len(guesses)):
        k = known[begin + t]
        y = labels[begin + t]
        first, last = votes.indptr[begin + t], votes.indptr[begin + t + 1]
        for c in range(k):
            scores[c] = math.log(1.0 + book.truths[c])
        at = first
        while at < last:
            until = end_of(votes, at, last)
            says(votes, at, until, k, shrink, book, r)
            for c in range(k):
                scores[c] += r[c]
            at = until
        tell(scores, k, t, guesses, board)
        if 0 <= y < k:
            book.truths[y] += 1.0
            at = first
            while at < last:
                until = end_of(votes, at, last)
                hear(votes, at, until, y, book)
                at = until


count = Kernel(count_trials)
