"""Other readings of the same votes: an expert split into one per class, and a vote read as an attribute."""

from typing import Any, NamedTuple

import numpy as np

from linmax.forms.memory import without_memory, without_sketch
from linmax.forms.pairwise import one_by_one


@without_memory
@without_sketch
@one_by_one
class SplitVotes(NamedTuple):
    """Sub-expert (i, c) repeats expert i's vote for class c, silent on the others (1999, section 4.4)."""

    votes: Any
    chosen: np.ndarray  # (stride,) uint8: the classes that get sub-experts of their own
    stride: int

    def tally(self, t, k, w, at, scores):
        for j in range(self.votes.size(t)):
            i, c, x = self.votes.vote(t, j)
            if c >= 0 and self.chosen[c] == 1:
                scores[c] += w.of(at + i * self.stride + c) * x

    def gap(self, t, k, q, at, index, value, count):
        for j in range(self.votes.size(t)):
            i, c, x = self.votes.vote(t, j)
            if c >= 0 and self.chosen[c] == 1:
                z = q[c] * x
                index[count] = at + i * self.stride + c
                value[count] = z
                count += 1 * (z != 0.0)
        return count

    def speakers(self, t, k, at, spoken, index, count):
        for j in range(self.votes.size(t)):
            i, c, x = self.votes.vote(t, j)
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

    def tally(self, t, k, w, at, scores):
        for j in range(self.votes.size(t)):
            i, a, x = self.votes.vote(t, j)
            if a >= 0 and x != 0.0:
                base = at + (i * self.stride + a) * self.stride
                for c in range(k):
                    scores[c] += w.of(base + c) * x

    def gap(self, t, k, q, at, index, value, count):
        for c in range(k):
            if q[c] != 0.0:
                for j in range(self.votes.size(t)):
                    i, a, x = self.votes.vote(t, j)
                    if a >= 0 and x != 0.0:
                        index[count] = at + (i * self.stride + a) * self.stride + c
                        value[count] = q[c] * x
                        count += 1
        return count

    def speakers(self, t, k, at, spoken, index, count):
        for j in range(self.votes.size(t)):
            i, a, x = self.votes.vote(t, j)
            if a >= 0 and x != 0.0:
                base = at + (i * self.stride + a) * self.stride
                for c in range(k):
                    if spoken[base + c] == 0:
                        index[count] = base + c
                        count += 1
        return count
