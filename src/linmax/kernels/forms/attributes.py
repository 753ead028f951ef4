"""Forms of attributes: the linear machine of 1999, its two-class variant, and pairs of values."""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel
from linmax._jit.vectors import WIDTH, like, maximum, put, splat, squarable, take, total, wide
from linmax.kernels.elementwise import cos_of_turns
from linmax.kernels.forms.base import (
    adapt_eight,
    adapt_one,
    all_small,
    attribute_at,
    begin_rows,
    n_entries,
    one_pass_each,
    own_weights_of,
    smallest_share,
    start_sums,
    weight_of,
    weights_of,
    without_memory,
    without_observation,
    without_sketch,
    without_voters,
)

EMPTY = -1  # in the hash table of pairs, and the number of a pair without one


@CompiledKernel
def number_pairs(codes, table, members, count, limit, add, out):
    """Number every pair of values of an item (open addressing, linear probing); return the number."""
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
    """Numeric attributes, all of them on every trial: values of shape (trials, attributes)."""

    values: np.ndarray

    def n_entries(self, t):
        return self.values.shape[1]

    def attribute_at(self, t, j):
        return j, self.values[t, j]

    def attribute_value(self, t, a):
        return self.values[t, a] if a < self.values.shape[1] else 0.0

    def begin_rows(self, t):
        pass


class SparseRows(NamedTuple):
    """The non-zero attributes of each trial, in order, as CSR arrays (`index` is int32)."""

    indptr: np.ndarray
    index: np.ndarray  # type: ignore[assignment]
    value: np.ndarray

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

    def begin_rows(self, t):
        pass


class FeatureRows(NamedTuple):
    """Random cosines of the attributes of a trial: feature j is cos(direction_j . x + phase_j); 0 is 1.

    A trial that lists an attribute without a direction has feature 0 alone.

    Parameters
    ----------
    rows : SparseRows
        The attributes x.
    directions : ndarray of shape (attributes * features,), float32
        A number per attribute and feature, in turns; complete vectors.
    phases : ndarray of shape (features,)
        In turns.
    value : ndarray of shape (features + 1,)
        The features of the current trial.
    """

    rows: Any
    directions: np.ndarray
    phases: np.ndarray
    value: np.ndarray

    def n_entries(self, t):
        return len(self.value)

    def attribute_at(self, t, j):
        return j, self.value[j]

    def attribute_value(self, t, a):
        return self.value[a]

    def begin_rows(self, t):
        features = len(self.phases)
        entries = n_entries(self.rows, t)
        largest = 0
        for j in range(entries):
            a, x = attribute_at(self.rows, t, j)
            largest = max(largest, a)
        self.value[0] = 1.0
        for b in range(0, features, WIDTH):
            if largest * features >= len(self.directions):
                put(self.value, b + 1, splat(0.0))
                continue
            turns = like(self.directions, take(self.phases, b))
            for j in range(entries):
                a, x = attribute_at(self.rows, t, j)
                turns = turns + take(self.directions, a * features + b) * float(x)
            put(self.value, b + 1, cos_of_turns(wide(turns)))


@without_voters
@without_observation
@without_sketch
class LinearMachine(NamedTuple):
    """Sub-expert (a, c) votes for class c with the value of attribute a: a weight per attribute and class.

    The weights of the classes come in complete vectors: `stride` is a multiple of eight.
    """

    rows: Any
    stride: int

    def begin_trial(self, t):
        begin_rows(self.rows, t)

    def add_scores(self, t, k, w, offset, scores):
        for b in range(0, k, WIDTH):
            sums = start_sums(w, take(scores, b))
            for j in range(n_entries(self.rows, t)):
                a, x = attribute_at(self.rows, t, j)
                if x != 0.0:
                    sums = sums + own_weights_of(w, offset + a * self.stride + b) * float(x)
            put(scores, b, wide(sums))

    def add_both_scores(self, t, k, w, v, offset, scores, others):
        for b in range(0, k, WIDTH):
            sums = take(scores, b)
            other_sums = take(others, b)
            for j in range(n_entries(self.rows, t)):
                a, x = attribute_at(self.rows, t, j)
                if x != 0.0:
                    at = offset + a * self.stride + b
                    sums = sums + weights_of(w, at) * x
                    other_sums = other_sums + weights_of(v, at) * x
            put(scores, b, sums)
            put(others, b, other_sums)

    def list_inputs(self, t, offset, index, value, count):
        for j in range(n_entries(self.rows, t)):
            a, x = attribute_at(self.rows, t, j)
            index[count] = offset + a * self.stride
            value[count] = x
            count += 1 * (x != 0.0)
        return count

    def add(self, t, k, q, step, offset, w):
        for b in range(0, k, WIDTH):
            shares = take(q, b)
            if total(maximum(shares, 0.0 - shares)) > 0.0:
                for j in range(n_entries(self.rows, t)):
                    a, x = attribute_at(self.rows, t, j)
                    at = offset + a * self.stride + b
                    put(w, at, take(w, at) + shares * x * step)

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        least = smallest_share(k)
        for b in range(0, k, WIDTH):
            shares = like(theta, take(q, b))
            if not all_small(shares, least):
                for j in range(n_entries(self.rows, t)):
                    a, x = attribute_at(self.rows, t, j)
                    own = shares * squarable(theta, x)
                    adapt_eight(theta, w, offset + a * self.stride + b, own, step, initial)

    def append_z(self, t, k, q, offset, index, value, count):
        for c in range(k):
            if q[c] != 0.0:
                for j in range(n_entries(self.rows, t)):
                    a, x = attribute_at(self.rows, t, j)
                    index[count] = offset + a * self.stride + c
                    value[count] = q[c] * x
                    count += 1 * (x != 0.0)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for j in range(n_entries(self.rows, t)):
            a, x = attribute_at(self.rows, t, j)
            if x != 0.0:
                base = offset + a * self.stride
                for c in range(k):
                    if spoken[base + c] == 0:
                        index[count] = base + c
                        count += 1
        return count


