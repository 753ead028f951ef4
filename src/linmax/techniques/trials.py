"""The trial, which is all of learning: score, guess, hear the truth, move, recycle, remember.

One kernel per form; rules come in as addresses, techniques as numbers. It is written once, for arrays, single items and
predictions alike (a trial without a label is a prediction, and leaves everything as it was).
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import Kernel, inline, join_at, settle_at, update_at
from linmax.forms import Last, Mean
from linmax.rules.base import MOVED_AND_SETTLE, SCALE, SETTLE_AND_ASK_AGAIN, SLACK, STILL
from linmax.rules.rivals import CYCLE, SOFTMAX, VIOLATORS

# in `counts`
TRIALS, MISTAKES, NOVEL, MOVES, SILENT, HELD, NEXT = 0, 1, 2, 3, 4, 5, 6
KEPT = 4  # the first four are facts; the others follow from the rest of the state
COUNTS = 7
MOST_PASSES = 10_000  # of recycling without a limit on updates


class Hypothesis(NamedTuple):
    """A rule's state over all sub-experts."""

    theta: np.ndarray
    w: np.ndarray  # the hypothesis is s[SCALE] w
    first: np.ndarray  # theta at a sub-expert's first vote
    spoken: np.ndarray  # uint8
    p: np.ndarray
    s: np.ndarray


class History(NamedTuple):
    """What averaging keeps; empty arrays when nothing is averaged."""

    past: np.ndarray
    since: np.ndarray
    total: np.ndarray  # (1,): the cumulated scale


class Buffer(NamedTuple):
    """What recycling keeps: a ring of trials, and how often each trial of the tape has been used for an update."""

    ring: np.ndarray  # (size,) int64: trials of the tape
    used: np.ndarray  # (trials,) int64


class Work(NamedTuple):
    """Scratch: z as index and value, the scores (own, mean) and shares of the classes (with a spare slot for abstentions)."""

    index: np.ndarray
    value: np.ndarray
    scores: np.ndarray
    mean: np.ndarray
    q: np.ndarray
    saved: np.ndarray


class How(NamedTuple):
    """What the rule and the techniques ask for."""

    update: int
    join: int
    settle: int
    rivals: int
    rounds: int
    hears: int  # must sub-experts be told apart by whether they have spoken?
    averages: int
    updates: int  # per recycled instance; 0: no recycling
    passes: int  # at most, over the recycled instances


class Out(NamedTuple):
    """Where the results go; `scores` may be empty."""

    guesses: np.ndarray  # (trials,) int32
    scores: np.ndarray  # (trials or 0, classes) float64


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
    """Bring every running sum up to date."""
    total = history.total[0]
    for i in range(len(w)):
        history.past[i] += w[i] * (total - history.since[i])
        history.since[i] = total


@inline
def move(h, history, work, how, count, wrong):
    """Give z to the rule; say whether it moved."""
    if count == 0:
        return False  # nobody voted for either: dividing by |z| would be the classic NaN
    margin = 0.0
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
        if how.averages:
            flush_all(history, h.w)
        settle(h.p, h.s, h.theta, h.w, h.spoken)
        if answer == SETTLE_AND_ASK_AGAIN:
            margin = 0.0
            answer = update(h.p, h.s, h.theta, h.w, work.index[:count], work.value[:count], margin)
    return answer != STILL


@inline
def existing(work, spoken, count):
    """Drop from z the sub-experts that have not spoken on a real trial: they do not exist yet."""
    kept = 0
    for j in range(count):
        if spoken[work.index[j]] == 1:
            work.index[kept] = work.index[j]
            work.value[kept] = work.value[j]
            kept += 1
    return kept


