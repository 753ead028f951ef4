"""Recycling: after an update, pass over the latest instances until a pass changes nothing.

Most recycled instances are predicted correctly. A sketch decides that fast, where votes are 0 or 1: weights
are rounded to integers, and the scores of all classes are bit fields of one word.
"""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import dispatched, inline, separate
from linmax.kernels.forms import LastWeights
from linmax.kernels.forms.base import constant_sketch, write_shifts
from linmax.kernels.structs import HELD, NEXT, SILENT
from linmax.kernels.update import best_class, learn, score_classes
from linmax.rules.base import SLACK


@separate
def write_new_shifts(form, labels, k, buffer, counts):
    """Write the bit shifts of the instances that were stored since the last call."""
    size, bits = len(buffer.ring), int(buffer.rough[BITS])
    for number in range(max(int(buffer.rough[MARKED]), counts[NEXT] - counts[HELD]), counts[NEXT]):
        slot = number % size
        t = buffer.ring[slot]
        write_shifts(form, t, bits, bits * k, buffer.shifts[slot])
        buffer.shifts[slot, -1] = bits * labels[t]
    buffer.rough[MARKED] = counts[NEXT]


@separate
def list_usable(buffer, settings, counts):
    """List the slots of the instances that may still be used, oldest first; return their number."""
    size = len(buffer.ring)
    slot = (counts[NEXT] - counts[HELD]) % size
    count = 0
    for _ in range(counts[HELD]):
        buffer.usable[count] = slot
        count += 1 * (buffer.used[buffer.ring[slot]] < settings.updates)
        slot += 1
        slot *= 1 * (slot < size)
    return count


@inline
def is_predicted(scores, k, y):
    """Tell whether y is predicted, without branches, unlike `best_class`; False if a score is NaN."""
    own = scores[y]
    beaten = 0
    for c in range(k):
        beaten += 1 * (own > scores[c]) + 1 * ((own == scores[c]) & (c > y))
    return beaten == k - 1


@inline
def next_mistake(form, labels, k, w, buffer, updates, j, end, scores):
    """Return the position of the first wrongly predicted instance in j <= position < end."""
    ring, usable, shifts, q = buffer.ring, buffer.usable, buffer.shifts, buffer.q
    sketched = len(q) > 0 and buffer.rough[UNIT] > 0.0
    bits, mask, ones, high, start, below = 1, 0, 0, 0, 0, 0
    if sketched:
        bits = int(buffer.rough[BITS])
        mask = (1 << bits) - 1
        for c in range(k):
            ones += 1 << (bits * c)
        high = ones << (bits - 1)
        start = (ones << (bits - 2)) + constant_sketch(form, k, 0, bits, q)
        lead = math.ceil(buffer.rough[OFF]) + 2  # the label must lead by more than all rounding errors
        below = high - lead * ones
    votes, top = shifts.shape[1] - 1, 1 << (bits - 1)
    while j < end:
        while sketched and j < end:  # a tight loop: its variables fit into registers
            slot = usable[j]
            rough = start
            for i in range(votes):
                rough += int(q[i]) << int(shifts[slot, i])
            truth = int(shifts[slot, votes])
            # the highest bit of a field is set if that class is far enough behind the label
            if ((((rough >> truth) & mask) * ones + below - rough) & high) + (top << truth) != high:
                break
            j += 1
        if j >= end:
            break
        t = ring[usable[j]]
        if buffer.used[t] < updates:
            score_classes(form, t, k, LastWeights(w), scores)
            if not is_predicted(scores, k, int(labels[t])):
                break
        j += 1
    return j


