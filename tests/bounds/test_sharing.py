"""The bound of hypothesis sharing holds on its own data, with the comparators that are known for them."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

from linmax import Perceptron
from linmax.bounds import Case, bound, complexity, hinge_losses, mixing_bound, overlap, published_2006, radius
from linmax.problems import AttributeData, disjoint, penguin, shared
from tests.helpers.examples import EVERYTHING
from tests.oracles.sharing import ALL, EACH, MixingOracle, three_methods

CLASSES = range(16)
ONE, MANY = [CLASSES], [[r] for r in CLASSES]
SHARED = np.array([0.5] * 4 + [0.0] * 60)
SEEDS = (0, 1, 2) if EVERYTHING else (0, 1)


def first_items(table: AttributeData) -> np.ndarray:
    """p^r, the first item of each class."""
    return table.attributes[[table.labels.tolist().index(r) for r in CLASSES]]


def loss(table: AttributeData, u: Any, own: Any) -> float:
    """L of a comparator with a shared vector u and one of its own for each class."""
    scores = (table.attributes * u) @ first_items(table).T + table.attributes @ np.transpose(own)
    return float(hinge_losses(scores, table.labels).sum())


def mistakes(tables: list[AttributeData]) -> dict[str, list[int]]:
    wrong = three_methods([table.attributes for table in tables], [table.labels for table in tables])
    return {method: rows.sum(axis=1).tolist() for method, rows in wrong.items()}


def flipped(table: AttributeData, noise: float, seed: int = 0) -> AttributeData:
    """Other labels on some trials, once all classes have come."""
    rng = np.random.default_rng(seed)
    flips = rng.random(len(table.labels)) < noise
    flips[:300] = False
    return AttributeData(table.attributes, np.where(flips, (table.labels + 1) % 16, table.labels))


NONE, NO_OWN = np.zeros(64), np.zeros((16, 64))
BLOCKS = np.repeat(np.eye(16) / 2, 4, axis=1)  # class r at 1/2 on its own block: 2 against at most 1


def bird(table: AttributeData) -> tuple[np.ndarray, np.ndarray]:
    """A shared vector for the birds that fly; the penguin takes its share of it back, and has its own."""
    u, own = 1.5 * SHARED, np.zeros((16, 64))
    own[15] = -u * first_items(table)[15]
    own[15, 60:] = 1.0
    return u, own


def test_on_the_first_set_one_shared_vector_has_a_bound_of_256_mistakes() -> None:
    tables = [shared(2000, seed=seed) for seed in SEEDS]
    made = mistakes(tables)
    for i, table in enumerate(tables):
        R = radius(table.attributes[:, None] * first_items(table))
        assert R == radius(table.attributes) == 16
        assert loss(table, SHARED, NO_OWN) == 0
        assert made["single"][i] <= mixing_bound(0, complexity([SHARED], rho=1, radius=R)) == 256
        own = SHARED * first_items(table)
        assert loss(table, NONE, own) == 0
        assert made["multi"][i] <= mixing_bound(0, complexity(own, rho=1, radius=R)) == 4096


def test_the_bound_of_the_hybrid_is_twice_that_of_either_part() -> None:
    rho = overlap(ONE + MANY)
    tables = [shared(2000, seed=seed) for seed in SEEDS] + [disjoint(2000, seed=seed) for seed in SEEDS]
    made = mistakes(tables)["hybrid"]
    for i, table in enumerate(tables[: len(SEEDS)]):
        halves = [SHARED, *NO_OWN], [NONE, *(SHARED * first_items(table))]
        promised = [complexity(u, rho=rho, radius=16) for u in halves]
        assert promised == [512, 8192]
        assert made[i] <= mixing_bound(0, promised[0])
    for i, table in enumerate(tables[len(SEEDS) :]):
        assert loss(table, NONE, BLOCKS) == 0
        assert (
            made[len(SEEDS) + i] <= mixing_bound(0, complexity([NONE, *BLOCKS], rho=rho, radius=16)) == 8192
        )


def test_on_the_second_set_a_vector_per_class_has_no_loss_and_a_shared_one_much() -> None:
    tables = [disjoint(3000, seed=seed) for seed in SEEDS]
    made = mistakes(tables)
    for i, table in enumerate(tables):
        assert loss(table, NONE, BLOCKS) == 0
        assert made["multi"][i] <= mixing_bound(0, complexity(BLOCKS, rho=1, radius=16)) == 4096
        assert made["single"][i] > 2500 > 3 * made["multi"][i]


def test_on_the_third_set_the_hybrid_has_the_smallest_bound() -> None:
    tables = [penguin(3000, seed=seed) for seed in SEEDS]
    made = mistakes(tables)
    for i, table in enumerate(tables):
        u, own = bird(table)
        assert loss(table, u, own) == 0
        assert made["hybrid"][i] <= mixing_bound(0, complexity([u, *own], rho=2, radius=16)) == 4352
        alone = own + u * first_items(table)
        assert loss(table, NONE, alone) == 0
        assert made["multi"][i] <= mixing_bound(0, complexity(alone, rho=1, radius=16)) == 9664


@pytest.mark.parametrize("noise", [pytest.param(0.01, marks=pytest.mark.slow), 0.1])
def test_under_noise_the_bound_includes_the_loss(noise: float) -> None:
    tables = [flipped(make(2000, seed=seed), noise, seed) for make in (shared, disjoint) for seed in SEEDS]
    made = mistakes(tables)
    for i, table in enumerate(tables[: len(SEEDS)]):
        L = loss(table, SHARED, NO_OWN)
        own = SHARED * first_items(table)
        assert L == loss(table, NONE, own) >= (table.labels != shared(2000, seed=i).labels).sum() > 0
        assert made["single"][i] <= mixing_bound(L, complexity([SHARED], rho=1, radius=16))
        assert made["multi"][i] <= mixing_bound(L, complexity(own, rho=1, radius=16))
        assert made["hybrid"][i] <= mixing_bound(L, complexity([SHARED, *NO_OWN], rho=2, radius=16))
    for i, table in enumerate(tables[len(SEEDS) :], start=len(SEEDS)):
        L = loss(table, NONE, BLOCKS)
        assert L > 0
        assert made["multi"][i] <= mixing_bound(L, complexity(BLOCKS, rho=1, radius=16))


@pytest.mark.parametrize("map_", ["product", "ternary", "distance", "difference"])
@pytest.mark.parametrize("groups", [[{0, 1}, {1, 2, 3}], [{0, 1, 2, 3}], [{0}, {1}, {2}, {3}]], ids=str)
def test_it_holds_for_any_sets_and_maps_and_the_learners_own_vectors(groups: Any, map_: str) -> None:
    """The comparator is what was learnt, at any scale; features are those of their trial."""
    rng = np.random.default_rng(0)
    xs = rng.integers(2, size=(150, 6))
    ys = [int(x[0] + 2 * x[1]) if rng.random() < 0.9 else int(rng.integers(4)) for x in xs]
    sources = [(groups, map_), (EACH, "plain")]
    learnt = MixingOracle(sources)
    learnt.run(xs, ys)
    again = MixingOracle(sources)  # the same run once more, scored with what was learnt
    scores, lengths = np.full((150, 4), np.nan), [0.0]
    for t, (x, y) in enumerate(zip(xs, ys, strict=True)):
        judge = MixingOracle(sources, classes=again.classes)
        judge.weights, judge.statistics = learnt.weights, again.statistics
        for r, score in judge.scores(x).items():
            scores[t, int(str(r))] = score
        phis = [again.features(0, again.read(x), r) for r in again.classes if again.sets(0, r)]
        lengths += [float(np.linalg.norm(phi)) for phi in phis if phi is not None]
        again.learn(x, y)
    R, rho = max(2 * max(lengths), radius(xs)), overlap(groups + [{r} for r in range(4)])
    for scale in (0.03, 0.3, 3.0):
        u = {tau: scale * np.array(w) for tau, w in learnt.weights.items()}
        L = hinge_losses(scale * scores, ys).sum()
        assert 0 < learnt.mistakes <= mixing_bound(L, complexity(u, rho=rho, radius=R))


# --- what is printed


def adversary() -> tuple[MixingOracle, AttributeData]:
    """Neighbours (classes one bit apart) begin opposite in all that is irrelevant, so that |z|^2 = 244.

    The label is always 15, and the irrelevant attributes make a neighbour of it just as good.
    """
    numbers = sorted(CLASSES, key=lambda r: (r.bit_count() % 2 == 0, -r.bit_count()))  # 7, 11, 13, 14 first
    bits = {r: [1 if r >> i & 1 else -1 for i in (3, 2, 1, 0)] for r in CLASSES}
    it = MixingOracle([(ALL, "product")])
    rows, labels = [bits[r] + [(-1) ** r.bit_count()] * 60 for r in numbers], list(numbers)
    it.run(rows, labels)
    wrong = True
    while wrong:
        w = np.array(it.weights.get((0, ALL), [0] * 64))
        x = np.where(w[4:] >= 0, -1, 1)
        lead = w[:4].min() + w[4:] @ x  # half of w . z
        for i in np.argsort(-abs(w[4:])):
            if lead + 2 * abs(w[4 + i]) <= 0:
                lead += 2 * abs(w[4 + i])
                x[i] = -x[i]
        rows.append(bits[15] + x.tolist())
        labels.append(15)
        wrong = it.learn(rows[-1], 15) != 15
    return it, AttributeData(np.array(rows, dtype=float), np.array(labels))


def test_the_128_of_2006_is_false_and_the_256_of_its_equation_is_not() -> None:
    it, table = adversary()
    assert loss(table, SHARED, NO_OWN) == 0
    assert it.mistakes == 216
    assert published_2006([SHARED], length=8) == 128
    assert complexity([SHARED], rho=1, radius=radius(table.attributes)) == 256


def test_the_2048_of_2006_follows_from_its_lemma_though_not_from_its_equation() -> None:
    table = shared(500)
    own = SHARED * first_items(table)
    lemma = Case(n=own.size, delta=1, u=own.ravel(), length=np.sqrt(2 * 64))  # |(x, -x)|
    assert bound(Perceptron(), lemma) == pytest.approx(2048)
    assert published_2006(own, length=8) == 2048
    assert complexity(own, rho=1, radius=16) == 4096


# --- the parts


def test_a_loss_is_its_formula_and_nothing_on_novel_rounds() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(60, 5)), rng.integers(5, size=60)
    known: list[int] = []
    for t, found in enumerate(hinge_losses(scores, labels)):
        y = labels[t]
        rivals = [scores[t, r] for r in known if r != y]
        expected = max(1 - scores[t, y] + max(rivals), 0) if y in known and rivals else 0
        assert found == pytest.approx(expected)
        known.append(y)
    everywhere = hinge_losses(scores, labels, known=True)
    assert (everywhere >= hinge_losses(scores, labels)).all()
    assert np.array_equal(everywhere, hinge_losses(scores, labels, known=np.ones((60, 5), dtype=bool)))
    names = np.array(list("edcba"))
    assert np.array_equal(everywhere, hinge_losses(scores, names[labels], classes=list("edcba"), known=True))


def test_scores_of_classes_that_are_not_known_are_not_read() -> None:
    assert hinge_losses([[1, np.nan], [0, np.nan], [3, 1]], [0, 1, 1]).tolist() == [0, 0, 3]


def test_radius_and_overlap_are_maxima() -> None:
    rng = np.random.default_rng(0)
    plain, mapped = rng.normal(size=(20, 6)), rng.normal(size=(20, 4, 3))
    norms = [np.linalg.norm(row) for row in [*plain, *mapped.reshape(-1, 3)]]
    assert radius(plain, mapped) == pytest.approx(2 * max(norms))
    mapped[0, 0] = np.nan
    assert radius(mapped) <= radius(plain, mapped)
    assert radius() == radius(np.zeros((0, 3))) == radius(np.full((2, 2), np.nan)) == 0
    for sets in itertools.combinations([{0, 1}, {1, 2}, {0}, {1}, range(4)], 3):
        assert overlap(sets) == max(sum(r in members for members in sets) for r in range(4))
    assert overlap([[0, 0, 0]]) == 1
    assert overlap([]) == 0


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: mixing_bound(-1, 2), "mixing_bound requires loss >= 0 (got -1)"),
        (lambda: mixing_bound(1, float("nan")), "mixing_bound requires complexity >= 0 (got nan)"),
        (
            lambda: complexity([[1]], rho=0, radius=1),
            "rho >= 1 and a finite radius >= 0 (got rho=0, radius=1)",
        ),
        (lambda: complexity([1.5, 2], rho=1, radius=1), "(got 1.5); pass a single vector in a list"),
        (lambda: complexity({"a": [np.inf]}, rho=1, radius=1), "finite numbers for every set (got [inf])"),
        (lambda: hinge_losses([[1, 2]], [0, 1]), "a row of scores per label (got (1, 2) for 2)"),
        (lambda: hinge_losses([[1, 2]], [0], classes="abc"), "a class per column (got 3 for 2 columns)"),
        (lambda: hinge_losses([[1, 2]], [2]), "no column for the label 2; add it to classes="),
    ],
)
def test_an_invalid_comparator_is_rejected_with_one_sentence(made: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        made()
