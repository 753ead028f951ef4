"""What kernels must be equal to: linear machines, the direct formula, and themselves in any pieces."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linmax import Averaged, Fusion, Perceptron, Recycled, load
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Gaussian, Kernel, Linear, Polynomial, Shared, Source, Thresholds
from linmax.spec import Learner
from tests.experts.test_kernel import KINDS, cells, follow, memories, stream
from tests.helpers.examples import EVERYTHING
from tests.helpers.sessions import different, same
from tests.oracles.kernels import Dual
from tests.oracles.sharing import ALL, EACH, KernelOracle

SETS = {"even": (0, 2), "low": (0, 1), "all": (0, 1, 2)}
PAIRS: dict[str, tuple[Source, Source]] = {
    "multi": (Kernel(Linear()), Attributes()),
    "single": (Kernel(Linear(), "product"), Shared("product")),
    "hybrid": (Kernel(Linear(), "product") + Kernel(Linear()), Shared("product") + Attributes()),
    "half": (Kernel(Linear(), "product") + Attributes(), Shared("product") + Attributes()),
    "sets": (Kernel(Linear(), "product", sets=SETS), Shared("product", sets=SETS)),
    "plain sets": (
        Kernel(Linear(), sets=SETS) + Thresholds(),
        Shared("plain", sets=SETS, statistic="first") + Thresholds(),
    ),
}
WAYS: dict[str, Any] = {
    "plain": lambda rule: rule,
    "violators": lambda rule: Perceptron(rivals="violators"),
    "averaged": Averaged,
    "recycled": lambda rule: Recycled(rule, size=6, updates=3),
    "both": lambda rule: Averaged(Recycled(rule, size=4, updates=2)),
    "unlimited": lambda rule: Recycled(rule, size=4, updates=None),
}


def whole(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers but 0, so that all sub-experts speak at once: a support has always spoken."""
    rng = np.random.default_rng(seed)
    xs = rng.choice([-2.0, -1.0, 1.0, 2.0], (count, 4))
    return xs, ((xs[:, 0] > 0) + (xs[:, 1] > 1) + (rng.random(count) < 0.3)).astype(int) % 3


@pytest.mark.parametrize(
    ("pair", "way"),
    [
        # the slowest: sets are recycled without a limit without thresholds, too
        pytest.param(*cell, marks=pytest.mark.slow if cell == ("plain sets", "unlimited") else ())
        for cell in itertools.product(PAIRS, WAYS)
    ],
)
def test_a_linear_kernel_is_no_kernel(pair: str, way: str) -> None:
    """Whole numbers (and halves): the same guesses and the same scores."""
    xs, ys = whole(12 if way == "unlimited" else 30 if EVERYTHING else 20)
    first = {} if pair != "plain sets" else {"x": 0}  # a plain kernel knows a class before its first instance
    with interpreted():
        runs = [Fusion(WAYS[way](Perceptron()).on(source), classes=range(3)) for source in PAIRS[pair]]
        if first:
            for c, run in itertools.product(range(3), runs):
                run.learn(attributes=np.ones((1, 4)) * 0.0, labels=[c])
        guesses = [run.learn(attributes=xs, labels=ys).guesses.tolist() for run in runs]
        scores = [run.scores(attributes=whole(9, seed=1)[0]) for run in runs]
    assert guesses[0] == guesses[1]
    assert runs[0].mistakes == runs[1].mistakes > 2
    assert (
        np.allclose(*scores, rtol=1e-13, atol=1e-13)
        if way in ("averaged", "both")
        else (scores[0] == scores[1]).all()
    )


def test_classes_that_look_the_same_are_no_reason_to_move() -> None:
    """z = 0 where two classes have the same features: no move, no support, no pass after it."""
    xs = np.array([[1.0, 1], [1, 1], [1, 1], [1, -1], [2, 1], [1, 1]])
    with interpreted():
        for way in ("recycled", "unlimited"):
            runs = [Fusion(WAYS[way](Perceptron()).on(source), classes="abc") for source in PAIRS["single"]]
            one, other = (run.learn(attributes=xs, labels=list("abbcba")) for run in runs)
            assert one.moves == other.moves, f"{way}: a kernel moves by nothing"
            assert runs[0].state()["used"].tolist() == runs[1].state()["used"].tolist()


def test_the_dual_is_the_mixing_oracles() -> None:
    """The two slow duals agree where there is no budget."""
    sources = [(ALL, "difference", ("gaussian", 0.5)), ([{"a", "b"}, {"b", "c"}], "plain", ("gaussian", 0.5))]
    one, other = Dual(sources), KernelOracle(sources)
    items = list(stream(40))
    for x, y in items:
        assert one.learn(x, y) == other.learn(x, y)
    for x, _ in items:
        assert list(one.scores(x).values()) == pytest.approx(list(other.scores(x).values()))


# --- the factorisation


