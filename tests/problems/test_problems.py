"""The generated problems are what the papers describe, and the same again at the same seed."""

import itertools
import math
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax.problems import VoteData, _common, drifting, majority, panel
from linmax.problems._common import Ties, plurality
from tests.helpers.examples import EVERYTHING
from tests.oracles import problems as slow

ORACLES: dict[Ties, Callable[[list[int]], int]] = {
    "class": slow.plurality_smallest_class,
    "expert": slow.plurality_lowest_expert,
}
SEEDS = st.integers(0, 2**32)


@st.composite
def majorities(draw: st.DrawFn) -> dict[str, Any]:
    experts = draw(st.integers(1, 9))
    return {
        "trials": draw(st.integers(0, 40)),
        "relevant": draw(st.integers(1, experts)),
        "experts": experts,
        "classes": draw(st.integers(2, 6)),
        "seed": draw(SEEDS),
    }


def same(one: VoteData, other: VoteData) -> bool:
    return np.array_equal(one.votes, other.votes) and np.array_equal(one.labels, other.labels)


def credible(count: float, trials: int, p: float) -> bool:
    """Within five standard deviations of a binomial: a fair generator fails in about 6 of 10^7 checks."""
    return abs(count - trials * p) <= 5 * math.sqrt(trials * p * (1 - p))


@pytest.mark.parametrize("ties", ["class", "expert"])
@pytest.mark.parametrize(("relevant", "classes"), [(1, 3), (2, 5), (3, 4), (4, 4), (5, 3), (6, 3), (7, 2)])
def test_plurality_is_the_oracle_on_every_possible_row(ties: Ties, relevant: int, classes: int) -> None:
    rows = list(itertools.product(range(classes), repeat=relevant))
    found = plurality(np.array(rows, dtype=np.int32), classes, ties)
    assert found.tolist() == [ORACLES[ties](list(row)) for row in rows]


def test_a_tie_of_two_classes_goes_where_each_paper_sends_it() -> None:
    tie = np.array([[4, 2, 2, 4, 0]], dtype=np.int32)
    assert plurality(tie, 5, "class").tolist() == [2]  # 2008: the smaller class
    assert plurality(tie, 5, "expert").tolist() == [4]  # 2003: what expert 0 names
    outsider = np.array([[0, 4, 2, 2, 4]], dtype=np.int32)
    assert plurality(outsider, 5, "expert").tolist() == [4]  # expert 0 is not in the tie: expert 1 decides


@pytest.mark.parametrize("ties", ["class", "expert"])
@given(problem=majorities(), speak=st.floats(0, 1))
def test_the_label_is_the_plurality_of_the_relevant(
    ties: Ties, problem: dict[str, Any], speak: float
) -> None:
    votes, labels = majority(**problem, speak=speak, ties=ties)
    relevant = votes[:, : problem["relevant"]].tolist()
    assert labels.tolist() == [ORACLES[ties](row) for row in relevant]


def test_under_the_2003_tie_rule_two_relevant_experts_are_one() -> None:
    votes, labels = majority(5000, 2, 100, 20, speak=0.001, ties="expert")
    assert np.array_equal(labels, votes[:, 0])
    _, by_class = majority(5000, 2, 100, 20, speak=0.001, ties="class")
    assert np.array_equal(by_class, votes[:, :2].min(axis=1))


@given(problem=majorities(), noise=st.floats(0, 1), speak=st.floats(0, 1))
def test_shapes_types_and_ranges(problem: dict[str, Any], noise: float, speak: float) -> None:
    votes, labels = majority(**problem, noise=noise, speak=speak)
    assert votes.shape == (problem["trials"], problem["experts"])
    assert labels.shape == (problem["trials"],)
    assert votes.dtype == np.int32
    assert labels.dtype == np.int64
    assert np.isin(votes, range(-1, problem["classes"])).all()
    assert np.isin(votes[:, : problem["relevant"]], range(problem["classes"])).all()
    assert np.isin(labels, range(problem["classes"])).all()


def test_every_expert_names_every_class_equally_often() -> None:
    votes, _ = majority(20_000, 5, 8, 4)
    for expert, c in itertools.product(range(8), range(4)):
        assert credible((votes[:, expert] == c).sum(), 20_000, 1 / 4)


def test_experts_do_not_follow_each_other() -> None:
    votes, _ = majority(20_000, 3, 6, 3)
    for i, j in itertools.combinations(range(6), 2):
        assert credible((votes[:, i] == votes[:, j]).sum(), 20_000, 1 / 3)
    assert credible((votes[1:] == votes[:-1]).sum(), votes[1:].size, 1 / 3)


