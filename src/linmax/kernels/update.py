"""One update: scores of the classes, the rival, z, and the call of the rule."""

import math

from linmax._jit.addresses import settle_at, update_at
from linmax._jit.compilation import inline, separate
from linmax._jit.vectors import WIDTH, put, splat
from linmax.kernels.averaging import update_all_sums, update_sums
from linmax.kernels.forms.base import add_both_scores, add_scores, append_z
from linmax.rules.base import (
    CYCLE,
    MOVED_AND_SETTLE,
    SCALE,
    SETTLE_AND_REPEAT,
    SLACK,
    SOFTMAX,
    STILL,
    TOP,
    VIOLATORS,
)

MANY = 16  # classes


@inline
def clear(numbers, k):
    """Write 0 for k classes, and on to the end of a vector."""
    put(numbers, 0, splat(0.0))  # not in the loop, which the compiler replaces by a call of memset
    for b in range(WIDTH, k, WIDTH):
        put(numbers, b, splat(0.0))


@inline
def score_classes(form, t, k, w, scores):
    """Write the scores of the k known classes."""
    clear(scores, k)
    add_scores(form, t, k, w, 0, scores)


@inline
def score_classes_with_both(form, t, k, w, v, scores, others):
    """Write the scores of the k known classes for two hypotheses."""
    clear(scores, k)
    clear(others, k)
    add_both_scores(form, t, k, w, v, 0, scores, others)


@inline
def best_class(scores, k):
    """Return the class with the highest score, the first in a tie; -1 if no class is known."""
    if k == 0:
        return -1
    predicted = 0
    top = scores[0]
    if k < MANY:
        for c in range(1, k):
            if scores[c] > top:
                top = scores[c]
                predicted = c
        return predicted
    second, third, fourth = scores[1], scores[2], scores[3]  # four at a time: each waits for itself only
    for c in range(4, k - 3, 4):
        top = max(top, scores[c])
        second = max(second, scores[c + 1])
        third = max(third, scores[c + 2])
        fourth = max(fourth, scores[c + 3])
    for c in range(k - k % 4, k):
        top = max(top, scores[c])
    top = max(max(top, second), max(third, fourth))
    while predicted < k - 1 and scores[predicted] != top:
        predicted += 1
    return predicted


@inline
def best_rival(scores, k, y):
    """Return the best class other than y; -1 if there is none."""
    rival = -1
    for c in range(k):
        if c != y and (rival < 0 or scores[c] > scores[rival]):
            rival = c
    return rival


@inline
def choose_rival(scores, k, y, predicted, scale, slack, costs):
    """Return the rival of y (-1 if there is none), and the margin up to which it causes an update.

    With costs, it is the class that lacks most of the margin slack * costs[y, class].
    """
    if len(costs) == 0:
        return predicted if predicted != y else best_rival(scores, k, y), slack
    rival = -1
    most = 0.0
    for c in range(k):
        reached = scale * scores[c] + slack * costs[y, c]
        if c != y and (rival < 0 or reached > most):
            rival = c
            most = reached
    return rival, slack * costs[y, rival]


@inline
def rival_shares(scores, k, y, rival, scale, rivals, q):
    """Write the shares of the classes in z into q: +1 for the label, and -1 in total for its rivals."""
    if rivals == SOFTMAX:
        top = scores[best_class(scores, k)]
        total = 0.0
        for c in range(k):
            q[c] = math.exp(scale * (scores[c] - top))
            total += q[c]
        for c in range(k):
            q[c] = -q[c] / total
        q[y] += 1.0
        return
    if rivals == VIOLATORS:
        violators = 0
        for c in range(k):
            violators += 1 * (c != y and scores[c] >= scores[y])
        if violators > 0:
            for c in range(k):
                if scores[c] >= scores[y]:
                    q[c] = -1.0 / violators
            q[y] = 1.0
            return
    q[y] = 1.0
    q[rival] = -1.0


