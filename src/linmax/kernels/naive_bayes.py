"""The kernel of Naive Bayes: counts of the votes of each expert under each label.

A table N[i, j, a] holds how often expert i voted for a when the label was j. The table of all experts
together is the prior of each expert. Scores are counted as fractions: max(x, 0) divided by their sum.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import CompiledKernel, dispatched, inline
from linmax.kernels.ensembles import write_prediction

POOL = 10.0  # the strength of the prior of the pooled table, in pseudo-counts
TRUST = 0.6  # the accuracy of an expert under that prior; errors are spread evenly


@dispatched
def add_log_odds(counts, i, a, part, k, shrink, r):
    """Add to r[c] what the vote of expert i for class a, of weight `part`, says in favour of each class c."""


@dispatched
def count_vote(counts, i, a, part, y):
    """Count that expert i voted for class a, with weight `part`, when the label was y."""


class Tables(NamedTuple):
    """Counts of the votes of each expert under each label.

    Parameters
    ----------
    said : ndarray of shape (experts, labels, votes)
        How often an expert voted for a class when the label was j.
    heard : ndarray of shape (experts, labels)
        The sums of `said` over the votes.
    pooled : ndarray of shape (labels, votes)
        The sums of `said` over the experts.
    pool : ndarray of shape (labels,)
        The sums of `pooled` over the votes.
    truths : ndarray of shape (labels,)
        How often each class was the label.
    """

    said: np.ndarray
    heard: np.ndarray
    pooled: np.ndarray
    pool: np.ndarray
    truths: np.ndarray

    def add_log_odds(self, i, a, part, k, shrink, r):
        """Add the log-probability of a vote for a under each label."""
        for j in range(k):
            first = TRUST if j == a else (1.0 - TRUST) / max(k - 1, 1)
            g = (POOL * first + self.pooled[j, a]) / (POOL + self.pool[j])
            r[j] += part * math.log((shrink * g + self.said[i, j, a]) / (shrink + self.heard[i, j]))

    def count_vote(self, i, a, part, y):
        """Count the vote."""
        self.said[i, y, a] += part
        self.heard[i, y] += part
        self.pooled[y, a] += part
        self.pool[y] += part


class Accuracies(NamedTuple):
    """Counts of the correct votes of each expert.

    Parameters
    ----------
    right, heard : ndarray of shape (experts,)
        Correct votes, and all votes, on labelled trials.
    pooled : ndarray of shape (2,)
        The sums of both over the experts.
    truths : ndarray of shape (labels,)
        How often each class was the label.
    """

    right: np.ndarray
    heard: np.ndarray
    pooled: np.ndarray
    truths: np.ndarray

    def add_log_odds(self, i, a, part, k, shrink, r):
        """Add the log-odds of a against any other class."""
        g = (POOL * TRUST + self.pooled[0]) / (POOL + self.pooled[1])
        p = (shrink * g + self.right[i]) / (shrink + self.heard[i])
        r[a] += part * math.log(p * max(k - 1, 1) / (1.0 - p))

    def count_vote(self, i, a, part, y):
        """Count the vote."""
        self.right[i] += part * (a == y)
        self.heard[i] += part
        self.pooled[0] += part * (a == y)
        self.pooled[1] += part


@inline
def end_of_expert(votes, begin, end):
    """Return the end of the votes of the expert whose votes start at `begin`."""
    i = votes.expert[begin]
    while begin < end and votes.expert[begin] == i:
        begin += 1
    return begin


@inline
def positive_sum(votes, begin, end):
    """Return the sum of the positive scores of one expert."""
    total = 0.0
    for e in range(begin, end):
        if votes.label[e] >= 0:
            total += max(votes.value[e], 0.0)
    return total


@inline
def add_expert(votes, begin, end, k, shrink, counts, r):
    """Write what the votes of one expert add to each class; the largest is 0, so that equal counts tie."""
    total = positive_sum(votes, begin, end)
    for c in range(k):
        r[c] = 0.0
    for e in range(begin, end):
        if votes.label[e] >= 0 and votes.value[e] > 0.0:
            add_log_odds(counts, votes.expert[e], votes.label[e], votes.value[e] / total, k, shrink, r)
    top = -math.inf
    for c in range(k):
        top = max(top, r[c])
    for c in range(k):
        r[c] -= top


@inline
def count_expert(votes, begin, end, y, counts):
    """Count the votes of one expert on a labelled trial."""
    total = positive_sum(votes, begin, end)
    for e in range(begin, end):
        if votes.label[e] >= 0 and votes.value[e] > 0.0:
            count_vote(counts, votes.expert[e], votes.label[e], votes.value[e] / total, y)


def count_trials(votes, begin, labels, known, shrink, counts, r, scores, guesses, out_scores):
    """Run Naive Bayes: the log of the class frequency, plus what the votes of each expert add."""
    for t in range(len(guesses)):
        k = known[begin + t]
        y = labels[begin + t]
        first, last = votes.indptr[begin + t], votes.indptr[begin + t + 1]
        for c in range(k):
            scores[c] = math.log(1.0 + counts.truths[c])
        begin_expert = first
        while begin_expert < last:
            end_expert = end_of_expert(votes, begin_expert, last)
            add_expert(votes, begin_expert, end_expert, k, shrink, counts, r)
            for c in range(k):
                scores[c] += r[c]
            begin_expert = end_expert
        write_prediction(scores, k, t, guesses, out_scores)
        if 0 <= y < k:
            counts.truths[y] += 1.0
            begin_expert = first
            while begin_expert < last:
                end_expert = end_of_expert(votes, begin_expert, last)
                count_expert(votes, begin_expert, end_expert, y, counts)
                begin_expert = end_expert


count = CompiledKernel(count_trials)