@pytest.mark.parametrize("sets", [None, KINDS], ids=["alone", "sets"])
@pytest.mark.parametrize(("scale", "sigma"), [(1.0, 0.001), (100.0, 1.0), (1e4, 1e-3)])
def test_the_factorised_path_is_the_direct_formula_where_it_overflows(
    sets: Any, scale: float, sigma: float
) -> None:
    groups = ALL if sets is None else [set(those) for those in sets.values()]
    dual = Dual([(groups, "difference", ("gaussian", sigma))])
    with interpreted():
        fusion, _ = follow(
            Perceptron().on(Kernel(Gaussian(sigma), "difference", sets=sets)),
            dual,
            stream(30, 3, scale),
            least=8,
        )
        (memory,) = memories(fusion)
        s, count, k = memory.supports, memory.count, len(fusion.classes)
        for x, _ in stream(30, 3, scale):
            fusion.scores(attributes=[cells(x)], new_experts="vote")
            marks = (memory.scratch.near[:count] < 0, memory.scratch.lift[:k] < 0, s.table[:count, :k] < 0)
            if all(mark.any() for mark in marks):
                break
    assert all(mark.any() for mark in marks), "nothing overflows"
    assert s.odd[:count].tolist() == (s.table[:count, :k] < 0).sum(axis=1).tolist()


def test_what_is_far_away_and_near_each_other_is_told_apart() -> None:
    """|u - v|^2 by inner products loses what u and v have in common, here 10^4 times their distance."""
    far = [[1e4 + x, 0.0] for x in (0.0, 0.2, 0.4, 1.0)]
    dual = Dual([(EACH, "plain", ("gaussian", 0.07))])
    with interpreted():
        fusion = Fusion(Perceptron().on(Kernel(Gaussian(0.07))), classes=["a", "b"])
        for x, y in zip(far, "abab", strict=True):
            fusion.learn_one(None, y, attributes=cells(x))
        dual.classes = ["a", "b"]
        dual.run(far, "abab", ["b", "a", "b", "a"])
        dual.supports = [[]]
        for j, held in enumerate(memories(fusion)[0].supports.z[0, : memories(fusion)[0].count]):
            for c, r in enumerate("ab"):
                dual.add(0, frozenset(r), memories(fusion)[0].supports.alpha[j, c], [held, 0.0])
        for x in far:
            ours = fusion.scores(attributes=[cells(x)], new_experts="vote")[0].tolist()
            assert ours == pytest.approx(list(dual.scores(x).values()), abs=1e-6)


# --- pieces, shapes and files

SOURCES: list[Source] = [
    Kernel(Gaussian(0.5)),
    Kernel(Gaussian(0.5), "difference"),
    Kernel(Gaussian(0.5), "difference", sets=KINDS, budget=6, drop="smallest")
    + Kernel(Gaussian(0.2), budget=4),
    Kernel(Polynomial(2, 1.0), "product") + Attributes(),
    Kernel("cauchy_for_tests", "distance", sets=KINDS, budget=5),
]


@pytest.mark.parametrize(
    ("way", "source"),
    [
        # what is averaged and recycled takes the paths of what is not
        pytest.param(way, source, marks=() if way == "both" or (way, n) == ("plain", 1) else pytest.mark.slow)
        for way in ("plain", "averaged", "both")
        for n, source in enumerate(SOURCES)
    ],
    ids=str,
)
def test_pieces_items_shapes_and_files_are_the_whole(source: Source, way: str, tmp_path: Path) -> None:
    learner: Learner = WAYS[way](Perceptron()).on(source)
    items = list(stream(24, 5))
    xs, ys = np.array([x for x, _ in items]), [y for _, y in items]
    with interpreted():
        once, single, pieces, csr = (Fusion(learner) for _ in range(4))
        guesses = once.learn(attributes=xs, labels=ys).guesses.tolist()
        found: list[list[Any]] = [[], []]
        for x, y in items:
            found[0].append(single.learn_one(None, y, attributes=dict(enumerate(x))))
        for begin, end in itertools.pairwise([0, 1, 2, 11, 20, 24]):
            found[1] += pieces.learn(attributes=xs[begin:end], labels=ys[begin:end]).guesses.tolist()
            pieces.save(tmp_path / "m")
            pieces = load(tmp_path / "m")
        found.append(csr.learn(attributes=sparse.csr_matrix(xs), labels=ys).guesses.tolist())
        scores = [it.scores(attributes=xs).tobytes() for it in (once, single, pieces, csr)]
    assert found == [guesses] * 3
    for other in (single, pieces, csr):
        assert same(once, other), different(once, other)
    assert len(set(scores)) == 1
    assert memories(once)[0].count > 3


def test_minus_zero_is_zero() -> None:
    xs, ys = np.array([[1.0, -0.0], [-0.0, 2.0], [1.0, 1.0]]), ["a", "b", "b"]
    with interpreted():
        one, other = (Fusion(Perceptron().on(Kernel(Gaussian(0.5))), classes="ba") for _ in range(2))
        one.learn(attributes=xs, labels=ys)
        other.learn(attributes=sparse.csr_matrix(xs), labels=ys)
    assert same(one, other), different(one, other)
