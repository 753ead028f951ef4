"""Vectors of eight numbers in kernels: `take`, `put`, `splat`, + - * /, `maximum`, `where_above`, `total`.

Compiled, a vector is a value of LLVM's type <8 x double> or <8 x float>, which the machine holds in as many
registers as it needs; loops over vectors are fast on every processor, without hints to the compiler. Nothing
is contracted or reordered: as Python, where a vector is an array of eight numbers, the same source gives the
same bits. `linmax._jit.llvm` has the LLVM code of these functions.
"""

from typing import Any

import numpy as np

WIDTH = 8
SQUARABLE = 1e12  # the largest number of which squares are added in float32
ROOT_GUESS = 0x5F375A86  # minus half the bits of a float32, the bits of its inverse root to 4 %


def take(array: Any, at: Any) -> Any:
    """Return array[at : at + 8]; the array has one dimension, and is of float64 or float32."""
    return array[at : at + WIDTH].copy()


def put(array: Any, at: Any, vector: Any) -> None:
    """Assign a vector to array[at : at + 8]."""
    array[at : at + WIDTH] = vector


def get(array: Any, at: Any) -> Any:
    """Return array[at], where `at` is not negative: compiled, that is not looked at."""
    return array[at]


def get_alone(array: Any, at: Any) -> Any:
    """Do what `get` does; compiled, never for several numbers at once.

    A vector that is read right after its numbers were written one by one makes the processor wait.
    """
    return array[at]


def assign(array: Any, at: Any, x: Any) -> None:
    """Assign x to array[at], where `at` is not negative."""
    array[at] = x


def increase(array: Any, at: Any, x: Any) -> None:
    """Add x to array[at], where `at` is not negative."""
    array[at] += x


def prefetch(array: Any, at: Any) -> None:
    """Let the machine fetch the cache line of array[at], which is needed soon; results are the same."""


def slot(code: Any) -> Any:
    """Return the index of a class's number; an abstention, -1, has the last of the array.

    Compiled, the index of a code of one byte is that byte without a sign, so that nothing is looked at: the
    arrays that it indexes have 256 numbers or more.
    """
    return code


def splat(x: Any) -> Any:
    """Return a vector of eight times the same number."""
    return np.full(WIDTH, float(x))


def wide(a: Any) -> Any:
    """Return a vector of float64 with these numbers."""
    return a.astype(np.float64)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger numbers of two vectors, or of a vector and a number."""
    return np.where(a > b, a, a.dtype.type(b) if np.ndim(b) == 0 else b)


def where_above(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return x where a > b, and y elsewhere; b, x and y may be numbers."""
    return np.where(a > b, x, y).astype(a.dtype)


def total(a: Any) -> float:
    """Return the sum of the eight numbers, added in pairs."""
    b = a[:4] + a[4:]
    c = b[:2] + b[2:]
    return float(c[0] + c[1])


def largest(a: Any) -> float:
    """Return the largest of the eight numbers."""
    return float(a.max())


def power_of_two(a: Any) -> Any:
    """Return 2^n for numbers n + 1.5 * 2^52, with the integer n in the low bits."""
    return np.exp2(a - 6755399441055744.0)


def exponents(a: Any) -> Any:
    """Return e of positive normal numbers m 2^e, 1 <= m < 2, of float64."""
    return np.frexp(a)[1] - 1.0


def mantissas(a: Any) -> Any:
    """Return m of positive normal numbers m 2^e, 1 <= m < 2, of float64."""
    return 2.0 * np.frexp(a)[0]


def over_root(z: Any, x: Any) -> Any:
    """Return z / sqrt(x), of vectors or numbers.

    In float32 it is right to 1.1e-4, by one step of Halley's method from a guess by the bits of x.
    """
    if z.dtype == np.float64:
        return z / np.sqrt(x)
    y = (np.int32(ROOT_GUESS) - (x.view(np.int32) >> 1)).view(np.float32)
    e = 1.0 - x * y * y
    return z * (y + y * e * (e * 0.375 + 0.5))


def like(array: Any, a: Any) -> Any:
    """Return a vector, or a number, of the type of an array (of a NamedTuple: of its field `cells`)."""
    return np.asarray(a).astype(array.dtype)[()]


def squarable(array: Any, a: Any) -> Any:
    """Do what `like` does; in float32 the numbers are limited, so that sums of their squares stay finite."""
    return like(array, a if array.dtype == np.float64 else np.clip(a, -SQUARABLE, SQUARABLE))
