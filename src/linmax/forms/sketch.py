"""Sketches: rough scores of all classes in one integer, to see fast who is guessed right for sure.

A weight is rounded to a whole number of units, and shifted into the field of the class it votes for. The
sum over an instance's votes then holds all its scores, each off by no more than the rounding of its
weights; who abstains is shifted beyond all fields. Where the truth leads by more than that, the exact
scores would say the same; all others are scored exactly. So a sketch spares work and decides nothing.
"""

import math

from linmax._jit import apart, inline

# in `rough`: so many units make a weight of 1 (0: there are no sketches just now), the sum of all weights in
# units and what it may be, the sum of all roundings, the bits of a field, and how many instances are marked
UNIT, NORM, SPAN, OFF, BITS, MARKED = 0, 1, 2, 3, 4, 5
ROUGH = 6
FULL = 0.9  # of the span, when a unit is chosen


@apart
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
