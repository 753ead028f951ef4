"""Recycling: after a move, pass over the latest instances again until none of them moves anything."""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import dispatched, inline, separate
from linmax.kernels.forms import Last
from linmax.kernels.forms.base import constant_sketch, write_shifts
from linmax.kernels.structs import HELD, NEXT, SILENT
from linmax.kernels.update import best, learn, tally
from linmax.rules.base import SLACK


@separate
def mark(form, labels, k, buffer, counts):
    """Write down for whom the instances vote that came in since the last time, and the truth."""
    size, bits = len(buffer.ring), int(buffer.rough[BITS])
    for come in range(max(int(buffer.rough[MARKED]), counts[NEXT] - counts[HELD]), counts[NEXT]):
        slot = come % size
        t = buffer.ring[slot]
        write_shifts(form, t, bits, bits * k, buffer.shifts[slot])
        buffer.shifts[slot, -1] = bits * labels[t]
    buffer.rough[MARKED] = counts[NEXT]


@separate
def live_ones(buffer, how, counts):
    """List where those held instances are that may still be used, oldest first; return how many."""
    size = len(buffer.ring)
    slot = (counts[NEXT] - counts[HELD]) % size
    count = 0
    for _ in range(counts[HELD]):
        buffer.live[count] = slot
        count += 1 * (buffer.used[buffer.ring[slot]] < how.updates)
        slot += 1
        slot *= 1 * (slot < size)
    return count


@inline
def certain(scores, k, y):
    """Is y the guess? Branch-free, as `best` cannot be; no where a score is not a number."""
    own = scores[y]
    beaten = 0
    for c in range(k):
        beaten += 1 * (own > scores[c]) + 1 * ((own == scores[c]) & (c > y))
    return beaten == k - 1


@inline
def pass_over(form, labels, k, w, buffer, updates, j, end, scores):
    """From place j on, the first live instance before `end` that is guessed wrong; its scores are left."""
    ring, live, shifts, q = buffer.ring, buffer.live, buffer.shifts, buffer.q
    sketched = len(q) > 0 and buffer.rough[UNIT] > 0.0
    bits, mask, ones, high, start, below = 1, 0, 0, 0, 0, 0
    if sketched:
        bits = int(buffer.rough[BITS])
        mask = (1 << bits) - 1
        for c in range(k):
            ones += 1 << (bits * c)
        high = ones << (bits - 1)
        start = (ones << (bits - 2)) + constant_sketch(form, k, 0, bits, q)
        least = math.ceil(buffer.rough[OFF]) + 2  # the truth must lead by so much: 1 more than all roundings
        below = high - least * ones
    votes, top = shifts.shape[1] - 1, 1 << (bits - 1)
    while j < end:
        while sketched and j < end:  # nothing but this in the loop, so that registers suffice for most of it
            slot = live[j]
            rough = start
            for i in range(votes):
                rough += int(q[i]) << int(shifts[slot, i])
            truth = int(shifts[slot, votes])
            # the highest bit of a field is set where that class is so far behind; the truth never is
            if ((((rough >> truth) & mask) * ones + below - rough) & high) + (top << truth) != high:
                break
            j += 1
        if j >= end:
            break
        t = ring[live[j]]
        if buffer.used[t] < updates:
            tally(form, t, k, Last(w), scores)
            if not certain(scores, k, int(labels[t])):
                break
        j += 1
    return j


@separate
def pass_until_still(form, labels, k, h, history, buffer, work, how, counts):
    """Pass over the held instances, oldest first, until a pass moves nothing; say whether any did."""
    sketches = len(buffer.q) > 0
    if sketches:
        draw(k, h.w, buffer)
        sketches = buffer.rough[UNIT] > 0.0  # if not now, then not after a move either: nothing is marked
    if sketches:
        mark(form, labels, k, buffer, counts)
    count = live_ones(buffer, how, counts)
    due = count
    ever = False
    for _ in range(how.passes):
        again = False
        end = due  # while nothing moves: all after were right with these very weights
        j = 0
        while True:
            if h.s[SLACK] < 0.0:
                j = pass_over(form, labels, k, h.w, buffer, how.updates, j, end, work.scores)
            if j >= end:
                break
            t = buffer.ring[buffer.live[j]]
            j += 1
            if h.s[SLACK] >= 0.0:
                if buffer.used[t] >= how.updates:
                    continue
                tally(form, t, k, Last(h.w), work.scores)
            guess = best(work.scores, k)
            wrong = guess != labels[t]
            if wrong or h.s[SLACK] >= 0.0:
                moved = learn(form, t, k, labels[t], guess, h, history, work, how, counts[SILENT])
                buffer.used[t] += 1 * (wrong or moved)
                again |= moved
                due = j
                end = count
                if sketches and work.moved[0] >= 0.0:
                    redraw(k, h.w, work.index, int(work.moved[0]), buffer)
                elif sketches:
                    draw(k, h.w, buffer)
        ever |= again
        if not again:
            break
    return ever


