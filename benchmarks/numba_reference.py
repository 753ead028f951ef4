"""The runs of VR-Combine (2008) on hard votes as a plain numba program, for comparison.

Arrays and loops without optimizations: every score is added in the order of the experts whenever it is
needed. The arithmetic is that of linmax, so that results can be compared bit for bit. Every expert must vote
on the first trial, and all classes are known from the start.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from linmax import Alma, Perceptron, Winnow

WINNOW, PERCEPTRON, ALMA = 0, 1, 2
MASS, SHIFT, PEAK = 1, 2, 3  # in a Winnow's s; s[0] is the scale of w in all rules
POWER, UNIT, HIGHEST, MOVES, A, COUNT = 1, 2, 3, 4, 5, 6  # in an Alma's
SIZE, UPDATES = 100, 5  # of recycling


class Bank(NamedTuple):
    """The runs of all members, one per row."""

    kind: np.ndarray  # (runs,) int64
    parameter: np.ndarray  # (runs,): eta, or p
    theta: np.ndarray  # (runs, weights)
    w: np.ndarray
    past: np.ndarray
    since: np.ndarray
    total: np.ndarray  # (runs,)
    s: np.ndarray  # (runs, 8)
    used: np.ndarray  # (runs, trials) int64


def bank(rules: list[Any], trials: int, experts: int, classes: int) -> Bank:
    """Return all members before the first trial."""
    runs, n = len(rules), experts + classes
    kinds = {Winnow: WINNOW, Perceptron: PERCEPTRON, Alma: ALMA}
    made = Bank(
        np.array([kinds[type(rule)] for rule in rules]),
        np.array([math.log(r.alpha) if type(r) is Winnow else getattr(r, "p", 0.0) for r in rules]),
        *(np.zeros((runs, n)) for _ in range(4)),
        np.zeros(runs),
        np.zeros((runs, 8)),
        np.zeros((runs, trials), dtype=np.int64),
    )
    made.s[:, 0] = 1.0
    for m in range(runs):
        if made.kind[m] == WINNOW:
            made.w[m] = 1.0
            made.s[m, :4] = 1.0 / n, n, 0.0, n
        elif made.kind[m] == ALMA:
            made.s[m, [UNIT, A, COUNT]] = 1.0
    return made


@njit(cache=True)
def tally(votes, t, k, w, scores):
    """Compute the scores of all classes, added in the order of the experts."""
    scores[:k] = 0.0
    n = votes.shape[1]
    for i in range(n):
        if votes[t, i] >= 0:
            scores[votes[t, i]] += w[i]
    for c in range(k):
        scores[c] += w[n + c]


@njit(cache=True)
def best(scores, k):
    """Return the class with the highest score, the first in a tie."""
    guess = 0
    for c in range(1, k):
        if scores[c] > scores[guess]:
            guess = c
    return guess


@njit(cache=True)
def gap(votes, t, y, rival, index, z):
    """Write the non-zero entries of z = x^y - x^rival, and return their number."""
    n = votes.shape[1]
    count = 0
    for i in range(n):
        if votes[t, i] == y or votes[t, i] == rival:
            index[count] = i
            z[count] = 1.0 if votes[t, i] == y else -1.0
            count += 1
    for c in range(min(y, rival), max(y, rival) + 1):
        if c in (y, rival):
            index[count] = n + c
            z[count] = 1.0 if c == y else -1.0
            count += 1
    return count


# --- rules: each returns whether all weights must be settled


@njit(cache=True)
def move_winnow(eta, s, theta, w, index, z, count):
    """Update theta += z, w = alpha ** theta."""
    mass = s[MASS]
    for j in range(count):
        i = index[j]
        before = w[i]
        theta[i] += z[j]
        w[i] = math.exp(min(eta * theta[i] - s[SHIFT], 600.0))
        mass += w[i] - before
    s[MASS] = mass
    if mass > 1e130 or mass < 2.0**-16 * s[PEAK]:
        return True
    s[PEAK] = max(s[PEAK], mass)
    s[0] = 1.0 / mass
    return False


@njit(cache=True)
def settle_winnow(eta, s, theta, w):
    """Shift by the largest exponent and recompute the sum."""
    s[SHIFT] = eta * theta.max()
    mass = 0.0
    for i in range(len(theta)):
        w[i] = math.exp(eta * theta[i] - s[SHIFT])
        mass += w[i]
    s[MASS] = mass
    s[PEAK] = mass
    s[0] = 1.0 / mass


@njit(cache=True)
def move_perceptron(theta, w, index, z, count):
    """Update w += z."""
    for j in range(count):
        theta[index[j]] += z[j]
        w[index[j]] = theta[index[j]]


@njit(cache=True)
def scale_alma(p, s):
    """Project theta into the unit ball, and scale w."""
    norm = s[UNIT] * math.pow(s[POWER], 1.0 / p)
    if s[A] * norm > 1.0:
        s[A] = 1.0 / norm
    s[0] = s[A] * (s[UNIT] * math.pow(s[POWER], (2.0 - p) / p) if s[POWER] > 0.0 else 1.0)


@njit(cache=True)
def move_alma(p, s, theta, w, index, z, count):
    """Update theta += eta z / |z|_p."""
    length = math.pow(float(count), 1.0 / p)  # |z|_p, as every z is 1 or -1
    step = math.sqrt(2.0) / (math.sqrt(p - 1.0) * math.sqrt(s[COUNT])) / (length * s[A])
    high = math.pow(10.0, 250.0 / p)
    for j in range(count):
        i = index[j]
        s[POWER] -= math.pow(min(abs(theta[i]) / s[UNIT], high), p)
        theta[i] += step * z[j]
        x = min(abs(theta[i]) / s[UNIT], high)
        w[i] = math.copysign(math.pow(x, p - 1.0), theta[i])
        s[POWER] += math.pow(x, p)
    s[COUNT] += 1.0
    s[HIGHEST] = max(s[HIGHEST], s[POWER])
    s[MOVES] += 1.0
    if s[POWER] > 1e200 or s[POWER] < 2.0**-16 * s[HIGHEST] or s[MOVES] >= 4096.0 or s[A] < 1e-100:
        return True
    scale_alma(p, s)
    return False


@njit(cache=True)
def settle_alma(p, s, theta, w):
    """Recompute everything from theta."""
    largest = 0.0
    for i in range(len(theta)):
        theta[i] *= s[A]
        largest = max(largest, abs(theta[i]))
    s[A] = 1.0
    s[UNIT] = largest if largest > 0.0 else 1.0
    high = math.pow(10.0, 250.0 / p)
    total = 0.0
    for i in range(len(theta)):
        x = min(abs(theta[i]) / s[UNIT], high)
        w[i] = math.copysign(math.pow(x, p - 1.0), theta[i])
        total += math.pow(x, p)
    s[POWER] = total
    s[HIGHEST] = total
    s[MOVES] = 0.0
    scale_alma(p, s)


# --- a member's trial


@njit(cache=True)
def flush_all(b, m):
    """Update all running sums of run m."""
    for i in range(b.w.shape[1]):
        if b.since[m, i] != b.total[m]:
            b.past[m, i] += b.w[m, i] * (b.total[m] - b.since[m, i])
        b.since[m, i] = 0.0
    b.total[m] = 0.0


@njit(cache=True)
def move(b, m, votes, t, y, rival, index, z):
    """Update run m after a wrong prediction."""
    count = gap(votes, t, y, rival, index, z)
    s, theta, w = b.s[m], b.theta[m], b.w[m]
    for j in range(count):
        i = index[j]
        b.past[m, i] += w[i] * (b.total[m] - b.since[m, i])
        b.since[m, i] = b.total[m]
    if b.kind[m] == WINNOW:
        if move_winnow(b.parameter[m], s, theta, w, index, z, count):
            flush_all(b, m)
            settle_winnow(b.parameter[m], s, theta, w)
    elif b.kind[m] == PERCEPTRON:
        move_perceptron(theta, w, index, z, count)
    elif move_alma(b.parameter[m], s, theta, w, index, z, count):
        flush_all(b, m)
        settle_alma(b.parameter[m], s, theta, w)


@njit(cache=True)
def add_up(b, m, out):
    """Compute the sum of the hypotheses of run m."""
    for i in range(len(out)):
        late = b.w[m, i] * (b.total[m] - b.since[m, i])
        out[i] = b.past[m, i] + late + b.w[m, i] * b.s[m, 0]


@njit(cache=True)
def recycle(b, m, votes, labels, t, k, scores, index, z):
    """Pass over the latest instances until none is predicted wrong."""
    again = True
    while again:
        again = False
        for old in range(max(t + 1 - SIZE, 0), t + 1):
            if b.used[m, old] < UPDATES:
                tally(votes, old, k, b.w[m], scores)
                guess = best(scores, k)
                if guess != labels[old]:
                    move(b, m, votes, old, labels[old], guess, index, z)
                    b.used[m, old] += 1
                    again = True


@njit(cache=True)
def guess(b, m, votes, t, k, summed, scores, guesses, boards):
    """Compute the predictions of run m and of its average."""
    runs = len(b.kind)
    tally(votes, t, k, b.w[m], scores)
    guesses[m] = best(scores, k)
    for c in range(k):
        boards[m, c] = b.s[m, 0] * scores[c]
    add_up(b, m, summed)
    tally(votes, t, k, summed, scores)
    guesses[runs + m] = best(scores, k)
    for c in range(k):
        boards[runs + m, c] = scores[c] / (t + 1)


@njit(cache=True)
def learn(b, m, votes, labels, t, k, own, scores, index, z):
    """Learn the label of trial t, for which run m predicted `own`."""
    if b.total[m] > 2.0**20 * b.s[m, 0]:
        flush_all(b, m)
    b.total[m] += b.s[m, 0]
    if own != labels[t]:
        move(b, m, votes, t, labels[t], own, index, z)
        b.used[m, t] = 1
        recycle(b, m, votes, labels, t, k, scores, index, z)


@njit(cache=True)
def run(b, votes, labels, k, guesses):
    """Predict and learn all trials; row t of `guesses` has the predictions of all runs and averages."""
    n, readings = b.w.shape[1], 2 * len(b.kind)
    index, z = np.zeros(n, np.int64), np.zeros(n)
    summed, scores, boards = np.zeros(n), np.zeros(k), np.zeros((readings, k))
    for t in range(len(votes)):
        for m in range(len(b.kind)):
            guess(b, m, votes, t, k, summed, scores, guesses[t], boards)
            learn(b, m, votes, labels, t, k, guesses[t, m], scores, index, z)
