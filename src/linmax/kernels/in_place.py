"""The kernel of rules whose step it knows (`Rule.step`): no list of coordinates, no call of the rule.

It does what `kernels/trial.py` does for these rules, in one traversal of the votes to score and one to
update. It averages with `past_i` alone: the sum of the hypotheses is past_i + w_i (total + 1), so that an
update by z adds -z total to it, and `since_i` stays 0.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.addresses import settle_at
from linmax._jit.compilation import CompiledKernel, dispatched_inline, inline, separate
from linmax.kernels.blocks import set_number
from linmax.kernels.ensembles.board import softmax
from linmax.kernels.forms import LastWeights
from linmax.kernels.forms.base import adapt, add, append_new_voters, append_z, begin_trial, multiply
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, SILENT, TRIALS
from linmax.kernels.trial import add_new_experts, copy, remove_new_experts
from linmax.kernels.update import (
    apply_update,
    best_class,
    choose_rival,
    clear,
    rival_shares,
    score_classes,
    score_classes_with_both,
)
from linmax.rules.base import MOVED, OWN, SCALE, SLACK, SOFTMAX
from linmax.rules.winnow import MASS, count_safe_updates, end_update


@dispatched_inline
def add_new(settings, form, t, k, h, average, work, counts):
    """Give the sub-experts that vote for the first time their first weight; return their number."""


@dispatched_inline
def predict_in_place(settings, form, t, k, h, average, work, hypotheses, row, out):
    """Predict trial t with the last hypothesis and, if averaging, with the mean; return both predictions."""


@dispatched_inline
def update_weights(settings, form, t, k, q, h, average, work, moves):
    """Update the weights along z, which has the shares q, after so many updates by any kernel."""


class Adding(NamedTuple):
    """The settings of a rule that adds a multiple of z.

    Parameters
    ----------
    step : float
        The multiple.
    counts_steps : int
        Whether the rule counts its updates in s[OWN].
    rivals : int
        How rivals are chosen, see `rules/base.py`.
    tracks_new_experts : int
        Whether experts start with a weight other than 0.
    averages : int
        Whether the mean of all hypotheses predicts.
    """

    step: float
    counts_steps: int
    rivals: int
    tracks_new_experts: int
    averages: int

    def add_new(self, form, t, k, h, average, work, counts):
        return add_new_voters(form, t, k, h, average, work, self, counts)

    def predict_in_place(self, form, t, k, h, average, work, hypotheses, row, out):
        if not self.averages:
            return predict_with_last(form, t, k, h, work, 1.0, row, out)
        sums = LastWeights(average.past)
        score_classes_with_both(form, t, k, LastWeights(h.w), sums, work.scores, work.mean)
        write_mean(work.scores, k, average.total[0], work.mean)
        own = write_scores(work.scores, k, 1.0, row, out.own, out.own_scores)
        return own, write_scores(work.mean, k, 1.0 / hypotheses, row, out.mean, out.mean_scores)

    def update_weights(self, form, t, k, q, h, average, work, moves):
        """w += step z."""
        add(form, t, k, q, self.step, 0, h.w)
        if self.averages:
            add(form, t, k, q, -(self.step * average.total[0]), 0, average.past)


class Adapting(NamedTuple):
    """The settings of a rule that adds z with a step per weight, as AdaGrad does; fields as in `Adding`.

    Its weights are float32 where a source has very many of them (`Source.many`), and float64 elsewhere.
    `initial` is what the sum of squares of a weight begins with, beside theta. Its hypotheses are not
    averaged.
    """

    step: float
    initial: float
    counts_steps: int
    rivals: int
    tracks_new_experts: int
    averages: int

    def add_new(self, form, t, k, h, average, work, counts):
        return add_new_voters(form, t, k, h, average, work, self, counts)

    def predict_in_place(self, form, t, k, h, average, work, hypotheses, row, out):
        return predict_with_last(form, t, k, h, work, 1.0, row, out)

    def update_weights(self, form, t, k, q, h, average, work, moves):
        """theta += z^2; w += step z / sqrt(initial + theta)."""
        adapt(form, t, k, q, self.step, self.initial, 0, h.theta, h.w, work.value)


class Multiplying(NamedTuple):
    """The settings of Winnow with hard votes and the top rival; other fields as in `Adding`, `RunSettings`.

    Its state is the same, bit for bit, as that of `kernels/trial.py`. Its hypotheses are not averaged.

    Parameters
    ----------
    safe_updates : ndarray of shape (2,), int64
        How many more updates can use `multiply`; if negative, after how many it is counted again. Then the
        number of all updates so far: if it differs, another kernel has made some, and it is counted again.
    """

    update: int
    join: int
    settle: int
    safe_updates: np.ndarray
    margin: int
    counts_steps: int
    rivals: int
    tracks_new_experts: int
    averages: int

    def add_new(self, form, t, k, h, average, work, counts):
        return add_new_experts(form, t, k, h, average, work, self, counts)

    def predict_in_place(self, form, t, k, h, average, work, hypotheses, row, out):
        return predict_with_last(form, t, k, h, work, h.s[SCALE], row, out)

    def update_weights(self, form, t, k, q, h, average, work, moves):
        """theta += z; w = exp(eta theta)."""
        if self.safe_updates[0] == 0 or self.safe_updates[1] != moves:
            self.safe_updates[0] = count_safe_updates(h.p, h.s, h.theta)
        self.safe_updates[1] = moves + 1
        if self.safe_updates[0] < 0:
            self.safe_updates[0] += 1
            call_update(form, t, k, q, h, average, work, self)
            return
        self.safe_updates[0] -= 1
        if end_update(h.s, multiply(form, t, k, q, 0, h, h.s[MASS])) != MOVED:
            settle = settle_at(self.settle)
            settle(h.p, h.s, h.theta, h.w, h.spoken)
            self.safe_updates[0] = 0


@separate
def call_update(form, t, k, q, h, average, work, settings):
    """Call the rule with a list of the coordinates of z."""
    count = append_z(form, t, k, q, 0, work.index, work.value, 0)
    apply_update(h, average, work, settings, count, True)


@inline
def add_new_voters(form, t, k, h, average, work, settings, counts):
    """Give the experts that vote for the first time their first weight; return their number."""
    count = append_new_voters(form, t, k, 0, h.spoken, work.index, 0)
    for j in range(count):
        i = work.index[j]
        h.spoken[i] = 1
        set_number(h.w, i, h.first[i])
        set_number(h.theta, i, h.first[i])
        if settings.averages:
            average.past[i] = 0.0 - h.first[i] * average.total[0]
    counts[SILENT] -= count
    return count


@inline
def predict_with_last(form, t, k, h, work, scale, row, out):
    """Predict trial t with the last hypothesis, which is scale w; return the prediction twice."""
    score_classes(form, t, k, LastWeights(h.w), work.scores)
    own = write_scores(work.scores, k, scale, row, out.own, out.own_scores)
    return own, own


@inline
def write_mean(scores, k, total, mean):
    """Complete the scores of the sum of all hypotheses, of which the part of `past` is given."""
    for c in range(k):
        mean[c] += (total + 1.0) * scores[c]


@inline
def write_scores(scores, k, scale, row, codes, out_scores):
    """Write a prediction and, if they are wanted, the scores times `scale`; return the prediction."""
    code = best_class(scores, k)
    codes[row] = code
    if len(out_scores) > 0:
        for c in range(k):
            out_scores[row, c] = scores[c] * scale
    return code


@inline
def write_shares(scores, k, y, own, scale, slack, costs, rivals, q):
    """Write the shares of the classes in z, if an update is due; return whether it is.

    The scores are multiplied by `scale`, which is 1 for rules with the softmax.
    """
    if rivals == SOFTMAX and slack == math.inf:  # always
        if k > 1:
            softmax(scores, k, q, -1.0)
            q[y] += 1.0
        return k > 1
    wrong = own != y
    rival, required = choose_rival(scores, k, y, own, scale, slack, costs)
    if rival < 0 or (not wrong and scale * (scores[y] - scores[rival]) > required):
        return False
    if rivals == SOFTMAX:
        softmax(scores, k, q, -1.0)
        q[y] += 1.0
    else:
        rival_shares(scores, k, y, rival, 1.0, rivals, q)
    return True


@inline
def learn_in_place(form, t, k, y, own, h, average, work, settings, moves):
    """Update on trial t, whose scores are in `work`, if it is due; return whether an update was made."""
    q = work.q
    if not write_shares(work.scores, k, y, own, h.s[SCALE], h.s[SLACK], work.costs, settings.rivals, q):
        return False
    update_weights(settings, form, t, k, q, h, average, work, moves)
    clear(q, k)
    if settings.counts_steps:
        h.s[OWN] += 1.0
    return True


def in_place_trials(form, labels, known, h, average, work, settings, counts, out, begin, end):
    """Run the trials begin <= t < end; row t - begin of `out` takes the result."""
    for t in range(begin, end):
        k, y, row = int(known[t]), int(labels[t]), t - begin
        begin_trial(form, t)
        joined = 0
        if settings.tracks_new_experts and counts[SILENT] > 0:
            if y < 0:
                copy(h.s, work.saved)
            joined = add_new(settings, form, t, k, h, average, work, counts)
        own, predicted = predict_in_place(
            settings, form, t, k, h, average, work, counts[TRIALS] + 1, row, out
        )
        if y < 0:  # a prediction changes nothing
            if joined > 0:
                remove_new_experts(h, average, work, settings, counts, joined)
                copy(work.saved, h.s)
            continue
        counts[TRIALS] += 1
        if settings.averages:
            average.total[0] += 1.0
        if y >= k:
            counts[NOVEL] += 1
        else:
            counts[MISTAKES] += 1 * (predicted != y)
            if own != y or h.s[SLACK] >= 0.0:
                counts[MOVES] += 1 * learn_in_place(
                    form, t, k, y, own, h, average, work, settings, counts[MOVES]
                )


run = CompiledKernel(in_place_trials)
