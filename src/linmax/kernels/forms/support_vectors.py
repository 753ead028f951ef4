"""What a dual hypothesis is made of: instances frozen in feature space, and how near they are to a trial."""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import Kernel, feature_at, inline, mercer_at, separate
from linmax.kernels.forms.base import (
    attribute_at,
    n_entries,
)
from linmax.kernels.forms.shared import instances

COUNT, ALIVE, BORN, TRIAL, AFTER, KNOWN, FULL = 0, 1, 2, 3, 4, 5, 6  # in `numbers`
NUMBERS = 7

GAUSSIAN, POLYNOMIAL, OWN = 0, 1, 2  # kinds of kernels
PLAIN, FACTORED, GENERAL = 0, 1, 2  # ways to compare: see `look_at`

FAR = 230.0  # so large exponents of three factors can be multiplied, and nothing overflows or is lost
BLURRED = 1e5  # a (|u|^2 + |v|^2) beyond which |u - v|^2 by inner products loses too many digits


class Mercer(NamedTuple):
    """A kernel K(u, v): exp(-a |u - v|^2), (u . v + a) ^ b, or a function of one's own."""

    kind: int
    a: float
    b: float
    function: int


class Supports(NamedTuple):
    """Instances that were moved on, each as it was in feature space then; z is never built twice.

    Attributes go first, so that inner products with all supports are one pass over memory.
    """

    z: np.ndarray  # (attributes, room)
    norm: np.ndarray  # (room,): |z|^2
    length: np.ndarray  # (room,): sqrt K(z, z)
    alpha: np.ndarray  # (room, sets): the coefficients
    alive: np.ndarray  # (room,) uint8: 0 once it was dropped
    born: np.ndarray  # (room,) int64: the how-manieth it is
    table: np.ndarray  # (room, classes): E_jr = exp(-2a p^r . z_j), or K(phi(x, r), z_j)
    odd: np.ndarray  # (room,) int64: for how many classes E would overflow
    numbers: np.ndarray  # (NUMBERS,) int64


class Scratch(NamedTuple):
    """The trial that is looked at."""

    x: np.ndarray  # (attributes,)
    u: np.ndarray  # (attributes,)
    v: np.ndarray  # (attributes,)
    dot: np.ndarray  # (room,)
    near: np.ndarray  # (room,)
    lift: np.ndarray  # (classes,)
    part: np.ndarray  # (classes,)
    sums: np.ndarray  # (sets,)


@separate
def inner(supports, u, dot):
    """u . z_j for all supports; each sum runs over the attributes in order."""
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
    """|u|^2."""
    total = 0.0
    for a in range(len(u)):
        total += u[a] * u[a]
    return total


@inline
def kernel_of(mercer, uv, uu, vv):
    """K by inner products."""
    if mercer.kind == GAUSSIAN:
        return math.exp(-mercer.a * max(uu + vv - 2.0 * uv, 0.0))
    return (uv + mercer.a) ** mercer.b


@separate
def apart_by(z, j, u):
    """|u - z_j|^2, difference by difference."""
    total = 0.0
    for a in range(len(u)):
        d = u[a] - z[a, j]
        total += d * d
    return total


@inline
def kernel_with(mercer, supports, j, u, v, uv, uu):
    """K(u, z_j); a kernel of one's own is shown both vectors."""
    if mercer.kind == GAUSSIAN and mercer.a * (uu + supports.norm[j]) > BLURRED:
        return math.exp(-mercer.a * apart_by(supports.z, j, u))
    if mercer.kind == OWN:
        for a in range(len(v)):
            v[a] = supports.z[a, j]
        return mercer_at(mercer.function)(u, v)
    return kernel_of(mercer, uv, uu, supports.norm[j])


@separate
def load(rows, t, x):
    """The attributes of a trial, zeros included."""
    for a in range(len(x)):
        x[a] = 0.0
    for j in range(n_entries(rows, t)):
        a, value = attribute_at(rows, t, j)
        x[a] = value + 0.0  # -0.0 is no other instance than 0.0


