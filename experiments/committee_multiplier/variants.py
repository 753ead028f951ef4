"""Winnow with a multiplier that is adapted per trial: all variants that were tried, in one compiled loop.

theta and w are those of the mistakes so far, n the number of experts with thresholds, and M the mistakes with
the current one. All predict with the largest score and update on mistakes only, along z = x^y - x^guess.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from linmax.bounds.multipliers import MULTIPLIERS, RATES
from linmax.problems.adversary import adverse_signs

VARIANTS = {
    "kept": "theta += eta z with eta = 0.9 / sqrt(M): ALMA's schedule as it is",
    "fixed": "w = alpha^theta; the parameter is alpha",
    "sqrt": "eta = c sqrt(ln n / M), w = exp(eta theta)",
    "steps": "theta += eta z with eta = c sqrt(ln n / M): ALMA's schedule for multiplicative updates",
    "adahedge": "eta = ln n / (sum of mixability gaps), w = exp(eta theta)",
    "potential": "eta = ln n / max over time of (sum of ln(sum w exp(eta z)) / eta), w = exp(eta theta)",
    "squint": "w_i = mean over eta of eta exp(eta R_i - eta^2 V_i), eta = 2^-c, ..., 2^-(c + 9)",
    "greedy": "theta += eta z, eta makes eta delta - ln(sum w exp(eta z)) largest; the parameter is delta",
    "greedy sqrt": "greedy with delta = min(1/2, c sqrt(2 ln n / M))",
    "greedy steps": "greedy with delta = tanh(eta_M) and at most 3 eta_M, eta_M = c sqrt(ln n / M)",
    "doubling": "eta of delta = 1/2, which is divided by sqrt 2 after 2 ln n / delta^2 mistakes; theta stays",
    "restart": "doubling, and theta starts from 0 with every delta",
}
BOUNDS = {
    "kept": "`linmax.bounds`, about (ln n + 0.4 (1 + ln M))^2 / (3.2 delta^2) without noise",
    "greedy sqrt": "none is proven here",
    "greedy steps": "none is proven here",
} | {name: theorem.formula for name, theorem in MULTIPLIERS.items()}
NOT_KEPT = {
    "kept": "",
    "sqrt": "more mistakes than `AdaptiveWinnow` on generated problems",
    "steps": "n must be known before the first trial",
    "adahedge": "more mistakes than `AdaptiveWinnow` on both",
    "potential": "more mistakes than `AdaptiveWinnow` on both",
    "squint": "more mistakes on generated problems, and ten exponentials per weight",
    "greedy": "more mistakes on both, and a margin is needed in advance",
    "greedy sqrt": "more mistakes on both, and no bound",
    "greedy steps": "no bound, and not fewer mistakes",
    "doubling": "more mistakes than `AdaptiveWinnow` on both",
    "restart": "more mistakes than `AdaptiveWinnow` on both",
}
CODES = {name: code for code, name in enumerate(VARIANTS)}
ETA, MADE, TOTAL, PEAK, DELTA, EPOCH, STATE = range(7)


@numba.njit(cache=True)
def _start(code, c):  # type: ignore[no-untyped-def]
    """Return eta, the mistakes, two sums, the guess of delta, and the mistakes with it."""
    s = np.zeros(STATE)
    s[DELTA] = 0.5
    s[ETA] = math.log(c) if code == 1 else math.atanh(s[DELTA]) if code == 10 or code == 11 else 1.0
    return s


@numba.njit(cache=True)
def _adapt(code, c, s, theta, V, w, z):  # type: ignore[no-untyped-def]
    """Update the weights w along z after a mistake."""
    N = len(w)
    logn = math.log(N)
    s[MADE] += 1
    M = s[MADE]
    eta = s[ETA]
    wz = 0.0
    for i in range(N):
        wz += w[i] * z[i]
    if code == 4 or code == 5:
        # the loss of this mistake at the current rate, and from it the next rate
        mix = 0.0
        if s[TOTAL] <= 0.0 and code == 4:
            best = -1.0
            for i in range(N):
                if w[i] > 0.0:
                    best = max(best, z[i])
            mix = best
        else:
            for i in range(N):
                mix += w[i] * math.exp(eta * z[i])
            mix = math.log(mix) / eta
        s[TOTAL] += mix - wz if code == 4 else mix
        s[PEAK] = max(s[PEAK], s[TOTAL])
        if s[PEAK] > 0.0:
            eta = min(eta, logn / s[PEAK]) if code == 5 else logn / s[PEAK]
        theta += z
    elif code == 6:
        for i in range(N):
            theta[i] += z[i] - wz
            V[i] += (z[i] - wz) ** 2
    elif code == 3:
        theta += c * math.sqrt(logn / M) * z
    elif code >= 7 and code <= 9:
        eta = c * math.sqrt(logn / M)
        d = c if code == 7 else min(0.5, math.sqrt(2.0) * eta) if code == 8 else math.tanh(eta)
        most = 3.0 * eta if code == 9 else 5.0
        P, Q = 0.0, 0.0
        for i in range(N):
            if z[i] > 0:
                P += w[i]
            elif z[i] < 0:
                Q += w[i]
        Z = max(0.0, 1.0 - P - Q)
        step = most
        if P > 0:
            root = math.sqrt(d * d * Z * Z + 4 * (1 - d * d) * P * Q)
            step = min(max(math.log((d * Z + root) / (2 * (1 - d) * P)), 0.0), most)
        theta += step * z
    else:
        theta += z
        if code == 2:
            eta = c * math.sqrt(logn / M)
        if code == 10 or code == 11:
            s[EPOCH] += 1
            if s[EPOCH] > 2 * logn / s[DELTA] ** 2:
                s[DELTA] /= math.sqrt(2.0)
                s[EPOCH] = 0.0
                eta = math.atanh(s[DELTA])
                if code == 11:
                    theta[:] = 0.0
    s[ETA] = eta
    if code == 6:
        top = -1e300
        for i in range(N):
            for r in range(RATES):
                h = 2.0 ** -(c + r)
                top = max(top, h * theta[i] - h * h * V[i] + math.log(h))
        for i in range(N):
            w[i] = 0.0
            for r in range(RATES):
                h = 2.0 ** -(c + r)
                w[i] += math.exp(h * theta[i] - h * h * V[i] + math.log(h) - top)
    else:
        rate = 1.0 if code == 3 or (code >= 7 and code <= 9) else eta
        top = theta.max()
        for i in range(N):
            w[i] = math.exp(rate * (theta[i] - top))
    S = 0.0
    for i in range(N):
        S += w[i]
    for i in range(N):
        w[i] /= S


@numba.njit(cache=True)
def _run(votes, labels, k, code, c):  # type: ignore[no-untyped-def]
    T, n = votes.shape
    N = n + k
    s, theta, V, w, z = _start(code, c), np.zeros(N), np.zeros(N), np.ones(N) / N, np.zeros(N)
    scores = np.zeros(k)
    for t in range(T):
        for j in range(k):
            scores[j] = w[n + j]
        for i in range(n):
            if votes[t, i] >= 0:
                scores[votes[t, i]] += w[i]
        g = np.argmax(scores)
        y = labels[t]
        if g == y:
            continue
        for i in range(n):
            z[i] = (1.0 if votes[t, i] == y else 0.0) - (1.0 if votes[t, i] == g else 0.0)
        for j in range(k):
            z[n + j] = (1.0 if j == y else 0.0) - (1.0 if j == g else 0.0)
        _adapt(code, c, s, theta, V, w, z)
    return int(s[MADE])


def mistakes(votes: Any, labels: Any, k: int, variant: str, parameter: float = 1.0) -> int:
    """Return the mistakes of a variant on hard votes (-1 abstains), with threshold experts."""
    ints = np.asarray(votes, dtype=np.int32), np.asarray(labels, dtype=np.int64)
    return int(_run(*ints, k, CODES[variant], float(parameter)))


def adversary_mistakes(variant: str, parameter: float, experts: int, size: int, most: int) -> int:
    """Return on how many trials an adversary who reads the weights makes a variant err, at most `most`.

    The majority of the first `size` experts is right on every trial; see `linmax.problems.adversary`.
    """
    code, c = CODES[variant], float(parameter)
    s, theta, V, w = _start(code, c), np.zeros(experts), np.zeros(experts), np.ones(experts) / experts
    while s[MADE] < most:
        z = adverse_signs(w, size, 0.0, 0.0)
        if z is None:
            break
        _adapt(code, c, s, theta, V, w, z)
    return int(s[MADE])
