"""Plain attributes as sub-experts: the linear machine of 1999, and its two-class short form."""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit import Kernel
from linmax.kernels.forms.base import (
    attribute_at,
    n_entries,
    one_by_one,
    weight_of,
    without_memory,
    without_sketch,
)

EMPTY = -1  # in the hash table of pairs, and the number of a pair without one


@Kernel
def number_pairs(codes, table, members, count, limit, add, out):
    """Give every pair of values of an item its number (open addressing, linear probing)."""
    mask = len(table) - 1
    for t in range(codes.shape[0]):
        j = 0
        for a in range(codes.shape[1]):
            for b in range(a + 1, codes.shape[1]):
                low = min(codes[t, a], codes[t, b])
                high = max(codes[t, a], codes[t, b])
                out[t, j] = EMPTY
                if low >= 0:
                    place = (low * 1_000_003 + high * 7_368_787) & mask
                    while table[place] != EMPTY and (
                        members[table[place], 0] != low or members[table[place], 1] != high
                    ):
                        place = (place + 1) & mask
                    if table[place] == EMPTY and add[t] and count < limit:
                        table[place] = count
                        members[count, 0] = low
                        members[count, 1] = high
                        count += 1
                    out[t, j] = table[place]
                j += 1
    return count


class Rows(NamedTuple):
    """Numeric attributes, every one of them on every trial."""

    values: np.ndarray  # (trials, attributes) float64

    def n_entries(self, t):
        return self.values.shape[1]

    def attribute_at(self, t, j):
        return j, self.values[t, j]

    def attribute_value(self, t, a):
        return self.values[t, a] if a < self.values.shape[1] else 0.0


class SparseRows(NamedTuple):
    """The attributes that are not zero, row by row, in the order of the attributes."""

    indptr: np.ndarray  # (trials + 1,) int64
    index: np.ndarray  # type: ignore[assignment]  # int32
    value: np.ndarray  # float64

    def n_entries(self, t):
        return self.indptr[t + 1] - self.indptr[t]

    def attribute_at(self, t, j):
        return self.index[self.indptr[t] + j], self.value[self.indptr[t] + j]

    def attribute_value(self, t, a):
        low, high = self.indptr[t], self.indptr[t + 1]
        while low < high:
            middle = (low + high) // 2
            if self.index[middle] < a:
                low = middle + 1
            else:
                high = middle
        if low < self.indptr[t + 1] and self.index[low] == a:
            return self.value[low]
        return 0.0


@without_memory
@without_sketch
@one_by_one
class LinearMachine(NamedTuple):
    """Sub-expert (a, c) votes for class c with the value of attribute a: a weight per attribute and class."""

    rows: Any
    stride: int

    def add_scores(self, t, k, w, at, scores):
        for j in range(n_entries(self.rows, t)):
            a, x = attribute_at(self.rows, t, j)
            if x != 0.0:
                base = at + a * self.stride
                for c in range(k):
                    scores[c] += weight_of(w, base + c) * x

    def append_z(self, t, k, q, at, index, value, count):
        for c in range(k):
            if q[c] != 0.0:
                for j in range(n_entries(self.rows, t)):
                    a, x = attribute_at(self.rows, t, j)
                    index[count] = at + a * self.stride + c
                    value[count] = q[c] * x
                    count += 1 * (x != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for j in range(n_entries(self.rows, t)):
            a, x = attribute_at(self.rows, t, j)
            if x != 0.0:
                base = at + a * self.stride
                for c in range(k):
                    if spoken[base + c] == 0:
                        index[count] = base + c
                        count += 1
        return count


@without_memory
@without_sketch
@one_by_one
class Complement(NamedTuple):
    """Sub-expert a votes x for the first of two classes and 1 - x for the second (1999, section 4.3)."""

    values: np.ndarray  # (trials, attributes) float64

    def add_scores(self, t, k, w, at, scores):
        for a in range(self.values.shape[1]):
            scores[0] += weight_of(w, at + a) * self.values[t, a]
            scores[1] += weight_of(w, at + a) * (1.0 - self.values[t, a])

    def append_z(self, t, k, q, at, index, value, count):
        for a in range(self.values.shape[1]):
            z = q[0] * self.values[t, a] + q[1] * (1.0 - self.values[t, a])
            index[count] = at + a
            value[count] = z
            count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for a in range(self.values.shape[1]):
            if spoken[at + a] == 0:  # x and 1 - x are never both zero
                index[count] = at + a
                count += 1
        return count


@without_sketch
@one_by_one
class RememberedPairs(NamedTuple):
    """Each pair votes for the label that came most often of late; those that tie share the vote.

    A trial's votes are frozen when it is entered, so a recycled instance keeps the votes of its own time.
    """

    pair: np.ndarray  # (trials, pairs) int32: the sub-expert, -1 for none
    favourite: np.ndarray  # (trials, pairs, memory) int32: the labels it votes for
    tied: np.ndarray  # (trials, pairs) int32: how many of them
    memory: np.ndarray  # (capacity, memory) int32: the last labels, a ring
    seen: np.ndarray  # (capacity,) int64: how often the pair has occurred

    def begin_trial(self, t):
        length = self.memory.shape[1]
        for j in range(self.pair.shape[1]):
            i = self.pair[t, j]
            self.tied[t, j] = 0
            if i < 0:
                continue
            recent = min(self.seen[i], length)
            most = 0
            for a in range(recent):
                label = self.memory[i, a]
                times = 0
                first = True
                for b in range(recent):
                    if self.memory[i, b] == label:
                        times += 1
                        first &= b >= a
                if first and times > most:
                    most = times
                    self.tied[t, j] = 0
                if first and times == most:
                    self.favourite[t, j, self.tied[t, j]] = label
                    self.tied[t, j] += 1

    def observe(self, t, y):
        for j in range(self.pair.shape[1]):
            i = self.pair[t, j]
            if i >= 0:
                self.memory[i, self.seen[i] % self.memory.shape[1]] = y
                self.seen[i] += 1

    def add_scores(self, t, k, w, at, scores):
        for j in range(self.pair.shape[1]):
            ties = self.tied[t, j]
            if ties > 0:
                share = 1.0 / ties
                weight = weight_of(w, at + self.pair[t, j])
                for a in range(ties):
                    scores[self.favourite[t, j, a]] += weight * share

    def append_z(self, t, k, q, at, index, value, count):
        for j in range(self.pair.shape[1]):
            ties = self.tied[t, j]
            if ties > 0:
                share = 1.0 / ties
                z = 0.0
                for a in range(ties):
                    z += q[self.favourite[t, j, a]] * share
                index[count] = at + self.pair[t, j]
                value[count] = z
                count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for j in range(self.pair.shape[1]):
            if self.tied[t, j] > 0 and spoken[at + self.pair[t, j]] == 0:
                index[count] = at + self.pair[t, j]
                count += 1
        return count
