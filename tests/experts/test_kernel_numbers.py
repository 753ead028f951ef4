"""Kernels on numbers that are large, far from 0 or far apart; and what is refused instead of going wrong."""

import math
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Perceptron
from linmax._jit.compilation import interpreted
from linmax.bounds import Case, bound, mistake_bound, overlap
from linmax.experts import Gaussian, Kernel, Linear, Polynomial, Shared
from tests.oracles.sharing import ALL, EACH, KernelOracle


def cloud(count: int, seed: int = 1) -> tuple[np.ndarray, list[str]]:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points, ["abc"[int(3 * x) % 3] for x in np.abs(points[:, 0])]


@pytest.mark.parametrize("offset", [2.0**20, 2.0**30])
def test_where_the_origin_is_does_not_matter_to_a_gaussian(offset: float) -> None:
    points, labels = cloud(120)
    points = np.round(points * 1024) / 1024  # so that adding the offset loses nothing
    with interpreted():
        here, there = (
            Fusion(Perceptron().on(Kernel(Gaussian(0.5)))).learn(attributes=points + at, labels=labels)
            for at in (0.0, offset)
        )
    assert here.guesses.tolist() == there.guesses.tolist()


@pytest.mark.parametrize("sigma", [0.01, 0.05])
def test_products_of_factors_are_the_formula_also_for_narrow_kernels(sigma: float) -> None:
    points, labels = cloud(60)
    oracle = KernelOracle([(ALL, "difference")], ("gaussian", sigma))
    with interpreted():
        fusion = Fusion(Perceptron().on(Kernel(Gaussian(sigma), "difference")))
        for x, y in zip(points.tolist(), labels, strict=True):
            guess = fusion.learn_one(None, y, attributes=dict(enumerate(x)))
            oracle.learn(x, y, imposed=guess)
        scores = fusion.scores(attributes=points[:20])
    for x, row in zip(points.tolist(), scores.tolist(), strict=False):
        for label, score in zip(fusion.classes, row, strict=True):
            assert math.isclose(score, oracle.scores(x)[label], rel_tol=1e-9, abs_tol=1e-280)


def test_what_a_polynomial_would_make_infinite_is_refused_and_nothing_is_lost() -> None:
    points, labels = cloud(30)
    with interpreted():
        fusion = Fusion(Perceptron().on(Kernel(Polynomial(20))))
        fusion.learn(attributes=points, labels=labels)
        before = {name: array.tobytes() for name, array in fusion.state().items()}
        for refused in (
            lambda: fusion.learn(attributes=points * 1e30, labels=labels),
            lambda: fusion.predict(attributes=points * 1e30),
        ):
            with pytest.raises(ValueError, match="scale attributes to about 1"):
                refused()
        assert np.isfinite(fusion.scores(attributes=points)).all()
    assert before == {name: array.tobytes() for name, array in fusion.state().items()}


def test_a_linear_kernel_is_not_bothered_by_what_a_polynomial_is() -> None:
    points, labels = cloud(30)
    oracle = KernelOracle([(EACH, "plain")], "linear")
    with interpreted():
        fusion = Fusion(Perceptron().on(Kernel(Linear())))
        run = fusion.learn(attributes=points * 1e30, labels=labels)
    assert run.guesses.tolist() == oracle.run((points * 1e30).tolist(), labels)


def test_there_is_no_bound_with_a_budget() -> None:
    case = Case(n=9, delta=1, u=[1, 1, 1], length=math.sqrt(2))
    assert bound(Perceptron().on(Kernel(Gaussian(1.0))), case) == pytest.approx(6.0)
    assert bound(Perceptron().on(Kernel(Gaussian(1.0), budget=1)), case) is None
    assert "budget" in mistake_bound(Perceptron().on(Kernel(Gaussian(1.0), budget=1)), case).reason


def test_rho_is_counted_of_lists_dicts_and_the_sets_of_a_source() -> None:
    sets = {"water": ["cod", "duck"], "air": ["duck", "owl"]}
    assert overlap(sets) == overlap(list(sets.values())) == overlap(Shared("plain", sets=sets).sets) == 2
    with pytest.raises(ValueError, match="requires sets of classes"):
        overlap(3)  # type: ignore[arg-type]


def allocates(u: Any, v: Any) -> Any:
    return (u * v).sum()


def no_pair(x: float) -> float:
    return x


def test_functions_that_cannot_serve_are_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match="write it as a loop over numbers"):
        Kernel(allocates)
    with pytest.raises(ValueError, match="a map of two numbers, x and p"):
        Shared(no_pair)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"finite everywhere \(got nan at"):
        Shared(lambda x, p: math.nan if x > 1 else 0.0)
    with pytest.raises(ValueError, match="classes in the set 'none'"):
        Shared(sets={"none": {}})
    assert Shared(sets={"few": range(2)}) == Shared(sets={"few": np.array([0, 1])})
