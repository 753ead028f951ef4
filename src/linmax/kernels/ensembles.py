"""The kernels that make one probability of many: mixing, stacking, and a temperature that is learned."""

import math

from linmax._jit import Kernel, inline
from linmax.kernels.update import best

LEAST = 1e-300
FLOOR = -20.0  # a member's log-probability counts no less than this in a stack
SKIP = 1e-4  # classes this improbable teach a stack nothing
HEAT, CURVATURE = 0, 1  # in `state` of a temperature
PACE = 0.1
LEAP = 0.5


@inline
def log_softmax(scores, k, out):
    """log p, where p is the soft-max of the scores."""
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
def tell(scores, k, t, guesses, board):
    """The guess of trial t and, where they are wanted, the scores behind it."""
    guesses[t] = best(scores, k)
    if len(board) > 0:
        for c in range(k):
            board[t, c] = scores[c]


def mix_trials(boards, labels, known, logs, step, share, p, guesses, board):
    """p = sum over members of v_m p_m, log v = `logs`; who guesses wrong loses, and a share is spread."""
    members = boards.shape[0]
    whole = p[members]
    for t in range(boards.shape[1]):
        k = known[t]
        y = labels[t]
        for c in range(k):
            whole[c] = 0.0
        for m in range(members):
            log_softmax(boards[m, t], k, p[m])
            for c in range(k):
                whole[c] += math.exp(logs[m] + p[m, c])
        for c in range(k):
            whole[c] = math.log(max(whole[c], LEAST))
        tell(whole, k, t, guesses, board)
        if 0 <= y < k:
            top = -math.inf
            for m in range(members):
                logs[m] -= step * (best(boards[m, t], k) != y)
                top = max(top, logs[m])
            total = 0.0
            for m in range(members):
                total += math.exp(logs[m] - top)
            for m in range(members):
                v = math.exp(logs[m] - top) / total
                logs[m] = math.log(max((1.0 - share) * v + share / members, LEAST))


mix = Kernel(mix_trials)


def stack_trials(boards, labels, known, v, P, prior, forget, x, scores, work, guesses, board):
    """Soft-max regression on the members' log-probabilities x: scores = v . x, v moved by Newton's steps.

    P is the inverse of the curvature so far; a little of it is forgotten on every trial.
    """
    members = boards.shape[0]
    mean, d, Pd = work[0], work[1], work[2]
    for t in range(boards.shape[1]):
        k = known[t]
        y = labels[t]
        for c in range(k):
            scores[0, c] = 0.0
        for m in range(members):
            log_softmax(boards[m, t], k, x[m])
            for c in range(k):
                x[m, c] = max(x[m, c], FLOOR)
                scores[0, c] += v[m] * x[m, c]
        log_softmax(scores[0], k, scores[1])
        tell(scores[1], k, t, guesses, board)
        if not 0 <= y < k:
            continue
        for m in range(members):
            mean[m] = 0.0
            for c in range(k):
                mean[m] += math.exp(scores[1, c]) * x[m, c]
        for c in range(k):
            p = math.exp(scores[1, c])
            if p >= SKIP:
                curve(P, p, x, c, mean, d, Pd)
        for m in range(members):
            for n in range(members):
                v[m] += P[m, n] * (x[n, y] - mean[n])
        for m in range(members):
            for n in range(members):
                P[m, n] *= 1.0 - forget
            P[m, m] += forget * prior


@inline
def curve(P, p, x, c, mean, d, Pd):
    """The inverse of (curvature + p d d'), d = x[:, c] - mean (Sherman & Morrison)."""
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


stack = Kernel(stack_trials)


def temper_trials(scores, labels, known, state, x, p, board):
    """Multiply scores by exp(u), u following the log-loss in steps that shrink with its curvature."""
    for t in range(scores.shape[0]):
        k = known[t]
        y = labels[t]
        top = -math.inf
        for c in range(k):
            top = max(top, scores[t, c])
        heat = math.exp(state[HEAT])
        for c in range(k):
            x[c] = heat * (scores[t, c] - top)
            board[t, c] = x[c]
        if 0 <= y < k:
            log_softmax(x, k, p)
            mean = 0.0
            square = 0.0
            for c in range(k):
                mean += math.exp(p[c]) * x[c]
                square += math.exp(p[c]) * x[c] * x[c]
            state[CURVATURE] += max(square - mean * mean, 0.0)
            step = PACE * (x[y] - mean) / (1.0 + PACE * state[CURVATURE])
            state[HEAT] += min(max(step, -LEAP), LEAP)


temper = Kernel(temper_trials)


NEW, SPOKEN = 0, 1  # a newcomer starts at the mean weight of those who have spoken


@inline
def mean_log(logs, spoken):
    """The log of the mean of the weights of those who have spoken; 0 when there are none."""
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


def weigh_trials(ballots, labels, known, logs, spoken, step, scores, guesses, board):
    """Weighted Majority over what members (or experts) guess, -1 when they abstain."""
    for t in range(ballots.shape[0]):
        k = known[t]
        y = labels[t]
        join = math.nan
        top = -math.inf
        for i in range(ballots.shape[1]):
            if ballots[t, i] >= 0:
                if spoken[i] == NEW:
                    if math.isnan(join):
                        join = mean_log(logs, spoken)
                    logs[i] = join
                top = max(top, logs[i])
        for c in range(k):
            scores[c] = 0.0
        for i in range(ballots.shape[1]):
            if ballots[t, i] >= 0:
                scores[ballots[t, i]] += math.exp(logs[i] - top)  # the heaviest who speaks counts 1
        guesses[t] = best(scores, k)
        if len(board) > 0:
            for c in range(k):
                board[t, c] = scores[c]
        for i in range(ballots.shape[1]):
            if ballots[t, i] >= 0:
                if y >= 0:
                    spoken[i] = SPOKEN
                    if y < k and ballots[t, i] != y:
                        logs[i] -= step
                elif spoken[i] == NEW:
                    logs[i] = 0.0  # a prediction leaves no trace


weigh = Kernel(weigh_trials)