@dispatched
def recycle(buffer, form, t, labels, k, h, history, work, how, counts, again):
    """Store trial t and, if `again`, update on the stored instances; return whether any update was made."""


class Buffer(NamedTuple):
    """What recycling keeps: a ring of trials, and how often each was used for an update."""

    ring: np.ndarray  # (size,) int64: trials of the tape
    used: np.ndarray  # (trials,) int64
    live: np.ndarray  # (size,) int64: scratch, where those are that may still be used
    shifts: np.ndarray  # (size or 0, votes + 1) int64: the fields of all votes in a sketch, and the truth's
    q: np.ndarray  # (weights or 0,) int64: in units
    off: np.ndarray  # (weights or 0,): how much of a unit each is off
    rough: np.ndarray  # (numbers or 0,): what goes with them

    def recycle(self, form, t, labels, k, h, history, work, how, counts, again):
        """Keep trial t and, if there is reason to go over the others `again`, do; say whether that moved."""
        self.ring[counts[NEXT] % len(self.ring)] = t
        counts[NEXT] += 1
        counts[HELD] = min(counts[HELD] + 1, len(self.ring))
        if not again:
            return False
        self.used[t] += 1
        return pass_until_still(form, labels, k, h, history, self, work, how, counts)


class NoBuffer(NamedTuple):
    """Nothing is recycled: a type of its own, so that kernels without recycling compile in half the time."""

    nothing: int

    def recycle(self, form, t, labels, k, h, history, work, how, counts, again):
        """Nothing to do."""
        return False


# in `rough`: so many units make a weight of 1 (0: there are no sketches just now), the sum of all weights in
# units and what it may be, the sum of all roundings, the bits of a field, and how many instances are marked
UNIT, NORM, SPAN, OFF, BITS, MARKED = 0, 1, 2, 3, 4, 5
ROUGH = 6
FULL = 0.9  # of the span, when a unit is chosen


@separate
def draw(k, w, buffer):
    """All words anew; no unit when fields would be too narrow, or weights are not finite."""
    rough = buffer.rough
    norm = 0.0
    for i in range(len(w)):
        norm += abs(w[i])
    bits = min(60 // int(k), 24)  # int: uncompiled, a narrow k would make narrow fields
    span = 2.0 ** (bits - 2) - len(w) - 4.0  # a bit for the sign and one to compare with; roundings fit, too
    rough[UNIT] = 0.0
    if span < 4.0 * len(w) or not 1e-250 < norm < 1e250:
        return
    unit = 2.0 ** math.floor(math.log2(FULL * span / norm))  # a power of two: whole weights are not rounded
    for i in range(len(w)):
        if unit * w[i] != math.floor(unit * w[i]):
            unit = FULL * span / norm  # others are: the more units the better
            break
    if rough[BITS] != bits:
        rough[BITS], rough[MARKED] = bits, 0.0
    total, off = 0.0, 0.0
    for i in range(len(w)):
        q = math.floor(unit * w[i] + 0.5)
        buffer.off[i] = abs(unit * w[i] - q)
        total += abs(q)
        off += buffer.off[i]
        buffer.q[i] = q
    rough[UNIT], rough[NORM], rough[SPAN], rough[OFF] = unit, total, span, off


@inline
def redraw(k, w, index, count, buffer):
    """The words of those that moved; all anew when the sum of all weights is no more in the span."""
    rough = buffer.rough
    unit = rough[UNIT]
    norm, off = rough[NORM], rough[OFF]
    fits = unit > 0.0
    for j in range(count):
        i = index[j]
        x = unit * w[i]
        fits &= abs(x) <= rough[SPAN]
        if not fits:
            break
        q = math.floor(x + 0.5)
        norm += abs(q) - abs(buffer.q[i])
        off -= buffer.off[i]
        buffer.off[i] = abs(x - q)
        off += buffer.off[i]
        buffer.q[i] = q
    rough[NORM], rough[OFF] = norm, off
    if not fits or not 0.3 * rough[SPAN] <= norm <= rough[SPAN]:
        draw(k, w, buffer)