@pytest.mark.parametrize("speak", [0.0, 0.001, 0.05, 0.5, 1.0])
def test_only_the_irrelevant_fall_silent_and_as_often_as_asked(speak: float) -> None:
    votes, _ = majority(10_000, 5, 50, 3, speak=speak)
    assert (votes[:, :5] >= 0).all()
    assert credible((votes[:, 5:] >= 0).sum(), votes[:, 5:].size, speak)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05, 0.4, 1.0])
@pytest.mark.parametrize("classes", [2, 5])
def test_noise_moves_as_many_labels_as_asked_and_to_each_other_class_alike(
    noise: float, classes: int
) -> None:
    trials = 1_000_000 if EVERYTHING else 100_000
    clean = majority(trials, 1, 1, classes)
    noisy = majority(trials, 1, 1, classes, noise=noise)
    assert np.array_equal(clean.votes, noisy.votes)
    step = (noisy.labels - clean.labels) % classes
    assert credible((step != 0).sum(), trials, noise)
    for s in range(1, classes):
        assert credible((step == s).sum(), trials, noise / (classes - 1))


def test_noise_does_not_depend_on_the_label() -> None:
    clean, noisy = majority(50_000), majority(50_000, noise=0.2)
    for c in range(5):
        mine = clean.labels == c
        assert credible((noisy.labels[mine] != c).sum(), int(mine.sum()), 0.2)


@given(problem=majorities(), noise=st.floats(0, 1), speak=st.floats(0, 1))
def test_noise_silence_and_ties_leave_what_an_expert_would_say(
    problem: dict[str, Any], noise: float, speak: float
) -> None:
    full = majority(**problem).votes
    for ties in ORACLES:
        votes = majority(**problem, noise=noise, speak=speak, ties=ties).votes
        assert np.array_equal(votes, np.where(votes < 0, -1, full))