@inline
def learn(form, t, k, y, wrong, h, history, work, how, recycled):
    """Move by trial t, whose scores are in `work`, if there is reason to; say whether the rule moved."""
    slack = h.s[SLACK]
    if not wrong and slack < 0.0:
        return False
    rival = best_rival(work.scores, k, y)
    if rival < 0 or (not wrong and h.s[SCALE] * (work.scores[y] - work.scores[rival]) > slack):
        return False
    q = work.q
    if how.rivals != CYCLE:
        shares(work.scores, k, y, rival, h.s[SCALE], how.rivals, q)
        count = form.gap(t, k, q, 0, work.index, work.value, 0)
        for c in range(k):
            q[c] = 0.0
        if recycled and how.hears:
            count = existing(work, h.spoken, count)
        return move(h, history, work, how, count, wrong and how.rivals != SOFTMAX)
    moved = False
    for _ in range(how.rounds):
        again = False
        for c in range(k):
            if c == y:
                continue
            q[y] = 1.0
            q[c] = -1.0
            count = form.gap(t, k, q, 0, work.index, work.value, 0)
            q[y] = 0.0
            q[c] = 0.0
            if recycled and how.hears:
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
def tally(form, t, k, w, scores):
    """The scores of the k known classes."""
    for c in range(k):
        scores[c] = 0.0
    form.tally(t, k, w, 0, scores)


@inline
def recycle(form, labels, k, h, history, buffer, work, how, counts):
    """Pass over the held instances, oldest first, until a pass moves nothing."""
    size = len(buffer.ring)
    oldest = counts[NEXT] - counts[HELD]
    for _ in range(how.passes):
        again = False
        for j in range(counts[HELD]):
            t = buffer.ring[(oldest + j) % size]
            if buffer.used[t] >= how.updates:
                continue
            tally(form, t, k, Last(h.w), work.scores)
            wrong = best(work.scores, k) != labels[t]
            moved = learn(form, t, k, labels[t], wrong, h, history, work, how, True)
            if wrong or moved:
                buffer.used[t] += 1
            again |= moved
        if not again:
            break


@inline
def enlist(form, t, k, h, history, work, how, counts):
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


@inline
def dismiss(h, history, work, how, counts, count):
    """Undo `enlist`, but for `s`: a prediction leaves no trace."""
    for j in range(count):
        i = work.index[j]
        h.spoken[i] = 0
        h.theta[i] = 0.0
        h.w[i] = 0.0
        if how.averages:
            history.since[i] = 0.0
    counts[SILENT] += count


@inline
def score(form, t, k, h, history, work, how, total, hypotheses, row, out):
    """Guess trial t with the rule's own hypothesis (returned) and, when averaging, with the mean, which decides."""
    tally(form, t, k, Last(h.w), work.scores)
    own = best(work.scores, k)
    guess, deciding, scale = own, work.scores, h.s[SCALE]
    if how.averages:
        tally(form, t, k, Mean(h.w, history.past, history.since, total), work.mean)
        guess, deciding, scale = best(work.mean, k), work.mean, 1.0 / hypotheses
    out.guesses[row] = guess
    if len(out.scores) > 0:
        for c in range(k):
            out.scores[row, c] = scale * deciding[c]
    return own


def trials(form, labels, known, begin, end, h, history, buffer, work, how, counts, out):
    """Run the trials begin <= t < end of a tape; row t - begin of `out` takes the result."""
    for t in range(begin, end):
        k = known[t]
        y = labels[t]
        row = t - begin
        form.enter(t)
        if y < 0:
            for j in range(len(h.s)):
                work.saved[j] = h.s[j]
            joined = enlist(form, t, k, h, history, work, how, counts) if how.hears and counts[SILENT] > 0 else 0
            total = history.total[0] + h.s[SCALE]
            score(form, t, k, h, history, work, how, total, counts[TRIALS] + 1, row, out)
            dismiss(h, history, work, how, counts, joined)
            for j in range(len(h.s)):
                h.s[j] = work.saved[j]
            continue
        if how.hears and counts[SILENT] > 0:
            enlist(form, t, k, h, history, work, how, counts)
        history.total[0] += h.s[SCALE]
        counts[TRIALS] += 1
        own = score(form, t, k, h, history, work, how, history.total[0], counts[TRIALS], row, out)
        wrong = False
        moved = False
        if y >= k:
            counts[NOVEL] += 1
        else:
            counts[MISTAKES] += 1 * (out.guesses[row] != y)
            wrong = own != y
            moved = learn(form, t, k, y, wrong, h, history, work, how, False)
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
