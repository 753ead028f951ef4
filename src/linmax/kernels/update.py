"""How a hypothesis moves: the rival, z, and the rule's own update."""

import math

from linmax._jit import inline, separate, settle_at, update_at
from linmax.kernels.forms.base import add_both_scores, add_scores, append_z
from linmax.rules.base import (
    CYCLE,
    MOVED_AND_SETTLE,
    SCALE,
    SETTLE_AND_ASK_AGAIN,
    SLACK,
    SOFTMAX,
    STILL,
    TOP,
    VIOLATORS,
)


@inline
def tally(form, t, k, w, scores):
    """The scores of the k known classes."""
    for c in range(k):
        scores[c] = 0.0
    add_scores(form, t, k, w, 0, scores)


@inline
def tally_both(form, t, k, w, v, scores, others):
    """The same with two hypotheses."""
    for c in range(k):
        scores[c] = 0.0
        others[c] = 0.0
    add_both_scores(form, t, k, w, v, 0, scores, others)


@inline
def best(scores, k):
    """The class with the highest score, the first of those that tie; -1 when no class is known."""
    if k == 0:
        return -1
    guess = 0
    top = scores[0]
    for c in range(1, k):
        if scores[c] > top:
            top = scores[c]
            guess = c
    return guess


@inline
def best_rival(scores, k, y):
    """The best class but y; -1 when there is no other."""
    rival = -1
    for c in range(k):
        if c != y and (rival < 0 or scores[c] > scores[rival]):
            rival = c
    return rival


@inline
def shares(scores, k, y, rival, scale, rivals, q):
    """Write into q what z is made of: +1 for the truth, and -1 shared among its rivals."""
    if rivals == SOFTMAX:
        top = scores[best(scores, k)]
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
def flush(history, w, index, count):
    """Bring the running sums of these coordinates up to date, before they move."""
    total = history.total[0]
    for j in range(count):
        i = index[j]
        history.past[i] += w[i] * (total - history.since[i])
        history.since[i] = total


@inline
def flush_all(history, w):
    """Bring every running sum up to date and count the scale from zero again."""
    total = history.total[0]
    for i in range(len(w)):
        if history.since[i] != total:  # else it has just moved, and may be far beyond until it is settled
            history.past[i] += w[i] * (total - history.since[i])
        history.since[i] = 0.0
    history.total[0] = 0.0


@inline
def move(h, history, work, how, count, wrong):
    """Give z to the rule; say whether it moved."""
    if count == 0:
        return False  # nobody voted for either: dividing by |z| would be the classic NaN
    margin = 0.0
    if how.margin:
        for j in range(count):
            margin += h.w[work.index[j]] * work.value[j]
        margin *= h.s[SCALE]
    if wrong:
        margin = min(margin, 0.0)  # by the scores it is; a sum in another order may be off in the last bit
    if how.averages:
        flush(history, h.w, work.index, count)
    update = update_at(how.update)
    settle = settle_at(how.settle)
    answer = update(h.p, h.s, h.theta, h.w, work.index[:count], work.value[:count], margin)
    if answer >= MOVED_AND_SETTLE:
        work.moved[0] = -1.0
        if how.averages:
            flush_all(history, h.w)
        settle(h.p, h.s, h.theta, h.w, h.spoken)
        if answer == SETTLE_AND_ASK_AGAIN:
            margin = 0.0
            answer = update(h.p, h.s, h.theta, h.w, work.index[:count], work.value[:count], margin)
    return answer != STILL


@inline
def existing(work, spoken, count):
    """Drop from z who has not spoken on a real trial; only a recycled item can name such."""
    kept = 0
    for j in range(count):
        if spoken[work.index[j]] == 1:
            work.index[kept] = work.index[j]
            work.value[kept] = work.value[j]
            kept += 1
    return kept


@separate
def visit(form, t, k, y, h, history, work, how, silent):
    """Move on every rival that is not beaten, round after round (2003, section 4.4)."""
    q = work.q
    moved = False
    for _ in range(how.rounds):
        again = False
        for c in range(k):
            if c == y:
                continue
            q[y] = 1.0
            q[c] = -1.0
            count = append_z(form, t, k, q, 0, work.index, work.value, 0)
            q[y] = 0.0
            q[c] = 0.0
            if how.updates > 0 and silent > 0:
                count = existing(work, h.spoken, count)
            lead = 0.0
            for j in range(count):
                lead += h.w[work.index[j]] * work.value[j]
            if h.s[SCALE] * lead <= max(h.s[SLACK], 0.0):
                again |= move(h, history, work, how, count, lead <= 0.0)
        moved |= again
        if not again:
            break
    return moved


@inline
def learn(form, t, k, y, guess, h, history, work, how, silent):
    """Move by trial t, whose scores are in `work`, if there is reason to; say whether the rule moved.

    `silent`: how many sub-experts have not spoken yet; a recycled instance may name them.
    """
    wrong = guess != y
    rival = guess if wrong else best_rival(work.scores, k, y)
    if rival < 0 or (not wrong and h.s[SCALE] * (work.scores[y] - work.scores[rival]) > h.s[SLACK]):
        return False
    q = work.q
    if how.rivals == CYCLE:
        work.moved[0] = -1.0
        return visit(form, t, k, y, h, history, work, how, silent)
    if how.rivals == TOP:
        q[y] = 1.0
        q[rival] = -1.0
    else:
        shares(work.scores, k, y, rival, h.s[SCALE], how.rivals, q)
    count = append_z(form, t, k, q, 0, work.index, work.value, 0)
    if how.rivals == TOP:
        q[y] = 0.0
        q[rival] = 0.0
    else:
        for c in range(k):
            q[c] = 0.0
    if how.updates > 0 and silent > 0:
        count = existing(work, h.spoken, count)
    work.moved[0] = count
    return move(h, history, work, how, count, wrong and how.rivals != SOFTMAX)
