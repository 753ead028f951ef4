"""The kernel of a group of rule runs on the same sources: one traversal of the votes scores all of them.

The weights of the runs are side by side in vectors of eight: a lane for the last hypothesis of each run, and
one for the sums of each run that averages. Every run does what `kernels/in_place.py` does, bit for bit.
"""

from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax._jit.vectors import WIDTH, put, splat, take
from linmax.kernels.forms.base import add_group_scores, add_to_group, append_new_voters, begin_trial
from linmax.kernels.in_place import write_mean, write_scores, write_shares
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, SILENT, TRIALS
from linmax.kernels.update import best_class
from linmax.rules.base import OWN, SLACK


class GroupState(NamedTuple):
    """The state of the runs of a group; row r of an array belongs to run r, whose lane is r.

    Parameters
    ----------
    w : ndarray of shape (weights * 8,)
        The lanes of every weight.
    spoken : ndarray of shape (voters,), uint8
        Whether an expert has voted on a labelled trial.
    s : ndarray of shape (runs, SCALARS)
        The scalars of the rules.
    total : ndarray of shape (runs, 1)
        The number of hypotheses in the sums of averaging.
    counts : ndarray of shape (runs, COUNTS), int64
        The counts of the runs.
    """

    w: np.ndarray
    spoken: np.ndarray
    s: np.ndarray
    total: np.ndarray
    counts: np.ndarray


class GroupSettings(NamedTuple):
    """The settings of the rules of a group, by run.

    Parameters
    ----------
    step : ndarray of shape (runs,)
        The multiple of z that a rule adds.
    first : ndarray of shape (8,)
        The weight of an expert that votes for the first time, by lane.
    mean : ndarray of shape (runs,), int64
        The lane of the sums of averaging; -1 without averaging.
    rivals, counts_steps : ndarray of shape (runs,), int64
        As in `Adding`.
    tracks_new_experts : int
        Whether experts start with a weight other than 0.
    """

    step: np.ndarray
    first: np.ndarray
    mean: np.ndarray
    rivals: np.ndarray
    counts_steps: np.ndarray
    tracks_new_experts: int


class GroupWorkspace(NamedTuple):
    """Scratch arrays of a trial.

    Parameters
    ----------
    index : ndarray of int64
        The experts that vote for the first time.
    scores, q : ndarray of shape ((classes + 1) * 8,)
        Scores of the classes, and their shares in z, by lane; the last vector is for abstentions.
    steps : ndarray of shape (8,)
        The multiple of z that is added to each lane.
    own, other, shares : ndarray of shape (classes + 1,)
        Scores of the last hypothesis and of the mean of one run, and shares in z.
    costs : ndarray of shape (classes, classes), or empty
        As in `Workspace`.
    """

    index: np.ndarray  # type: ignore[assignment]
    scores: np.ndarray
    q: np.ndarray
    steps: np.ndarray
    own: np.ndarray
    other: np.ndarray
    shares: np.ndarray
    costs: np.ndarray


class GroupOutputs(NamedTuple):
    """Where the results of a block go.

    Parameters
    ----------
    codes, scores : ndarray of shape (places, block), and of shape (places, block or 0, classes)
        The predictions, and the scores of those that are wanted.
    place : ndarray of shape (8,), int64
        The place of each lane; -1 if nothing wants what it predicts.
    """

    codes: np.ndarray
    scores: np.ndarray
    place: np.ndarray


@inline
def add_new_voters(form, t, k, group, settings, work):
    """Give the experts that vote for the first time their first weights; return their number."""
    count = append_new_voters(form, t, k, 0, group.spoken, work.index, 0)
    for j in range(count):
        i = work.index[j]
        group.spoken[i] = 1
        put(group.w, i * WIDTH, take(settings.first, 0))
        for r in range(len(settings.step)):
            if settings.mean[r] >= 0:
                group.w[i * WIDTH + settings.mean[r]] = 0.0 - settings.first[r] * group.total[r, 0]
    for r in range(len(settings.step)):
        group.counts[r, SILENT] -= count
    return count


