"""The kernels of counting: what each expert said when the truth was this or that.

A table N[i, j, a] holds how often expert i said a when the truth was j; the pooled table of all experts
is what an expert is taken for before it has been heard, and what it is drawn towards later. An expert
that gives scores is counted in parts: max(x, 0) over their sum.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import Kernel, inline
from linmax.techniques.mixing import tell

POOL = 10.0  # so many judgements the first idea of an expert is worth
TRUST = 0.6  # and it is: right this often, else wrong in any way


class Tables(NamedTuple):
    """What was counted, in tables."""

    said: np.ndarray  # (experts, truths, labels)
    heard: np.ndarray  # (experts, truths): its sums
    pooled: np.ndarray  # (truths, labels)
    pool: np.ndarray  # (truths,): its sums
    truths: np.ndarray  # (truths,): how often each was the truth


class Accuracies(NamedTuple):
    """What was counted, per expert."""

    right: np.ndarray  # (experts,)
    heard: np.ndarray  # (experts,)
    pooled: np.ndarray  # (2,): both, of all experts together
    truths: np.ndarray  # (truths,)


@inline
def total_of(votes, begin, end):
    """The sum of one expert's scores that are above 0."""
    total = 0.0
    for e in range(begin, end):
        if votes.label[e] >= 0:
            total += max(votes.value[e], 0.0)
    return total


@inline
def end_of(votes, begin, end):
    """Where the entries of the next expert begin."""
    i = votes.expert[begin]
    while begin < end and votes.expert[begin] == i:
        begin += 1
    return begin


@inline
def table_says(votes, begin, end, total, k, shrink, tables, r):
    """log P(what an expert said | each truth), the best truth at 0: before any label, equal counts tie."""
    i = votes.expert[begin]
    top = -math.inf
    for j in range(k):
        r[j] = 0.0
        for e in range(begin, end):
            a = votes.label[e]
            if a >= 0 and votes.value[e] > 0.0:
                first = TRUST if j == a else (1.0 - TRUST) / max(k - 1, 1)
                g = (POOL * first + tables.pooled[j, a]) / (POOL + tables.pool[j])
                p = (shrink * g + tables.said[i, j, a]) / (shrink + tables.heard[i, j])
                r[j] += votes.value[e] / total * math.log(p)
        top = max(top, r[j])
    for j in range(k):
        r[j] -= top


def count_tables(votes, begin, labels, known, shrink, tables, r, scores, guesses, board):
    """Naive Bayes with a table for each expert."""
    for t in range(len(guesses)):
        k = known[begin + t]
        y = labels[begin + t]
        first, last = votes.indptr[begin + t], votes.indptr[begin + t + 1]
        for c in range(k):
            scores[c] = math.log(1.0 + tables.truths[c])
        at = first
        while at < last:
            until = end_of(votes, at, last)
            total = total_of(votes, at, until)
            if total > 0.0:
                table_says(votes, at, until, total, k, shrink, tables, r)
                for c in range(k):
                    scores[c] += r[c]
            at = until
        tell(scores, k, t, guesses, board)
        if 0 <= y < k:
            tables.truths[y] += 1.0
            at = first
            while at < last:
                until = end_of(votes, at, last)
                total = total_of(votes, at, until)
                for e in range(at, until):
                    if votes.label[e] >= 0 and votes.value[e] > 0.0:
                        part = votes.value[e] / total
                        tables.said[votes.expert[e], y, votes.label[e]] += part
                        tables.heard[votes.expert[e], y] += part
                        tables.pooled[y, votes.label[e]] += part
                        tables.pool[y] += part
                at = until


by_tables = Kernel(count_tables)


@inline
def worth(i, k, shrink, counts):
    """The log-odds of what an expert says against any other class."""
    g = (POOL * TRUST + counts.pooled[0]) / (POOL + counts.pooled[1])
    a = (shrink * g + counts.right[i]) / (shrink + counts.heard[i])
    return math.log(a * max(k - 1, 1) / (1.0 - a))


def count_accuracies(votes, begin, labels, known, shrink, counts, r, scores, guesses, board):
    """Naive Bayes with an accuracy for each expert."""
    for t in range(len(guesses)):
        k = known[begin + t]
        y = labels[begin + t]
        first, last = votes.indptr[begin + t], votes.indptr[begin + t + 1]
        for c in range(k):
            scores[c] = math.log(1.0 + counts.truths[c])
        at = first
        while at < last:
            until = end_of(votes, at, last)
            total = total_of(votes, at, until)
            for e in range(at, until):
                if votes.label[e] >= 0 and votes.value[e] > 0.0:
                    part = votes.value[e] / total
                    scores[votes.label[e]] += part * worth(votes.expert[e], k, shrink, counts)
            at = until
        tell(scores, k, t, guesses, board)
        if 0 <= y < k:
            counts.truths[y] += 1.0
            at = first
            while at < last:
                until = end_of(votes, at, last)
                total = total_of(votes, at, until)
                for e in range(at, until):
                    if votes.label[e] >= 0 and votes.value[e] > 0.0:
                        part = votes.value[e] / total
                        hit = part * (votes.label[e] == y)
                        counts.right[votes.expert[e]] += hit
                        counts.heard[votes.expert[e]] += part
                        counts.pooled[0] += hit
                        counts.pooled[1] += part
                at = until


by_accuracies = Kernel(count_accuracies)
