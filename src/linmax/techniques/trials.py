"""The trial, which is all of learning: score, guess, hear the truth, move, recycle, remember.

One kernel per form; rules come in as addresses, techniques as numbers. It is written once, for arrays, single
items and predictions alike (a trial without a label is a prediction, and leaves everything as it was).
"""

import math

from linmax._jit import Kernel, apart, inline, join_at
from linmax.forms import Last, Mean
from linmax.forms.sketch import BITS, MARKED, OFF, UNIT, draw, redraw
from linmax.rules.base import SCALE, SLACK
from linmax.techniques.moving import best, flush_all, learn, tally
from linmax.techniques.records import (
    HELD,
    MISTAKES,
    MOVES,
    NEXT,
    NOVEL,
    SILENT,
    TRIALS,
)

__all__ = ["dismiss", "enlist", "run", "tally", "trials"]  # tally is at home in `moving`

LONG = 2.0**20  # the cumulated scale may be so many times the scale of now


@apart
def mark(form, buffer, counts):
    """Write down which words make up the instances that came in since the last time."""
    size = len(buffer.ring)
    for come in range(max(int(buffer.rough[MARKED]), counts[NEXT] - counts[HELD]), counts[NEXT]):
        slot = come % size
        buffer.many[slot] = form.marks(buffer.ring[slot], 0, buffer.width, buffer.places[slot], 0)
    buffer.rough[MARKED] = counts[NEXT]


@apart
def live_ones(buffer, how, counts):
    """List where those held instances are that may still be used, oldest first; return how many."""
    size = len(buffer.ring)
    slot = (counts[NEXT] - counts[HELD]) % size
    count = 0
    for _ in range(counts[HELD]):
        buffer.live[count] = slot
        count += 1 * (buffer.used[buffer.ring[slot]] < how.updates)
        slot += 1
        slot *= 1 * (slot < size)
    return count


@inline
def certain(scores, k, y):
    """Is y the guess? Branch-free, as `best` cannot be; no where a score is not a number."""
    own = scores[y]
    beaten = 0
    for c in range(k):
        beaten += 1 * (own > scores[c]) + 1 * ((own == scores[c]) & (c > y))
    return beaten == k - 1


@inline
def pass_over(form, labels, k, w, buffer, updates, j, end, scores):
    """From place j on, the first live instance before `end` that is guessed wrong; its scores are left."""
    ring, live, places, many, words = buffer.ring, buffer.live, buffer.places, buffer.many, buffer.words
    sketched = len(words) > 0 and buffer.rough[UNIT] > 0.0
    bits, mask, ones, high, start, least = 1, 0, 0, 0, 0, 0
    if sketched:
        bits = int(buffer.rough[BITS])
        mask = (1 << bits) - 1
        for c in range(k):
            ones += 1 << (bits * c)
        high = ones << (bits - 1)
        start = (ones << (bits - 2)) + form.backdrop(k, 0, buffer.width, words)
        least = math.ceil(buffer.rough[OFF]) + 2  # the truth must lead by so much: 1 more than all roundings
    while j < end:
        slot = live[j]
        y = int(labels[ring[slot]])
        if sketched:
            row = places[slot]
            rough = start
            for i in range(many[slot]):
                rough += words[row[i]]
            own = ((rough >> (bits * y)) & mask) - least
            # the highest bit of a field is set where that class has at most `own`; the truth never has
            if ((own * ones + high - rough) & high) + (1 << (bits * y + bits - 1)) == high:
                j += 1
                continue
        if buffer.used[ring[slot]] < updates:
            tally(form, ring[slot], k, Last(w), scores)
            if not certain(scores, k, y):
                break
        j += 1
    return j


@apart
def recycle(form, labels, k, h, history, buffer, work, how, counts):
    """Pass over the held instances, oldest first, until a pass moves nothing."""
    sketches = len(buffer.words) > 0
    if sketches:
        mark(form, buffer, counts)
        draw(k, h.w, buffer)
    count = live_ones(buffer, how, counts)
    due = count
    ever = False
    for _ in range(how.passes):
        again = False
        end = due  # while nothing moves: all after were right with these very weights
        j = 0
        while True:
            if h.s[SLACK] < 0.0:
                j = pass_over(form, labels, k, h.w, buffer, how.updates, j, end, work.scores)
            if j >= end:
                break
            t = buffer.ring[buffer.live[j]]
            j += 1
            if h.s[SLACK] >= 0.0:
                if buffer.used[t] >= how.updates:
                    continue
                tally(form, t, k, Last(h.w), work.scores)
            guess = best(work.scores, k)
            wrong = guess != labels[t]
            if wrong or h.s[SLACK] >= 0.0:
                moved = learn(form, t, k, labels[t], guess, h, history, work, how, counts[SILENT])
                buffer.used[t] += 1 * (wrong or moved)
                again |= moved
                due = j
                end = count
                if sketches and work.moved[0] >= 0.0:
                    redraw(k, h.w, work.index, int(work.moved[0]), buffer)
                elif sketches:
                    draw(k, h.w, buffer)
        ever |= again
        if not again:
            break
    return ever


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
                moved = learn(form, t, k, y, own, h, history, work, how, counts[SILENT])
                counts[MOVES] += 1 * moved
        if how.updates > 0:
            buffer.ring[counts[NEXT] % len(buffer.ring)] = t
            counts[NEXT] += 1
            counts[HELD] = min(counts[HELD] + 1, len(buffer.ring))
            if wrong or moved:
                buffer.used[t] += 1
                moved |= recycle(form, labels, k, h, history, buffer, work, how, counts)
        if len(out.moved) > 0:
            out.moved[row] = moved
        form.observe(t, y)


run = Kernel(trials)