@without_voters
@without_memory
@without_sketch
@one_pass_each
class Complement(NamedTuple):
    """Sub-expert a votes x for the first of two classes and 1 - x for the second (1999, section 4.3)."""

    values: np.ndarray

    def add_scores(self, t, k, w, offset, scores):
        for a in range(self.values.shape[1]):
            scores[0] += weight_of(w, offset + a) * self.values[t, a]
            scores[1] += weight_of(w, offset + a) * (1.0 - self.values[t, a])

    def add(self, t, k, q, step, offset, w):
        for a in range(self.values.shape[1]):
            w[offset + a] += step * (q[0] * self.values[t, a] + q[1] * (1.0 - self.values[t, a]))

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        for a in range(self.values.shape[1]):
            own = q[0] * self.values[t, a] + q[1] * (1.0 - self.values[t, a])
            adapt_one(theta, w, offset + a, own, step, initial)

    def append_z(self, t, k, q, offset, index, value, count):
        for a in range(self.values.shape[1]):
            z = q[0] * self.values[t, a] + q[1] * (1.0 - self.values[t, a])
            index[count] = offset + a
            value[count] = z
            count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for a in range(self.values.shape[1]):
            if spoken[offset + a] == 0:  # x and 1 - x are never both zero
                index[count] = offset + a
                count += 1
        return count


@without_sketch
@one_pass_each
class RememberedPairs(NamedTuple):
    """Each pair votes for the label it had most often recently; labels that tie share the vote.

    Votes are computed when a trial begins, so a recycled instance keeps the votes of its own trial.

    Parameters
    ----------
    pair : ndarray of shape (trials, pairs), int32
        The sub-expert; -1 for none.
    voted_labels : ndarray of shape (trials, pairs, memory), int32
        The labels it votes for.
    n_labels : ndarray of shape (trials, pairs), int32
        How many of them.
    memory : ndarray of shape (capacity, memory), int32
        The last labels of each pair, a ring.
    seen : ndarray of shape (capacity,), int64
        How often each pair has occurred.
    """

    pair: np.ndarray
    voted_labels: np.ndarray
    n_labels: np.ndarray
    memory: np.ndarray
    seen: np.ndarray

    def begin_trial(self, t):
        length = self.memory.shape[1]
        for j in range(self.pair.shape[1]):
            i = self.pair[t, j]
            self.n_labels[t, j] = 0
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
                    self.n_labels[t, j] = 0
                if first and times == most:
                    self.voted_labels[t, j, self.n_labels[t, j]] = label
                    self.n_labels[t, j] += 1

    def observe(self, t, y):
        for j in range(self.pair.shape[1]):
            i = self.pair[t, j]
            if i >= 0:
                self.memory[i, self.seen[i] % self.memory.shape[1]] = y
                self.seen[i] += 1

    def add_scores(self, t, k, w, offset, scores):
        for j in range(self.pair.shape[1]):
            ties = self.n_labels[t, j]
            if ties > 0:
                share = 1.0 / ties
                weight = weight_of(w, offset + self.pair[t, j])
                for a in range(ties):
                    scores[self.voted_labels[t, j, a]] += weight * share

    def append_z(self, t, k, q, offset, index, value, count):
        for j in range(self.pair.shape[1]):
            ties = self.n_labels[t, j]
            if ties > 0:
                share = 1.0 / ties
                z = 0.0
                for a in range(ties):
                    z += q[self.voted_labels[t, j, a]] * share
                index[count] = offset + self.pair[t, j]
                value[count] = z
                count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for j in range(self.pair.shape[1]):
            if self.n_labels[t, j] > 0 and spoken[offset + self.pair[t, j]] == 0:
                index[count] = offset + self.pair[t, j]
                count += 1
        return count