@pytest.mark.parametrize(
    "make",
    [
        lambda trials, seed: majority(trials, noise=0.1, speak=0.5, seed=seed),
        lambda trials, seed: majority(trials, classes=3, ties="expert", noise=0.1, seed=seed),
        lambda trials, seed: panel(trials, experts=9, signs=(1, -1, -1), seed=seed),
        lambda trials, seed: drifting(trials, noise=0.1, every=7, seed=seed),
    ],
    ids=["majority-2008", "majority-2003", "panel", "drifting"],
)
class TestSeeds:
    def test_one_seed_gives_one_panel(self, make: Callable[[int, int], VoteData]) -> None:
        assert same(make(200, 3), make(200, 3))

    def test_another_seed_gives_another_panel(self, make: Callable[[int, int], VoteData]) -> None:
        assert not np.array_equal(make(200, 3).votes, make(200, 4).votes)

    def test_a_shorter_stream_is_the_beginning_of_a_longer_one(
        self, make: Callable[[int, int], VoteData]
    ) -> None:
        longer = make(200, 5)
        for cut in (0, 1, 7, 8, 100):
            assert same(make(cut, 5), VoteData(longer.votes[:cut], longer.labels[:cut]))

    def test_the_size_of_a_block_changes_nothing(
        self, make: Callable[[int, int], VoteData], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = make(200, 6)
        for cells in (1, 50, 333):
            monkeypatch.setattr(_common, "BLOCK_CELLS", cells)
            assert same(make(200, 6), whole)

    def test_the_state_of_numpy_is_neither_read_nor_moved(self, make: Callable[[int, int], VoteData]) -> None:
        np.random.seed(1)
        first, after = make(50, 7), np.random.random()
        np.random.seed(1)
        assert np.random.random() == after
        assert same(make(50, 7), first)


@pytest.mark.parametrize("make", [majority, drifting])
def test_a_long_stream_needs_little_more_than_itself(make: Callable[..., VoteData]) -> None:
    tracemalloc.start()
    try:
        votes, labels = make(50_000, 5, 300, 3, noise=0.1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - votes.nbytes - labels.nbytes < 16e6  # the votes alone are 60e6


@given(trials=st.integers(0, 30), half=st.integers(0, 4), more=st.integers(0, 5), seed=SEEDS)
def test_the_panel_is_always_right(trials: int, half: int, more: int, seed: int) -> None:
    size = 2 * half + 1
    votes, labels = panel(trials, size + more, size, seed=seed)
    assert votes.shape == (trials, size + more)
    assert labels.tolist() == [slow.panel_label(row, [1] * size) for row in votes.tolist()]


@given(
    signs=st.lists(st.sampled_from([1, -1]), min_size=1, max_size=9).filter(lambda s: len(s) % 2 == 1),
    seed=SEEDS,
)
def test_a_signed_panel_follows_its_signs(signs: list[int], seed: int) -> None:
    votes, labels = panel(30, 12, signs=signs, seed=seed)
    assert labels.tolist() == [slow.panel_label(row, signs) for row in votes.tolist()]
    assert same(panel(30, 12, signs=np.array(signs), seed=seed), VoteData(votes, labels))  # type: ignore[arg-type]


def test_all_signs_positive_is_the_plain_panel() -> None:
    assert same(panel(100, 20, signs=(1, 1, 1, 1, 1)), panel(100, 20, 5))


def test_the_plain_panel_is_the_majority_problem_with_two_classes() -> None:
    for ties in ORACLES:
        assert same(panel(500, 20, 7, seed=2), majority(500, 7, 20, 2, ties=ties, seed=2))


def test_a_signed_panel_is_uniform_and_its_members_agree_as_often_as_combinatorics_says() -> None:
    votes, labels = panel(20_000, 10, signs=(1, -1, -1))
    for expert, p in enumerate([3 / 4, 1 / 4, 1 / 4] + [1 / 2] * 7):  # one of three decides in half the cases
        assert credible(votes[:, expert].sum(), 20_000, 1 / 2)
        assert credible((votes[:, expert] == labels).sum(), 20_000, p)


def test_drifting_before_its_first_change_is_the_majority_problem() -> None:
    for every in (500, 501):
        assert same(drifting(500, noise=0.1, every=every, seed=8), majority(500, noise=0.1, seed=8))


def test_in_every_stretch_exactly_one_set_decides_and_the_sets_change() -> None:
    votes, labels = drifting(600, relevant=3, experts=7, classes=4, every=100, seed=9)
    found = []
    for start in range(0, 600, 100):
        rows = slice(start, start + 100)
        (decides,) = slow.deciding_sets(votes[rows].tolist(), labels[rows].tolist(), 3)
        found.append(decides)
    assert found[0] == (0, 1, 2)
    assert len(set(found)) > 3


def test_a_new_set_takes_every_expert_equally_often() -> None:
    votes, labels = drifting(30_000, relevant=1, experts=5, classes=50, every=3, seed=10)
    agreed = votes.reshape(10_000, 3, 5) == labels.reshape(10_000, 3)[:, :, None]
    decides = agreed.all(axis=1)[1:]  # a bystander agrees three times with probability 50 ** -3
    for expert in range(5):
        assert credible(decides[:, expert].sum(), len(decides), 1 / 5 + 4 / 5 * 50**-3)


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_drifting_keeps_labels_and_noise_and_only_reseats_the_experts(every: int) -> None:
    moved, still = drifting(2500, noise=0.2, every=every), majority(2500, noise=0.2)
    assert np.array_equal(moved.labels, still.labels)
    assert np.array_equal(np.sort(moved.votes, axis=1), np.sort(still.votes, axis=1))


@pytest.mark.parametrize(
    ("make", "options", "requirement"),
    [
        (majority, {"trials": -1}, "an integer trials >= 0 (got -1)"),
        (majority, {"trials": 1e3}, "an integer trials >= 0 (got 1000.0)"),
        (majority, {"relevant": 30}, "relevant <= experts (got relevant=30, experts=20)"),
        (majority, {"relevant": 0}, "an integer relevant >= 1 (got 0)"),
        (majority, {"classes": 1}, "an integer classes >= 2 (got 1)"),
        (majority, {"noise": 1.5}, "0 <= noise <= 1 (got 1.5)"),
        (majority, {"noise": math.nan}, "0 <= noise <= 1 (got nan)"),
        (majority, {"speak": -0.1}, "0 <= speak <= 1 (got -0.1)"),
        (majority, {"ties": "random"}, 'ties="class" or ties="expert" (got \'random\')'),
        (majority, {"seed": -7}, "an integer seed >= 0 (got -7)"),
        (majority, {"seed": None}, "an integer seed >= 0 (got None)"),
        (panel, {"trials": -2}, "an integer trials >= 0 (got -2)"),
        (panel, {"size": 4}, "an odd size, which rules out ties (got 4)"),
        (panel, {"signs": (1, -1)}, "an odd size, which rules out ties (got 2)"),
        (panel, {"signs": (1, 0, -1)}, "signs that are 1 or -1 (got 0)"),
        (panel, {"size": 5, "experts": 3}, "size <= experts (got size=5, experts=3)"),
        (panel, {"signs": (1, 1, 1), "experts": 2}, "len(signs) <= experts (got len(signs)=3, experts=2)"),
        (drifting, {"trials": -3}, "an integer trials >= 0 (got -3)"),
        (drifting, {"every": 0}, "an integer every >= 1 (got 0)"),
        (drifting, {"noise": 2}, "0 <= noise <= 1 (got 2)"),
        (drifting, {"experts": 0}, "an integer experts >= 1 (got 0)"),
        (drifting, {"relevant": 21}, "relevant <= experts (got relevant=21, experts=20)"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(
    make: Callable[..., VoteData], options: dict[str, Any], requirement: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{make.__name__} requires {requirement}')}$"):
        make(**({"trials": 10} | options))
