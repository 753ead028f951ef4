"""The kernel of voting: which hypotheses are saved, how they predict, when to restart (2008, section V.B).

It follows one leader, the member with the fewest mistakes, for a range of trials. The run of the leader is
repeated trial by trial, so that its hypothesis at every trial is available.
"""

from typing import NamedTuple

import numpy as np

from linmax._jit.addresses import stage_at
from linmax._jit.compilation import CompiledKernel, inline, separate
from linmax.kernels.averaging import mean_weights
from linmax.kernels.forms import LastWeights
from linmax.kernels.forms.base import begin_trial, observe, weight_of
from linmax.kernels.structs import TRIALS
from linmax.kernels.update import best_class, score_classes
from linmax.rules.base import SCALE

# indices in `numbers`
AGE, SPACING, SLOT, SAVED, RESTARTS, VOTING, LABELLED = 0, 1, 2, 3, 4, 5, 6
NUMBERS = 7

EASY, HARD, TRIED = (
    0,
    1,
    2,
)  # in `last_result`: correct, wrong, or correct in this search


class SavedHypotheses(NamedTuple):
    """The saved hypotheses and the counters of voting.

    Parameters
    ----------
    saved : ndarray of shape (hypotheses, weights)
        The hypotheses, in the order they were saved.
    total : ndarray of shape (weights,)
        Their sum.
    figure : ndarray of shape (hypotheses,)
        The accuracy each was saved with.
    origin, moment : ndarray of shape (hypotheses,), int64
        The member each comes from, and the labelled trial after which it was saved.
    since : ndarray of shape (members,), int64
        The mistakes of each member at the last restart.
    numbers : ndarray of shape (NUMBERS,), int64
        Trials since the restart, spacing g, slot j, the number of saved hypotheses, restarts, the mistakes of
        voting since the restart, and all labelled trials.
    """

    saved: np.ndarray
    total: np.ndarray
    figure: np.ndarray
    origin: np.ndarray
    moment: np.ndarray
    since: np.ndarray
    numbers: np.ndarray


class VotingSettings(NamedTuple):
    """The parameters of voting."""

    hypotheses: int
    window: int
    recent: int
    patience: int
    random: int
    seed: int


class MemberRecord(NamedTuple):
    """The record of the members before each trial, and after the last.

    Parameters
    ----------
    leader : ndarray of shape (trials + 1,), int64
        The member with the fewest mistakes.
    mistakes, streak : ndarray of shape (trials + 1, members), int64
        Mistakes, and correct predictions since the last update.
    drawn : ndarray of shape (trials + 1, hypotheses), uint8
        Which slots take the hypothesis of the leader; may be empty.
    """

    leader: np.ndarray
    mistakes: np.ndarray
    streak: np.ndarray
    drawn: np.ndarray


class Leader(NamedTuple):
    """The leader.

    Parameters
    ----------
    member, at : int
        The number of the member, and the place of its first weight.
    mean, again : int
        Whether its mean predicts, and whether its run is repeated.
    code, memory : int
        The stage that repeats a trial of it, as from `Stage.reach`.
    """

    member: int
    at: int
    mean: int
    again: int
    code: int
    memory: int


class VotingWorkspace(NamedTuple):
    """Scratch arrays and results of voting.

    Parameters
    ----------
    candidate : ndarray
        The hypothesis of the leader.
    scores, other : ndarray of shape (class_slots(classes),)
        Scores of voting, and of one hypothesis.
    guesses : ndarray of shape (trials,)
        The predictions.
    out_scores : ndarray of shape (trials or 0, classes)
        The scores behind them.
    last_result : ndarray of uint8
        Per trial: EASY, HARD or TRIED, from the last hypothesis that was tried on it.
    """

    candidate: np.ndarray
    scores: np.ndarray
    other: np.ndarray
    guesses: np.ndarray
    out_scores: np.ndarray
    last_result: np.ndarray


def record_members(guesses, moved, labels, known, mistakes, streak, record):
    """Count the mistakes of every member, and its correct predictions since its last update."""
    members = guesses.shape[0]
    for t in range(guesses.shape[1] + 1):
        leader = 0
        for m in range(members):
            if t > 0 and 0 <= labels[t - 1] < known[t - 1]:
                wrong = guesses[m, t - 1] != labels[t - 1]
                mistakes[m] += 1 * wrong
                if len(moved) > 0:
                    streak[m] = 0 if moved[m, t - 1] else streak[m] + 1 * (not wrong)
            record.mistakes[t, m] = mistakes[m]
            record.streak[t, m] = streak[m]
            if mistakes[m] < mistakes[leader]:
                leader = m
        record.leader[t] = leader


