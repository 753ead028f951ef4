"""The kernel of voting: who guesses, which hypotheses are saved, and when to start again (2008, section V.B).

It follows one leader for a while, trial by trial: the leader's run is gone through again from where it was,
so that its hypothesis of every moment is at hand.
"""

from typing import NamedTuple

import numpy as np

from linmax._jit import Kernel, inline, separate
from linmax.kernels.forms import Last, Mean
from linmax.kernels.forms.base import begin_trial, observe, weight_of
from linmax.kernels.structs import TRIALS
from linmax.kernels.trial import tally, trials
from linmax.kernels.update import best
from linmax.rules.base import SCALE

# in `numbers`
AGE, SPACING, SLOT, SAVED, RESTARTS, VOTING, TOLD = 0, 1, 2, 3, 4, 5, 6
NUMBERS = 7

EASY, HARD, TRIED = 0, 1, 2  # in `missed`


class Ballot(NamedTuple):
    """What voting keeps."""

    saved: np.ndarray  # (hypotheses, weights): in the order they were saved
    total: np.ndarray  # (weights,): their sum
    figure: np.ndarray  # (hypotheses,): the accuracy each was saved with
    origin: np.ndarray  # (hypotheses,) int64: whose it was
    moment: np.ndarray  # (hypotheses,) int64: after which trial
    since: np.ndarray  # (members,) int64: mistakes at the last restart
    numbers: np.ndarray  # int64: trials since then, g, j, how many are saved, restarts, voting's mistakes ...


class Rules(NamedTuple):
    """The parameters of voting."""

    hypotheses: int
    window: int
    recent: int
    patience: int
    random: int
    seed: int


class Record(NamedTuple):
    """What the members did before each trial and at the end: mistakes, right guesses since the last move."""

    leader: np.ndarray  # (trials + 1,) int64
    mistakes: np.ndarray  # (trials + 1, members) int64
    streak: np.ndarray  # (trials + 1, members) int64
    drawn: np.ndarray  # (trials + 1, hypotheses) uint8, or empty: which slots take the leader's hypothesis


class Leader(NamedTuple):
    """Who is followed: a member, where its source begins among all weights, and which reading it is."""

    member: int
    at: int
    mean: int
    again: int  # must its run be gone through?


class Sheet(NamedTuple):
    """Scratch, and where the guesses go."""

    candidate: np.ndarray  # (weights of the leader,)
    scores: np.ndarray
    other: np.ndarray
    guesses: np.ndarray  # (trials,)
    board: np.ndarray  # (trials or 0, classes)
    missed: np.ndarray  # (trials of the tape,) uint8: was it guessed wrong when a hypothesis was last tried?


def keep_record(guesses, moved, labels, known, mistakes, streak, record):
    """Count every member's mistakes and right guesses since it moved; the leader has the fewest mistakes."""
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


count_mistakes = Kernel(keep_record)


def uniform(seed: int, t: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) that depend on their arguments alone (the finaliser of splitmix64)."""
    seeds = np.array([seed % 2**64], dtype=np.uint64)
    z = seeds * np.uint64(0x9E3779B97F4A7C15)
    z = z + t.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    z = z + j.astype(np.uint64) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


@inline
def write_down(leader, h, history, hypotheses, candidate):
    """The leader's hypothesis of now."""
    mean = Mean(h.w, history.past, history.since, history.total[0], h.s[SCALE])
    for i in range(len(h.w)):
        candidate[i] = weight_of(mean, i) / hypotheses if leader.mean else h.s[SCALE] * h.w[i]


@inline
def misses(form, places, first, last, labels, k, candidate, sheet, hard, most):
    """How many of the instances marked so are guessed wrong; stop when it is more than `most`."""
    wrong = 0
    for j in range(first, last):
        t = places[j]
        if sheet.missed[t] == hard:
            tally(form, t, k, Last(candidate), sheet.scores)
            if best(sheet.scores, k) != labels[t]:
                wrong += 1
                sheet.missed[t] = HARD
                if wrong > most:
                    break
            elif hard == HARD:
                sheet.missed[t] = TRIED
    return wrong


@separate
def accuracy(form, places, first, last, labels, k, candidate, sheet, least):
    """The part of some instances that a hypothesis guesses right, or -1 when it is no more than `least`.

    Those that were missed the last time are tried first: they tell soonest that a hypothesis is no better.
    """
    count = last - first
    most = count if least < 0.0 else -1
    while most + 1 <= count and (count - most - 1) / count > least:
        most += 1
    wrong = misses(form, places, first, last, labels, k, candidate, sheet, HARD, most)
    if wrong <= most:
        wrong += misses(form, places, first, last, labels, k, candidate, sheet, EASY, most - wrong)
    for j in range(first, last):
        if sheet.missed[places[j]] == TRIED:
            sheet.missed[places[j]] = EASY
    return (count - wrong) / count if wrong <= most else -1.0


@inline
def put(ballot, slot, leader, candidate, figure):
    """A hypothesis takes its place."""
    for i in range(ballot.saved.shape[1]):
        ballot.saved[slot, i] = 0.0
    for i in range(len(candidate)):
        ballot.saved[slot, leader.at + i] = candidate[i]
    ballot.figure[slot] = figure
    ballot.origin[slot] = leader.member
    ballot.moment[slot] = ballot.numbers[TOLD]


@inline
def add_up(ballot):
    """The sum of what is saved, in the order of the slots."""
    for i in range(len(ballot.total)):
        ballot.total[i] = 0.0
    for slot in range(ballot.numbers[SAVED]):
        for i in range(len(ballot.total)):
            ballot.total[i] += ballot.saved[slot, i]