@separate
def picture(portraits, function, x, c, u):
    """phi(x, c)."""
    phi = feature_at(function)
    n = instances(portraits, c)
    for a in range(len(x)):
        u[a] = phi(x[a], portraits.total[a, c] / n)


@separate
def portrait_dot(portraits, c, z, j):
    """p^c . z_j."""
    total = 0.0
    for a in range(len(z)):
        total += portraits.total[a, c] * z[a, j]
    return total / instances(portraits, c)


@inline
def enter_factor(supports, j, c, exponent):
    """E_jc, or a mark that it would overflow."""
    supports.odd[j] -= 1 * (supports.table[j, c] < 0.0)
    supports.table[j, c] = math.exp(exponent) if abs(exponent) <= FAR else -1.0
    supports.odd[j] += 1 * (supports.table[j, c] < 0.0)


@separate
def renew(supports, portraits, mercer, c, dot):
    """E_jc of all supports, after the portrait of class c has changed."""
    count, n = supports.numbers[COUNT], instances(portraits, c)
    for j in range(count):
        dot[j] = 0.0
    for a in range(len(supports.z)):
        p = portraits.total[a, c]
        if p != 0.0:
            for j in range(count):
                dot[j] += p * supports.z[a, j]
    for j in range(count):
        enter_factor(supports, j, c, -2.0 * mercer.a * (dot[j] / n))


@Kernel
def renew_table(supports, portraits, mercer, dot):
    """E of every class that has a portrait."""
    for c in range(len(portraits.seen)):
        if portraits.seen[c] > 0:
            renew(supports, portraits, mercer, c, dot)


@separate
def directly(supports, portraits, mercer, scratch, j, c):
    """Eq. 11 as it stands: exp(-a |(x - p^c) - z_j|^2)."""
    total = 0.0
    n = instances(portraits, c)
    for a in range(len(scratch.x)):
        d = scratch.x[a] - portraits.total[a, c] / n - supports.z[a, j]
        total += d * d
    return math.exp(-mercer.a * total)


@separate
def look_at(form, t, k):
    """How near every support is to trial t, unless that is known already.

    PLAIN: K(x, z_j) in `near`, the same for all classes. GENERAL: K(phi(x, r), z_j) in `table`. FACTORED:
    |x - p - z|^2 = |x - z|^2 - 2 p . (x - z) + |p|^2, so that Eq. 11 is A_j B_r E_jr, with A in `near`, B in
    `lift` and E kept in `table`; what would overflow is marked by -1.
    """
    supports, portraits, scratch, mercer = form.supports, form.portraits, form.scratch, form.mercer
    numbers = supports.numbers
    if numbers[TRIAL] == t and numbers[AFTER] == numbers[BORN] and numbers[KNOWN] == k:
        return
    numbers[TRIAL], numbers[AFTER], numbers[KNOWN] = t, numbers[BORN], k
    load(form.rows, t, scratch.x)
    count = numbers[COUNT]
    if form.way == GENERAL:
        for c in range(k):
            if instances(portraits, c) > 0:
                picture(portraits, form.map, scratch.x, c, scratch.u)
                uu = squared(scratch.u)
                inner(supports, scratch.u, scratch.dot)
                for j in range(count):
                    supports.table[j, c] = kernel_with(
                        mercer, supports, j, scratch.u, scratch.v, scratch.dot[j], uu
                    )
        return
    xx = squared(scratch.x)
    inner(supports, scratch.x, scratch.dot)
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
            p = portraits.total[a, c]
            px[c] += p * scratch.x[a]
            pp[c] += p * p
    for c in range(k):
        n = instances(portraits, c)
        exponent = mercer.a * (2.0 * (px[c] / n) - pp[c] / n / n) if n > 0 else 0.0
        scratch.lift[c] = math.exp(exponent) if abs(exponent) <= FAR else -1.0
