"""Kernels of ensembles: mixtures, stacking, a learned temperature, and Weighted Majority."""

import math

from linmax._jit.compilation import CompiledKernel, inline
from linmax._jit.vectors import maximum, put, splat, take, total, where_above
from linmax.kernels.elementwise import log_of
from linmax.kernels.ensembles.board import CURVATURE, HEAT, LANES, MAX_STEP, heat_step, softmax
from linmax.kernels.update import best_class

SMALLEST = 1e-300
FLOOR = -20.0  # the smallest log-probability of a member in a stack
SKIP = 1e-3  # less probable classes do not change the curvature of a stack


@inline
def write_prediction(scores, k, row, guesses, out_scores):
    """Write the prediction of a trial and, if they are wanted, its scores."""
    guesses[row] = best_class(scores, k)
    if len(out_scores) > 0:
        for c in range(k):
            out_scores[row, c] = scores[c]


def mix_trials(
    board, labels, known, v, least, multiplier, share, mixed, wrong, probabilities, guesses, out_scores,
    begin, end,
):  # fmt: skip
    """Predict with p = sum over members of v_m p_m; the scores are p if `probabilities`, and else log p.

    A wrong prediction divides the weight v_m by `multiplier`; `share` of all weight is then spread. No weight
    falls below `least`, which is 1 / members for members, times SMALLEST, and 0 for other lanes.
    """
    members = len(board.codes)
    between = board.block * board.wide
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        for j in range(0, k, LANES):
            sums = splat(0.0)
            for m in range(members):
                sums = sums + take(board.p, m * between + row * board.wide + j) * v[m]
            put(mixed, j, sums)
        guesses[row] = best_class(mixed, k)
        if len(out_scores) > 0:
            if not probabilities:
                for j in range(0, k, LANES):
                    put(mixed, j, log_of(maximum(take(mixed, j), SMALLEST)))
            for c in range(k):
                out_scores[row, c] = mixed[c]
        if 0 <= y < k:
            for m in range(members):
                wrong[m] = 1.0 * (board.codes[m, row] != y)
            whole = 0.0
            for m in range(0, members, LANES):
                now = take(v, m) / where_above(take(wrong, m), 0.5, multiplier, 1.0)
                put(v, m, now)
                whole += total(now)
            keep = (1.0 - share) / whole
            for m in range(0, members, LANES):
                low = take(least, m)
                spread = low * (share / SMALLEST)
                put(v, m, maximum(take(v, m) * keep + spread, low))


mix = CompiledKernel(mix_trials)


def stack_trials(
    board, labels, known, v, P, prior, forget, x, scores, work, probabilities, guesses, out_scores, begin, end
):
    """Softmax regression on the log-probabilities x of the members: scores = v . x, with Newton steps for v.

    The scores are p if `probabilities`, and else log p. P is the inverse of the curvature so far, lanes *
    lanes; `forget` of it is replaced by the prior on every trial.
    """
    members, lanes, wide = len(board.codes), len(v), board.wide
    groups = lanes // LANES
    between = board.block * wide
    z, p, mean, d, Pd = scores[0], scores[1], work[0], work[1], work[2]
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        if k == 0:
            write_prediction(z, k, row, guesses, out_scores)
            continue
        for j in range(0, k, LANES):
            sums = splat(0.0)
            for m in range(members):
                score = take(board.scores, m * between + row * wide + j)
                one = maximum(score - board.shift[row * lanes + m], FLOOR)
                put(x, m * wide + j, one)
                sums = sums + one * v[m]
            put(z, j, sums)
        shift = softmax(z, k, p)
        guesses[row] = best_class(z, k)
        if len(out_scores) > 0:
            for c in range(k):
                out_scores[row, c] = p[c] if probabilities else z[c] + shift
        if not 0 <= y < k:
            continue
        if k == 2:  # the classes differ in one direction only
            for m in range(members):
                d[m] = x[m * wide + y] - x[m * wide + 1 - y]
            along = times(P, members, groups, d, Pd)
            step = p[1 - y] / (1.0 + p[y] * p[1 - y] * along)
            subtract_square(P, p[y] * step, members, groups, Pd)
            add_step(v, step, groups, Pd)
        else:
            write_means(x, p, k, wide, members, mean)
            for c in range(k):
                if p[c] >= SKIP:
                    for m in range(members):
                        d[m] = x[m * wide + c] - mean[m]
                    along = times(P, members, groups, d, Pd)
                    subtract_square(P, p[c] / (1.0 + p[c] * along), members, groups, Pd)
            for m in range(members):
                d[m] = x[m * wide + y] - mean[m]
            times(P, members, groups, d, Pd)
            add_step(v, 1.0, groups, Pd)
        for j in range(0, members * lanes, LANES):
            put(P, j, take(P, j) * (1.0 - forget))
        for m in range(members):
            P[m * lanes + m] += forget * prior


