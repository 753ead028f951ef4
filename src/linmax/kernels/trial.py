"""The trial, which is all of learning: score, guess, hear the truth, move, recycle, remember.

One kernel per form; rules come in as addresses, techniques as numbers. It is written once, for arrays, single
items and predictions alike (a trial without a label is a prediction, and leaves everything as it was).
"""

from linmax._jit import Kernel, inline, join_at, separate
from linmax.kernels.forms import Last, Mean
from linmax.kernels.forms.base import append_new_experts, begin_trial, observe
from linmax.kernels.recycling import recycle
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, SILENT, TRIALS
from linmax.kernels.update import best, flush_all, learn, tally, tally_both
from linmax.rules.base import SCALE, SLACK

__all__ = ["dismiss", "enlist", "run", "tally", "trials"]  # tally is at home in `moving`

LONG = 2.0**20  # the cumulated scale may be so many times the scale of now


@separate
def enlist(form, t, k, h, history, work, how, counts):
    """Let those who speak for the first time join; return how many, their indices in `work`."""
    count = append_new_experts(form, t, k, 0, h.spoken, work.index, 0)
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


@separate
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
    if how.averages:
        mean = Mean(h.w, history.past, history.since, history.total[0], h.s[SCALE])
        tally_both(form, t, k, Last(h.w), mean, work.scores, work.mean)
    else:
        tally(form, t, k, Last(h.w), work.scores)
    own = best(work.scores, k)
    out.own[row] = own
    if len(out.own_scores) > 0:
        for c in range(k):
            out.own_scores[row, c] = h.s[SCALE] * work.scores[c]
    guess = own
    if how.averages:
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
        begin_trial(form, t)
        joined = 0
        if y < 0:
            copy(h.s, work.saved)
        if how.hears and counts[SILENT] > 0:
            joined = enlist(form, t, k, h, history, work, how, counts)
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
        moved |= recycle(buffer, form, t, labels, k, h, history, work, how, counts, wrong or moved)
        if len(out.moved) > 0:
            out.moved[row] = moved
        observe(form, t, y)


run = Kernel(trials)
