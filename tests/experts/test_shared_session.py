"""Sessions on shared hypotheses: any shape of data, any pieces, files, committees, explanations."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linmax import Averaged, Combine, Fusion, Mixture, Perceptron, Recycled, Voted, WeightedMajority, Winnow
from linmax import load as load_session
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Shared, Source, Thresholds, Votes
from linmax.spec import Learner
from tests.helpers import compare_committees
from tests.helpers.covering import every_pair
from tests.helpers.sessions import different, same

KINDS = {"left": ("a", "b"), "right": ("c", "d"), "odd": ("a", "c")}
SOURCES: list[Source] = [
    Shared("product") + Attributes(),
    Shared("distance", sets=KINDS) + Thresholds(),
    Shared("difference", sets=KINDS, statistic="first") + Shared("ternary"),
]
BANK = [
    Perceptron().on(Shared("distance")),
    Perceptron().on(Attributes()),
    Averaged(Recycled(Perceptron(), size=4, updates=2)).on(Shared("distance", sets=KINDS) + Attributes()),
]


def table(count: int, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Two of six attributes come late, and so do two classes; half of all is zero."""
    rng = np.random.default_rng(seed)
    xs = rng.choice([0.0, 0.0, 1.0, -0.5, 0.25], (count, 6))
    xs[: count // 3, 4:] = 0.0
    codes = (xs[:, 0] > 0) + 2 * (xs[:, 1] + xs[:, 2] > 0) * (np.arange(count) > count // 4)
    return xs, [["a", "b", "c", "d"][c if rng.random() < 0.8 else 0] for c in codes]


def taught(learner: Learner, xs: Any, ys: Any) -> tuple[Fusion, list[Any]]:
    fusion = Fusion(learner)
    return fusion, fusion.learn(attributes=xs, labels=ys).guesses.tolist()


@pytest.mark.parametrize("source", SOURCES, ids=repr)
@pytest.mark.parametrize("wrap", [Averaged, lambda rule: Recycled(rule, size=5, updates=2)], ids=["a", "r"])
def test_dense_sparse_and_dicts_are_the_same_to_the_bit(source: Source, wrap: Any) -> None:
    xs, ys = table(30)
    named = [{a: x for a, x in enumerate(row) if x} for row in xs.tolist()]
    with interpreted():
        one, guesses = taught(wrap(Perceptron()).on(source), xs, ys)
        for other_form in (sparse.csr_matrix(xs), [dict(enumerate(row)) for row in xs.tolist()]):
            other, others = taught(wrap(Perceptron()).on(source), other_form, ys)
            assert others == guesses
            assert same(one, other)
            assert (one.scores(attributes=xs) == other.scores(attributes=xs)).all()
        late, others = taught(
            wrap(Perceptron()).on(source), named, ys
        )  # here attributes come as they are met
    assert others == guesses
    assert late.weights == {key: w for key, w in one.weights.items() if key in late.weights}


def test_cost_follows_the_words_that_are_there() -> None:
    """A map that is asked only of what is there: the vocabulary is never gone over."""
    asked = 0

    def counted(x: float, p: float) -> float:
        nonlocal asked
        asked += 1
        return x * p

    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(200), 3), rng.integers(0, 50_000, 600)
    words = sparse.csr_matrix((np.ones(600), (rows, columns)), shape=(200, 50_000))
    source = Shared(counted)
    with interpreted():
        fusion = Fusion(Perceptron().on(source), classes=range(4))
        asked = 0
        fusion.learn(attributes=words, labels=rng.integers(0, 4, 200))
    assert fusion.trials == 200
    assert 0 < asked <= 200 * 3 * 4 * 3 + 50 * 50 * 50  # scores, z, newcomers; and what construction asks


@every_pair(source=SOURCES, wrap=["plain", "recycled"], rule=[Perceptron(), Winnow(1.3)], ids=str)
def test_pieces_items_tickets_and_files_are_the_whole(
    source: Source, wrap: str, rule: Any, tmp_path: Path
) -> None:
    xs, ys = table(30, seed=2)
    learner = (Averaged(Recycled(rule, size=6, updates=2)) if wrap == "recycled" else rule).on(source)
    with interpreted():
        whole, guesses = taught(learner, xs, ys)
        pieces, single, later = Fusion(learner), Fusion(learner), Fusion(learner)
        found: list[list[Any]] = [[], [], []]
        for begin, end in itertools.pairwise([0, 1, 2, 9, 22, 30]):
            found[0] += pieces.learn(attributes=xs[begin:end], labels=ys[begin:end]).guesses.tolist()
            pieces.save(tmp_path / "m")
            pieces = load_session(tmp_path / "m")
        for row, y in zip(xs.tolist(), ys, strict=True):
            cells = dict(enumerate(row))
            found[1].append(single.learn_one(None, y, attributes=cells))
            ticket = later.predict_one(attributes=cells, ticket=True)
            found[2].append(ticket.guess)
            later.learn_one(ticket, y)
    assert found == [guesses] * 3
    assert same(whole, pieces)
    assert same(whole, single)
    assert same(whole, later)


# --- committees


@pytest.mark.parametrize(
    "committee",
    [
        Combine(BANK, hypotheses=4, window=6, recent=5, patience=9),
        Combine(BANK[:2], hypotheses=2, recent=0, patience=5),
        Voted(BANK[2], hypotheses=4, recent=3),
        Combine(BANK, choose="random", hypotheses=3),
    ],
    ids=["combine", "plain combine", "voted", "random"],
)
def test_a_committee_that_votes_is_the_oracles(committee: Learner) -> None:
    stream = compare_committees.random_stream(30, 3, parts="attributes")
    with interpreted():
        fusion, _, given = compare_committees.follow(committee, stream)
        assert len(given) > 15
        whole = Fusion(committee)
        compare_committees.at_once(whole, given)
    assert same(whole, fusion), different(whole, fusion)


@pytest.mark.parametrize("kind", [WeightedMajority, Mixture])
def test_majorities_take_members_that_share(kind: Any, tmp_path: Path) -> None:
    stream = compare_committees.random_stream(35, 4, parts="attributes")
    with interpreted():
        fusion = Fusion(kind(BANK))
        compare_committees.at_once(fusion, stream[:20])
        fusion.save(tmp_path / "m")
        fusion = load_session(tmp_path / "m")
        compare_committees.at_once(fusion, stream[20:])
        whole = Fusion(kind(BANK))
        compare_committees.at_once(whole, stream)
    assert same(whole, fusion)
    assert 0 < whole.mistakes < whole.trials


def test_a_saved_committee_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    committee = Combine(BANK, hypotheses=4, window=6, recent=5, patience=9)
    stream = compare_committees.random_stream(30, 5, parts="attributes")
    with interpreted():
        whole = Fusion(committee)
        compare_committees.at_once(whole, stream)
        for cut in (1, 17):
            fusion = Fusion(committee)
            compare_committees.at_once(fusion, stream[:cut])
            fusion.save(tmp_path / "m")
            fusion = load_session(tmp_path / "m")
            compare_committees.at_once(fusion, stream[cut:])
            assert same(whole, fusion), different(whole, fusion)


# --- explanations, and all the rest


@pytest.mark.parametrize("source", [*SOURCES, Votes() + Shared("distance", sets=KINDS)], ids=repr)
@pytest.mark.parametrize("wrap", [lambda rule: rule, Averaged], ids=["plain", "averaged"])
def test_contributions_add_up_to_the_scores(source: Source, wrap: Any) -> None:
    xs, ys = table(40, seed=6)
    votes = None if source.parts[0] != Votes() else [{"e": y} for y in reversed(ys)]
    with interpreted():
        fusion = Fusion(wrap(Perceptron()).on(source))
        fusion.learn(votes, ys, attributes=xs)
        for t, row in enumerate(xs[:6].tolist()):
            item = None if votes is None else votes[t]
            told = fusion.explain_one(item, attributes=dict(enumerate(row)))
            scores = fusion.scores(None if item is None else [item], attributes=xs[t : t + 1])[0]
            assert list(told.scores) == fusion.classes
            assert np.allclose(list(told.scores.values()), scores, rtol=1e-12, atol=1e-12)
            for label, score in told.scores.items():
                parts = [row.get(label, 0.0) for row in told.contributions.values()]
                assert np.isclose(sum(parts), score, rtol=1e-12, atol=1e-12)
    assert any(told.scores.values())
