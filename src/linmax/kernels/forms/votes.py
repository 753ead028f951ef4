"""Experts' votes: one label each (hard), a score for every class (dense), or the scores given (sparse).

Each form has one sub-expert per expert, and is also a list of single votes (`n_entries`, `vote_at`), which is
how forms such as `SplitVotes` read it.
"""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit.compilation import dispatched
from linmax._jit.vectors import WIDTH, like, slot, splat, take
from linmax.kernels.forms.base import (
    adapt_eight,
    adapt_one,
    add_vector,
    of_voters,
    one_pass_each,
    vector_of_class,
    weight_of,
    without_memory,
    without_sketch,
)
from linmax.rules.winnow import multiply_weight

BYTE_CLASSES = 128  # whose codes fit into a byte; as a byte without a sign, an abstention is 255


def code_type(classes: int) -> Any:
    """Return the type in which kernels read the codes of so many classes: a byte, if they fit into it."""
    return np.int8 if classes <= BYTE_CLASSES else np.int32


def class_slots(classes: int) -> int:
    """Return how many numbers an array needs that is indexed by codes of so many classes, see `slot`."""
    return max((classes // WIDTH + 1) * WIDTH, 2 * BYTE_CLASSES)


@dispatched
def z_of(votes, t, i, q):
    """Return the coordinate of z that belongs to expert i."""


@dispatched
def z_from(votes, j, end, q):
    """Return the expert of vote j, its coordinate of z, and the first vote of the next expert."""


@of_voters
@without_memory
class Hard(NamedTuple):
    """One label per expert: codes of shape (trials, experts), int8 or int32 (see `code_type`).

    The code -1 is an abstention; `slot` is its place in `scores` and `q`, which have `class_slots`.
    """

    codes: np.ndarray

    def add_scores(self, t, k, w, offset, scores):
        for i in range(self.codes.shape[1]):
            scores[slot(self.codes[t, i])] += weight_of(w, offset + i)

    def add_both_scores(self, t, k, w, v, offset, scores, others):
        for i in range(self.codes.shape[1]):
            c = slot(self.codes[t, i])
            scores[c] += weight_of(w, offset + i)
            others[c] += weight_of(v, offset + i)

    def append_z(self, t, k, q, offset, index, value, count):
        for i in range(self.codes.shape[1]):
            z = q[slot(self.codes[t, i])]
            index[count] = offset + i
            value[count] = z
            count += 1 * (z != 0.0)  # without a branch, which would be hard to predict
        return count

    def add(self, t, k, q, step, offset, w):
        for i in range(self.codes.shape[1]):
            w[offset + i] += step * q[slot(self.codes[t, i])]

    def add_group_scores(self, t, k, w, offset, scores):
        for i in range(self.codes.shape[1]):
            add_vector(scores, vector_of_class(scores, int(self.codes[t, i])), take(w, (offset + i) * WIDTH))

    def add_to_group(self, t, k, q, steps, offset, w):
        for i in range(self.codes.shape[1]):
            z = take(q, vector_of_class(q, int(self.codes[t, i])) * WIDTH)
            add_vector(w, offset + i, steps * z)

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        count = self.codes.shape[1]
        for i in range(count):
            z[i] = q[slot(self.codes[t, i])]
        whole = count - count % WIDTH
        for i in range(0, whole, WIDTH):
            adapt_eight(theta, w, offset + i, like(theta, take(z, i)), step, initial)
        for i in range(whole, count):
            adapt_one(theta, w, offset + i, z[i], step, initial)

    def multiply(self, t, k, q, offset, h, mass):
        for i in range(self.codes.shape[1]):
            mass += multiply_weight(h.p, h.theta, h.w, offset + i, q[slot(self.codes[t, i])])
        return mass

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for i in range(self.codes.shape[1]):
            if self.codes[t, i] >= 0 and spoken[offset + i] == 0:
                index[count] = offset + i
                count += 1
        return count

    def write_shifts(self, t, bits, blank, shifts):
        for i in range(self.codes.shape[1]):
            shifts[i] = bits * int(self.codes[t, i]) if self.codes[t, i] >= 0 else blank

    def constant_sketch(self, k, offset, bits, q):
        return 0

    def sketch_votes(self):
        return self.codes.shape[1]

    def list_votes(self, t, expert, label):
        count = 0
        for i in range(self.codes.shape[1]):
            expert[count] = i
            label[count] = self.codes[t, i]
            count += 1 * (self.codes[t, i] >= 0)
        return count, False

    def add_scored_votes(self, t, k, shrink, counts, scores):
        pass  # there are none: less to compile

    def count_scored_votes(self, t, y, shrink, counts):
        pass

    def n_entries(self, t):
        return self.codes.shape[1]

    def vote_at(self, t, j):
        return j, int(self.codes[t, j]), 1.0


@of_voters
@without_memory
@without_sketch
@one_pass_each
class Dense(NamedTuple):
    """Scores of shape (trials, experts, classes); zeros are abstentions."""

    values: np.ndarray

    def add_scores(self, t, k, w, offset, scores):
        for i in range(self.values.shape[1]):
            weight = weight_of(w, offset + i)
            for c in range(self.values.shape[2]):
                scores[c] += weight * self.values[t, i, c]

    def append_z(self, t, k, q, offset, index, value, count):
        for i in range(self.values.shape[1]):
            z = 0.0
            for c in range(self.values.shape[2]):
                z += q[c] * self.values[t, i, c]
            index[count] = offset + i
            value[count] = z
            count += 1 * (z != 0.0)
        return count

    def z_of(self, t, i, q):
        """Return the coordinate of z that belongs to expert i."""
        z = 0.0
        for c in range(self.values.shape[2]):
            z += q[c] * self.values[t, i, c]
        return z

    def add(self, t, k, q, step, offset, w):
        for i in range(self.values.shape[1]):
            w[offset + i] += step * z_of(self, t, i, q)

    def add_group_scores(self, t, k, w, offset, scores):
        for i in range(self.values.shape[1]):
            weights = take(w, (offset + i) * WIDTH)
            for c in range(self.values.shape[2]):
                add_vector(scores, c, weights * self.values[t, i, c])

    def add_to_group(self, t, k, q, steps, offset, w):
        for i in range(self.values.shape[1]):
            z = splat(0.0)
            for c in range(self.values.shape[2]):
                z = z + take(q, c * WIDTH) * self.values[t, i, c]
            add_vector(w, offset + i, steps * z)

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        for i in range(self.values.shape[1]):
            adapt_one(theta, w, offset + i, z_of(self, t, i, q), step, initial)

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for i in range(self.values.shape[1]):
            if spoken[offset + i] == 0:
                votes = False
                for c in range(self.values.shape[2]):
                    votes |= self.values[t, i, c] != 0.0
                if votes:
                    index[count] = offset + i
                    count += 1
        return count

    def list_votes(self, t, expert, label):
        return 0, True

    def n_entries(self, t):
        return self.values.shape[1] * self.values.shape[2]

    def vote_at(self, t, j):
        i = j // self.values.shape[2]
        c = j - i * self.values.shape[2]
        return i, c, self.values[t, i, c]


@of_voters
@without_memory
@without_sketch
@one_pass_each
class Sparse(NamedTuple):
    """The non-zero scores of each trial, by expert and class, as CSR arrays; label -1 is an abstention."""

    indptr: np.ndarray
    expert: np.ndarray
    label: np.ndarray
    value: np.ndarray

    def add_scores(self, t, k, w, offset, scores):
        for j in range(self.indptr[t], self.indptr[t + 1]):
            scores[self.label[j]] += weight_of(w, offset + self.expert[j]) * self.value[j]

    def append_z(self, t, k, q, offset, index, value, count):
        j = self.indptr[t]
        while j < self.indptr[t + 1]:
            i = self.expert[j]
            z = 0.0
            while j < self.indptr[t + 1] and self.expert[j] == i:
                z += q[self.label[j]] * self.value[j]
                j += 1
            index[count] = offset + i
            value[count] = z
            count += 1 * (z != 0.0)
        return count

    def z_from(self, j, end, q):
        """Return the expert of vote j, its coordinate of z, and the first vote of the next expert."""
        i = self.expert[j]
        z = 0.0
        while j < end and self.expert[j] == i:
            z += q[self.label[j]] * self.value[j]
            j += 1
        return i, z, j

    def add(self, t, k, q, step, offset, w):
        j, end = self.indptr[t], self.indptr[t + 1]
        while j < end:
            i, z, j = z_from(self, j, end, q)
            w[offset + i] += step * z

    def add_group_scores(self, t, k, w, offset, scores):
        for j in range(self.indptr[t], self.indptr[t + 1]):
            weights = take(w, (offset + self.expert[j]) * WIDTH)
            add_vector(scores, vector_of_class(scores, self.label[j]), weights * self.value[j])

    def add_to_group(self, t, k, q, steps, offset, w):
        j, end = self.indptr[t], self.indptr[t + 1]
        while j < end:
            i = self.expert[j]
            z = splat(0.0)
            while j < end and self.expert[j] == i:
                z = z + take(q, vector_of_class(q, self.label[j]) * WIDTH) * self.value[j]
                j += 1
            add_vector(w, offset + i, steps * z)

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        j, end = self.indptr[t], self.indptr[t + 1]
        while j < end:
            i, own, j = z_from(self, j, end, q)
            adapt_one(theta, w, offset + i, own, step, initial)

    def append_new_experts(self, t, k, offset, spoken, index, count):
        before = -1
        for j in range(self.indptr[t], self.indptr[t + 1]):
            i = self.expert[j]
            if i != before and self.label[j] >= 0 and spoken[offset + i] == 0:
                index[count] = offset + i
                count += 1
            before = i
        return count

    def list_votes(self, t, expert, label):
        begin, end = self.indptr[t], self.indptr[t + 1]
        count = 0
        for j in range(begin, end):
            if self.value[j] != 1.0 or (j > begin and self.expert[j] == self.expert[j - 1]):
                return 0, True
            expert[count] = self.expert[j]
            label[count] = self.label[j]
            count += 1 * (self.label[j] >= 0)
        return count, False

    def n_entries(self, t):
        return self.indptr[t + 1] - self.indptr[t]

    def vote_at(self, t, j):
        offset = self.indptr[t] + j
        return self.expert[offset], self.label[offset], self.value[offset]
