"""The form of the dual Perceptron (2006): sub-experts are support vectors, which vote K(x, z_j)."""

import math
from typing import Any, NamedTuple

from linmax._jit.compilation import inline, separate
from linmax.kernels.forms.base import (
    one_pass_each,
    weight_of,
    without_begin,
    without_sketch,
)
from linmax.kernels.forms.shared import (
    Sharing,
    StatisticArrays,
    add_instance,
    find,
    n_instances,
    without_zeros,
)
from linmax.kernels.forms.support_vectors import (
    ALIVE,
    BORN,
    COUNT,
    FACTORED,
    FULL,
    PLAIN,
    TRIAL,
    Mercer,
    Scratch,
    Supports,
    compare,
    direct_kernel,
    feature_vector,
    kernel_with,
    load_attributes,
    set_factor,
    squared,
    statistic_product,
    update_factors,
)


@separate
def kernel_value(form, j, c):
    """Return K(phi(x, c), z_j) for the current trial."""
    supports, scratch = form.supports, form.scratch
    if form.way == PLAIN:
        return scratch.near[j]
    if form.way != FACTORED:
        return supports.table[j, c]
    if scratch.near[j] < 0.0 or scratch.lift[c] < 0.0 or supports.table[j, c] < 0.0:
        return direct_kernel(supports, form.statistics, form.mercer, scratch, j, c)
    return scratch.near[j] * supports.table[j, c] * scratch.lift[c]


@inline
def has_features(form, c):
    """Tell whether class c has features: always, if features do not depend on the class."""
    return form.way == PLAIN or n_instances(form.statistics, c) > 0


@separate
def is_equal(z, j, u):
    """Tell whether z_j equals u."""
    a = 0
    while a < len(u) and z[a, j] == u[a]:
        a += 1
    return a == len(u)


@separate
def find_or_add(form, u):
    """Return the index of the support vector u, added if it is new; -1 if the arrays are full."""
    supports = form.supports
    numbers = supports.numbers
    uu = squared(u)
    for j in range(numbers[COUNT]):
        if supports.norm[j] == uu and supports.alive[j] == 1 and is_equal(supports.z, j, u):
            return j
    j = numbers[COUNT]
    if j == len(supports.norm):
        numbers[FULL] = 1
        return -1
    numbers[COUNT] += 1
    numbers[ALIVE] += 1
    numbers[BORN] += 1
    for a in range(len(u)):
        supports.z[a, j] = u[a]
    supports.norm[j], supports.alive[j], supports.born[j] = uu, 1, numbers[BORN]
    supports.length[j] = math.sqrt(max(kernel_with(form.mercer, supports, j, u, form.scratch.v, uu, uu), 0.0))
    for s in range(supports.alpha.shape[1]):
        supports.alpha[j, s] = 0.0
    supports.odd[j] = 0
    for c in range(supports.table.shape[1]):
        supports.table[j, c] = 0.0
        if form.way == FACTORED and n_instances(form.statistics, c) > 0:
            set_factor(
                supports, j, c, -2.0 * form.mercer.a * statistic_product(form.statistics, c, supports.z, j)
            )
    return j


@separate
def remove_unused(supports, before):
    """Remove support vectors added since `before` whose coefficients are all 0."""
    for j in range(before, supports.numbers[COUNT]):
        largest = 0.0
        for s in range(supports.alpha.shape[1]):
            largest = max(largest, abs(supports.alpha[j, s]))
        if largest == 0.0:
            supports.alive[j] = 0
            supports.numbers[ALIVE] -= 1


@separate
def apply_budget(form):
    """Remove support vectors beyond the budget: the oldest, or those that contribute least."""
    supports = form.supports
    while supports.numbers[ALIVE] > form.budget:
        least = -1
        weight = math.inf
        for j in range(supports.numbers[COUNT]):
            if supports.alive[j] == 1:
                own = 0.0
                if form.smallest:
                    for s in range(supports.alpha.shape[1]):
                        own += abs(supports.alpha[j, s])
                    own *= supports.length[j]
                if least < 0 or own < weight:
                    least, weight = j, own
                    if not form.smallest:
                        break
        supports.alive[least] = 0
        supports.numbers[ALIVE] -= 1


