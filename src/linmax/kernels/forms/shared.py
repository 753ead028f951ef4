"""Class-dependent features that classes share (2006): what a class looks like says what to look at."""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit import feature_at, inline
from linmax.kernels.forms.base import (
    attribute_at,
    attribute_value,
    n_entries,
    one_by_one,
    weight_of,
    without_entrance,
    without_sketch,
)
from linmax.spec import register

COMMON, RARE = 0.2, 0.02  # Eq. 10


@register("plain")
def plain(x: float, p: float) -> float:
    """x itself, whatever the class: for sets of classes."""
    return x


@register("product")
def product(x: float, p: float) -> float:
    """x p (Eq. 4)."""
    return x * p


@register("ternary")
def ternary(x: float, p: float) -> float:
    """2 for what is common in the class, -1 for what is rare in it (Eq. 10)."""
    if x != 1.0:
        return 0.0
    return 2.0 if p >= COMMON else -1.0 if p <= RARE else 0.0


@register("distance")
def distance(x: float, p: float) -> float:
    """|x - p|."""
    return abs(x - p)


@register("difference")
def difference(x: float, p: float) -> float:
    """x - p: what Eq. 11 compares."""
    return x - p


class Sharing(NamedTuple):
    """Which sets tau a class is in."""

    starts: np.ndarray  # (classes + 1,) int64
    sets: np.ndarray  # int64: those of class c from starts[c] on


class Portraits(NamedTuple):
    """The statistics p^r: of each class the first instance, or the running mean of all."""

    total: np.ndarray  # (attributes, classes): what was added up
    seen: np.ndarray  # (classes,) int64: instances of each class so far
    first: int  # is only the first one added?


@inline
def instances(portraits, c):
    """Of how many instances the portrait of a class is made; 0: it has none yet."""
    return min(portraits.seen[c], 1) if portraits.first else portraits.seen[c]


@inline
def remember(portraits, rows, t, y):
    """Take trial t into the portrait of its class."""
    if portraits.seen[y] == 0 or not portraits.first:
        for j in range(n_entries(rows, t)):
            a, x = attribute_at(rows, t, j)
            portraits.total[a, y] += x
    portraits.seen[y] += 1


@inline
def find(index, first, count, i):
    """Where i is among the entries from `first` on; `count` if it is not."""
    place = first
    while place < count and index[place] != i:
        place += 1
    return place


@inline
def without_zeros(index, value, first, count):
    """Drop the entries from `first` on that are 0; return how many are left in all."""
    kept = first
    for place in range(first, count):
        index[kept] = index[place]
        value[kept] = value[place]
        kept += 1 * (value[place] != 0.0)
    return kept


@inline
def extent(form, t):
    """How many attributes of a trial to go over."""
    return form.absent if form.absent > 0 else n_entries(form.rows, t)


@inline
def attribute(form, t, j):
    """One of them, and its value."""
    if form.absent > 0:
        return j, attribute_value(form.rows, t, j)
    return attribute_at(form.rows, t, j)


@inline
def feature(form, a, x, c):
    """phi(x_a, p_a^c): 0 for a class without portrait, and where absent attributes say nothing."""
    n = instances(form.portraits, c)
    if n == 0 or (x == 0.0 and form.absent == 0):
        return 0.0
    return feature_at(form.map)(x, form.portraits.total[a, c] / n)


@without_entrance
@without_sketch
@one_by_one
class SharedFeatures(NamedTuple):
    """Sub-expert (tau, a) votes for class r in tau with phi(x_a, p_a^r); a class without portrait has none.

    Where phi(0, p) = 0 for every p the cost follows the attributes that are there.
    """

    rows: Any
    sharing: Sharing
    portraits: Portraits
    map: int
    stride: int  # of a set's weights: the room of attributes
    absent: int  # how many attributes to go over where those that are 0 have features, too; else 0

    def add_scores(self, t, k, w, at, scores):
        starts, sets = self.sharing.starts, self.sharing.sets
        for j in range(extent(self, t)):
            a, x = attribute(self, t, j)
            for c in range(k):
                phi = feature(self, a, x, c)
                if phi != 0.0:
                    for s in range(starts[c], starts[c + 1]):
                        scores[c] += weight_of(w, at + sets[s] * self.stride + a) * phi

    def append_z(self, t, k, q, at, index, value, count):
        starts, sets = self.sharing.starts, self.sharing.sets
        for j in range(extent(self, t)):
            a, x = attribute(self, t, j)
            first = count
            for c in range(k):
                phi = feature(self, a, x, c) if q[c] != 0.0 else 0.0
                if phi == 0.0:
                    continue
                for s in range(starts[c], starts[c + 1]):
                    place = find(index, first, count, at + sets[s] * self.stride + a)
                    if place == count:  # rules that need |z| want every coordinate once
                        index[count] = at + sets[s] * self.stride + a
                        value[count] = 0.0
                        count += 1
                    value[place] += q[c] * phi
            count = without_zeros(index, value, first, count)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        starts, sets = self.sharing.starts, self.sharing.sets
        for j in range(extent(self, t)):
            a, x = attribute(self, t, j)
            first = count
            for c in range(k):
                if feature(self, a, x, c) == 0.0:
                    continue
                for s in range(starts[c], starts[c + 1]):
                    i = at + sets[s] * self.stride + a
                    if spoken[i] == 0 and find(index, first, count, i) == count:
                        index[count] = i
                        count += 1
        return count

    def observe(self, t, y):
        remember(self.portraits, self.rows, t, y)
