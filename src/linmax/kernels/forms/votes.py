"""Experts' votes: one label each (hard), a score for every class (dense), or the scores given (sparse).

Each form has the verbs of a trial (`tally`, `gap`, `speakers`) for one sub-expert per expert, and is also a
list of single votes (`size`, `vote`), which is how views such as `Split` read it.
"""

from typing import Any, NamedTuple

import numpy as np

from linmax.kernels.forms.base import (
    n_entries,
    one_by_one,
    vote_at,
    weight_of,
    without_memory,
    without_sketch,
)


@without_memory
class Hard(NamedTuple):
    """One label per expert; the code -1 abstains, and indexes the spare last slot of `scores` and `q`."""

    codes: np.ndarray  # (trials, experts) int32

    def add_scores(self, t, k, w, at, scores):
        for i in range(self.codes.shape[1]):
            scores[self.codes[t, i]] += weight_of(w, at + i)

    def add_both_scores(self, t, k, w, v, at, scores, others):
        for i in range(self.codes.shape[1]):
            c = self.codes[t, i]
            scores[c] += weight_of(w, at + i)
            others[c] += weight_of(v, at + i)

    def append_z(self, t, k, q, at, index, value, count):
        for i in range(self.codes.shape[1]):
            z = q[self.codes[t, i]]
            index[count] = at + i
            value[count] = z
            count += 1 * (z != 0.0)  # branch-free: who is right is hard to predict
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for i in range(self.codes.shape[1]):
            if self.codes[t, i] >= 0 and spoken[at + i] == 0:
                index[count] = at + i
                count += 1
        return count

    def write_shifts(self, t, bits, blank, shifts):
        for i in range(self.codes.shape[1]):
            shifts[i] = bits * self.codes[t, i] if self.codes[t, i] >= 0 else blank

    def constant_sketch(self, k, at, bits, q):
        return 0

    def most_marks(self):
        return self.codes.shape[1]

    def n_entries(self, t):
        return self.codes.shape[1]

    def vote_at(self, t, j):
        return j, self.codes[t, j], 1.0


@without_memory
@without_sketch
@one_by_one
class Dense(NamedTuple):
    """A score of every expert for every class; zeros abstain."""

    values: np.ndarray  # (trials, experts, classes) float64

    def add_scores(self, t, k, w, at, scores):
        for i in range(self.values.shape[1]):
            weight = weight_of(w, at + i)
            for c in range(self.values.shape[2]):
                scores[c] += weight * self.values[t, i, c]

    def append_z(self, t, k, q, at, index, value, count):
        for i in range(self.values.shape[1]):
            z = 0.0
            for c in range(self.values.shape[2]):
                z += q[c] * self.values[t, i, c]
            index[count] = at + i
            value[count] = z
            count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for i in range(self.values.shape[1]):
            if spoken[at + i] == 0:
                loud = False
                for c in range(self.values.shape[2]):
                    loud |= self.values[t, i, c] != 0.0
                if loud:
                    index[count] = at + i
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
@one_by_one
class Sparse(NamedTuple):
    """The scores that were given, row by row, by expert and then class; none is zero, and -1 abstains."""

    indptr: np.ndarray  # (trials + 1,) int64
    expert: np.ndarray  # int32
    label: np.ndarray  # int32
    value: np.ndarray  # float64

    def add_scores(self, t, k, w, at, scores):
        for j in range(self.indptr[t], self.indptr[t + 1]):
            scores[self.label[j]] += weight_of(w, at + self.expert[j]) * self.value[j]

    def append_z(self, t, k, q, at, index, value, count):
        j = self.indptr[t]
        while j < self.indptr[t + 1]:
            i = self.expert[j]
            z = 0.0
            while j < self.indptr[t + 1] and self.expert[j] == i:
                z += q[self.label[j]] * self.value[j]
                j += 1
            index[count] = at + i
            value[count] = z
            count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        before = -1
        for j in range(self.indptr[t], self.indptr[t + 1]):
            i = self.expert[j]
            if i != before and self.label[j] >= 0 and spoken[at + i] == 0:
                index[count] = at + i
                count += 1
            before = i
        return count

    def n_entries(self, t):
        return self.indptr[t + 1] - self.indptr[t]

    def vote_at(self, t, j):
        at = self.indptr[t] + j
        return self.expert[at], self.label[at], self.value[at]


@without_memory
class Always(NamedTuple):
    """Sub-expert c votes for class c on every trial."""

    stride: int

    def add_scores(self, t, k, w, at, scores):
        for c in range(k):
            scores[c] += weight_of(w, at + c)

    def add_both_scores(self, t, k, w, v, at, scores, others):
        for c in range(k):
            scores[c] += weight_of(w, at + c)
            others[c] += weight_of(v, at + c)

    def append_z(self, t, k, q, at, index, value, count):
        for c in range(k):
            index[count] = at + c
            value[count] = q[c]
            count += 1 * (q[c] != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for c in range(k):
            if spoken[at + c] == 0:
                index[count] = at + c
                count += 1
        return count

    def write_shifts(self, t, bits, blank, shifts):
        pass  # the same in every trial: the backdrop

    def constant_sketch(self, k, at, bits, q):
        total = 0
        for c in range(k):
            total += int(q[at + c]) << (bits * c)
        return total

    def most_marks(self):
        return 0


@without_memory
@without_sketch
@one_by_one
class SplitVotes(NamedTuple):
    """Sub-expert (i, c) repeats expert i's vote for class c, silent on the others (1999, section 4.4)."""

    votes: Any
    chosen: np.ndarray  # (stride,) uint8: the classes that get sub-experts of their own
    stride: int

    def add_scores(self, t, k, w, at, scores):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                scores[c] += weight_of(w, at + i * self.stride + c) * x

    def append_z(self, t, k, q, at, index, value, count):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                z = q[c] * x
                index[count] = at + i * self.stride + c
                value[count] = z
                count += 1 * (z != 0.0)
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and x != 0.0 and self.chosen[c] == 1 and spoken[at + i * self.stride + c] == 0:
                index[count] = at + i * self.stride + c
                count += 1
        return count


@without_memory
@without_sketch
@one_by_one
class PerClassVotes(NamedTuple):
    """Sub-expert (i, a, c) votes for class c as strongly as expert i does for a: it says a, it means c."""

    votes: Any
    stride: int

    def add_scores(self, t, k, w, at, scores):
        for j in range(n_entries(self.votes, t)):
            i, a, x = vote_at(self.votes, t, j)
            if a >= 0 and x != 0.0:
                base = at + (i * self.stride + a) * self.stride
                for c in range(k):
                    scores[c] += weight_of(w, base + c) * x

    def append_z(self, t, k, q, at, index, value, count):
        for c in range(k):
            if q[c] != 0.0:
                for j in range(n_entries(self.votes, t)):
                    i, a, x = vote_at(self.votes, t, j)
                    if a >= 0 and x != 0.0:
                        index[count] = at + (i * self.stride + a) * self.stride + c
                        value[count] = q[c] * x
                        count += 1
        return count

    def append_new_experts(self, t, k, at, spoken, index, count):
        for j in range(n_entries(self.votes, t)):
            i, a, x = vote_at(self.votes, t, j)
            if a >= 0 and x != 0.0:
                base = at + (i * self.stride + a) * self.stride
                for c in range(k):
                    if spoken[base + c] == 0:
                        index[count] = base + c
                        count += 1
        return count