@inline
def thin_out(ballot, hypotheses):
    """Keep every second hypothesis and double the spacing."""
    kept = hypotheses // 2
    for slot in range(kept):
        for i in range(ballot.saved.shape[1]):
            ballot.saved[slot, i] = ballot.saved[2 * slot + 1, i]
        ballot.figure[slot] = ballot.figure[2 * slot + 1]
        ballot.origin[slot] = ballot.origin[2 * slot + 1]
        ballot.moment[slot] = ballot.moment[2 * slot + 1]
    ballot.numbers[SAVED] = kept
    ballot.numbers[SPACING] *= 2
    ballot.numbers[SLOT] = kept + 1


@inline
def start_again(ballot, mistakes):
    """Drop what is saved and count mistakes anew."""
    for m in range(len(mistakes)):
        ballot.since[m] = mistakes[m]
    n = ballot.numbers
    n[AGE], n[SPACING], n[SLOT], n[SAVED], n[VOTING] = 0, 1, 1, 0, 0
    n[RESTARTS] += 1


step = separate(trials)


@inline
def poll(whole, t, k, ballot, sheet):
    """One voice for each saved hypothesis."""
    for c in range(k):
        sheet.scores[c] = 0.0
    for slot in range(ballot.numbers[SAVED]):
        tally(whole, t, k, Last(ballot.saved[slot]), sheet.other)
        sheet.scores[best(sheet.other, k)] += 1.0


@inline
def guess(whole, t, k, own, scores, fewer, ballot, rules, sheet, row):
    """Guess a trial whose leader guesses `own` with `scores`; return the guess of voting."""
    n = ballot.numbers
    if rules.random:
        poll(whole, t, k, ballot, sheet)
    else:
        tally(whole, t, k, Last(ballot.total), sheet.scores)
        for c in range(k):
            sheet.scores[c] += scores[c]
    vote = best(sheet.scores, k)
    follows = fewer < n[VOTING]
    if rules.random:
        follows = n[SAVED] == 0
    sheet.guesses[row] = own if follows else vote
    if len(sheet.board) > 0:
        for c in range(k):
            sheet.board[row, c] = scores[c] if follows else sheet.scores[c]
    return own if n[SAVED] == 0 else vote


@inline
def draw(leader, h, history, counts, ballot, rules, drawn, sheet):
    """Every slot holds a hypothesis drawn from all trials so far (a reservoir of one)."""
    written = False
    for slot in range(rules.hypotheses):
        if drawn[slot]:
            if not written:
                write_down(leader, h, history, counts[TRIALS] + 1, sheet.candidate)
                written = True
            put(ballot, slot, leader, sheet.candidate, 0.0)
    ballot.numbers[SAVED] = rules.hypotheses


@inline
def search(form, labels, places, told, k, leader, h, history, counts, ballot, rules, streak, sheet):
    """In a window, save the leader's hypothesis or replace the saved one by a better."""
    n = ballot.numbers
    g, j = n[SPACING], n[SLOT]
    half = min(rules.window, g // 2) // 2
    begins, ends = j * g - half, j * g + half
    if not begins <= n[AGE] <= ends:
        return
    least = -2.0 if n[AGE] == begins else ballot.figure[j - 1]
    figure = float(streak)
    write_down(leader, h, history, counts[TRIALS] + 1, sheet.candidate)
    if rules.recent > 0:
        first = max(told - rules.recent, 0)
        figure = accuracy(form, places, first, told, labels, k, sheet.candidate, sheet, least)
    if figure > least:
        put(ballot, j - 1, leader, sheet.candidate, figure)
        n[SAVED] = j
        add_up(ballot)
    if n[AGE] == ends:
        n[SLOT] += 1
        if j == rules.hypotheses:
            thin_out(ballot, rules.hypotheses)
            add_up(ballot)


def follow_leader(
    whole, form, labels, known, places, told, held, begin, end, leader,
    h, history, buffer, work, how, counts, out, ballot, rules, record, sheet,
):  # fmt: skip
    """Trials begin <= t < end of a stretch: first what is left to do of the one before, then guess and learn.

    `told[t]` labelled instances lie before trial t, at `places`; the trial after the last is only looked back
    from.
    """
    n = ballot.numbers
    for t in range(begin, end):
        place = held + t
        if t > 0 and labels[place - 1] >= 0:
            fewer = record.mistakes[t, leader.member] - ballot.since[leader.member]
            if rules.random:
                draw(leader, h, history, counts, ballot, rules, record.drawn[t], sheet)
            else:
                k = max(known[place - 1], labels[place - 1] + 1)
                streak = record.streak[t, leader.member]
                search(
                    form, labels, places, told[t], k, leader, h, history, counts, ballot, rules, streak, sheet
                )  # fmt: skip
                if fewer < n[VOTING] and n[AGE] >= rules.patience * 2 ** n[RESTARTS]:
                    start_again(ballot, record.mistakes[t])
                    add_up(ballot)
        if place == len(labels):
            break
        k, y = known[place], labels[place]
        row = t
        if leader.again:
            step(form, labels, known, place, place + 1, h, history, buffer, work, how, counts, out)
            row = 0
        own = out.mean[row] if leader.mean else out.own[row]
        scores = out.mean_scores[row] if leader.mean else out.own_scores[row]
        fewer = record.mistakes[t, leader.member] - ballot.since[leader.member]
        begin_trial(whole, place)
        vote = guess(whole, place, k, own, scores, fewer, ballot, rules, sheet, t)
        if y >= 0:
            n[VOTING] += 1 * (y < k and vote != y)
            n[AGE] += 1
            n[TOLD] += 1
            observe(whole, place, y)


follow = Kernel(follow_leader)
