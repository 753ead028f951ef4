"""Following a leader for a while: guess, hear the truth, save, start again (2008, section V.B)."""

from linmax._jit import Kernel, apart, inline
from linmax.forms import Last
from linmax.techniques.moving import best
from linmax.techniques.records import TRIALS
from linmax.techniques.trials import tally, trials
from linmax.techniques.voting import (
    AGE,
    RESTARTS,
    SAVED,
    SLOT,
    SPACING,
    TOLD,
    VOTING,
    accuracy,
    add_up,
    put,
    start_again,
    thin_out,
    write_down,
)

step = apart(trials)


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
        whole.enter(place)
        vote = guess(whole, place, k, own, scores, fewer, ballot, rules, sheet, t)
        if y >= 0:
            n[VOTING] += 1 * (y < k and vote != y)
            n[AGE] += 1
            n[TOLD] += 1
            whole.observe(place, y)


follow = Kernel(follow_leader)
