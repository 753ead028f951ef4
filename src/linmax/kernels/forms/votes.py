"""Experts' votes: one label each (hard), a score for every class (dense), or the scores given (sparse).

Each form has one sub-expert per expert, and is also a list of single votes (`n_entries`, `vote_at`), which is
how forms such as `SplitVotes` read it.
"""

from typing import Any, NamedTuple

import numpy as np

from linmax.kernels.forms.base import (
    n_entries,
    one_pass_each,
    vote_at,
    weight_of,
    without_memory,
    without_sketch,
)


@without_memory
class Hard(NamedTuple):
    """One label per expert: codes of shape (trials, experts), int32.

    The code -1 is an abstention, and indexes the extra last slot of `scores` and `q`.
    """

    codes: np.ndarray

    def add_scores(self, t, k, w, offset, scores):
        for i in range(self.codes.shape[1]):
            scores[self.codes[t, i]] += weight_of(w, offset + i)

    def add_both_scores(self, t, k, w, v, offset, scores, others):
        for i in range(self.codes.shape[1]):
            c = self.codes[t, i]
            scores[c] += weight_of(w, offset + i)
            others[c] += weight_of(v, offset + i)

    def append_z(self, t, k, q, offset, index, value, count):
        for i in range(self.codes.shape[1]):
            z = q[self.codes[t, i]]
            index[count] = offset + i
            value[count] = z
            count += 1 * (z != 0.0)  # without a branch, which would be hard to predict
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for i in range(self.codes.shape[1]):
            if self.codes[t, i] >= 0 and spoken[offset + i] == 0:
                index[count] = offset + i
                count += 1
        return count

    def write_shifts(self, t, bits, blank, shifts):
        for i in range(self.codes.shape[1]):
            shifts[i] = bits * self.codes[t, i] if self.codes[t, i] >= 0 else blank

    def constant_sketch(self, k, offset, bits, q):
        return 0

    def sketch_votes(self):
        return self.codes.shape[1]

    def n_entries(self, t):
        return self.codes.shape[1]

    def vote_at(self, t, j):
        return j, self.codes[t, j], 1.0


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

    def n_entries(self, t):
        return self.values.shape[1] * self.values.shape[2]

    def vote_at(self, t, j):
        i = j // self.values.shape[2]
        c = j - i * self.values.shape[2]
        return i, c, self.values[t, i, c]


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

    def append_new_experts(self, t, k, offset, spoken, index, count):
        before = -1
        for j in range(self.indptr[t], self.indptr[t + 1]):
            i = self.expert[j]
            if i != before and self.label[j] >= 0 and spoken[offset + i] == 0:
                index[count] = offset + i
                count += 1
            before = i
        return count

    def n_entries(self, t):
        return self.indptr[t + 1] - self.indptr[t]

    def vote_at(self, t, j):
        offset = self.indptr[t] + j
        return self.expert[offset], self.label[offset], self.value[offset]


@without_memory
class ConstantVotes(NamedTuple):
    """Sub-expert c votes for class c on every trial."""

    stride: int

    def add_scores(self, t, k, w, offset, scores):
        for c in range(k):
            scores[c] += weight_of(w, offset + c)

    def add_both_scores(self, t, k, w, v, offset, scores, others):
        for c in range(k):
            scores[c] += weight_of(w, offset + c)
            others[c] += weight_of(v, offset + c)

    def append_z(self, t, k, q, offset, index, value, count):
        for c in range(k):
            index[count] = offset + c
            value[count] = q[c]
            count += 1 * (q[c] != 0.0)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for c in range(k):
            if spoken[offset + c] == 0:
                index[count] = offset + c
                count += 1
        return count

    def write_shifts(self, t, bits, blank, shifts):
        pass  # see constant_sketch

    def constant_sketch(self, k, offset, bits, q):
        total = 0
        for c in range(k):
            total += int(q[offset + c]) << (bits * c)
        return total

    def sketch_votes(self):
        return 0


@without_memory
@without_sketch
@one_pass_each
class SplitVotes(NamedTuple):
    """Sub-expert (i, c) repeats the vote of expert i for class c, and abstains otherwise (1999, section 4.4).

    `chosen` says which classes have sub-experts.
    """

    votes: Any
    chosen: np.ndarray
    stride: int

    def add_scores(self, t, k, w, offset, scores):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                scores[c] += weight_of(w, offset + i * self.stride + c) * x

    def append_z(self, t, k, q, offset, index, value, count):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                z = q[c] * x
                index[count] = offset + i * self.stride + c
                value[count] = z
                count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and x != 0.0 and self.chosen[c] == 1 and spoken[offset + i * self.stride + c] == 0:
                index[count] = offset + i * self.stride + c
                count += 1
        return count


@without_memory
@without_sketch
@one_pass_each
class PerClassVotes(NamedTuple):
    """Sub-expert (i, a, c) votes for class c with the value of the vote of expert i for a."""

    votes: Any
    stride: int

    def add_scores(self, t, k, w, offset, scores):
        for j in range(n_entries(self.votes, t)):
            i, a, x = vote_at(self.votes, t, j)
            if a >= 0 and x != 0.0:
                base = offset + (i * self.stride + a) * self.stride
                for c in range(k):
                    scores[c] += weight_of(w, base + c) * x

    def append_z(self, t, k, q, offset, index, value, count):
        for c in range(k):
            if q[c] != 0.0:
                for j in range(n_entries(self.votes, t)):
                    i, a, x = vote_at(self.votes, t, j)
                    if a >= 0 and x != 0.0:
                        index[count] = offset + (i * self.stride + a) * self.stride + c
                        value[count] = q[c] * x
                        count += 1
        return count

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for j in range(n_entries(self.votes, t)):
            i, a, x = vote_at(self.votes, t, j)
            if a >= 0 and x != 0.0:
                base = offset + (i * self.stride + a) * self.stride
                for c in range(k):
                    if spoken[base + c] == 0:
                        index[count] = base + c
                        count += 1
        return count
