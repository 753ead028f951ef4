"""The dual Perceptron (2006): sub-experts are earlier instances, which vote by how near they are."""

import math
from typing import Any, NamedTuple

from linmax._jit import inline, separate
from linmax.kernels.forms.base import (
    one_by_one,
    weight_of,
    without_entrance,
    without_sketch,
)
from linmax.kernels.forms.shared import Portraits, Sharing, find, instances, remember, without_zeros
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
    directly,
    enter_factor,
    kernel_with,
    load,
    look_at,
    picture,
    portrait_dot,
    renew,
    squared,
)


@separate
def compared(form, j, c):
    """K(phi(x, c), z_j) for the trial that is looked at."""
    supports, scratch = form.supports, form.scratch
    if form.way == PLAIN:
        return scratch.near[j]
    if form.way != FACTORED:
        return supports.table[j, c]
    if scratch.near[j] < 0.0 or scratch.lift[c] < 0.0 or supports.table[j, c] < 0.0:
        return directly(supports, form.portraits, form.mercer, scratch, j, c)
    return scratch.near[j] * supports.table[j, c] * scratch.lift[c]


@inline
def speaks_for(form, c):
    """Has class c features? What does not depend on the class always has."""
    return form.way == PLAIN or instances(form.portraits, c) > 0


@separate
def same(z, j, u):
    """Is z_j this very vector?"""
    a = 0
    while a < len(u) and z[a, j] == u[a]:
        a += 1
    return a == len(u)


@separate
def place_of(form, u):
    """The support that is u: one that is there, or a new one; -1 if there is no room, which cannot be."""
    supports = form.supports
    numbers = supports.numbers
    uu = squared(u)
    for j in range(numbers[COUNT]):
        if supports.norm[j] == uu and supports.alive[j] == 1 and same(supports.z, j, u):
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
        if form.way == FACTORED and instances(form.portraits, c) > 0:
            enter_factor(
                supports, j, c, -2.0 * form.mercer.a * portrait_dot(form.portraits, c, supports.z, j)
            )
    return j


@separate
def forget(supports, before):
    """Let go of those that came since, if what moved them cancelled out."""
    for j in range(before, supports.numbers[COUNT]):
        largest = 0.0
        for s in range(supports.alpha.shape[1]):
            largest = max(largest, abs(supports.alpha[j, s]))
        if largest == 0.0:
            supports.alive[j] = 0
            supports.numbers[ALIVE] -= 1


@separate
def drop(form):
    """Let go of supports beyond the budget: the oldest, or those that contribute least."""
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


@without_entrance
@without_sketch
@one_by_one
class DualVotes(NamedTuple):
    """Sub-expert (j, tau) votes K(phi(x, r), z_j) for every class r in tau; a move makes a new support.

    In these coordinates z is the coefficient of the instance itself, so only a rule that adds z may move it.
    """

    rows: Any
    sharing: Sharing
    portraits: Portraits
    supports: Supports
    scratch: Scratch
    mercer: Mercer
    map: int
    way: int
    each: int  # is there a set for each class?
    alone: int  # is there one set, with all classes?
    budget: int
    smallest: int  # drop what contributes least, not the oldest

    def add_scores(self, t, k, w, at, scores):
        look_at(self, t, k)
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
            base = at + j * stride
            if self.way == PLAIN:
                for s in range(used):
                    scratch.sums[s] += weight_of(w, base + s) * scratch.near[j]
            elif near_enough and supports.odd[j] == 0 and scratch.near[j] >= 0.0:
                weight = weight_of(w, base) * scratch.near[j]
                for c in range(k):
                    scratch.part[c] += weight * supports.table[j, c]
            else:
                for c in range(k):
                    if speaks_for(self, c):
                        near = compared(self, j, c)
                        for s in range(starts[c], starts[c + 1]):
                            scores[c] += weight_of(w, base + sets[s]) * near
        for c in range(k):
            if self.way == FACTORED:
                scores[c] += scratch.part[c] * scratch.lift[c]
            elif self.way == PLAIN:
                for s in range(starts[c], starts[c + 1]):
                    scores[c] += scratch.sums[sets[s]]

    def append_z(self, t, k, q, at, index, value, count):
        supports, scratch, starts, sets = self.supports, self.scratch, self.sharing.starts, self.sharing.sets
        stride = supports.alpha.shape[1]
        load(self.rows, t, scratch.x)
        if self.way == PLAIN:
            moved = 0.0
            for s in range(stride):
                scratch.sums[s] = 0.0
            for c in range(k):
                for s in range(starts[c], starts[c + 1]):
                    scratch.sums[sets[s]] += q[c]
            for s in range(stride):
                moved = max(moved, abs(scratch.sums[s]))
            j = place_of(self, scratch.x) if moved > 0.0 else -1
            for s in range(stride * (j >= 0)):
                index[count] = at + j * stride + s
                value[count] = scratch.sums[s]
                supports.alpha[j, s] += scratch.sums[s]
                count += 1 * (scratch.sums[s] != 0.0)
        else:
            first, before = count, supports.numbers[COUNT]
            for c in range(k):
                if q[c] == 0.0 or instances(self.portraits, c) == 0 or starts[c] == starts[c + 1]:
                    continue
                picture(self.portraits, self.map, scratch.x, c, scratch.u)
                j = place_of(self, scratch.u)
                for s in range(starts[c], starts[c + 1] if j >= 0 else starts[c]):
                    i = at + j * stride + sets[s]
                    place = find(index, first, count, i)
                    if place == count:  # classes that look the same move the same support
                        index[count] = i
                        value[count] = 0.0
                        count += 1
                    value[place] += q[c]
                    supports.alpha[j, sets[s]] += q[c]
            count = without_zeros(index, value, first, count)
            forget(supports, before)
        drop(self)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        return count  # a support is there from its first moment on

    def observe(self, t, y):
        supports = self.supports
        supports.numbers[TRIAL] = -1
        if self.way != PLAIN:
            remember(self.portraits, self.rows, t, y)
        if self.way == FACTORED:
            renew(supports, self.portraits, self.mercer, y, self.scratch.dot)

    def voices(self, t, k, q, at, index, value, count):
        """What each sub-expert votes, for an explanation; `gap` says how it would move."""
        look_at(self, t, k)
        stride = self.supports.alpha.shape[1]
        for j in range(self.supports.numbers[COUNT]):
            for c in range(k):
                if q[c] != 0.0 and self.supports.alive[j] == 1 and speaks_for(self, c):
                    for s in range(self.sharing.starts[c], self.sharing.starts[c + 1]):
                        index[count] = at + j * stride + self.sharing.sets[s]
                        value[count] = q[c] * compared(self, j, c)
                        count += 1
        return count
