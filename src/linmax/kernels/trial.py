"""The kernel of learning: score, predict, update, recycle, average.

It is compiled once per form; rules are given as addresses, techniques as numbers. The same kernel learns
arrays and single items, and predicts: a trial without a label is a prediction and changes nothing.
"""

from linmax._jit.addresses import join_at
from linmax._jit.compilation import CompiledKernel, inline, separate
from linmax.kernels.averaging import count_hypothesis, mean_weights
from linmax.kernels.blocks import set_number
from linmax.kernels.forms import LastWeights
from linmax.kernels.forms.base import append_new_experts, begin_trial, observe
from linmax.kernels.recycling import recycle
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, SILENT, TRIALS
from linmax.kernels.update import best_class, learn, score_classes, score_classes_with_both
from linmax.rules.base import SCALE, SLACK


@separate
def add_new_experts(form, t, k, h, average, work, settings, counts):
    """Add the sub-experts that vote for the first time; return their number, with their indices in `work`."""
    count = append_new_experts(form, t, k, 0, h.spoken, work.index, 0)
    if count > 0:
        for j in range(count):
            i = work.index[j]
            h.spoken[i] = 1
            h.theta[i] = h.first[i]
            if settings.averages:
                average.since[i] = average.total[0]
        join = join_at(settings.join)
        join(h.p, h.s, h.theta, h.w, work.index[:count])
        counts[SILENT] -= count
    return count


@separate
def remove_new_experts(h, average, work, settings, counts, count):
    """Undo `add_new_experts`, except for `s`."""
    for j in range(count):
        i = work.index[j]
        h.spoken[i] = 0
        set_number(h.theta, i, 0.0)
        set_number(h.w, i, 0.0)
        if settings.averages:
            average.past[i] = 0.0
            average.since[i] = 0.0
    counts[SILENT] += count


@inline
def copy(source, target):
    """Copy one array into another."""
    for i in range(len(source)):
        target[i] = source[i]


@inline
def predict_trial(form, t, k, h, average, work, settings, hypotheses, row, out):
    """Predict trial t with the last hypothesis and, if averaging, with the mean; return both predictions."""
    if settings.averages:
        mean = mean_weights(h, average)
        score_classes_with_both(form, t, k, LastWeights(h.w), mean, work.scores, work.mean)
    else:
        score_classes(form, t, k, LastWeights(h.w), work.scores)
    own = best_class(work.scores, k)
    out.own[row] = own
    if len(out.own_scores) > 0:
        for c in range(k):
            out.own_scores[row, c] = h.s[SCALE] * work.scores[c]
    predicted = own
    if settings.averages:
        predicted = best_class(work.mean, k)
        out.mean[row] = predicted
        if len(out.mean_scores) > 0:
            for c in range(k):
                out.mean_scores[row, c] = work.mean[c] / hypotheses
    return own, predicted


def trials(form, labels, known, h, average, buffer, work, settings, counts, out, begin, end):
    """Run the trials begin <= t < end; row t - begin of `out` takes the result."""
    for t in range(begin, end):
        k = known[t]
        y = labels[t]
        row = t - begin
        begin_trial(form, t)
        joined = 0
        if y < 0:
            copy(h.s, work.saved)
        if settings.tracks_new_experts and counts[SILENT] > 0:
            joined = add_new_experts(form, t, k, h, average, work, settings, counts)
        own, predicted = predict_trial(form, t, k, h, average, work, settings, counts[TRIALS] + 1, row, out)
        if y < 0:  # a prediction changes nothing
            remove_new_experts(h, average, work, settings, counts, joined)
            copy(work.saved, h.s)
            continue
        counts[TRIALS] += 1
        if settings.averages:
            count_hypothesis(h, average)
        wrong = False
        moved = False
        if y >= k:
            counts[NOVEL] += 1
        else:
            counts[MISTAKES] += 1 * (predicted != y)
            wrong = own != y
            if wrong or h.s[SLACK] >= 0.0:
                moved = learn(form, t, k, y, own, h, average, work, settings, counts[SILENT])
                counts[MOVES] += 1 * moved
        moved |= recycle(buffer, form, t, labels, k, h, average, work, settings, counts, wrong or moved)
        if len(out.moved) > 0:
            out.moved[row] = moved
        observe(form, t, y)


run = CompiledKernel(trials)
