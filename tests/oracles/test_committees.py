"""The slow V-Combine itself: small runs whose outcome 2008 prints, or that a hand can follow."""

import copy
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import pytest

from tests.helpers.panels import CLASSES, bank, panel, run
from tests.oracles.committees import Combine, Item, Member, around
from tests.oracles.rules import Alma, Perceptron, Winnow
from tests.oracles.session import Attributes, Pairs, Session, Thresholds, Votes, best


def one_voice(honest: str) -> list[tuple[Item, Any]]:
    """One expert, two classes; on trials marked - the truth is the other class."""
    said = itertools.cycle("ab")
    other = {"a": "b", "b": "a"}
    return [
        ({"votes": {"ann": {c: 1}}}, c if h == "+" else other[c]) for h, c in zip(honest, said, strict=False)
    ]


def voiced(**options: Any) -> Combine:
    return Combine([Member(Perceptron(), [Votes()])], "ab", **options)


# --- saved hypotheses


def test_spacing_doubles_as_the_paper_prints() -> None:
    it = run(Combine([Member(Perceptron())], CLASSES, hypotheses=4, window=0), panel(16))
    assert it.filled == [[1, 2, 3, 4], [2, 4, 6, 8], [4, 8, 12, 16]]
    assert it.positions == [8, 16]


def test_the_hypothesis_of_trial_16_is_used_until_480_when_there_are_30() -> None:
    it = Combine([Member(Perceptron())], CLASSES, hypotheses=30, window=0, patience=10**6)
    for item, y in panel(480):
        used = it.positions
        it.learn(item, y)
    assert used[0] == 16
    assert it.filled[-1] == list(range(16, 481, 16))
    assert it.positions == list(range(32, 481, 32))


def test_the_window_of_the_paper() -> None:
    assert around(2, 128, 100) == (224, 288)
    assert around(3, 1024, 100) == (3072 - 50, 3072 + 50)
    assert [around(1, g, 100) for g in (1, 2, 3, 4, 8)] == [(1, 1), (2, 2), (3, 3), (3, 5), (6, 10)]


@pytest.mark.parametrize("h", range(1, 8))
def test_any_number_of_slots_goes_on_for_ever(h: int) -> None:
    it = run(Combine([Member(Perceptron())], CLASSES, hypotheses=h, window=0, patience=10**6), panel(70))
    assert it.filled == [[j * 2**e for j in range(1, h + 1)] for e in range(len(it.filled))]
    assert len(it.filled) == int(math.log2(70 / h)) + 1
    assert len(it.saved) <= h


def test_one_slot_votes_only_inside_its_window() -> None:
    it = Combine([Member(Perceptron())], CLASSES, hypotheses=1, window=100, patience=10**6)
    voting = []
    for item, y in panel(24):
        voting += [it.trials + 1] if it.saved else []
        it.learn(item, y)
    assert voting == [4, 5, *range(7, 11), *range(13, 21)]  # windows 3..5, 6..10, 12..20


@pytest.mark.parametrize("recent", [0, pytest.param(1, marks=pytest.mark.slow), 7, 100])
def test_a_slot_holds_the_first_of_the_best_in_its_window(recent: int) -> None:
    it = Combine(bank(), CLASSES, hypotheses=4, window=12, recent=recent, patience=10**6)
    leading: list[Any] = []  # of each trial, what b* would have had saved
    choices = 0
    for t, (item, y) in enumerate(panel(70), 1):
        first, last = around(it.j, it.g, 12)
        it.learn(item, y)
        b = it.members[it.leader]
        leading.append((b.figure(recent), it.leader, b.weights()))
        if first <= t <= last:
            found = max(range(first, t + 1), key=lambda s: leading[s - 1][0])
            assert it.positions[-1] == found
            choices += found > first
        for saved in it.saved:
            assert (saved.figure, saved.member, saved.weights) == leading[saved.t - 1]
    assert choices


def test_a_figure_is_the_accuracy_of_a_fixed_hypothesis_novel_instances_included() -> None:
    member = Member(Perceptron(), [Votes()])
    for vote, y in (("a", "b"), ("a", "a"), ("a", "a")):  # b is novel; a tie, then w = 0 is right: a is first
        member.trial({"votes": {"ann": {vote: 1}}}, y)
    assert (member.novel, member.moves, member.held) == (1, 0, 2)
    assert member.figure(100) == Fraction(2, 3)
    assert member.figure(2) == 1
    assert member.figure(0) == 2


def test_the_plain_figure_counts_from_the_last_move_on() -> None:
    member = Member(Perceptron(), [Votes()])
    member.classes = ["a", "b"]
    held = []
    for item, y in one_voice("+++++-+++"):
        member.trial(item, y)
        held.append(member.held)
    assert held == [1, 0, 1, 2, 3, 0, 1, 0, 1]  # w: 0, 1 from trial 2 on, 0 from 6 on, 1 from 8 on


def test_old_hypotheses_give_later_experts_no_weight() -> None:
    it = Combine([Member(Perceptron(start="equal"), [Votes()])], "ab", window=0)
    it.learn({"votes": {"ann": {"a": 1}}}, "a")
    assert it.vote({"votes": {"ann": {"a": 1}, "bob": {"b": 1}}}) == {"a": 2, "b": 1}
    assert it.classes == ["a", "b"]


