"""The compiled loop over trials: it decides, and learns whatever turns scores into decisions."""

from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax.decisions.answers import BINS, tally_answer
from linmax.decisions.calibration_map import fill_probabilities, learn_map
from linmax.decisions.conformal import learn_levels
from linmax.decisions.costs import cheapest
from linmax.decisions.drift import GROUP, learn_losses
from linmax.decisions.sample import is_used

SEEN, SINCE, ALARMS, MISTAKES, GROUPED, GROUP_WRONG, USED = 0, 1, 2, 3, 4, 5, 6  # indices in `counts`
COUNTS = 7
LOGS, EVERY, WATCHED, LEARNS = 0, 1, 2, 3  # indices in `settings`
SETTINGS = 4


class DecisionArrays(NamedTuple):
    """The state of all decisions.

    Parameters
    ----------
    counts : ndarray of shape (COUNTS,), int64
        Labelled trials of known classes, those used since the last alarm, alarms, wrong decisions, and the
        losses that wait for the next test of drift: their number and their sum; then all trials used.
    settings : ndarray of shape (SETTINGS,), int64
        Whether scores are log-probabilities, whether every trial is used, the level of coverage whose sets
        are counted (-1: none), and whether anything is learned.
    scale : ndarray
        The map from scores to probabilities.
    tally : ndarray of shape (2, BINS, 2), int64
        Items and mistakes by doubt.
    levels : ndarray of shape (5, levels)
        The thresholds of sets.
    detector, alarms : ndarray
        The detector of drift, and its latest alarms.
    spent : ndarray of shape (1,)
        The costs of all mistakes.
    """

    counts: np.ndarray
    settings: np.ndarray
    scale: np.ndarray
    tally: np.ndarray
    levels: np.ndarray
    detector: np.ndarray
    alarms: np.ndarray
    spent: np.ndarray


class Probabilities(NamedTuple):
    """Scratch arrays of a trial: scaled scores, the softmax of scores, the scaled one, and the result."""

    x: np.ndarray
    q: np.ndarray
    r: np.ndarray
    p: np.ndarray


@inline
def learn_used(k, y, code, state, work):
    """Learn the label y of a trial that is used, whose prediction is `code`."""
    tally_answer(1.0 - work.p[code], 1 * (code != y), state.counts[SINCE], state.tally)
    state.counts[SINCE] += 1
    state.counts[USED] += 1
    learn_levels(work.p, k, y, state.levels, state.settings[WATCHED])
    if state.settings[LOGS] == 0:
        learn_map(k, y, state.scale, work)


@inline
def test_drift(seen, wrong, state):
    """Test a group of losses; an alarm empties the tally."""
    if learn_losses(float(wrong), seen, state.detector, state.alarms, state.counts[ALARMS]):
        state.counts[ALARMS] += 1
        state.counts[SINCE] = 0
        for i in range(2):
            for b in range(BINS):
                state.tally[i, b, 0] = 0
                state.tally[i, b, 1] = 0


def decide_trials(labels, known, codes, scores, costs, state, work, out, first, begin, end):
    """Decide the trials begin <= t < end, and learn the labelled ones.

    Row t - begin of `codes` has the best class, and takes the cheapest one if there are `costs`. Row t -
    first of `out`, unless it is empty, takes the probabilities.
    """
    decides, returns, learns = len(costs) > 0, len(out) > 0, state.settings[LEARNS] > 0
    every = state.settings[EVERY]
    seen, mistakes = state.counts[SEEN], state.counts[MISTAKES]
    grouped, group_wrong = state.counts[GROUPED], state.counts[GROUP_WRONG]
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        if k == 0:
            continue
        counted = learns and 0 <= y < k
        used = counted and is_used(seen, every)
        if used or decides or returns:
            fill_probabilities(scores, row, k, state.scale, state.settings[LOGS], work)
            if decides:
                codes[row] = cheapest(work.p, k, costs, codes[row])
                if counted:
                    state.spent[0] += costs[y, codes[row]]
            if returns:
                for c in range(k):
                    out[t - first, c] = work.p[c]
            if used:
                learn_used(k, y, codes[row], state, work)
        if counted:
            wrong = 1 * (codes[row] != y)
            seen += 1
            mistakes += wrong
            grouped += 1
            group_wrong += wrong
            if grouped == GROUP:
                test_drift(seen, group_wrong, state)
                grouped = 0
                group_wrong = 0
    state.counts[SEEN] = seen
    state.counts[MISTAKES] = mistakes
    state.counts[GROUPED] = grouped
    state.counts[GROUP_WRONG] = group_wrong


decide = CompiledKernel(decide_trials)


def count_trials(labels, known, codes, state):
    """Count the mistakes of trials of which none is used, and test them for drift."""
    t = 0
    while t < len(labels):
        stop = min(t + GROUP - state.counts[GROUPED], len(labels))
        truth, classes, predicted = labels[t:stop], known[t:stop], codes[t:stop]
        counted = np.int32(0)
        wrong = np.int32(0)
        for i in range(len(truth)):  # from 0 and in int32, so that it is compiled to vectors
            one = np.int32((truth[i] >= 0) & (truth[i] < classes[i]))
            counted += one
            wrong += one & np.int32(predicted[i] != truth[i])
        t = stop
        state.counts[SEEN] += counted
        state.counts[MISTAKES] += wrong
        state.counts[GROUPED] += counted
        state.counts[GROUP_WRONG] += wrong
        if state.counts[GROUPED] == GROUP:
            test_drift(state.counts[SEEN], state.counts[GROUP_WRONG], state)
            state.counts[GROUPED] = 0
            state.counts[GROUP_WRONG] = 0


count_losses = CompiledKernel(count_trials)