@without_begin
@without_sketch
@one_pass_each
class DualVotes(NamedTuple):
    """Sub-expert (j, tau) votes K(phi(x, r), z_j) for every class r in tau; an update adds a support vector.

    z is the coefficient of the instance itself, so only a rule that adds z is correct here. `each` is 1 if
    there is a set for each class, `alone` if one set has all classes, and `smallest` if the budget removes
    what contributes least instead of the oldest.
    """

    rows: Any
    sharing: Sharing
    statistics: StatisticArrays
    supports: Supports
    scratch: Scratch
    mercer: Mercer
    map: int
    way: int
    each: int
    alone: int
    budget: int
    smallest: int

    def add_scores(self, t, k, w, offset, scores):
        compare(self, t, k)
        supports, scratch, starts, sets = self.supports, self.scratch, self.sharing.starts, self.sharing.sets
        stride = supports.alpha.shape[1]
        used = k if self.each else stride
        for s in range(used):
            scratch.sums[s] = 0.0
        near_enough = self.way == FACTORED and self.alone == 1
        for c in range(k):
            scratch.part[c] = 0.0
            near_enough &= scratch.lift[c] >= 0.0
        for j in range(supports.numbers[COUNT]):
            if supports.alive[j] == 0:
                continue
            base = offset + j * stride
            if self.way == PLAIN:
                for s in range(used):
                    scratch.sums[s] += weight_of(w, base + s) * scratch.near[j]
            elif near_enough and supports.odd[j] == 0 and scratch.near[j] >= 0.0:
                weight = weight_of(w, base) * scratch.near[j]
                for c in range(k):
                    scratch.part[c] += weight * supports.table[j, c]
            else:
                for c in range(k):
                    if has_features(self, c):
                        near = kernel_value(self, j, c)
                        for s in range(starts[c], starts[c + 1]):
                            scores[c] += weight_of(w, base + sets[s]) * near
        for c in range(k):
            if self.way == FACTORED:
                scores[c] += scratch.part[c] * scratch.lift[c]
            elif self.way == PLAIN:
                for s in range(starts[c], starts[c + 1]):
                    scores[c] += scratch.sums[sets[s]]

    def append_z(self, t, k, q, offset, index, value, count):
        supports, scratch, starts, sets = self.supports, self.scratch, self.sharing.starts, self.sharing.sets
        stride = supports.alpha.shape[1]
        load_attributes(self.rows, t, scratch.x)
        if self.way == PLAIN:
            moved = 0.0
            for s in range(stride):
                scratch.sums[s] = 0.0
            for c in range(k):
                for s in range(starts[c], starts[c + 1]):
                    scratch.sums[sets[s]] += q[c]
            for s in range(stride):
                moved = max(moved, abs(scratch.sums[s]))
            j = find_or_add(self, scratch.x) if moved > 0.0 else -1
            for s in range(stride * (j >= 0)):
                index[count] = offset + j * stride + s
                value[count] = scratch.sums[s]
                supports.alpha[j, s] += scratch.sums[s]
                count += 1 * (scratch.sums[s] != 0.0)
        else:
            first, before = count, supports.numbers[COUNT]
            for c in range(k):
                if q[c] == 0.0 or n_instances(self.statistics, c) == 0 or starts[c] == starts[c + 1]:
                    continue
                feature_vector(self.statistics, self.map, scratch.x, c, scratch.u)
                j = find_or_add(self, scratch.u)
                for s in range(starts[c], starts[c + 1] if j >= 0 else starts[c]):
                    i = offset + j * stride + sets[s]
                    place = find(index, first, count, i)
                    if place == count:  # equal feature vectors of classes share a support vector
                        index[count] = i
                        value[count] = 0.0
                        count += 1
                    value[place] += q[c]
                    supports.alpha[j, sets[s]] += q[c]
            count = without_zeros(index, value, first, count)
            remove_unused(supports, before)
        apply_budget(self)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        return count  # a support vector has its weight from the start

    def observe(self, t, y):
        supports = self.supports
        supports.numbers[TRIAL] = -1
        if self.way != PLAIN:
            add_instance(self.statistics, self.rows, t, y)
        if self.way == FACTORED:
            update_factors(supports, self.statistics, self.mercer, y, self.scratch.dot)

    def append_votes(self, t, k, q, offset, index, value, count):
        """Append what each sub-expert votes, for an explanation; `append_z` is the update."""
        compare(self, t, k)
        stride = self.supports.alpha.shape[1]
        for j in range(self.supports.numbers[COUNT]):
            for c in range(k):
                if q[c] != 0.0 and self.supports.alive[j] == 1 and has_features(self, c):
                    for s in range(self.sharing.starts[c], self.sharing.starts[c + 1]):
                        index[count] = offset + j * stride + self.sharing.sets[s]
                        value[count] = q[c] * kernel_value(self, j, c)
                        count += 1
        return count
