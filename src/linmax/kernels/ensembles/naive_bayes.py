"""The kernel of Naive Bayes. Scores are counted as fractions: max(x, 0) divided by their sum."""

from linmax._jit.compilation import CompiledKernel, inline, overridable, separate
from linmax._jit.vectors import WIDTH, put, take
from linmax.kernels.elementwise import log_of
from linmax.kernels.ensembles.mixtures import write_prediction
from linmax.kernels.ensembles.vote_counts import (
    add_log_odds,
    add_votes,
    begin_counts,
    count_vote,
    count_votes,
    end_counts,
    most_log_odds,
)
from linmax.kernels.forms.base import list_votes, n_entries, vote_at
from linmax.kernels.update import best_class


@inline
def entries_of_expert(votes, t, first, last):
    """Return the end of the votes of the expert whose votes start at `first`, and the sum of the positive."""
    i, _, _ = vote_at(votes, t, first)
    total = 0.0
    end = first
    while end < last:
        owner, a, x = vote_at(votes, t, end)
        if owner != i:
            break
        if a >= 0:
            total += max(x, 0.0)
        end += 1
    return end, total


@overridable
def add_scored_votes(votes, t, k, shrink, counts, scores):
    """Add what votes with scores say in favour of each class."""
    last = n_entries(votes, t)
    at = 0
    while at < last:
        end, total = entries_of_expert(votes, t, at, last)
        for e in range(at, end):
            i, a, x = vote_at(votes, t, e)
            if a >= 0 and x > 0.0:
                add_log_odds(counts, i, a, x / total, k, shrink, scores)
        at = end


@overridable
def count_scored_votes(votes, t, y, shrink, counts):
    """Count votes with scores on a trial whose label is y."""
    last = n_entries(votes, t)
    at = 0
    while at < last:
        end, total = entries_of_expert(votes, t, at, last)
        for e in range(at, end):
            i, a, x = vote_at(votes, t, e)
            if a >= 0 and x > 0.0:
                count_vote(counts, i, a, x / total, y, shrink)
        at = end


@separate
def most_log_odds_of_all(votes, t, first, end, total, k, shrink, counts, r):
    """Return the most that the votes of one expert with scores say together in favour of a class."""
    for c in range(k):
        r[c] = 0.0
    for e in range(first, end):
        i, a, x = vote_at(votes, t, e)
        if a >= 0 and x > 0.0:
            add_log_odds(counts, i, a, x / total, k, shrink, r)
    return r[best_class(r, k)]


@separate
def subtract_most(votes, t, k, shrink, counts, r, scores):
    """Subtract from all scores the most that the votes of each expert say in favour of a class."""
    most = 0.0
    last = n_entries(votes, t)
    at = 0
    while at < last:
        end, total = entries_of_expert(votes, t, at, last)
        i, a, x = vote_at(votes, t, at)
        if end == at + 1:
            most += most_log_odds(counts, i, a, k, shrink) if a >= 0 and x > 0.0 else 0.0
        else:
            most += most_log_odds_of_all(votes, t, at, end, total, k, shrink, counts, r)
        at = end
    for c in range(k):
        scores[c] -= most


@inline
def count_label(truths, log_truths, y):
    """Count a trial whose label is y."""
    truths[y] += 1.0
    first = y // WIDTH * WIDTH
    put(log_truths, first, log_of(take(truths, first) + 1.0))


def count_trials(
    votes, labels, known, shrink, counts, listed, shown, r, scores, guesses, out_scores, begin, end
):
    """Run Naive Bayes: the log of the class frequency, plus what the votes of each expert add.

    In scores that are `shown`, an expert adds 0 to the class that its votes favour most.
    """
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        begin_counts(counts, k)
        for j in range(0, k, WIDTH):
            put(scores, j, take(counts.log_truths, j))
        count, scored = list_votes(votes, t, listed.expert, listed.label)
        add_votes(counts, listed, count, k, shrink, scores)
        if scored:
            add_scored_votes(votes, t, k, shrink, counts, scores)
        if shown and k > 0:
            subtract_most(votes, t, k, shrink, counts, r, scores)
        write_prediction(scores, k, row, guesses, out_scores)
        if 0 <= y < k:
            count_label(counts.truths, counts.log_truths, y)
            count_votes(counts, listed, count, y, shrink)
            if scored:
                count_scored_votes(votes, t, y, shrink, counts)
            end_counts(counts, y, k)


count = CompiledKernel(count_trials)