@inline
def apply_update(h, average, work, settings, count, wrong):
    """Call the rule with z; return whether it made an update."""
    if count == 0:
        return False  # z = 0, by which some rules would divide
    margin = 0.0
    if settings.margin:
        for j in range(count):
            margin += h.w[work.index[j]] * work.value[j]
        margin *= h.s[SCALE]
    if wrong:
        margin = min(margin, 0.0)  # as the scores say; a sum in another order may differ in the last bit
    if settings.averages:
        update_sums(average, h.w, work.index, count)
    update = update_at(settings.update)
    settle = settle_at(settings.settle)
    answer = update(h.p, h.s, h.theta, h.w, work.index[:count], work.value[:count], margin)
    if answer >= MOVED_AND_SETTLE:
        work.moved[0] = -1.0
        if settings.averages:
            update_all_sums(average, h.w)
        settle(h.p, h.s, h.theta, h.w, h.spoken)
        if answer == SETTLE_AND_REPEAT:
            margin = 0.0
            answer = update(h.p, h.s, h.theta, h.w, work.index[:count], work.value[:count], margin)
    return answer != STILL


@inline
def drop_new_experts(work, spoken, count):
    """Drop from z the sub-experts without a vote so far; only recycled instances can contain them."""
    kept = 0
    for j in range(count):
        if spoken[work.index[j]] == 1:
            work.index[kept] = work.index[j]
            work.value[kept] = work.value[j]
            kept += 1
    return kept


@separate
def update_each_rival(form, t, k, y, slack, h, average, work, settings, silent):
    """Update against every rival that the label does not beat, in rounds (ICML 2003, section 4.4)."""
    q = work.q
    moved = False
    for _ in range(settings.rounds):
        again = False
        for c in range(k):
            if c == y:
                continue
            q[y] = 1.0
            q[c] = -1.0
            count = append_z(form, t, k, q, 0, work.index, work.value, 0)
            q[y] = 0.0
            q[c] = 0.0
            if settings.updates > 0 and silent > 0:
                count = drop_new_experts(work, h.spoken, count)
            if len(work.costs) > 0:
                h.s[SLACK] = slack * work.costs[y, c]
            lead = 0.0
            for j in range(count):
                lead += h.w[work.index[j]] * work.value[j]
            if h.s[SCALE] * lead <= max(h.s[SLACK], 0.0):
                again |= apply_update(h, average, work, settings, count, lead <= 0.0)
        moved |= again
        if not again:
            break
    return moved


@inline
def learn(form, t, k, y, predicted, h, average, work, settings, silent):
    """Update on trial t, whose scores are in `work`, if it is due; return whether an update was made.

    `silent` is the number of sub-experts without a vote so far; a recycled instance may contain them.
    """
    wrong = predicted != y
    slack = h.s[SLACK]
    rival, required = choose_rival(work.scores, k, y, predicted, h.s[SCALE], slack, work.costs)
    if rival < 0 or (not wrong and h.s[SCALE] * (work.scores[y] - work.scores[rival]) > required):
        return False
    q = work.q
    h.s[SLACK] = required  # which the rule may use
    if settings.rivals == CYCLE:
        work.moved[0] = -1.0
        moved = update_each_rival(form, t, k, y, slack, h, average, work, settings, silent)
        h.s[SLACK] = slack
        return moved
    if settings.rivals == TOP:
        q[y] = 1.0
        q[rival] = -1.0
    else:
        rival_shares(work.scores, k, y, rival, h.s[SCALE], settings.rivals, q)
    count = append_z(form, t, k, q, 0, work.index, work.value, 0)
    if settings.rivals == TOP:
        q[y] = 0.0
        q[rival] = 0.0
    else:
        for c in range(k):
            q[c] = 0.0
    if settings.updates > 0 and silent > 0:
        count = drop_new_experts(work, h.spoken, count)
    work.moved[0] = count
    beaten = wrong and settings.rivals != SOFTMAX and not work.scores[y] > work.scores[rival]
    moved = apply_update(h, average, work, settings, count, beaten)
    h.s[SLACK] = slack
    return moved
