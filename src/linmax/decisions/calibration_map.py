"""The map from scores to calibrated probabilities, learned on-line.

q = softmax(s);  r = (1 - e) softmax(exp(u) (s - max s)) + e / k;  p = a r + (1 - a) q

u, the logarithm of an inverse temperature, and the logit of e follow the gradient of the log-loss of r, in
steps that shrink with its curvature. a is the posterior probability of r if q and r are equally likely at
first: a / (1 - a) = product over the past of r_y / q_y. The log-loss of p over a stream is therefore at most
that of q plus ln 2 in total, whatever the stream, and at most that of r plus ln 2.

The largest probability is that of the class with the largest score: u, e and a move all classes alike.
"""

import math

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax.kernels.ensembles.board import softmax

HEAT, CURVATURE, LOGIT, LOGIT_CURVATURE, ODDS = 0, 1, 2, 3, 4
FACTOR, EVEN, SHARE = 5, 6, 7  # exp(u), e and a, which follow from these
MAP_SIZE = 8
FIRST_LOGIT = -3.0  # e is 0.05 at first
MAX_STEP = 0.5
FIRST_CURVATURE = 0.1  # small, so that scores of any scale are scaled within a few trials
MAX_HEAT = 50.0
MIN_PROBABILITY = 1e-15  # a smaller probability of the truth counts as this one


def new_map() -> np.ndarray:
    """Return the map before the first label: nearly the softmax."""
    m = np.array([0.0, 0.0, FIRST_LOGIT, 0.0, 0.0, 0.0, 0.0, 0.0])
    derive(m)
    return m


@inline
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@inline
def derive(m):
    """Compute the numbers that follow from the others."""
    m[FACTOR] = math.exp(m[HEAT])
    m[EVEN] = sigmoid(m[LOGIT])
    m[SHARE] = sigmoid(m[ODDS])


@inline
def fill_probabilities(scores, row, k, m, logs, work):
    """Write the probabilities of k > 0 classes into `work.p`; `work.q` and `work.r` are those of the parts.

    With `logs`, scores are log-probabilities, and p is their softmax. If scores have overflowed, all classes
    are equally probable.
    """
    top = -math.inf
    overflow = False
    for c in range(k):
        work.x[c] = scores[row, c]
        top = max(top, scores[row, c])
        overflow |= math.isnan(scores[row, c])
    if overflow or not -math.inf < top < math.inf:
        for c in range(k):
            work.x[c] = 0.0
            work.p[c] = 1.0 / k
            work.q[c] = 1.0 / k
            work.r[c] = 1.0 / k
    elif logs:
        softmax(work.x, k, work.p)
    else:
        softmax(work.x, k, work.q)
        heat, even, share = m[FACTOR], m[EVEN], m[SHARE]
        for c in range(k):
            work.x[c] = heat * (scores[row, c] - top)
        softmax(work.x, k, work.r)
        for c in range(k):
            work.p[c] = share * ((1.0 - even) * work.r[c] + even / k) + (1.0 - share) * work.q[c]


@inline
def bounded(step):
    """Return a step of at most MAX_STEP."""
    return min(max(step, -MAX_STEP), MAX_STEP)


@inline
def learn_map(k, y, m, work):
    """Learn the label y of the trial that `fill_probabilities` was called for."""
    even = m[EVEN]
    of_truth = (1.0 - even) * work.r[y] + even / k
    m[ODDS] += math.log(max(of_truth, MIN_PROBABILITY)) - math.log(max(work.q[y], MIN_PROBABILITY))
    mean = 0.0
    square = 0.0
    for c in range(k):
        if work.r[c] > 0.0:  # where it is 0, x may be -inf
            mean += work.r[c] * work.x[c]
            square += work.r[c] * work.x[c] * work.x[c]
    part = (1.0 - even) * work.r[y] / of_truth
    m[CURVATURE] += max(square - mean * mean, 0.0) * part
    step = (work.x[y] - mean) * part / (m[CURVATURE] + FIRST_CURVATURE) if part > 0.0 else 0.0
    m[HEAT] = min(max(m[HEAT] + bounded(step), -MAX_HEAT), MAX_HEAT)
    slope = even * (1.0 - even) * (1.0 / k - work.r[y]) / of_truth
    m[LOGIT_CURVATURE] += slope * slope
    m[LOGIT] = min(max(m[LOGIT] + bounded(slope / (m[LOGIT_CURVATURE] + 1.0)), -MAX_HEAT), MAX_HEAT)
    derive(m)


def map_rows(scores, k, m, logs, work, out):
    """Write the probabilities of all rows of scores with k classes."""
    for row in range(len(scores)):
        fill_probabilities(scores, row, k, m, logs, work)
        for c in range(k):
            out[row, c] = work.p[c]


probabilities_of = CompiledKernel(map_rows)
