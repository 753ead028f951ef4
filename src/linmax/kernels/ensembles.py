"""Kernels of ensembles: mixtures, stacking, Weighted Majority, and a learned temperature."""

import math

from linmax._jit import CompiledKernel, inline
from linmax.kernels.update import best_class

SMALLEST = 1e-300
FLOOR = -20.0  # the smallest log-probability of a member in a stack
SKIP = 1e-4  # less probable classes do not change the curvature of a stack
HEAT, CURVATURE = 0, 1  # indices in `state` of a temperature
RATE = 0.1
MAX_STEP = 0.5


@inline
def log_softmax(scores, k, out):
    """Write log p, where p is the softmax of the scores."""
    top = -math.inf
    for c in range(k):
        top = max(top, scores[c])
    total = 0.0
    for c in range(k):
        total += math.exp(scores[c] - top)
    shift = top + math.log(total) if k > 0 else 0.0
    for c in range(k):
        out[c] = scores[c] - shift


@inline
def write_prediction(scores, k, t, guesses, out_scores):
    """Write the prediction of trial t and, if they are wanted, its scores."""
    guesses[t] = best_class(scores, k)
    if len(out_scores) > 0:
        for c in range(k):
            out_scores[t, c] = scores[c]


def mix_trials(member_scores, labels, known, logs, step, share, p, guesses, out_scores):
    """Predict with p = sum over members of v_m p_m, where log v = `logs`.

    A wrong prediction lowers the log-weight of a member by `step`; `share` of all weight is then spread.
    """
    members = member_scores.shape[0]
    mixed = p[members]
    for t in range(member_scores.shape[1]):
        k = known[t]
        y = labels[t]
        for c in range(k):
            mixed[c] = 0.0
        for m in range(members):
            log_softmax(member_scores[m, t], k, p[m])
            for c in range(k):
                mixed[c] += math.exp(logs[m] + p[m, c])
        for c in range(k):
            mixed[c] = math.log(max(mixed[c], SMALLEST))
        write_prediction(mixed, k, t, guesses, out_scores)
        if 0 <= y < k:
            top = -math.inf
            for m in range(members):
                logs[m] -= step * (best_class(member_scores[m, t], k) != y)
                top = max(top, logs[m])
            total = 0.0
            for m in range(members):
                total += math.exp(logs[m] - top)
            for m in range(members):
                v = math.exp(logs[m] - top) / total
                logs[m] = math.log(max((1.0 - share) * v + share / members, SMALLEST))


mix = CompiledKernel(mix_trials)


def stack_trials(member_scores, labels, known, v, P, prior, forget, x, scores, work, guesses, out_scores):
    """Softmax regression on the log-probabilities x of the members: scores = v . x, with Newton steps for v.

    P is the inverse of the curvature so far; `forget` of it is replaced by the prior on every trial.
    """
    members = member_scores.shape[0]
    mean, d, Pd = work[0], work[1], work[2]
    for t in range(member_scores.shape[1]):
        k = known[t]
        y = labels[t]
        for c in range(k):
            scores[0, c] = 0.0
        for m in range(members):
            log_softmax(member_scores[m, t], k, x[m])
            for c in range(k):
                x[m, c] = max(x[m, c], FLOOR)
                scores[0, c] += v[m] * x[m, c]
        log_softmax(scores[0], k, scores[1])
        write_prediction(scores[1], k, t, guesses, out_scores)
        if not 0 <= y < k:
            continue
        for m in range(members):
            mean[m] = 0.0
            for c in range(k):
                mean[m] += math.exp(scores[1, c]) * x[m, c]
        for c in range(k):
            p = math.exp(scores[1, c])
            if p >= SKIP:
                update_inverse(P, p, x, c, mean, d, Pd)
        for m in range(members):
            for n in range(members):
                v[m] += P[m, n] * (x[n, y] - mean[n])
        for m in range(members):
            for n in range(members):
                P[m, n] *= 1.0 - forget
            P[m, m] += forget * prior


@inline
def update_inverse(P, p, x, c, mean, d, Pd):
    """Update P to the inverse of (curvature + p d d'), d = x[:, c] - mean (Sherman & Morrison)."""
    members = len(mean)
    along = 0.0
    for m in range(members):
        d[m] = x[m, c] - mean[m]
    for m in range(members):
        Pd[m] = 0.0
        for n in range(members):
            Pd[m] += P[m, n] * d[n]
        along += d[m] * Pd[m]
    for m in range(members):
        for n in range(members):
            P[m, n] -= p / (1.0 + p * along) * Pd[m] * Pd[n]


stack = CompiledKernel(stack_trials)


def temper_trials(scores, labels, known, state, x, p, out_scores):
    """Multiply scores by exp(u); u follows the gradient of the log-loss, divided by its curvature."""
    for t in range(scores.shape[0]):
        k = known[t]
        y = labels[t]
        top = -math.inf
        for c in range(k):
            top = max(top, scores[t, c])
        heat = math.exp(state[HEAT])
        for c in range(k):
            x[c] = heat * (scores[t, c] - top)
            out_scores[t, c] = x[c]
        if 0 <= y < k:
            log_softmax(x, k, p)
            mean = 0.0
            square = 0.0
            for c in range(k):
                mean += math.exp(p[c]) * x[c]
                square += math.exp(p[c]) * x[c] * x[c]
            state[CURVATURE] += max(square - mean * mean, 0.0)
            step = RATE * (x[y] - mean) / (1.0 + RATE * state[CURVATURE])
            state[HEAT] += min(max(step, -MAX_STEP), MAX_STEP)


temper = CompiledKernel(temper_trials)


NEW, SPOKEN = 0, 1  # a new expert starts at the mean weight of those that have voted


@inline
def mean_log(logs, spoken):
    """Return the log of the mean weight of the experts that have voted; 0 if there are none."""
    top = -math.inf
    for i in range(len(logs)):
        if spoken[i] != NEW:
            top = max(top, logs[i])
    if top == -math.inf:
        return 0.0
    total = 0.0
    count = 0
    for i in range(len(logs)):
        if spoken[i] != NEW:
            total += math.exp(logs[i] - top)
            count += 1
    return top + math.log(total / count)


def weigh_trials(votes, labels, known, logs, spoken, step, scores, guesses, out_scores):
    """Weighted Majority over the predictions of members or the votes of experts; -1 is an abstention."""
    for t in range(votes.shape[0]):
        k = known[t]
        y = labels[t]
        first_log = math.nan
        top = -math.inf
        for i in range(votes.shape[1]):
            if votes[t, i] >= 0:
                if spoken[i] == NEW:
                    if math.isnan(first_log):
                        first_log = mean_log(logs, spoken)
                    logs[i] = first_log
                top = max(top, logs[i])
        for c in range(k):
            scores[c] = 0.0
        for i in range(votes.shape[1]):
            if votes[t, i] >= 0:
                scores[votes[t, i]] += math.exp(logs[i] - top)  # the largest weight counts 1
        guesses[t] = best_class(scores, k)
        if len(out_scores) > 0:
            for c in range(k):
                out_scores[t, c] = scores[c]
        for i in range(votes.shape[1]):
            if votes[t, i] >= 0:
                if y >= 0:
                    spoken[i] = SPOKEN
                    if y < k and votes[t, i] != y:
                        logs[i] -= step
                elif spoken[i] == NEW:
                    logs[i] = 0.0  # a prediction does not change the state


weigh = CompiledKernel(weigh_trials)
