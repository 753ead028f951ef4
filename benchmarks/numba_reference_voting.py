"""Voting of VR-Combine (2008) as a plain numba program, over the runs of `numba_reference.py`."""

from __future__ import annotations

import numpy as np
from numba import njit

from benchmarks.numba_reference import add_up, best, guess, learn, tally

HYPOTHESES, WINDOW, RECENT, PATIENCE = 20, 100, 100, 100


@njit(cache=True)
def hypothesis(b, reading, t, out):
    """Return the hypothesis of a run or an average after trial t."""
    runs = len(b.kind)
    if reading < runs:
        for i in range(len(out)):
            out[i] = b.s[reading, 0] * b.w[reading, i]
    else:
        add_up(b, reading - runs, out)
        for i in range(len(out)):
            out[i] /= t + 2


@njit(cache=True)
def accuracy(votes, labels, t, k, w, scores):
    """Return the accuracy of w on the latest instances."""
    first = max(t + 1 - RECENT, 0)
    right = 0
    for old in range(first, t + 1):
        tally(votes, old, k, w, scores)
        right += best(scores, k) == labels[old]
    return right / (t + 1 - first)


@njit(cache=True)
def combine(b, votes, labels, k, guesses, saved, figure):
    """Run all members and the ensemble, and return the number of restarts."""
    n, readings = b.w.shape[1], 2 * len(b.kind)
    index, z = np.zeros(n, np.int64), np.zeros(n)
    summed, scores, boards = np.zeros(n), np.zeros(k), np.zeros((readings, k))
    made, mistakes, before = (
        np.zeros(readings, np.int64),
        np.zeros(readings, np.int64),
        np.zeros(readings, np.int64),
    )
    total, candidate, polled = np.zeros(n), np.zeros(n), np.zeros(k)
    age, spacing, slot, count, restarts, voting, leader = 0, 1, 1, 0, 0, 0, 0
    for t in range(len(votes)):
        y = labels[t]
        for m in range(len(b.kind)):
            guess(b, m, votes, t, k, summed, scores, made, boards)
        tally(votes, t, k, total, polled)
        for c in range(k):
            polled[c] += boards[leader, c]
        vote = best(polled, k)
        ahead = mistakes[leader] - before[leader] < voting
        guesses[t] = made[leader] if ahead else vote
        for m in range(len(b.kind)):
            learn(b, m, votes, labels, t, k, made[m], scores, index, z)
        voting += vote != y
        for r in range(readings):
            mistakes[r] += made[r] != y
        leader = np.argmin(mistakes)
        age += 1
        half = min(WINDOW, spacing // 2) // 2
        begins, ends = slot * spacing - half, slot * spacing + half
        if begins <= age <= ends:
            hypothesis(b, leader, t, candidate)
            right = accuracy(votes, labels, t, k, candidate, scores)
            if age == begins or right > figure[slot - 1]:
                saved[slot - 1] = candidate
                figure[slot - 1] = right
                count = slot
            if age == ends:
                slot += 1
                if slot > HYPOTHESES:
                    count = HYPOTHESES // 2
                    for j in range(count):
                        saved[j] = saved[2 * j + 1]
                        figure[j] = figure[2 * j + 1]
                    spacing *= 2
                    slot = count + 1
        if mistakes[leader] - before[leader] < voting and age >= PATIENCE * 2**restarts:
            restarts += 1
            before[:] = mistakes
            age, spacing, slot, count, voting = 0, 1, 1, 0, 0
        total[:] = 0.0
        for j in range(count):
            total += saved[j]
    return restarts