# --- who guesses


def test_the_leader_has_the_fewest_mistakes_and_is_the_first_of_equals() -> None:
    it = Combine(bank(), CLASSES, hypotheses=4)
    for item, y in panel(60):
        lost = [member.mistakes for member in it.members]
        it.learn(item, y)
        assert it.leaders[-1] == lost.index(min(lost))
    assert len(set(it.leaders)) > 1


def test_without_saved_hypotheses_the_leader_guesses() -> None:
    it = Combine(bank(), CLASSES, hypotheses=0, patience=1)
    for item, y in panel(40):
        mine = best(it.members[it.leader].scores(item))
        assert it.learn(item, y) == mine
    assert (it.saved, it.restarts) == ([], 0)


def test_a_vote_adds_the_raw_scores() -> None:
    it = run(Combine(bank(), CLASSES, hypotheses=4), panel(30))
    for item, _ in panel(10, seed=1):
        parts = [it.members[s.member].scores(item, s.weights) for s in it.saved]
        parts.append(it.members[it.leader].scores(item))
        for c, total in it.vote(item).items():
            assert float(total) == pytest.approx(sum(float(part[c]) for part in parts))


def test_the_leader_guesses_while_it_is_ahead() -> None:
    """After 30 honest trials ann turns: her weight follows in three, the saved ones do not."""
    it = voiced(hypotheses=8, window=0, patience=10**6)
    stream = one_voice(30 * "+" + 8 * "-")
    for item, y in stream:
        ahead, mine, vote = it.ahead, best(it.members[0].scores(item)), best(it.vote(item))
        assert it.learn(item, y) == (mine if ahead else vote)
    truth = [y for _, y in stream]
    wrong = [t for t, (g, y) in enumerate(zip(it.guesses, truth, strict=True), 1) if g != y]
    voting = [t for t, (g, y) in enumerate(zip(it.votes, truth, strict=True), 1) if g != y]
    assert voting == [2, *range(31, 39)]
    assert wrong == [2, 31, 32, 33]  # ann's learner is right on 32, ahead then, and wrong on 33
    assert it.members[0].mistakes == 3


def test_patience_doubles_with_every_restart() -> None:
    it = voiced(hypotheses=8, window=0, patience=10)
    ahead, restarts = [], []
    for t, (item, y) in enumerate(one_voice(5 * "+" + 15 * "-" + 25 * "+" + 55 * "-"), 1):
        before = it.restarts
        it.learn(item, y)
        if it.ahead:
            ahead.append(t)
        if it.restarts > before:
            restarts.append(t)
            assert (it.t, it.g, it.j, it.saved, it.voting, it.since(0)) == (0, 1, 1, [], 0, 0)
    assert restarts == [10, 10 + 20, 10 + 20 + 40]
    assert {9, 29, 69} <= set(ahead)


def test_a_restart_waits_until_the_leader_is_ahead() -> None:
    it = run(voiced(hypotheses=8, window=0, patience=3), one_voice(12 * "+"))
    assert it.restarts == 0
    run(it, one_voice(2 * "-"))
    assert (it.restarts, it.t) == (1, 0)


def test_a_novel_label_moves_no_count_but_the_trial_counts() -> None:
    it = run(Combine([Member(Perceptron())], hypotheses=4, window=0), [({"votes": {"ann": {"a": 1}}}, "z")])
    assert (it.trials, it.novel, it.mistakes, it.right, it.voting, it.members[0].mistakes) == (
        1,
        1,
        0,
        0,
        0,
        0,
    )
    assert it.positions == [1]
    assert it.figures == [0]  # its class is known now, and nothing names it
    assert it.classes == ["a", "z"]


@pytest.mark.parametrize("rule", [Perceptron(), Winnow(1.3), Alma(3)], ids=lambda rule: type(rule).__name__)
def test_a_learner_and_its_average_are_one_run(rule: Any) -> None:
    it = Combine([Member(copy.deepcopy(rule)), Member(copy.deepcopy(rule), averaged=True)], CLASSES)
    plain, average = it.members
    for item, y in panel(30):
        it.learn(item, y)
        assert plain.rule.theta == average.rule.theta
        assert plain.moves == average.moves


def test_members_are_the_sessions_they_would_be_alone() -> None:
    sources = [Votes(), Pairs(), Attributes(), Thresholds()]
    rng = random.Random(0)
    stream = [
        ({**item, "attributes": {"x": rng.randint(0, 2), "y": rng.randint(0, 1)}}, y)
        for item, y in panel(40, noise=0)
    ]
    for averaged, recycled in itertools.product((False, True), (None, (5, 2))):
        alone = Session(Winnow(1.2), copy.deepcopy(sources), averaged=averaged, recycled=recycled)
        member = Member(Winnow(1.2), copy.deepcopy(sources), averaged=averaged, recycled=recycled)
        it = Combine([Member(Perceptron(), copy.deepcopy(sources)), member], hypotheses=3)
        for item, y in stream:
            foreseen = best(member.scores(item))
            guess = alone.trial(item, y)
            it.learn(item, y)
            assert guess == foreseen
            assert alone.weights() == member.weights()
        assert (alone.mistakes, alone.classes) == (member.mistakes, it.classes)
