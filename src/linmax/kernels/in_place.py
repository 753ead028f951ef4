"""The kernel of rules that add a multiple of z to the weights: no list of coordinates, no call of the rule.

It does what `kernels/trial.py` does for these rules, with the same state, in one traversal of the votes to
score and one to update.
"""

from typing import NamedTuple

from linmax._jit import CompiledKernel, dispatched, inline
from linmax.kernels.blocks import set_number
from linmax.kernels.board import softmax
from linmax.kernels.forms.base import adapt, add, add_to_mean, append_new_voters, begin_trial
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, SILENT, TRIALS
from linmax.kernels.trial import predict_trial, remove_new_experts
from linmax.kernels.update import best_rival, rival_shares
from linmax.rules.base import OWN, SLACK, SOFTMAX


@dispatched
def update_weights(settings, form, t, k, q, h, average, work):
    """Update the weights along z, which has the shares q."""


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

    def update_weights(self, form, t, k, q, h, average, work):
        """w += step z."""
        if self.averages:
            add_to_mean(form, t, k, q, self.step, 0, h.w, average.past, average.since, average.total[0])
        else:
            add(form, t, k, q, self.step, 0, h.w)


class Adapting(NamedTuple):
    """The settings of a rule that adds z with a step per weight, as AdaGrad does; fields as in `Adding`.

    Its weights are float32 where a source has very many of them (`Source.many`), and float64 elsewhere.
    `initial` is what the sum of squares of a weight begins with, beside theta.
    """

    step: float
    initial: float
    counts_steps: int
    rivals: int
    tracks_new_experts: int
    averages: int

    def update_weights(self, form, t, k, q, h, average, work):
        """theta += z^2; w += step z / sqrt(initial + theta)."""
        adapt(form, t, k, q, self.step, self.initial, 0, h.theta, h.w, work.value)


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
            average.since[i] = average.total[0]
    counts[SILENT] -= count
    return count


@inline
def learn_in_place(form, t, k, y, own, h, average, work, settings):
    """Update on trial t, whose scores are in `work`, if it is due; return whether an update was made."""
    wrong = own != y
    rival = own if wrong else best_rival(work.scores, k, y)
    if rival < 0 or (not wrong and work.scores[y] - work.scores[rival] > h.s[SLACK]):
        return False
    q = work.q
    if settings.rivals == SOFTMAX:
        softmax(work.scores, k, q)
        for c in range(k):
            q[c] = -q[c]
        q[y] += 1.0
    else:
        rival_shares(work.scores, k, y, rival, 1.0, settings.rivals, q)
    update_weights(settings, form, t, k, q, h, average, work)
    for c in range(k):
        q[c] = 0.0
    if settings.counts_steps:
        h.s[OWN] += 1.0
    return True


def in_place_trials(form, labels, known, h, average, work, settings, counts, out, begin, end):
    """Run the trials begin <= t < end; row t - begin of `out` takes the result."""
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        begin_trial(form, t)
        joined = 0
        if settings.tracks_new_experts and counts[SILENT] > 0:
            joined = add_new_voters(form, t, k, h, average, work, settings, counts)
        own, predicted = predict_trial(form, t, k, h, average, work, settings, counts[TRIALS] + 1, row, out)
        if y < 0:  # a prediction changes nothing
            remove_new_experts(h, average, work, settings, counts, joined)
            continue
        counts[TRIALS] += 1
        if settings.averages:
            average.total[0] += 1.0
        if y >= k:
            counts[NOVEL] += 1
        else:
            counts[MISTAKES] += 1 * (predicted != y)
            if own != y or h.s[SLACK] >= 0.0:
                counts[MOVES] += 1 * learn_in_place(form, t, k, y, own, h, average, work, settings)


run = CompiledKernel(in_place_trials)
