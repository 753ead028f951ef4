"""Generators of sub-experts that were tried: votes of shape (items, sub-experts, classes) on a stream."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numba
import numpy as np

TRIED = {
    "neighbours": "`Neighbours()`: the nearest 1, 3 and 7, and the relative distance of each class",
    "means": "the relative distance to the mean of each class, one sub-expert",
    "naive Bayes": "normal distributions per class and attribute, on texts the frequencies of words; all"
    " attributes together: one sub-expert",
    "per attribute": "the same with one sub-expert per attribute",
    "stumps": "per attribute the class frequencies on both sides of the best of five thresholds, from when"
    " its information gain is ahead by Hoeffding's bound (delta = .05), or after 200 items",
    "tables of 1": "the class frequencies in five intervals of each attribute",
    "tables of 2": "the same for 64 random pairs of attributes",
    "subspaces": "the nearest 3 neighbours in each of 8 random halves of the attributes",
}
THRESHOLDS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def votes_on_words(rows: Any, y: np.ndarray, k: int) -> np.ndarray:
    """Return the votes of naive Bayes on a sparse binary matrix."""
    counts, n, found = np.zeros((k, rows.shape[1])), np.zeros(k), np.zeros((len(y), 1, k))
    for t, c in enumerate(y):
        words = rows.indices[rows.indptr[t] : rows.indptr[t + 1]]
        seen = np.flatnonzero(n)
        if t > 0:
            logs = np.log((counts[np.ix_(seen, words)] + 0.1) / (n[seen, None] + 0.2)).sum(axis=1)
            logs += np.log(n[seen] / t)
            powers = np.exp((logs - logs.max()) / math.sqrt(max(1, len(words))))
            found[t, 0, seen] = powers / powers.sum()
        counts[c, words] += 1
        n[c] += 1
    return found


def votes(name: str, rows: Any, y: np.ndarray, k: int) -> np.ndarray:
    """Return the votes of a generator on standardised rows."""
    rng = np.random.default_rng(0)
    d = rows.shape[1]
    if name == "means":
        return _moments(rows, y, k)[1][:, 1:]
    if name == "naive Bayes":
        return _moments(rows, y, k)[1][:, :1]
    if name == "per attribute":
        return _moments(rows, y, k)[0]
    if name == "stumps":
        return _stumps(rows, y, k, THRESHOLDS)
    if name == "subspaces":
        halves = [rng.choice(d, max(1, d // 2), replace=False) for _ in range(8)]
        return np.stack([_nearest(_distances(rows[:, half]), y, k, 3) for half in halves], axis=1)
    intervals = np.clip(np.floor((rows + 2.0) * 1.25), 0, 4).astype(np.int64)
    sets = list(itertools.combinations(range(d), int(name[-1])))
    chosen = rng.permutation(len(sets))[:64]
    keys = [intervals[:, sets[i]] @ 5 ** np.arange(int(name[-1])) for i in chosen]
    return np.stack([_table(key, y, k) for key in keys], axis=1)


def _distances(rows: np.ndarray) -> np.ndarray:
    squares = (rows**2).sum(axis=1)
    return np.maximum(squares[:, None] + squares - 2.0 * rows @ rows.T, 0.0)


@numba.njit
def _nearest(distances, y, k, n):  # type: ignore[no-untyped-def]
    found = np.zeros((len(y), k))
    for t in range(1, len(y)):
        nearest = np.argsort(distances[t, :t])[:n]
        for i in nearest:
            found[t, y[i]] += 1.0 / len(nearest)
    return found


@numba.njit
def _table(key, y, k):  # type: ignore[no-untyped-def]
    counts, found, classes = np.zeros((key.max() + 1, k)), np.zeros((len(y), k)), np.zeros(k)
    for t in range(len(y)):
        total = counts[key[t]].sum()
        if total > 0:
            found[t] = (counts[key[t]] + classes / t) / (total + 1.0)
        counts[key[t], y[t]] += 1
        classes[y[t]] += 1
    return found


@numba.njit
def _moments(rows, y, k):  # type: ignore[no-untyped-def]
    T, d = rows.shape
    n, S, Q = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
    each, whole = np.zeros((T, d, k)), np.zeros((T, 2, k))
    for t in range(T):
        if t > 0:
            full, far = np.full(k, -1e300), np.full(k, 1e300)
            for c in range(k):
                if n[c] > 0:
                    full[c], far[c] = math.log(n[c] / t), 0.0
            for a in range(d):
                best = -1e300
                for c in range(k):
                    if n[c] > 0:
                        m = S[c, a] / n[c]
                        v = max((Q[c, a] - n[c] * m * m + 1.0) / (n[c] + 1.0), 1e-3)
                        x = rows[t, a] - m
                        log = -0.5 * math.log(v) - 0.5 * x * x / v
                        full[c] += log
                        far[c] += x * x
                        each[t, a, c] = log + math.log(n[c] / t)
                        best = max(best, each[t, a, c])
                for c in range(k):
                    each[t, a, c] = math.exp(each[t, a, c] - best) if n[c] > 0 else 0.0
                each[t, a] /= each[t, a].sum()
            for c in range(k):
                if n[c] > 0:
                    whole[t, 0, c] = math.exp((full[c] - full.max()) / math.sqrt(d))
                    whole[t, 1, c] = math.sqrt((far.min() + 1e-9) / (far[c] + 1e-9))
            whole[t, 0] /= whole[t, 0].sum()
        n[y[t]] += 1
        S[y[t]] += rows[t]
        Q[y[t]] += rows[t] ** 2
    return each, whole


@numba.njit
def _entropy(counts):  # type: ignore[no-untyped-def]
    total, found = counts.sum(), 0.0
    for count in counts:
        if count > 0:
            found -= count / total * math.log2(count / total)
    return found


@numba.njit
def _stumps(rows, y, k, thresholds):  # type: ignore[no-untyped-def]
    T, d = rows.shape
    counts = np.zeros((d, len(thresholds), 2, k))
    chosen = np.full(d, -1)
    found = np.zeros((T, d, k))
    for t in range(T):
        for a in range(d):
            if chosen[a] >= 0:
                side = counts[a, chosen[a], 1 * (rows[t, a] > thresholds[chosen[a]])]
                if side.sum() > 0:
                    found[t, a] = side / side.sum()
            for i in range(len(thresholds)):
                counts[a, i, 1 * (rows[t, a] > thresholds[i]), y[t]] += 1
            if chosen[a] < 0 and t % 20 == 19:
                gains = np.zeros(len(thresholds))
                for i in range(len(thresholds)):
                    left, right = counts[a, i, 0], counts[a, i, 1]
                    part = left.sum() / (t + 1)
                    gains[i] = _entropy(left + right) - part * _entropy(left) - (1 - part) * _entropy(right)
                best = np.argmax(gains)
                ahead = gains[best]  # of no split at all, and of the other thresholds
                for i in range(len(thresholds)):
                    if i != best:
                        ahead = min(ahead, gains[best] - gains[i])
                if ahead > math.log2(k) * math.sqrt(math.log(20.0) / (2.0 * (t + 1))) or t >= 200:
                    chosen[a] = best
    return found
