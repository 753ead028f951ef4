"""The form of shared features phi(x, p^r) (2006), the maps phi, and the statistics p^r of the classes."""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit.addresses import feature_at
from linmax._jit.compilation import inline
from linmax.kernels.forms.base import (
    attribute_at,
    attribute_value,
    n_entries,
    one_pass_each,
    weight_of,
    without_begin,
    without_sketch,
)
from linmax.spec import register

COMMON, RARE = 0.2, 0.02  # Eq. 10


@register("plain")
def plain(x: float, p: float) -> float:
    """Return x, for every class."""
    return x


@register("product")
def product(x: float, p: float) -> float:
    """Return x p (Eq. 4)."""
    return x * p


@register("ternary")
def ternary(x: float, p: float) -> float:
    """Return 2 if x = 1 is common in the class, -1 if it is rare, else 0 (Eq. 10)."""
    if x != 1.0:
        return 0.0
    return 2.0 if p >= COMMON else -1.0 if p <= RARE else 0.0


@register("distance")
def distance(x: float, p: float) -> float:
    """Return |x - p|."""
    return abs(x - p)


@register("difference")
def difference(x: float, p: float) -> float:
    """Return x - p (Eq. 11)."""
    return x - p


class Sharing(NamedTuple):
    """The sets tau of each class: `sets[starts[c]:starts[c + 1]]`."""

    starts: np.ndarray
    sets: np.ndarray


class StatisticArrays(NamedTuple):
    """The statistics p^r: the first instance of each class, or the running mean of all.

    Parameters
    ----------
    total : ndarray of shape (attributes, classes)
        The sum of the instances.
    seen : ndarray of shape (classes,), int64
        The number of instances of each class.
    first : int
        Whether only the first instance is added.
    """

    total: np.ndarray
    seen: np.ndarray
    first: int


@inline
def n_instances(statistics, c):
    """Return the number of instances in the statistics of a class."""
    return min(statistics.seen[c], 1) if statistics.first else statistics.seen[c]


@inline
def add_instance(statistics, rows, t, y):
    """Add trial t to the statistics of its class."""
    if statistics.seen[y] == 0 or not statistics.first:
        for j in range(n_entries(rows, t)):
            a, x = attribute_at(rows, t, j)
            statistics.total[a, y] += x
    statistics.seen[y] += 1


@inline
def find(index, first, count, i):
    """Return the position of i among the entries from `first` on; `count` if it is absent."""
    place = first
    while place < count and index[place] != i:
        place += 1
    return place


@inline
def without_zeros(index, value, first, count):
    """Drop the entries from `first` on that are 0; return the new count."""
    kept = first
    for place in range(first, count):
        index[kept] = index[place]
        value[kept] = value[place]
        kept += 1 * (value[place] != 0.0)
    return kept


@inline
def n_visited(form, t):
    """Return the number of attributes of a trial to visit."""
    return form.absent if form.absent > 0 else n_entries(form.rows, t)


@inline
def visited_attribute(form, t, j):
    """Return the j-th attribute to visit, and its value."""
    if form.absent > 0:
        return j, attribute_value(form.rows, t, j)
    return attribute_at(form.rows, t, j)


@inline
def feature(form, a, x, c):
    """Return phi(x_a, p_a^c); 0 for a class without instances, and for absent attributes if phi(0, p) = 0."""
    n = n_instances(form.statistics, c)
    if n == 0 or (x == 0.0 and form.absent == 0):
        return 0.0
    return feature_at(form.map)(x, form.statistics.total[a, c] / n)


@without_begin
@without_sketch
@one_pass_each
class SharedFeatures(NamedTuple):
    """Sub-expert (tau, a) votes phi(x_a, p_a^r) for class r in tau, and 0 for a class without instances.

    If phi(0, p) = 0 for every p, the cost is proportional to the non-zero attributes. `stride` is the number
    of weights of a set; `absent` is the number of attributes to visit if zeros have features, else 0.
    """

    rows: Any
    sharing: Sharing
    statistics: StatisticArrays
    map: int
    stride: int
    absent: int

    def add_scores(self, t, k, w, offset, scores):
        starts, sets = self.sharing.starts, self.sharing.sets
        for j in range(n_visited(self, t)):
            a, x = visited_attribute(self, t, j)
            for c in range(k):
                phi = feature(self, a, x, c)
                if phi != 0.0:
                    for s in range(starts[c], starts[c + 1]):
                        scores[c] += weight_of(w, offset + sets[s] * self.stride + a) * phi

    def append_z(self, t, k, q, offset, index, value, count):
        starts, sets = self.sharing.starts, self.sharing.sets
        for j in range(n_visited(self, t)):
            a, x = visited_attribute(self, t, j)
            first = count
            for c in range(k):
                phi = feature(self, a, x, c) if q[c] != 0.0 else 0.0
                if phi == 0.0:
                    continue
                for s in range(starts[c], starts[c + 1]):
                    place = find(index, first, count, offset + sets[s] * self.stride + a)
                    if place == count:  # each coordinate once, for rules that compute |z|
                        index[count] = offset + sets[s] * self.stride + a
                        value[count] = 0.0
                        count += 1
                    value[place] += q[c] * phi
            count = without_zeros(index, value, first, count)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        starts, sets = self.sharing.starts, self.sharing.sets
        for j in range(n_visited(self, t)):
            a, x = visited_attribute(self, t, j)
            first = count
            for c in range(k):
                if feature(self, a, x, c) == 0.0:
                    continue
                for s in range(starts[c], starts[c + 1]):
                    i = offset + sets[s] * self.stride + a
                    if spoken[i] == 0 and find(index, first, count, i) == count:
                        index[count] = i
                        count += 1
        return count

    def observe(self, t, y):
        add_instance(self.statistics, self.rows, t, y)
