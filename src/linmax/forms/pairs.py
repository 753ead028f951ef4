"""Pairs of attribute values that remember (Blum 1995; 2003, section 5.2)."""

from typing import NamedTuple

import numpy as np

from linmax.forms.memory import without_sketch
from linmax.forms.pairwise import one_by_one


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

    def enter(self, t):
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

    def tally(self, t, k, w, at, scores):
        for j in range(self.pair.shape[1]):
            ties = self.tied[t, j]
            if ties > 0:
                share = 1.0 / ties
                weight = w.of(at + self.pair[t, j])
                for a in range(ties):
                    scores[self.favourite[t, j, a]] += weight * share

    def gap(self, t, k, q, at, index, value, count):
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

    def speakers(self, t, k, at, spoken, index, count):
        for j in range(self.pair.shape[1]):
            if self.tied[t, j] > 0 and spoken[at + self.pair[t, j]] == 0:
                index[count] = at + self.pair[t, j]
                count += 1
        return count
