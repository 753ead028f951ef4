"""The refinements of voting (2008, section V.B), one by one, on runs that a hand can follow."""

import itertools
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Combine, Fusion, Perceptron, Recycled, Voted
from linmax._jit.compilation import interpreted
from linmax.experts import Votes
from linmax.kernels.ensembles.voting import RESTARTS, SAVED, SLOT, SPACING, VOTING
from tests.helpers.compare_committees import at_once, random_stream, slow

P = Perceptron().on(Votes())
EQUAL = Perceptron(start="equal").on(Votes())
FOR_EVER = 100_000  # patience


def one_voice(honest: str) -> list[tuple[str, str]]:
    """One expert, two classes; on trials marked - the truth is the other class."""
    return [(c, c if h == "+" else "ba"["ab".index(c)]) for h, c in zip(honest, itertools.cycle("ab"))]


class Watched:
    """A session that is given one item after the other, and what it keeps."""

    def __init__(self, learner: Any, classes: str = "ab") -> None:
        self.fusion = Fusion(learner, classes=list(classes))
        self.head: Any = self.fusion.runner.predictor
        self.wrong: list[int] = []  # the trials on which it erred

    def hear(self, said: Any, y: str) -> None:
        """ann says something (or others do, too), and y is the truth."""
        votes = said if isinstance(said, dict) else {"ann": said}
        if self.fusion.learn_one(votes, y) != y:
            self.wrong.append(self.fusion.trials)

    def run(self, stream: Any) -> "Watched":
        for said, y in stream:
            self.hear(said, y)
        return self

    def count(self, which: int) -> int:
        return int(self.head.hypotheses.numbers[which])

    def kept(self, what: str) -> list[Any]:
        found: list[Any] = getattr(self.head.hypotheses, what)[: self.count(SAVED)].tolist()
        return found


@pytest.fixture(autouse=True)
def uncompiled() -> Any:
    with interpreted():
        yield


# --- which hypotheses are saved


def test_spacing_doubles_as_the_paper_prints() -> None:
    it = Watched(Voted(P, hypotheses=4, window=0, patience=FOR_EVER))
    seen = {}
    for t, (said, y) in enumerate(one_voice(16 * "+"), 1):
        it.hear(said, y)
        seen[t] = it.kept("moment")
    assert [seen[t] for t in (1, 2, 3)] == [[1], [1, 2], [1, 2, 3]]
    assert [seen[t] for t in (4, 6, 7, 8)] == [[2, 4], [2, 4, 6], [2, 4, 6], [4, 8]]
    assert [seen[t] for t in (11, 12, 15, 16)] == [[4, 8], [4, 8, 12], [4, 8, 12], [8, 16]]


def test_the_hypothesis_of_trial_16_is_used_until_480_when_there_are_30() -> None:
    fusion = Fusion(Voted(P, hypotheses=30, window=0, patience=FOR_EVER), classes=["a", "b"])
    stream = [({"votes": {"ann": said}}, y) for said, y in one_voice(480 * "+")]
    at_once(fusion, stream[:479])
    head: Any = fusion.runner.predictor
    assert head.hypotheses.moment[: head.hypotheses.numbers[SAVED]].tolist() == list(range(16, 479, 16))
    at_once(fusion, stream[479:])
    assert head.hypotheses.moment[: head.hypotheses.numbers[SAVED]].tolist() == list(range(32, 481, 32))


@pytest.mark.parametrize(("window", "opens", "closes"), [(100, 352, 416), (12, 378, 390), (0, 384, 384)])
def test_a_window_is_half_the_spacing_wide_or_as_wide_as_asked_for(
    window: int, opens: int, closes: int
) -> None:
    """Slot 3 at spacing 128 stands at 384."""
    fusion = Fusion(Voted(P, hypotheses=4, window=window, patience=FOR_EVER), classes=["a", "b"])
    stream = [({"votes": {"ann": said}}, y) for said, y in one_voice(420 * "+")]
    head: Any = fusion.runner.predictor
    facts = []
    for begin, end in itertools.pairwise((0, opens - 1, opens, closes - 1, closes)):
        if begin < end:
            at_once(fusion, stream[begin:end])
        facts.append(head.hypotheses.numbers[[SPACING, SLOT, SAVED]].tolist())
    assert facts[0] == [128, 3, 2]
    assert facts[1] == ([128, 3, 3] if window else [128, 4, 3])
    assert facts[-1] == [128, 4, 3]


