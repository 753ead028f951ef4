"""WinnowSearch: against the slow one, in chunks and items of any size, and within its bound."""

import math
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Mixture, Perceptron, WeightedMajority, Winnow, WinnowSearch, checks, load
from linmax._jit.compilation import interpreted
from linmax.bounds import Case, bound, grid_factor, search_bound
from linmax.checks.mistake_bounds import run_adversary, separable_case
from linmax.experts import Pairs, Votes
from linmax.problems import adversary, majority
from tests.helpers.compare_committees import at_once, follow, random_stream
from tests.helpers.sessions import different, same

SMALL = WinnowSearch([Winnow(1.3), Winnow(2.0)], slots=2)
GRID = [Winnow.from_eta(2.0 * 3.0**-i) for i in range(8)]


def weights_agree(fusion: Fusion, oracle: Any, *, exact: bool, where: str) -> None:
    head = fusion.runner.predictor
    ours = {m: head.logs[m] for m in range(len(head.members)) if head.spoken[m]}
    assert ours == pytest.approx(oracle.logs, rel=1e-9, abs=1e-9), where
    for member, other in zip(head.voters(), oracle.members, strict=False):
        assert member.learner.alpha == pytest.approx(other.rule.alpha, rel=1e-12), where


def test_it_is_the_oracle_with_newcomers_and_novel_labels() -> None:
    with interpreted():
        fusion, oracle, given = follow(SMALL, random_stream(90, 3), agreed=weights_agree)
        whole = Fusion(SMALL)
        at_once(whole, given)
    assert oracle.labelled > 64  # two slots are filled, then a copy is replaced
    assert len(oracle.members) == 4
    assert same(fusion, whole), different(fusion, whole)


def test_compiled_chunks_single_items_and_a_saved_session_go_on_alike(tmp_path: Any) -> None:
    votes, labels = majority(300, noise=0.2)
    whole, chunks, items, saved = (Fusion(SMALL) for _ in range(4))
    whole.learn(votes, labels)
    for begin in range(0, 300, 23):
        chunks.learn(votes[begin : begin + 23], labels[begin : begin + 23])
    for row, y in zip(votes.tolist(), labels.tolist(), strict=True):
        items.learn_one(dict(enumerate(row)), y)
    for begin, end in ((0, 64), (64, 100), (100, 300)):  # the first cut is where a copy was made
        saved.learn(votes[begin:end], labels[begin:end])
        saved.save(tmp_path / "model")
        saved = load(tmp_path / "model")
    for other in (chunks, items, saved):
        assert same(whole, other), different(whole, other)


def test_a_copy_starts_with_the_hypothesis_of_the_best_member_and_half_its_rate() -> None:
    votes, labels = majority(16, noise=0.2)
    fusion = Fusion(SMALL)
    fusion.learn(votes[:15], labels[:15])
    assert len(fusion.members) == 2
    fusion.learn(votes[15:], labels[15:])
    head = fusion.runner.predictor
    best = head.members[int(head.logs[:2].argmax())]
    copy = head.copies[0]
    assert copy.learner.alpha == pytest.approx(math.sqrt(best.learner.alpha))
    assert copy.vector().tolist() == best.vector().tolist()
    assert len(fusion.members) == 3


def test_rows_without_a_label_count_for_nothing() -> None:
    votes, labels = majority(100, noise=0.2)
    plain, gaps = Fusion(SMALL, classes=range(5)), Fusion(SMALL, classes=range(5))
    plain.learn(votes, labels)
    some: list[Any] = [y for label in labels.tolist() for y in (label, None)]
    gaps.learn(np.repeat(votes, 2, axis=0), some)
    assert same(plain, gaps), different(plain, gaps)


def test_a_rule_outside_of_the_search_keeps_its_own_run() -> None:
    votes, labels = majority(200, noise=0.1)
    alone = Fusion(SMALL)
    alone.learn(votes, labels)
    nested = Fusion(Mixture([SMALL, Winnow(2.0), Perceptron()]))
    nested.learn(votes, labels)
    head = nested.runner.predictor.members[0]
    assert head.logs.tolist() == alone.runner.predictor.logs.tolist()


