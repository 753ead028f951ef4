"""Support vectors of dual hypotheses, and their kernel values with the current trial."""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.addresses import feature_at, mercer_at
from linmax._jit.compilation import CompiledKernel, inline, separate
from linmax.kernels.forms.base import (
    attribute_at,
    n_entries,
)
from linmax.kernels.forms.shared import n_instances

COUNT, ALIVE, BORN, TRIAL, AFTER, KNOWN, FULL = 0, 1, 2, 3, 4, 5, 6  # indices in `numbers`
NUMBERS = 7

GAUSSIAN, POLYNOMIAL, OWN = 0, 1, 2  # kinds of kernels
PLAIN, FACTORED, GENERAL = 0, 1, 2  # ways to compute kernel values, see `compare`

FAR = 230.0  # three factors with exponents up to this do not overflow or underflow
BLURRED = 1e5  # a (|u|^2 + |v|^2) beyond which |u - v|^2 by inner products loses too many digits


class Mercer(NamedTuple):
    """A kernel K(u, v): exp(-a |u - v|^2), (u . v + a) ^ b, or a user's function."""

    kind: int
    a: float
    b: float
    function: int


class Supports(NamedTuple):
    """Instances that caused an update, as they were in feature space at that time.

    Attributes are the first axis, so inner products with all support vectors are one pass over memory.

    Parameters
    ----------
    z : ndarray of shape (attributes, capacity)
        The support vectors.
    norm, length : ndarray of shape (capacity,)
        |z|^2, and sqrt K(z, z).
    alpha : ndarray of shape (capacity, sets)
        The coefficients.
    alive : ndarray of shape (capacity,), uint8
        0 once a support vector was removed.
    born : ndarray of shape (capacity,), int64
        The insertion index.
    table : ndarray of shape (capacity, classes)
        E_jr = exp(-2a p^r . z_j), or K(phi(x, r), z_j).
    odd : ndarray of shape (capacity,), int64
        For how many classes E would overflow.
    numbers : ndarray of shape (NUMBERS,), int64
        Counters.
    """

    z: np.ndarray
    norm: np.ndarray
    length: np.ndarray
    alpha: np.ndarray
    alive: np.ndarray
    born: np.ndarray
    table: np.ndarray
    odd: np.ndarray
    numbers: np.ndarray


class Scratch(NamedTuple):
    """Scratch arrays of the current trial, per attribute (x, u, v), support vector, class or set."""

    x: np.ndarray
    u: np.ndarray
    v: np.ndarray
    dot: np.ndarray
    near: np.ndarray
    lift: np.ndarray
    part: np.ndarray
    sums: np.ndarray


@separate
def inner_products(supports, u, dot):
    """Write u . z_j for all support vectors; each sum runs over the attributes in order."""
    count = supports.numbers[COUNT]
    for j in range(count):
        dot[j] = 0.0
    for a in range(len(u)):
        x = u[a]
        if x != 0.0:
            for j in range(count):
                dot[j] += x * supports.z[a, j]


@separate
def squared(u):
    """Return |u|^2."""
    total = 0.0
    for a in range(len(u)):
        total += u[a] * u[a]
    return total


@inline
def kernel_of(mercer, uv, uu, vv):
    """Return K, computed from inner products."""
    if mercer.kind == GAUSSIAN:
        return math.exp(-mercer.a * max(uu + vv - 2.0 * uv, 0.0))
    return (uv + mercer.a) ** mercer.b


@separate
def squared_distance(z, j, u):
    """Return |u - z_j|^2, computed from the differences."""
    total = 0.0
    for a in range(len(u)):
        d = u[a] - z[a, j]
        total += d * d
    return total


@inline
def kernel_with(mercer, supports, j, u, v, uv, uu):
    """Return K(u, z_j); a user's kernel is called with both vectors."""
    if mercer.kind == GAUSSIAN and mercer.a * (uu + supports.norm[j]) > BLURRED:
        return math.exp(-mercer.a * squared_distance(supports.z, j, u))
    if mercer.kind == OWN:
        for a in range(len(v)):
            v[a] = supports.z[a, j]
        return mercer_at(mercer.function)(u, v)
    return kernel_of(mercer, uv, uu, supports.norm[j])


@separate
def load_attributes(rows, t, x):
    """Write the attributes of a trial, including zeros."""
    for a in range(len(x)):
        x[a] = 0.0
    for j in range(n_entries(rows, t)):
        a, value = attribute_at(rows, t, j)
        x[a] = value + 0.0  # -0.0 equals 0.0


