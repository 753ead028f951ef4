"""The trial, which is all of learning: score, guess, hear the truth, move, recycle, remember.

One kernel per form; rules come in as addresses, techniques as numbers. It is written once, for arrays, single
items and predictions alike (a trial without a label is a prediction, and leaves everything as it was).
"""

import math

from linmax._jit import Kernel, apart, inline, join_at
from linmax.forms import Last, Mean
from linmax.rules.base import SCALE, SLACK
from linmax.techniques.moving import best, best_rival, flush_all, learn
from linmax.techniques.records import (
    HELD,
    KNOWN,
    MISTAKES,
    MOVES,
    NEXT,
    NORM,
    NOVEL,
    REACH,
    SILENT,
    TRIALS,
    VOID,
    WAY,
)

ROUNDING = 2.0**-30  # of a score that is the sum of a million terms, and of the way that is added up
LONG = 2.0**20  # the cumulated scale may be so many times the scale of now


@inline
def tally(form, t, k, w, scores):
    """The scores of the k known classes."""
    for c in range(k):
        scores[c] = 0.0
    form.tally(t, k, w, 0, scores)


@apart
def begin_recycling(k, h, buffer, counts):
    """What was known of leads is void after a settling, or when there are more classes."""
    travel = buffer.travel
    if travel[VOID] == 1.0 or travel[KNOWN] != k:
        for j in range(counts[HELD]):
            buffer.lead[buffer.ring[j]] = -math.inf
        travel[WAY] = 0.0
        travel[KNOWN] = k
        travel[VOID] = 0.0
        norm = 0.0
        for i in range(len(h.w)):
            norm += abs(h.w[i])
        travel[NORM] = norm * travel[REACH]


@apart
def recycle(form, labels, k, h, history, buffer, work, how, counts):
    """Pass over the held instances, oldest first, until a pass moves nothing."""
    size = len(buffer.ring)
    oldest = counts[NEXT] - counts[HELD]
    travel = buffer.travel
    begin_recycling(k, h, buffer, counts)
    for _ in range(how.passes):
        again = False
        for j in range(counts[HELD]):
            t = buffer.ring[(oldest + j) % size]
            if buffer.used[t] >= how.updates:
                continue
            if buffer.lead[t] > travel[WAY] - buffer.at[t] + ROUNDING * (travel[NORM] + travel[WAY]):
                continue  # it led by more than the weights have moved since: still right
            tally(form, t, k, Last(h.w), work.scores)
            guess = best(work.scores, k)
            wrong = guess != labels[t]
            if wrong or h.s[SLACK] >= 0.0:
                moved = learn(form, t, k, labels[t], guess, h, history, buffer, work, how)
                buffer.used[t] += 1 * (wrong or moved)
                again |= moved
                if travel[VOID] == 1.0:
                    begin_recycling(k, h, buffer, counts)
            else:
                rival = best_rival(work.scores, k, guess)
                buffer.lead[t] = work.scores[guess] - work.scores[rival] if rival >= 0 else math.inf
                buffer.at[t] = travel[WAY]
        if not again:
            break


@apart
def enlist(form, t, k, h, history, buffer, work, how, counts):
    """Let those who speak for the first time join; return how many, their indices in `work`."""
    count = form.speakers(t, k, 0, h.spoken, work.index, 0)
    if count > 0:
        for j in range(count):
            i = work.index[j]
            h.spoken[i] = 1
            h.theta[i] = h.first[i]
            if how.averages:
                history.since[i] = history.total[0]
        join = join_at(how.join)
        join(h.p, h.s, h.theta, h.w, work.index[:count])
        counts[SILENT] -= count
        if how.updates > 0:
            buffer.travel[VOID] = 1.0
    return count


@apart
def dismiss(h, history, work, how, counts, count):
    """Undo `enlist`, but for `s`."""
    for j in range(count):
        i = work.index[j]
        h.spoken[i] = 0
        h.theta[i] = 0.0
        h.w[i] = 0.0
        if how.averages:
            history.since[i] = 0.0
    counts[SILENT] += count


@inline
def copy(source, target):
    """One array into another."""
    for i in range(len(source)):
        target[i] = source[i]


@inline
def score(form, t, k, h, history, work, how, hypotheses, row, out):
    """Guess trial t with the rule's own hypothesis and, when averaging, with the mean; return both."""
    tally(form, t, k, Last(h.w), work.scores)
    own = best(work.scores, k)
    out.own[row] = own
    if len(out.own_scores) > 0:
        for c in range(k):
            out.own_scores[row, c] = h.s[SCALE] * work.scores[c]
    guess = own
    if how.averages:
        mean = Mean(h.w, history.past, history.since, history.total[0], h.s[SCALE])
        tally(form, t, k, mean, work.mean)
        guess = best(work.mean, k)
        out.mean[row] = guess
        if len(out.mean_scores) > 0:
            for c in range(k):
                out.mean_scores[row, c] = work.mean[c] / hypotheses
    return own, guess


def trials(form, labels, known, begin, end, h, history, buffer, work, how, counts, out):
    """Run the trials begin <= t < end of a tape; row t - begin of `out` takes the result."""
    for t in range(begin, end):
        k = known[t]
        y = labels[t]
        row = t - begin
        form.enter(t)
        joined = 0
        if y < 0:
            copy(h.s, work.saved)
        if how.hears and counts[SILENT] > 0:
            joined = enlist(form, t, k, h, history, buffer, work, how, counts)
        own, guess = score(form, t, k, h, history, work, how, counts[TRIALS] + 1, row, out)
        if y < 0:  # a prediction leaves no trace
            dismiss(h, history, work, how, counts, joined)
            copy(work.saved, h.s)
            continue
        counts[TRIALS] += 1
        if how.averages:
            if history.total[0] > LONG * h.s[SCALE]:
                flush_all(history, h.w)  # or this hypothesis would be lost in the rounding of the total
            history.total[0] += h.s[SCALE]
        wrong = False
        moved = False
        if y >= k:
            counts[NOVEL] += 1
        else:
            counts[MISTAKES] += 1 * (guess != y)
            wrong = own != y
            if wrong or h.s[SLACK] >= 0.0:
                moved = learn(form, t, k, y, own, h, history, buffer, work, how)
                counts[MOVES] += 1 * moved
        if how.updates > 0:
            buffer.ring[counts[NEXT] % len(buffer.ring)] = t
            counts[NEXT] += 1
            counts[HELD] = min(counts[HELD] + 1, len(buffer.ring))
            if wrong or moved:
                buffer.used[t] += 1
                recycle(form, labels, k, h, history, buffer, work, how, counts)
        form.observe(t, y)


run = Kernel(trials)