count_mistakes = CompiledKernel(record_members)


def uniform(seed: int, t: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1) that depend on the arguments alone (the finaliser of splitmix64)."""
    seeds = np.array([seed % 2**64], dtype=np.uint64)
    z = seeds * np.uint64(0x9E3779B97F4A7C15)
    z = z + t.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    z = z + j.astype(np.uint64) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


@inline
def copy_hypothesis(leader, h, average, hypotheses, candidate):
    """Copy the current hypothesis of the leader."""
    mean = mean_weights(h, average)
    for i in range(len(h.w)):
        candidate[i] = weight_of(mean, i) / hypotheses if leader.mean else h.s[SCALE] * h.w[i]


@inline
def count_misses(form, labelled, first, last, labels, k, candidate, scratch, hard, most):
    """Count wrong predictions on the instances with this last result; stop above `most`."""
    wrong = 0
    for j in range(first, last):
        t = labelled[j]
        if scratch.last_result[t] == hard:
            score_classes(form, t, k, LastWeights(candidate), scratch.scores)
            if best_class(scratch.scores, k) != labels[t]:
                wrong += 1
                scratch.last_result[t] = HARD
                if wrong > most:
                    break
            elif hard == HARD:
                scratch.last_result[t] = TRIED
    return wrong


@separate
def accuracy(form, labelled, first, last, labels, k, candidate, scratch, least):
    """Return the accuracy of a hypothesis on some instances, or -1 if it is at most `least`.

    Instances that were predicted wrongly the last time are tried first, which decides most cases early.
    """
    count = last - first
    most = count if least < 0.0 else -1
    while most + 1 <= count and (count - most - 1) / count > least:
        most += 1
    wrong = count_misses(form, labelled, first, last, labels, k, candidate, scratch, HARD, most)
    if wrong <= most:
        wrong += count_misses(form, labelled, first, last, labels, k, candidate, scratch, EASY, most - wrong)
    for j in range(first, last):
        if scratch.last_result[labelled[j]] == TRIED:
            scratch.last_result[labelled[j]] = EASY
    return (count - wrong) / count if wrong <= most else -1.0


@inline
def save_hypothesis(store, slot, leader, candidate, figure):
    """Save a hypothesis in a slot."""
    for i in range(store.saved.shape[1]):
        store.saved[slot, i] = 0.0
    for i in range(len(candidate)):
        store.saved[slot, leader.at + i] = candidate[i]
    store.figure[slot] = figure
    store.origin[slot] = leader.member
    store.moment[slot] = store.numbers[LABELLED]


@inline
def sum_saved(store):
    """Add up the saved hypotheses, in the order of the slots."""
    for i in range(len(store.total)):
        store.total[i] = 0.0
    for slot in range(store.numbers[SAVED]):
        for i in range(len(store.total)):
            store.total[i] += store.saved[slot, i]


@inline
def thin_out(store, hypotheses):
    """Keep every second hypothesis and double the spacing."""
    kept = hypotheses // 2
    for slot in range(kept):
        for i in range(store.saved.shape[1]):
            store.saved[slot, i] = store.saved[2 * slot + 1, i]
        store.figure[slot] = store.figure[2 * slot + 1]
        store.origin[slot] = store.origin[2 * slot + 1]
        store.moment[slot] = store.moment[2 * slot + 1]
    store.numbers[SAVED] = kept
    store.numbers[SPACING] *= 2
    store.numbers[SLOT] = kept + 1


@inline
def restart(store, mistakes):
    """Remove the saved hypotheses, and count mistakes from 0."""
    for m in range(len(mistakes)):
        store.since[m] = mistakes[m]
    n = store.numbers
    n[AGE], n[SPACING], n[SLOT], n[SAVED], n[VOTING] = 0, 1, 1, 0, 0
    n[RESTARTS] += 1


@inline
def count_hypothesis_votes(whole, t, k, store, scratch):
    """Write one vote per saved hypothesis."""
    for c in range(k):
        scratch.scores[c] = 0.0
    for slot in range(store.numbers[SAVED]):
        score_classes(whole, t, k, LastWeights(store.saved[slot]), scratch.other)
        scratch.scores[best_class(scratch.other, k)] += 1.0


@inline
def predict(whole, t, k, own, scores, fewer, store, options, scratch, row):
    """Predict a trial for which the leader predicts `own` with `scores`; return the prediction of voting."""
    n = store.numbers
    if options.random:
        count_hypothesis_votes(whole, t, k, store, scratch)
    else:
        score_classes(whole, t, k, LastWeights(store.total), scratch.scores)
        for c in range(k):
            scratch.scores[c] += scores[c]
    vote = best_class(scratch.scores, k)
    follows = fewer < n[VOTING]
    if options.random:
        follows = n[SAVED] == 0
    scratch.guesses[row] = own if follows else vote
    if len(scratch.out_scores) > 0:
        for c in range(k):
            scratch.out_scores[row, c] = scores[c] if follows else scratch.scores[c]
    return own if n[SAVED] == 0 else vote


@inline
def draw_hypotheses(leader, h, average, counts, store, options, drawn, scratch):
    """Fill every slot with a hypothesis drawn from all trials so far (a reservoir of one)."""
    written = False
    for slot in range(options.hypotheses):
        if drawn[slot]:
            if not written:
                copy_hypothesis(leader, h, average, counts[TRIALS] + 1, scratch.candidate)
                written = True
            save_hypothesis(store, slot, leader, scratch.candidate, 0.0)
    store.numbers[SAVED] = options.hypotheses


@inline
def search_window(
    form, labels, labelled, n_labelled, k, leader, h, average, counts, store, options, streak, scratch
):
    """In a window, save the hypothesis of the leader, or replace the saved one by a better one."""
    n = store.numbers
    g, j = n[SPACING], n[SLOT]
    half = min(options.window, g // 2) // 2
    begins, ends = j * g - half, j * g + half
    if not begins <= n[AGE] <= ends:
        return
    least = -2.0 if n[AGE] == begins else store.figure[j - 1]
    figure = float(streak)
    copy_hypothesis(leader, h, average, counts[TRIALS] + 1, scratch.candidate)
    if options.recent > 0:
        first = max(n_labelled - options.recent, 0)
        figure = accuracy(form, labelled, first, n_labelled, labels, k, scratch.candidate, scratch, least)
    if figure > least:
        save_hypothesis(store, j - 1, leader, scratch.candidate, figure)
        n[SAVED] = j
        sum_saved(store)
    if n[AGE] == ends:
        n[SLOT] += 1
        if j == options.hypotheses:
            thin_out(store, options.hypotheses)
            sum_saved(store)


def follow_leader(
    whole, form, labels, known, labelled, n_labelled, held, leader, h, average, counts, out, store, options,
    record, scratch, begin, end,
):  # fmt: skip
    """Run the trials begin <= t < end: finish the trial before, then predict and learn.

    `n_labelled[t]` labelled instances come before trial t, at the positions `labelled`. The trial after the
    last only finishes the one before.
    """
    n = store.numbers
    for t in range(begin, end):
        place = held + t
        if t > 0 and labels[place - 1] >= 0:
            fewer = record.mistakes[t, leader.member] - store.since[leader.member]
            if options.random:
                draw_hypotheses(leader, h, average, counts, store, options, record.drawn[t], scratch)
            else:
                k = max(known[place - 1], labels[place - 1] + 1)
                streak = record.streak[t, leader.member]
                search_window(
                    form, labels, labelled, n_labelled[t], k, leader, h, average, counts, store, options,
                    streak, scratch,
                )  # fmt: skip
                if fewer < n[VOTING] and n[AGE] >= options.patience * 2 ** n[RESTARTS]:
                    restart(store, record.mistakes[t])
                    sum_saved(store)
        if place == len(labels):
            break
        k, y = known[place], labels[place]
        row = t
        if leader.again:
            repeat = stage_at(leader.code)
            repeat(leader.memory, place, place + 1, 0)
            row = 0
        own = out.mean[row] if leader.mean else out.own[row]
        scores = out.mean_scores[row] if leader.mean else out.own_scores[row]
        fewer = record.mistakes[t, leader.member] - store.since[leader.member]
        begin_trial(whole, place)
        vote = predict(whole, place, k, own, scores, fewer, store, options, scratch, t)
        if y >= 0:
            n[VOTING] += 1 * (y < k and vote != y)
            n[AGE] += 1
            n[LABELLED] += 1
            observe(whole, place, y)


follow = CompiledKernel(follow_leader)
