"""Vectors of eight numbers: compiled, each operation gives the bits that it gives as Python."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from linmax._jit import compilation
from linmax._jit.vectors import (
    WIDTH,
    assign,
    exponents,
    get,
    get_alone,
    increase,
    like,
    mantissas,
    maximum,
    over_root,
    power_of_two,
    prefetch,
    put,
    splat,
    take,
    total,
    where_above,
    wide,
)
from linmax.kernels.elementwise import LOWEST, exp_of, log_of
from tests.helpers.examples import examples

ROUND = 6755399441055744.0


def operate(a, b, positive, x, whole, doubles, out, wide_out, numbers):
    """Do everything once: rows of `out` are of the type of the vectors, those of `wide_out` are float64."""
    prefetch(a, 3)
    prefetch(b, 1 << 40)  # of no array: nothing is read
    v, w = take(a, 3), take(b, 0)
    put(out, 0, v + w)
    put(out, 8, v - w)
    put(out, 16, v * w)
    put(out, 24, v / w)
    put(out, 32, v + x)
    put(out, 40, x - v)
    put(out, 48, x * v)
    put(out, 56, x / v)
    put(out, 64, v * whole)
    put(out, 72, maximum(v, w))
    put(out, 80, maximum(v, x))
    put(out, 88, where_above(v, w, v, w))
    put(out, 96, where_above(v, x, 1.0, w))
    put(out, 104, where_above(v, w, 1.0, 0.0))
    put(out, 112, over_root(v, take(positive, 0)))
    put(out, 120, like(out, take(doubles, 0)))
    put(wide_out, 0, wide(v))
    put(wide_out, 8, splat(x))
    put(wide_out, 16, splat(whole))
    d = take(doubles, 0)
    put(wide_out, 24, exponents(d))
    put(wide_out, 32, mantissas(d))
    put(wide_out, 40, power_of_two(splat(ROUND) + whole))
    put(wide_out, 48, wide(v) * d + d)  # never contracted
    put(wide_out, 56, exp_of(take(wide_out, 0)))
    put(wide_out, 64, log_of(d))
    numbers[0] = total(v)
    numbers[1] = get(a, 5)
    numbers[2] = get_alone(b, 7)
    assign(out, 128, x)
    increase(out, 128, v_sum(a))
    increase(out, 129, x)


@compilation.inline
def v_sum(a):
    """A number of the type of the array."""
    return a[0] + a[1]


kernel = compilation.CompiledKernel(operate)


def numbers(bits: int, *, least: float = -600.0) -> st.SearchStrategy[Any]:
    """Vectors, not all of whose numbers are different."""
    elements = st.floats(least, 600.0, width=bits, allow_subnormal=False)  # type: ignore[arg-type]
    return arrays(np.dtype(f"float{bits}"), 12, elements=elements | st.sampled_from([1.0, 2.0]))


@pytest.mark.parametrize("bits", [64, 32])
@examples(20)
@given(data=st.data())
def test_every_operation_on_vectors_is_the_same_compiled(bits: int, data: st.DataObject) -> None:
    a, b = data.draw(numbers(bits)), data.draw(numbers(bits))
    positive = data.draw(numbers(bits, least=1.0))
    doubles = data.draw(arrays(np.float64, WIDTH, elements=st.floats(1e-300, 1e300) | st.just(1.5)))
    x = data.draw(st.floats(-100.0, 100.0, allow_subnormal=False))
    whole = data.draw(st.integers(-60, 60))
    results = []
    for run in (kernel, kernel.python):
        out, wide_out = np.zeros(17 * WIDTH, dtype=a.dtype), np.zeros(9 * WIDTH)
        single = np.zeros(3)
        with np.errstate(all="ignore"):
            run(a, b, positive, x, whole, doubles, out, wide_out, single)
        results.append([out, wide_out, single])
    for compiled, interpreted in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)  # nan equals nan here
        signs = [np.signbit(part[~np.isnan(part)]).tolist() for part in (compiled, interpreted)]
        assert signs[0] == signs[1]


@given(st.floats(-1e6, 700.0))
def test_exp_is_close_and_constant_far_below(x: float) -> None:
    (found, *_) = exp_of(splat(x)).tolist()
    assert found == pytest.approx(math.exp(max(x, LOWEST)), rel=6e-11, abs=0.0)


def test_exp_of_0_is_1() -> None:
    assert exp_of(splat(0.0)).tolist() == [1.0] * WIDTH
    assert exp_of(splat(-0.0)).tolist() == [1.0] * WIDTH


@given(st.floats(2.3e-308, 1e308) | st.floats(0.5, 2.0))
def test_log_is_within_4_units_in_the_last_place(x: float) -> None:
    (found, *_) = log_of(splat(x)).tolist()
    assert abs(found - math.log(x)) <= 4 * math.ulp(math.log(x))


def test_log_of_1_is_0() -> None:
    assert log_of(splat(1.0)).tolist() == [0.0] * WIDTH


@given(st.floats(1.0, 2.0**100, width=32))
def test_an_inverse_root_of_float32_is_within_2_parts_in_10000(x: float) -> None:
    one, vector = np.ones(WIDTH, dtype=np.float32), np.full(WIDTH, x, dtype=np.float32)
    assert float(over_root(one, vector)[0]) == pytest.approx(1.0 / math.sqrt(x), rel=2e-4, abs=0.0)
