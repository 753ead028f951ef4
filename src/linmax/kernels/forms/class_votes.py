"""Sub-experts per class: constant votes, votes split by class, and votes read as attributes."""

from typing import Any, NamedTuple

import numpy as np

from linmax._jit.compilation import inline, separate
from linmax._jit.vectors import WIDTH, assign, get_alone, increase, like, put, squarable, take
from linmax.kernels.blocks import prefetch_eight
from linmax.kernels.forms.base import (
    adapt_eight,
    adapt_one,
    add_vector,
    all_small,
    n_entries,
    one_pass_each,
    prefetch_weights,
    smallest_share,
    vote_at,
    weight_of,
    weights_of,
    without_memory,
    without_sketch,
    without_voters,
)
from linmax.rules.winnow import multiply_weight

GROUP = 8  # votes whose weights are read side by side, from the first class to the last
ROWS = 4  # votes whose weights are changed side by side: processors fetch few sequences ahead
AHEAD = 8  # votes whose weights are fetched before they are needed
LINE = 2 * WIDTH  # float32 in a cache line
SPAN = 64 * WIDTH  # classes, whose blocks of eight have a bit each
ALL = -1  # these bits


@without_voters
@without_memory
class ConstantVotes(NamedTuple):
    """Sub-expert c votes for class c on every trial."""

    stride: int

    def add_scores(self, t, k, w, offset, scores):
        for c in range(k):
            assign(scores, c, get_alone(scores, c) + weight_of(w, offset + c))

    def add_both_scores(self, t, k, w, v, offset, scores, others):
        for c in range(k):
            assign(scores, c, get_alone(scores, c) + weight_of(w, offset + c))
            assign(others, c, get_alone(others, c) + weight_of(v, offset + c))

    def append_z(self, t, k, q, offset, index, value, count):
        for c in range(k):
            index[count] = offset + c
            value[count] = q[c]
            count += 1 * (q[c] != 0.0)
        return count

    def add(self, t, k, q, step, offset, w):
        for c in range(k):
            increase(w, offset + c, step * get_alone(q, c))

    def add_group_scores(self, t, k, w, offset, scores):
        for c in range(k):
            add_vector(scores, c, take(w, (offset + c) * WIDTH))

    def add_to_group(self, t, k, q, steps, offset, w):
        for c in range(k):
            add_vector(w, offset + c, steps * take(q, c * WIDTH))

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        for c in range(k):
            adapt_one(theta, w, offset + c, q[c], step, initial)

    def multiply(self, t, k, q, offset, h, mass):
        for c in range(k):
            mass += multiply_weight(h.p, h.theta, h.w, offset + c, get_alone(q, c))
        return mass

    def list_inputs(self, t, offset, index, value, count):
        index[count] = offset
        value[count] = 1.0
        return count + 1

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


@without_voters
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

    def add(self, t, k, q, step, offset, w):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                w[offset + i * self.stride + c] += step * (q[c] * x)

    def add_group_scores(self, t, k, w, offset, scores):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                add_vector(scores, c, take(w, (offset + i * self.stride + c) * WIDTH) * x)

    def add_to_group(self, t, k, q, steps, offset, w):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                add_vector(w, offset + i * self.stride + c, steps * (take(q, c * WIDTH) * x))

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and self.chosen[c] == 1:
                adapt_one(theta, w, offset + i * self.stride + c, q[c] * x, step, initial)

    def append_new_experts(self, t, k, offset, spoken, index, count):
        for j in range(n_entries(self.votes, t)):
            i, c, x = vote_at(self.votes, t, j)
            if c >= 0 and x != 0.0 and self.chosen[c] == 1 and spoken[offset + i * self.stride + c] == 0:
                index[count] = offset + i * self.stride + c
                count += 1
        return count


@inline
def group_of(size, k, count):
    """Return how many of `count` votes are read or changed side by side: all, if a vector has all classes."""
    return size if k > WIDTH else max(count, 1)


@inline
def large_blocks(q, begin, end, least):
    """Return a bit for each eight classes: 0 if all have a smaller share in z than `least`."""
    bits = 0
    for b in range(begin, end, WIDTH):
        bits |= (1 - 1 * all_small(take(q, b), least)) << (b - begin) // WIDTH
    return bits


class Adapted(NamedTuple):
    """The columns that `adapt` changes."""

    theta: Any
    w: Any

    def prefetch_weights(self, i):
        prefetch_eight(self.theta, i)
        prefetch_eight(self.w, i)


@separate
def prefetch_rows(form, t, first, last, offset, begin, end, large, hypothesis):
    """Let the machine fetch the weights of some votes, of eights of classes whose bit is set in `large`."""
    for j in range(first, last):
        i, a, _ = vote_at(form.votes, t, j)
        if a >= 0:
            at = offset + (i * form.stride + a) * form.stride
            for b in range(begin, end, LINE):
                if (large >> (b - begin) // WIDTH) & 3:
                    prefetch_weights(hypothesis, at + b)


@without_voters
@without_memory
@without_sketch
@one_pass_each
class PerClassVotes(NamedTuple):
    """Sub-expert (i, a, c) votes for class c with the value of the vote of expert i for a."""

    votes: Any
    stride: int

    def add_scores(self, t, k, w, offset, scores):
        count = n_entries(self.votes, t)
        group = group_of(GROUP, k, count)
        for first in range(0, count, group):
            last = min(first + group, count)
            if k > WIDTH:
                prefetch_rows(self, t, last, min(last + group, count), offset, 0, min(k, SPAN), ALL, w)
            for b in range(0, k, WIDTH):
                sums = take(scores, b)
                for j in range(first, last):
                    i, a, x = vote_at(self.votes, t, j)
                    if a >= 0:
                        sums = sums + weights_of(w, offset + (i * self.stride + a) * self.stride + b) * x
                put(scores, b, sums)

    def add(self, t, k, q, step, offset, w):
        for j in range(n_entries(self.votes, t)):
            i, a, x = vote_at(self.votes, t, j)
            if a >= 0:
                base = offset + (i * self.stride + a) * self.stride
                for b in range(0, k, WIDTH):
                    put(w, base + b, take(w, base + b) + take(q, b) * x * step)

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        count = n_entries(self.votes, t)
        rows = group_of(ROWS, k, count)
        for begin in range(0, k, SPAN):
            end = min(begin + SPAN, k)
            large = large_blocks(q, begin, end, smallest_share(k))
            for first in range(0, count * (large != 0), rows):
                last = min(first + rows, count)
                if k > WIDTH:
                    ahead, stop = min(first + AHEAD, count), min(last + AHEAD, count)
                    prefetch_rows(self, t, ahead, stop, offset, begin, end, large, Adapted(theta, w))
                for b in range(begin, end, WIDTH):
                    if (large >> (b - begin) // WIDTH) & 1:
                        shares = like(theta, take(q, b))
                        for j in range(first, last):
                            i, a, x = vote_at(self.votes, t, j)
                            if a >= 0 and x != 0.0:
                                at = offset + (i * self.stride + a) * self.stride + b
                                adapt_eight(theta, w, at, shares * squarable(theta, x), step, initial)

    def list_inputs(self, t, offset, index, value, count):
        for j in range(n_entries(self.votes, t)):
            i, a, x = vote_at(self.votes, t, j)
            index[count] = offset + (i * self.stride + a) * self.stride
            value[count] = x
            count += 1 * (a >= 0 and x != 0.0)
        return count

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
