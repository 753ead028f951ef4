"""Winnow with a multiplier that is adapted per trial: all variants that were tried, in one compiled loop.

theta and w are those of the mistakes so far, n the number of experts with thresholds, and M the mistakes with
the current one. All predict with the largest score and update on mistakes only, along z = x^y - x^guess.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

VARIANTS = {
    "kept": "theta += eta z with eta = 0.9 / sqrt(M): ALMA's schedule as it is",
    "fixed": "w = alpha^theta; the parameter is alpha",
    "sqrt": "eta = c sqrt(ln n / M), w = exp(eta theta)",
    "steps": "theta += eta z with eta = c sqrt(ln n / M): ALMA's schedule for multiplicative updates",
    "adahedge": "eta = ln n / (sum of mixability gaps), w = exp(eta theta)",
    "potential": "eta = ln n / max over time of (sum of ln(sum w exp(eta z)) / eta), w = exp(eta theta)",
    "squint": "w_i = mean over eta of eta exp(eta R_i - eta^2 V_i), eta = 2^-1, ..., 2^-10",
    "greedy": "theta += eta z, eta makes eta delta - ln(sum w exp(eta z)) largest; the parameter is delta",
    "greedy sqrt": "greedy with delta = min(1/2, c sqrt(2 ln n / M))",
    "greedy steps": "greedy with delta = tanh(eta_M) and at most 3 eta_M, eta_M = c sqrt(ln n / M)",
    "doubling": "eta of delta = 1/2, which is divided by sqrt 2 after 2 ln n / delta^2 mistakes; theta stays",
    "restart": "doubling, and theta starts from 0 with every delta",
}
BOUNDS = {
    "kept": "`linmax.bounds`, about (ln n + 0.4 (1 + ln M))^2 / (3.2 delta^2) without noise",
    "steps": "as `AdaptiveWinnow` with rate c sqrt(ln n), if all n experts vote from the start",
    "sqrt": "M delta <= hinge + 1/2 + (1/c + c) sqrt(M ln n): follow the regularized leader, decreasing eta",
    "adahedge": "M delta <= hinge + 2 sqrt(M ln n) + O(ln n): de Rooij et al., JMLR 2014",
    "potential": "M delta <= hinge + 2 max(ln n, the sum that sets eta): the same proof as `sqrt`",
    "squint": "none as run: the proof of Koolen & van Erven, COLT 2015, requires eta <= 1/4 here",
    "greedy": "that of `Winnow.for_margin(delta)`, without noise only: no other eta decreases RE(u, w) more",
    "greedy sqrt": "none is proven here",
    "greedy steps": "none is proven here",
    "doubling": "none is proven here",
    "restart": "8 ln n / delta^2 and one per epoch, without noise: the epochs form a geometric series",
}
CODES = {name: code for code, name in enumerate(VARIANTS)}
RATES = 10


@numba.njit(cache=True)
def _run(votes, labels, k, code, c):  # type: ignore[no-untyped-def]
    T, n = votes.shape
    N = n + k
    logn = math.log(N)
    theta, V = np.zeros(N), np.zeros(N)
    w = np.ones(N) / N
    z = np.zeros(N)
    s = np.zeros(k)
    eta = math.log(c) if code == 1 else 1.0
    M, total, peak = 0, 0.0, 0.0
    delta, epoch = 0.5, 0.0
    if code == 10 or code == 11:
        eta = math.atanh(delta)
    for t in range(T):
        for j in range(k):
            s[j] = w[n + j]
        for i in range(n):
            if votes[t, i] >= 0:
                s[votes[t, i]] += w[i]
        g = np.argmax(s)
        y = labels[t]
        if g == y:
            continue
        M += 1
        wz = 0.0
        for i in range(n):
            z[i] = (1.0 if votes[t, i] == y else 0.0) - (1.0 if votes[t, i] == g else 0.0)
            wz += w[i] * z[i]
        for j in range(k):
            z[n + j] = (1.0 if j == y else 0.0) - (1.0 if j == g else 0.0)
            wz += w[n + j] * z[n + j]
        if code == 4 or code == 5:
            # the loss of this mistake at the current rate, and from it the next rate
            mix = 0.0
            if total <= 0.0 and code == 4:
                best = -1.0
                for i in range(N):
                    if w[i] > 0.0:
                        best = max(best, z[i])
                mix = best
            else:
                for i in range(N):
                    mix += w[i] * math.exp(eta * z[i])
                mix = math.log(mix) / eta
            total += mix - wz if code == 4 else mix
            peak = max(peak, total)
            if peak > 0.0:
                eta = min(eta, logn / peak) if code == 5 else logn / peak
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
            P, Q = 0.0, 0.0
            for i in range(N):
                if z[i] > 0:
                    P += w[i]
                elif z[i] < 0:
                    Q += w[i]
            Z = max(0.0, 1.0 - P - Q)
            a = (
                (d * Z + math.sqrt(d * d * Z * Z + 4 * (1 - d * d) * P * Q)) / (2 * (1 - d) * P)
                if P > 0
                else 1.0
            )
            theta += min(max(math.log(a), 0.0), 3.0 * eta if code == 9 else 5.0) * z
        else:
            theta += z
            if code == 2:
                eta = c * math.sqrt(logn / M)
            if code == 10 or code == 11:
                epoch += 1
                if epoch > 2 * logn / delta**2:
                    delta /= math.sqrt(2.0)
                    epoch = 0.0
                    eta = math.atanh(delta)
                    if code == 11:
                        theta[:] = 0.0
        if code == 6:
            top = -1e300
            for i in range(N):
                for r in range(1, RATES + 1):
                    h = 2.0**-r
                    top = max(top, h * theta[i] - h * h * V[i] + math.log(h))
            S = 0.0
            for i in range(N):
                w[i] = 0.0
                for r in range(1, RATES + 1):
                    h = 2.0**-r
                    w[i] += math.exp(h * theta[i] - h * h * V[i] + math.log(h) - top)
                S += w[i]
        else:
            rate = 1.0 if code == 3 or (code >= 7 and code <= 9) else eta
            top = theta.max()
            S = 0.0
            for i in range(N):
                w[i] = math.exp(rate * (theta[i] - top))
                S += w[i]
        for i in range(N):
            w[i] /= S
    return M


def mistakes(votes: Any, labels: Any, k: int, variant: str, parameter: float = 1.0) -> int:
    """Return the mistakes of a variant on hard votes (-1 abstains), with threshold experts."""
    ints = np.asarray(votes, dtype=np.int32), np.asarray(labels, dtype=np.int64)
    return int(_run(*ints, k, CODES[variant], float(parameter)))