@pytest.mark.slow  # the tests of all committees check most of this on a stream with newcomers
def test_it_passes_the_common_checks() -> None:
    names = checks.applicable(SMALL)
    assert len(names) > 10
    for name in names:
        getattr(checks, name)(SMALL)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WinnowSearch([Perceptron()]), "differ in alpha only"),
        (lambda: WinnowSearch([Winnow(1.2), Winnow(1.3, slack=0.1)]), "differ in alpha only"),
        (lambda: WinnowSearch([Winnow(1.2), Winnow(1.2)]), "members that differ"),
        (lambda: WinnowSearch(slots=1), "2 <= slots <= 100"),
        (lambda: WinnowSearch(multiplier=1.0), "1 < multiplier"),
        (lambda: Fusion(WinnowSearch().on(Pairs())), "source with a memory"),
        (lambda: search_bound(SMALL, Case(n=9, delta=0.1), -1), "trials >= 0"),
        (lambda: grid_factor(1.0), "ratio > 1"),
    ],
)
def test_bad_parameters_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# --- the bound


@pytest.mark.parametrize("size", [1, 3])
def test_adversaries_of_single_members_stay_within_the_bound(size: int) -> None:
    learner = WinnowSearch().on(Votes())
    case = Case(n=30, delta=1 / size, u=[1 / size] * size)
    for rule in learner.members[1:3]:
        votes, labels = adversary(rule, 100, experts=30, size=size)
        made = Fusion(learner, classes=[0, 1]).learn(votes, labels).mistakes
        assert made <= search_bound(learner, case, len(labels))


def test_items_that_are_all_predicted_wrong_end_within_the_bound() -> None:
    learner = WinnowSearch([Winnow(1.1), Winnow(1.4)], slots=2)
    most = search_bound(learner, separable_case(3), 1000)
    fusion = Fusion(learner, classes=range(3))
    run_adversary(fusion, 3, 60)
    assert 15 < fusion.mistakes <= most
    assert fusion.trials == fusion.mistakes


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_random_streams_stay_within_the_bound(noise: float) -> None:
    rng = np.random.default_rng(5)
    votes = rng.integers(2, size=(4000, 40))
    labels = (votes[:, :3].sum(axis=1) > 1).astype(int)
    wrong = rng.random(4000) < noise
    labels[wrong] = 1 - labels[wrong]
    z = np.where(votes == labels[:, None], 1, -1)[:, :3].sum(axis=1) / 3
    case = Case(n=40, delta=1 / 3, u=[1 / 3] * 3, hinge=float(np.maximum(1 / 3 - z, 0).sum()))
    learner = WinnowSearch().on(Votes())
    most = search_bound(learner, case, 4000)
    assert most is not None
    assert Fusion(learner, classes=[0, 1]).learn(votes, labels).mistakes <= most


def test_the_best_rate_of_the_grid_is_within_the_factor_of_the_best_rate_in_the_range() -> None:
    for delta in np.geomspace(0.001, 0.9, 10):
        for hinge in (0.0, 1.0, 100.0):
            case = Case(n=50, delta=float(delta), hinge=hinge)
            rates = np.geomspace(2.0 * 3.0**-7, 2.0, 40)
            best = min(b for eta in rates if (b := bound(Winnow.from_eta(float(eta)), case)) is not None)
            grid = min(b for rule in GRID if (b := bound(rule, case)) is not None)
            assert grid <= grid_factor(3.0) * best
            if not hinge:
                assert grid <= grid_factor(3.0, noise=False) * 2 * math.log(50) / delta**2


def test_without_a_member_that_has_a_bound_there_is_none() -> None:
    assert search_bound(SMALL, Case(n=50, delta=0.001), 100) is None


def test_with_the_same_members_it_makes_fewer_mistakes_than_weighted_majority() -> None:
    votes, labels = majority(2000, noise=0.05)
    fixed = Fusion(WeightedMajority(GRID, multiplier=1.2)).learn(votes, labels).mistakes
    assert Fusion(WinnowSearch()).learn(votes, labels).mistakes < 0.9 * fixed
