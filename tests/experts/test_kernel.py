"""Kernels against the slow dual: supports, coefficients and scores after every trial."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import linmax
from linmax import Averaged, Fusion, Perceptron, Recycled
from linmax._jit.compilation import interpreted
from linmax.experts import Gaussian, Kernel, Linear, Polynomial, Source
from linmax.spec import Learner
from tests.helpers.compare_rules import NEAR
from tests.helpers.examples import EVERYTHING
from tests.oracles.kernels import Dual
from tests.oracles.sharing import ALL, EACH

CLASSES = ["a", "b", "c", "d"]
KINDS = {"early": ("a", "b"), "all": ("a", "b", "c", "d"), "late": ("c",), "two": ("b", "d")}
Item = tuple[list[float], str]


@linmax.register("cauchy_for_tests")
def cauchy(u: Any, v: Any) -> float:
    total = 1.0
    for a in range(len(u)):
        total += (u[a] - v[a]) ** 2
    return 1.0 / total


def stream(count: int, seed: int = 0, scale: float = 1.0, late: int = 8) -> Iterator[Item]:
    """Four attributes, some zero, of which the last comes late, and so do two classes; items come again."""
    rng = random.Random(seed)
    before: list[Item] = []
    for t in range(count):
        if before and rng.random() < 0.15:
            yield rng.choice(before)
            continue
        x = [scale * rng.choice([0.0, rng.uniform(-1, 1), rng.uniform(-1, 1)]) for _ in range(4)]
        x[3] = x[3] if t > late else 0.0
        y = CLASSES[(x[0] > 0) + 2 * (x[1] > 0.2 * scale) * (t > late)]
        before.append((x, y if rng.random() < 0.8 else CLASSES[(t > late) * rng.randint(0, 3)]))
        yield before[-1]


def cells(x: list[float]) -> dict[str, float]:
    return {f"x{a}": value for a, value in enumerate(x) if value}


def follow(learner: Learner, dual: Dual, items: Iterator[Item], classes: Any = (), *, least: int = 10) -> Any:
    """Give both the same items but those on which the oracle is in doubt; the session and the oracle."""
    fusion = Fusion(learner, classes=list(classes) or None)
    done = 0
    for t, (x, y) in enumerate(items):
        where = f"{learner!r}, item {t}"
        rehearsal = dual.twin()
        rehearsal.smallest_gap = 1.0
        scores, guess = dual.scores(x), rehearsal.learn(x, y)
        if rehearsal.smallest_gap < NEAR:
            continue
        dual, done = rehearsal, done + 1
        ours = fusion.scores(attributes=[cells(x)], new_experts="vote")[0]
        size = max([1.0, *map(abs, scores.values())])
        theirs = [float(scores[r]) for r in fusion.classes]
        assert np.allclose(ours, theirs, rtol=0, atol=1e-9 * size), f"{where}: scores {ours}, not {theirs}"
        assert fusion.learn_one(None, y, attributes=cells(x)) == guess, f"{where}: another guess"
        agree(fusion, dual, where)
    assert done >= least
    assert (fusion.trials, fusion.mistakes, fusion.novel) == (dual.trials, dual.mistakes, dual.novel)
    return fusion, dual


def memories(fusion: Fusion) -> list[Any]:
    return [memory for memory in fusion.runner.sources[0].memories if memory is not None]


def agree(fusion: Fusion, dual: Dual, where: str) -> None:
    """The same supports in the same order, with the same coefficients."""
    assert fusion.classes == dual.classes, f"{where}: other classes"
    for memory, source, those in zip(memories(fusion), dual.sources, dual.supports, strict=True):
        s, count = memory.supports, memory.count
        assert s.born[:count].tolist() == [held.number for held in those], f"{where}: other supports"
        sets = [frozenset([r]) for r in fusion.classes] if source[0] == EACH else [ALL]
        sets = [frozenset(tau) for tau in source[0]] if isinstance(source[0], list) else sets
        for j, held in enumerate(those):
            n = len(fusion.names.attributes)
            z = dict(zip(fusion.names.attributes.names, s.z[:n, j].tolist(), strict=True))
            assert [z.get(f"x{a}", 0.0) for a in range(4)] == held.z, f"{where}: another vector {j}"
            alpha = [float(held.alpha.get(tau, 0)) for tau in sets]
            assert np.allclose(s.alpha[j, : len(sets)], alpha, rtol=0, atol=1e-12), f"{where}: weights of {j}"


GROUPS = [set(those) for those in KINDS.values()]
CAUCHY = lambda u, v: 1 / (1 + sum((a - b) ** 2 for a, b in zip(u, v, strict=True)))  # noqa: E731
CASES: dict[str, tuple[Source, list[Any]]] = {
    "multi": (Kernel(Gaussian(0.5)), [(EACH, "plain", ("gaussian", 0.5))]),
    "single": (Kernel(Gaussian(0.5), "difference"), [(ALL, "difference", ("gaussian", 0.5))]),
    "hybrid": (
        Kernel(Gaussian(0.5), "difference") + Kernel(Gaussian(0.3)),
        [(ALL, "difference", ("gaussian", 0.5)), (EACH, "plain", ("gaussian", 0.3))],
    ),
    "multi for sets": (Kernel(Gaussian(0.5), sets=KINDS), [(GROUPS, "plain", ("gaussian", 0.5))]),
    "single for sets": (
        Kernel(Gaussian(0.5), "difference", sets=KINDS),
        [(GROUPS, "difference", ("gaussian", 0.5))],
    ),
    "another map": (Kernel(Gaussian(0.5), "distance"), [(ALL, "distance", ("gaussian", 0.5))]),
    "polynomial": (
        Kernel(Polynomial(3, 0.5)) + Kernel(Polynomial(2, 1.0), "product", sets=KINDS),
        [(EACH, "plain", ("polynomial", 3, 0.5)), (GROUPS, "product", ("polynomial", 2, 1.0))],
    ),
    "linear": (Kernel(Linear(), "difference"), [(ALL, "difference", "linear")]),
    "one's own": (
        Kernel("cauchy_for_tests") + Kernel("cauchy_for_tests", "difference"),
        [(EACH, "plain", CAUCHY), (ALL, "difference", CAUCHY)],
    ),
}
TECHNIQUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (lambda source: Perceptron().on(source), {}),
    "violators": (lambda source: Perceptron(rivals="violators").on(source), {"rivals": "violators"}),
    "averaged": (lambda source: Averaged(Perceptron()).on(source), {"averaged": True}),
    "recycled": (lambda source: Recycled(Perceptron(), size=5, updates=3).on(source), {"recycled": (5, 3)}),
    "both": (
        lambda source: Averaged(Recycled(Perceptron(), size=4, updates=2)).on(source),
        {"recycled": (4, 2), "averaged": True},
    ),
    "unlimited": (
        lambda source: Recycled(Perceptron(), size=3, updates=None).on(source),
        {"recycled": (3, None)},
    ),
}


MOST = [(case, technique) for case in list(CASES)[:5] for technique in TECHNIQUES]
MOST += [(case, technique) for case in list(CASES)[5:] for technique in ("plain", "both")]


def is_slow(case: str, technique: str) -> bool:
    """Sums and sets meet averages and recycling in "both"; "multi" and "single" meet each alone, too."""
    return list(CASES).index(case) >= 2 and technique in ("averaged", "recycled")


@pytest.mark.parametrize(
    ("case", "technique"),
    [pytest.param(*cell, marks=pytest.mark.slow if is_slow(*cell) else ()) for cell in MOST],
)
def test_a_kernel_is_the_oracles(case: str, technique: str) -> None:
    source, slow = CASES[case]
    wrap, options = TECHNIQUES[technique]
    classes = CLASSES if technique in ("violators", "both") else []
    items = stream(24 if EVERYTHING or classes else 18)  # there are fewer mistakes if classes are known
    with interpreted():
        _, dual = follow(wrap(source), Dual(slow, classes=classes, **options), items, classes)
    assert dual.mistakes >= 1
    assert all(dual.supports)