@separate
def feature_vector(statistics, function, x, c, u):
    """Write phi(x, c)."""
    phi = feature_at(function)
    n = n_instances(statistics, c)
    for a in range(len(x)):
        u[a] = phi(x[a], statistics.total[a, c] / n)


@separate
def statistic_product(statistics, c, z, j):
    """Return p^c . z_j."""
    total = 0.0
    for a in range(len(z)):
        total += statistics.total[a, c] * z[a, j]
    return total / n_instances(statistics, c)


@inline
def set_factor(supports, j, c, exponent):
    """Set E_jc; -1 if it would overflow."""
    supports.odd[j] -= 1 * (supports.table[j, c] < 0.0)
    supports.table[j, c] = math.exp(exponent) if abs(exponent) <= FAR else -1.0
    supports.odd[j] += 1 * (supports.table[j, c] < 0.0)


@separate
def update_factors(supports, statistics, mercer, c, dot):
    """Recompute E_jc of all support vectors, after the statistics of class c have changed."""
    count, n = supports.numbers[COUNT], n_instances(statistics, c)
    for j in range(count):
        dot[j] = 0.0
    for a in range(len(supports.z)):
        p = statistics.total[a, c]
        if p != 0.0:
            for j in range(count):
                dot[j] += p * supports.z[a, j]
    for j in range(count):
        set_factor(supports, j, c, -2.0 * mercer.a * (dot[j] / n))


@CompiledKernel
def renew_table(supports, statistics, mercer, dot):
    """Recompute E of every class with instances."""
    for c in range(len(statistics.seen)):
        if statistics.seen[c] > 0:
            update_factors(supports, statistics, mercer, c, dot)


@separate
def direct_kernel(supports, statistics, mercer, scratch, j, c):
    """Return Eq. 11, without factors: exp(-a |(x - p^c) - z_j|^2)."""
    total = 0.0
    n = n_instances(statistics, c)
    for a in range(len(scratch.x)):
        d = scratch.x[a] - statistics.total[a, c] / n - supports.z[a, j]
        total += d * d
    return math.exp(-mercer.a * total)


@separate
def compare(form, t, k):
    """Compute the kernel values of all support vectors with trial t, unless they are known.

    PLAIN: K(x, z_j) in `near`, the same for all classes. GENERAL: K(phi(x, r), z_j) in `table`. FACTORED:
    |x - p - z|^2 = |x - z|^2 - 2 p . (x - z) + |p|^2, so that Eq. 11 is A_j B_r E_jr, with A in `near`, B in
    `lift` and E kept in `table`; what would overflow is marked by -1.
    """
    supports, statistics, scratch, mercer = form.supports, form.statistics, form.scratch, form.mercer
    numbers = supports.numbers
    if numbers[TRIAL] == t and numbers[AFTER] == numbers[BORN] and numbers[KNOWN] == k:
        return
    numbers[TRIAL], numbers[AFTER], numbers[KNOWN] = t, numbers[BORN], k
    load_attributes(form.rows, t, scratch.x)
    count = numbers[COUNT]
    if form.way == GENERAL:
        for c in range(k):
            if n_instances(statistics, c) > 0:
                feature_vector(statistics, form.map, scratch.x, c, scratch.u)
                uu = squared(scratch.u)
                inner_products(supports, scratch.u, scratch.dot)
                for j in range(count):
                    supports.table[j, c] = kernel_with(
                        mercer, supports, j, scratch.u, scratch.v, scratch.dot[j], uu
                    )
        return
    xx = squared(scratch.x)
    inner_products(supports, scratch.x, scratch.dot)
    if form.way == PLAIN:
        for j in range(count):
            scratch.near[j] = kernel_with(mercer, supports, j, scratch.x, scratch.v, scratch.dot[j], xx)
        return
    for j in range(count):
        exponent = mercer.a * max(xx + supports.norm[j] - 2.0 * scratch.dot[j], 0.0)
        scratch.near[j] = math.exp(-exponent) if exponent <= FAR else -1.0
    px, pp = scratch.part, scratch.lift
    for c in range(k):
        px[c] = 0.0
        pp[c] = 0.0
    for a in range(len(scratch.x)):
        for c in range(k):
            p = statistics.total[a, c]
            px[c] += p * scratch.x[a]
            pp[c] += p * p
    for c in range(k):
        n = n_instances(statistics, c)
        exponent = mercer.a * (2.0 * (px[c] / n) - pp[c] / n / n) if n > 0 else 0.0
        scratch.lift[c] = math.exp(exponent) if abs(exponent) <= FAR else -1.0