@inline
def write_means(x, p, k, wide, members, mean):
    """Write the mean of the log-probabilities of each member under p."""
    for c in range(k, -(-k // LANES) * LANES):
        p[c] = 0.0  # an earlier trial may have had more classes, which only its votes named
    for m in range(members):
        sums = splat(0.0)
        for j in range(0, k, LANES):
            sums = sums + take(x, m * wide + j) * take(p, j)
        mean[m] = total(sums)


@inline
def add_step(v, step, groups, Pd):
    """Add a multiple of P d to the weights."""
    for g in range(groups):
        put(v, g * LANES, take(v, g * LANES) + take(Pd, g * LANES) * step)


@inline
def times(P, members, groups, d, Pd):
    """Write P d, and return d . P d; P is symmetric."""
    along = 0.0
    for g in range(groups):
        sums = splat(0.0)
        for m in range(members):
            sums = sums + take(P, (m * groups + g) * LANES) * d[m]
        put(Pd, g * LANES, sums)
        along += total(take(d, g * LANES) * sums)
    return along


@inline
def subtract_square(P, factor, members, groups, Pd):
    """Subtract factor (P d) (P d)' from P: the inverse has d in it then (Sherman & Morrison)."""
    for g in range(groups):
        row = take(Pd, g * LANES)
        for m in range(members):
            at = (m * groups + g) * LANES
            put(P, at, take(P, at) - row * (factor * Pd[m]))


stack = CompiledKernel(stack_trials)


def temper_trials(scores, labels, known, state, x, p, out_scores, begin, end):
    """Multiply scores by exp(u); u follows the gradient of the log-loss, divided by its curvature."""
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        if k == 0:
            continue
        top = scores[row, best_class(scores[row], k)]
        heat = math.exp(state[HEAT])
        for c in range(k):
            x[c] = heat * (scores[row, c] - top)
            out_scores[row, c] = x[c]
        if 0 <= y < k:
            softmax(x, k, p)
            mean = 0.0
            square = 0.0
            for c in range(k):
                mean += p[c] * x[c]
                square += p[c] * x[c] * x[c]
            state[CURVATURE] += max(square - mean * mean, 0.0)
            step = heat_step(x[y] - mean, state[CURVATURE])
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


def weigh_trials(votes, labels, known, logs, spoken, step, scores, guesses, out_scores, begin, end):
    """Weighted Majority over the predictions of members or the votes of experts; -1 is an abstention."""
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        first_log = math.nan
        top = -math.inf
        for i in range(votes.shape[0]):
            if votes[i, row] >= 0:
                if spoken[i] == NEW:
                    if math.isnan(first_log):
                        first_log = mean_log(logs, spoken)
                    logs[i] = first_log
                top = max(top, logs[i])
        for c in range(k):
            scores[c] = 0.0
        for i in range(votes.shape[0]):
            if votes[i, row] >= 0:
                scores[votes[i, row]] += math.exp(logs[i] - top)  # the largest weight counts 1
        guesses[row] = best_class(scores, k)
        if len(out_scores) > 0:
            for c in range(k):
                out_scores[row, c] = scores[c]
        for i in range(votes.shape[0]):
            if votes[i, row] >= 0:
                if y >= 0:
                    spoken[i] = SPOKEN
                    if y < k and votes[i, row] != y:
                        logs[i] -= step
                elif spoken[i] == NEW:
                    logs[i] = 0.0  # a prediction does not change the state


weigh = CompiledKernel(weigh_trials)