@inline
def remove_new_voters(group, work, count):
    """Undo `add_new_voters`."""
    for j in range(count):
        i = work.index[j]
        group.spoken[i] = 0
        put(group.w, i * WIDTH, splat(0.0))
    for r in range(len(group.counts)):
        group.counts[r, SILENT] += count


@inline
def copy_lane(vectors, k, lane, target):
    """Copy the numbers of one lane, by class."""
    for c in range(k):
        target[c] = vectors[c * WIDTH + lane]


@inline
def write_lane(scores, k, hypotheses, row, out, lane):
    """Write the prediction and the scores of a lane to its place, if it has one; return the prediction."""
    place = out.place[lane]
    if place < 0:
        return best_class(scores, k)
    return write_scores(scores, k, 1.0 / hypotheses, row, out.codes[place], out.scores[place])


@inline
def predict_run(r, k, group, settings, work, row, out):
    """Write the predictions of a run; return that of its last hypothesis and that which counts."""
    copy_lane(work.scores, k, r, work.own)
    own = predicted = write_lane(work.own, k, 1.0, row, out, r)
    mean = settings.mean[r]
    if mean >= 0:
        copy_lane(work.scores, k, mean, work.other)
        write_mean(work.own, k, group.total[r, 0], work.other)
        predicted = write_lane(work.other, k, group.counts[r, TRIALS] + 1, row, out, mean)
    return own, predicted


@inline
def prepare_update(r, k, y, own, group, settings, work):
    """Write the shares in z and the steps of a run into its lanes, if an update is due; return if it is."""
    slack, rivals = group.s[r, SLACK], settings.rivals[r]
    if not write_shares(work.own, k, y, own, 1.0, slack, work.costs, rivals, work.shares):
        return False
    mean = settings.mean[r]
    work.steps[r] = settings.step[r]
    if mean >= 0:
        work.steps[mean] = -(settings.step[r] * group.total[r, 0])
    for c in range(k):
        work.q[c * WIDTH + r] = work.shares[c]
        if mean >= 0:
            work.q[c * WIDTH + mean] = work.shares[c]
        work.shares[c] = 0.0
    group.s[r, OWN] += 1.0 * settings.counts_steps[r]
    return True


@inline
def learn_run(r, k, y, own, predicted, group, settings, work):
    """Count a labelled trial, and prepare the update of a run; return whether there is one."""
    group.counts[r, TRIALS] += 1
    if settings.mean[r] >= 0:
        group.total[r, 0] += 1.0
    if y >= k:
        group.counts[r, NOVEL] += 1
        return False
    group.counts[r, MISTAKES] += 1 * (predicted != y)
    if own == y and group.s[r, SLACK] < 0.0:
        return False
    moved = prepare_update(r, k, y, own, group, settings, work)
    group.counts[r, MOVES] += 1 * moved
    return moved


def group_trials(form, labels, known, group, settings, work, out, begin, end):
    """Run the trials begin <= t < end; row t - begin of `out` takes the result."""
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        begin_trial(form, t)
        joined = 0
        if settings.tracks_new_experts and group.counts[0, SILENT] > 0:
            joined = add_new_voters(form, t, k, group, settings, work)
        for c in range(k):
            put(work.scores, c * WIDTH, splat(0.0))
        add_group_scores(form, t, k, group.w, 0, work.scores)
        moved = False
        for r in range(len(settings.step)):
            own, predicted = predict_run(r, k, group, settings, work, row, out)
            if y >= 0:
                moved |= learn_run(r, k, y, own, predicted, group, settings, work)
        if y < 0:  # a prediction changes nothing
            remove_new_voters(group, work, joined)
        elif moved:
            add_to_group(form, t, k, work.q, take(work.steps, 0), 0, group.w)
            for c in range(k):
                put(work.q, c * WIDTH, splat(0.0))


run = CompiledKernel(group_trials)