def test_a_window_keeps_the_first_of_the_hypotheses_that_are_best_on_recent_instances() -> None:
    recent, window = 9, 12
    it = Watched(Voted(P, hypotheses=4, window=window, recent=recent, patience=FOR_EVER))
    rng = np.random.default_rng(5)
    stream = [
        ({e: "ab"[rng.integers(2)] for e in ("ann", "bob", "eve")}, "ab"[rng.integers(2)]) for _ in range(80)
    ]
    figures: list[float] = []
    searched = 0
    for t, (votes, y) in enumerate(stream, 1):
        g, j = it.count(SPACING), it.count(SLOT)
        half = min(window, g // 2) // 2
        it.hear(votes, y)
        w = it.head.members[0].weights()
        right = 0
        for cast, truth in stream[max(0, t - recent) : t]:
            scores = {c: sum(w[e] for e, said in cast.items() if said == c) for c in "ab"}
            right += ("a" if scores["a"] >= scores["b"] else "b") == truth
        figures.append(right / min(t, recent))
        if j * g - half <= t < j * g + half:
            best = max(range(j * g - half, t + 1), key=lambda s: figures[s - 1])
            searched += best > j * g - half
            assert it.kept("moment")[-1] == best
        assert it.kept("figure") == [figures[moment - 1] for moment in it.kept("moment")]
    assert searched > 5


def test_the_accuracy_is_that_of_a_hypothesis_held_fixed() -> None:
    """ann's learner errs all the time; what it has learned after trials 1 and 3 is right on both."""
    it = Watched(Voted(P, hypotheses=20, window=0, patience=FOR_EVER)).run(one_voice("+"))
    assert it.kept("figure") == [1.0]  # w = 0: a tie goes to a, which is the truth
    it = Watched(Voted(P, hypotheses=20, window=0, patience=FOR_EVER))
    it.run([("b", "b"), ("a", "b"), ("b", "b")])
    assert it.head.mistakes.tolist() == [3]
    assert it.kept("figure") == [1.0, 0.0, 2 / 3]  # w = 1, 0, 1


def test_only_a_strictly_better_hypothesis_replaces_a_saved_one() -> None:
    """From trial 2 on ann is trusted, and every hypothesis is as good as the last."""
    it = Watched(Voted(P, hypotheses=1, window=100, recent=3, patience=FOR_EVER))
    moments = []
    for said, y in one_voice(15 * "+"):
        it.hear(said, y)
        moments.append(it.kept("moment"))
    assert moments[5:15] == [[6], [6], [6], [6], [], [], [12], [12], [12], [12]]  # windows 6..10 and 12..20


def test_without_recent_instances_right_guesses_since_the_last_move_count() -> None:
    """The same run: here every further right guess makes the hypothesis better."""
    it = Watched(Voted(P, hypotheses=1, window=100, recent=0, patience=FOR_EVER))
    moments = []
    for said, y in one_voice(15 * "+"):
        it.hear(said, y)
        moments.append(it.kept("moment"))
    assert moments[5:15] == [[6], [7], [8], [9], [], [], [12], [13], [14], [15]]


@pytest.mark.parametrize(
    "inner", [P, Perceptron(slack=1.0), Averaged(P), Recycled(P, size=5, updates=2)], ids=repr
)
def test_the_plain_figure_counts_right_guesses_since_the_run_last_moved(inner: Any) -> None:
    it, member = Fusion(Voted(inner, hypotheses=20, window=0, recent=0, patience=FOR_EVER)), slow(inner)
    figures = []
    for item, y in random_stream(20, 1):
        it.learn([item["votes"]], [y])
        member.trial(item, y)
        if y is not None:
            figures.append(float(member.held))
    head: Any = it.runner.predictor
    assert head.hypotheses.figure[: len(figures)].tolist() == figures
    assert len(set(figures)) > 2


# --- who guesses


def test_raw_scores_are_added_not_guesses_counted() -> None:
    """Three hypotheses know nothing and say a, by a tie; the fourth and the current one believe ann."""
    it = Watched(Voted(P, window=0)).run([("a", "a"), ("a", "a"), ("a", "a"), ("b", "b")])
    assert [row[0] for row in it.kept("saved")] == [0, 0, 0, 1]
    assert it.fusion.predict_one({"ann": "b"}) == "b"
    assert it.fusion.scores([{"ann": "b"}]).tolist() == [[0.0, 2.0]]
    it.hear("b", "b")
    assert it.wrong == [4]


def test_the_current_hypothesis_votes_too() -> None:
    """With a single place and no window nothing stays saved: the current hypothesis is all there is."""
    it = Watched(Voted(P, hypotheses=1, window=0, patience=FOR_EVER)).run([("b", "b")])
    assert it.kept("moment") == []
    assert it.fusion.scores([{"ann": "b"}]).tolist() == [[0.0, 1.0]]
    it.run([("b", "b"), ("b", "b")])
    assert it.wrong == [1]
    assert it.count(VOTING) == it.head.mistakes[0] == 1


def test_the_basic_algorithm_guesses_while_it_is_ahead() -> None:
    """After 30 honest trials ann turns: her weight follows in three, the saved ones do not."""
    it = Watched(Voted(P, hypotheses=8, window=0, patience=FOR_EVER))
    it.run(one_voice(30 * "+" + 8 * "-"))
    assert it.wrong == [2, 31, 32, 33]  # ann's learner is right on 32, ahead then, and wrong on 33
    assert it.head.mistakes.tolist() == [3]
    assert it.count(VOTING) == 9  # as if voting had made every guess: 2, and 31 to 38


def test_voting_starts_again_when_the_basic_algorithm_is_ahead_after_its_patience() -> None:
    it = Watched(Voted(P, hypotheses=8, window=0, patience=3)).run(one_voice(12 * "+"))
    assert (it.count(RESTARTS), it.count(VOTING), it.kept("moment")) == (0, 1, [2, 4, 6, 8, 10, 12])
    it.run(one_voice("--"))
    assert it.count(RESTARTS) == 1
    assert (it.count(SAVED), it.count(SPACING), it.count(SLOT), it.count(VOTING)) == (0, 1, 1, 0)
    assert not it.head.hypotheses.total.any()
    assert it.head.hypotheses.since.tolist() == it.head.mistakes.tolist()
    it.run(one_voice("-"))
    assert it.kept("moment") == [15]  # from then on, only what is new votes


def test_patience_doubles_with_every_restart() -> None:
    it = Watched(Voted(P, hypotheses=8, window=0, patience=10))
    restarts = []
    for t, (said, y) in enumerate(one_voice(5 * "+" + 15 * "-" + 25 * "+" + 55 * "-"), 1):
        before = it.count(RESTARTS)
        it.hear(said, y)
        restarts += [t] * (it.count(RESTARTS) - before)
    assert restarts == [10, 10 + 20, 10 + 20 + 40]


def test_mistakes_are_compared_since_the_last_restart() -> None:
    """Voting starts again after 10, 30 and 70; each time that ann turns costs three mistakes, no more."""
    it = Watched(Voted(P, hypotheses=8, window=0, patience=10))
    it.run(one_voice(5 * "+" + 15 * "-" + 25 * "+" + 55 * "-"))
    assert it.count(RESTARTS) == 3
    assert it.wrong == [2, 6, 7, 8, 21, 22, 23, 46, 47, 48]
    it = Watched(Voted(P, hypotheses=8, window=0, patience=3)).run(one_voice("-+++-----"))
    assert (it.count(RESTARTS), it.count(SAVED)) == (2, 0)  # after 3 and after 9


def test_the_leader_is_the_member_with_the_fewest_mistakes_and_the_first_of_equals() -> None:
    """The first member trusts nobody at the start, the second everyone: right with ann, wrong with others."""
    it = Watched(Combine([P, EQUAL], window=0, patience=FOR_EVER))
    lost = []
    for said, y in (("a", "a"), ("b", "b"), ({"eve": "b"}, "a"), ({"joe": "b"}, "a")):
        it.hear(said, y)
        lost.append(it.head.mistakes.tolist())
    assert lost == [[0, 0], [1, 0], [1, 1], [1, 2]]
    assert it.kept("origin") == [0, 1, 0, 0]


def test_followers_of_the_leader_alone_save_nothing() -> None:
    it = Watched(Combine([P, EQUAL], hypotheses=0)).run([("a", "a"), ("b", "b"), ("b", "b")])
    assert it.wrong == [2]
    assert it.head.mistakes.tolist() == [1, 0]
    assert it.fusion.predict_one({"ann": "b"}) == "b"
