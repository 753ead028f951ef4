"""What machine code reads from memory: the kinds of arguments tell their types, and addresses are right."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from linmax._jit.memory import LINE, address_of, aligned_zeros, describe


class Pair(NamedTuple):
    """Two arguments in one."""

    first: Any
    second: Any


WIDE = np.zeros((4, 6))
READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
UNALIGNED = np.zeros(25, np.uint8)[1:].view(np.float64)
LAYOUTS = [
    np.zeros(3),
    np.zeros(0),
    np.zeros((0, 0)),
    np.zeros((1, 3)),
    WIDE,
    WIDE.T,
    WIDE[:, ::2],
    WIDE[:, 1],
]
KINDS = [np.zeros(3, kind) for kind in (np.int8, np.uint8, np.int32, np.float32)]
ARRAYS = [*LAYOUTS, *KINDS, WIDE[1:3], READ_ONLY, UNALIGNED]
NUMBERS: list[Any] = [1, 1.0, Pair(1, 2.0), Pair(1.0, 2), (1, 2.0), Pair(1, (2.0,))]
ARGUMENTS = [*((one,) for one in ARRAYS + NUMBERS), (1, 2.0)]


def test_equal_kinds_are_equal_types() -> None:
    for one, other in combinations(ARGUMENTS, 2):
        if describe(one)[0] == describe(other)[0]:
            assert tuple(map(numba.typeof, one)) == tuple(map(numba.typeof, other))


def test_many_arrays_of_one_type_have_one_kind() -> None:
    """A kind of its own costs a look at all compiled types, once."""
    lines = [np.zeros(3), np.ones(5), np.zeros(0), np.zeros(9)[2:5], WIDE[0], np.zeros((2, 3)).reshape(-1)]
    tables = [WIDE, np.zeros((1, 3)), np.zeros((3, 1)), np.zeros((0, 4)), np.zeros((4, 0)), WIDE[1:3]]
    for same in (lines, tables):
        assert len({describe((array,))[0] for array in same}) == 1


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_words_are_those_of_the_array(array: np.ndarray) -> None:
    _, words = describe((array, 7, Pair(2.5, -1)))
    assert words[2:4] == [array.size, array.itemsize]
    assert words[5 : 5 + 2 * array.ndim] == [*array.shape, *array.strides]
    assert words[5 + 2 * array.ndim :] == [7, np.float64(2.5).view(np.int64), -1]
    assert words[4] == address_of(array)
    if array.size:
        assert words[4] == array.ctypes.data


@pytest.mark.parametrize("value", [True, np.float32(0.5), np.int32(3), "text", None])
def test_a_number_that_is_not_8_bytes_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="a stage takes arrays, ints, floats and tuples of these"):
        describe((1, value))


@pytest.mark.parametrize("shape", [0, 3, (2, 8), (0, 4), (3, 5)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_aligned_zeros_begin_with_a_line_and_are_ordinary_arrays_otherwise(shape: Any, dtype: Any) -> None:
    array = aligned_zeros(shape, dtype)
    assert array.ctypes.data % LINE == 0
    np.testing.assert_array_equal(array, np.zeros(shape, dtype), strict=True)
    assert numba.typeof(array) == numba.typeof(np.zeros(shape, dtype))