@separate
def recycle_until_stable(form, labels, k, h, average, buffer, work, settings, counts):
    """Pass over the stored instances, oldest first, until a pass changes nothing; return whether any did."""
    sketches = len(buffer.q) > 0
    if sketches:
        make_sketch(k, h.w, buffer)
        sketches = buffer.rough[UNIT] > 0.0  # if impossible now, it stays so during this call
    if sketches:
        write_new_shifts(form, labels, k, buffer, counts)
    count = list_usable(buffer, settings, counts)
    last_change = count
    any_change = False
    for _ in range(settings.passes):
        changed = False
        end = last_change  # without a change: all instances after it were correct with these weights
        j = 0
        while True:
            if h.s[SLACK] < 0.0:
                j = next_mistake(form, labels, k, h.w, buffer, settings.updates, j, end, work.scores)
            if j >= end:
                break
            t = buffer.ring[buffer.usable[j]]
            j += 1
            if h.s[SLACK] >= 0.0:
                if buffer.used[t] >= settings.updates:
                    continue
                score_classes(form, t, k, LastWeights(h.w), work.scores)
            predicted = best_class(work.scores, k)
            wrong = predicted != labels[t]
            if wrong or h.s[SLACK] >= 0.0:
                moved = learn(form, t, k, labels[t], predicted, h, average, work, settings, counts[SILENT])
                buffer.used[t] += 1 * (wrong or moved)
                changed |= moved
                last_change = j
                end = count
                if sketches and work.moved[0] >= 0.0:
                    update_sketch(k, h.w, work.index, int(work.moved[0]), buffer)
                elif sketches:
                    make_sketch(k, h.w, buffer)
        any_change |= changed
        if not changed:
            break
    return any_change


@dispatched
def recycle(buffer, form, t, labels, k, h, average, work, settings, counts, changed):
    """Store trial t and, if `changed`, update on the stored instances; return whether any update was made."""


class Buffer(NamedTuple):
    """The stored instances: a ring of trials, and how often each was used for an update.

    Parameters
    ----------
    ring : ndarray of shape (size,), int64
        The stored trials.
    used : ndarray of shape (trials,), int64
        How many updates each trial has caused.
    usable : ndarray of shape (size,), int64
        Scratch: the slots that may still be used.
    shifts : ndarray of shape (size or 0, votes + 1), int64
        The bit shifts of all votes in a sketch, and of the label.
    q : ndarray of shape (weights or 0,), int64
        The weights in units.
    off : ndarray of shape (weights or 0,)
        The rounding error of each, in units.
    rough : ndarray of shape (ROUGH,)
        The numbers of the sketch, see below.
    """

    ring: np.ndarray
    used: np.ndarray
    usable: np.ndarray
    shifts: np.ndarray
    q: np.ndarray
    off: np.ndarray
    rough: np.ndarray

    def recycle(self, form, t, labels, k, h, average, work, settings, counts, changed):
        """Store trial t, and recycle if it `changed` the hypothesis or was a mistake."""
        self.ring[counts[NEXT] % len(self.ring)] = t
        counts[NEXT] += 1
        counts[HELD] = min(counts[HELD] + 1, len(self.ring))
        if not changed:
            return False
        self.used[t] += 1
        return recycle_until_stable(form, labels, k, h, average, self, work, settings, counts)


class NoBuffer(NamedTuple):
    """No recycling; a type of its own, so that kernels without recycling compile in half the time."""

    nothing: int

    def recycle(self, form, t, labels, k, h, average, work, settings, counts, changed):
        """Do nothing."""
        return False


# indices in `rough`: the units of a weight of 1 (0: no sketch at the moment), the sum of all weights in units
# and its limit, the sum of all rounding errors, the bits of a field, and how many instances have shifts
UNIT, NORM, SPAN, OFF, BITS, MARKED = 0, 1, 2, 3, 4, 5
ROUGH = 6
FULL = 0.9  # of the span, when a unit is chosen


@separate
def make_sketch(k, w, buffer):
    """Recompute the sketch of all weights; no unit if fields are too narrow or weights are not finite."""
    rough = buffer.rough
    norm = 0.0
    for i in range(len(w)):
        norm += abs(w[i])
    bits = min(60 // int(k), 24)  # int: an interpreted int32 would overflow
    span = 2.0 ** (bits - 2) - len(w) - 4.0  # two bits for sign and comparison; rounding errors fit
    rough[UNIT] = 0.0
    if span < 4.0 * len(w) or not 1e-250 < norm < 1e250:
        return
    unit = 2.0 ** math.floor(math.log2(FULL * span / norm))  # a power of two: integer weights are not rounded
    for i in range(len(w)):
        if unit * w[i] != math.floor(unit * w[i]):
            unit = FULL * span / norm  # other weights are rounded: as many units as fit
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
def update_sketch(k, w, index, count, buffer):
    """Update the sketch of the weights that changed; recompute it if their sum has left the span."""
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
        make_sketch(k, w, buffer)
