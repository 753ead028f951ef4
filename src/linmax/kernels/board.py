"""The board of an ensemble: the scores of its members side by side, scaled and as probabilities."""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit import CompiledKernel, inline
from linmax._vectors import assign, get, largest, maximum, put, splat, take, total, where_above
from linmax.kernels.elementwise import exp_of, log_of
from linmax.kernels.update import best_class

HEAT, CURVATURE = 0, 1  # columns of a table of temperatures
RATE = 0.1
MAX_STEP = 0.5
LANES = 8  # members side by side in a vector
FEW = 4  # classes
TILE = 64  # classes of all members that are written before the next ones: they fit into the fastest cache
NO_CLASS = -1e9  # the score of what only fills up a vector of classes


class Board(NamedTuple):
    """The scores of the members of an ensemble side by side, for a block of trials.

    Members come in groups of eight, the last of which may be incomplete. A vector holds the scores of the
    members of a group for one class, and vectors are in the order of block, group, class.

    Parameters
    ----------
    scores, p : ndarray of shape (block * groups * classes * 8,)
        The scores of the members, and their softmax. One array is both, if members give probabilities and the
        ensemble needs no more (`Predictor.takes_probabilities`).
    shift : ndarray of shape (block * groups * 8,)
        log p = scores - shift.
    groups, classes : int
        The number of groups, and of classes that there is space for.
    """

    scores: np.ndarray
    p: np.ndarray
    shift: np.ndarray
    groups: int
    classes: int


@inline
def softmax(scores, k, p, sign=1.0):
    """Write the softmax of k > 0 scores, or minus it; return log p - scores, which is the same for all.

    Both arrays have space for complete vectors.
    """
    if k <= FEW:  # not worth a vector
        top = scores[best_class(scores, k)]
        whole = 0.0
        for c in range(k):
            p[c] = math.exp(scores[c] - top)
            whole += p[c]
        each = sign / whole
        for c in range(k):
            p[c] *= each
        return -(top + math.log(whole))
    for c in range(k, -(-k // LANES) * LANES):
        scores[c] = NO_CLASS
    tops = take(scores, 0)
    for j in range(LANES, k, LANES):
        tops = maximum(tops, take(scores, j))
    top = largest(tops)
    sums = splat(0.0)
    for j in range(0, k, LANES):
        e = exp_of(take(scores, j) - top)
        put(p, j, e)
        sums = sums + e
    whole = total(sums)
    each = sign / whole
    for j in range(0, k, LANES):
        put(p, j, take(p, j) * each)
    return -(top + math.log(whole))


class Temperatures(NamedTuple):
    """The temperatures of the members of a board that are scaled by one; others have 0 and do not learn.

    Parameters
    ----------
    table : ndarray of shape (temperatures, 2)
        The logarithms of all inverse temperatures of a session, and the curvatures of their losses.
    row : ndarray of shape (members,), int64
        The row of each member; -1 if it has none.
    heat, curvature, scaled : ndarray of shape (lanes,)
        Both by member while a block is run, and 1 for members that have them.
    """

    table: np.ndarray
    row: np.ndarray
    heat: np.ndarray
    curvature: np.ndarray
    scaled: np.ndarray


@inline
def heat_step(error, curvature):
    """Return the step of the logarithm of an inverse temperature."""
    return error * RATE / (curvature * RATE + 1.0)


@inline
def scale_by_class(z, k, y, m, heats, p):
    """Scale the scores z of one member, write their softmax into p, learn the scale; return z - log p."""
    scaled = heats.scaled[m] > 0.0
    if scaled:
        top = z[best_class(z, k)]
        factor = math.exp(heats.heat[m])
        for c in range(k):
            z[c] = (z[c] - top) * factor
    shift = -softmax(z, k, p)
    if scaled and 0 <= y < k:
        mean = 0.0
        square = 0.0
        for c in range(k):
            mean += p[c] * z[c]
            square += p[c] * z[c] * z[c]
        heats.curvature[m] += max(square - mean * mean, 0.0)
        step = heat_step(z[y] - mean, heats.curvature[m])
        heats.heat[m] += min(max(step, -MAX_STEP), MAX_STEP)
    return shift


@inline
def copy_to_board(numbers, first_number, between, g, members, k, place, target):
    """Copy the numbers of the members of a group, one after the other, to vectors of members."""
    for first in range(0, k, TILE):
        for m in range(g * LANES, min((g + 1) * LANES, members)):
            at = first_number + m * between
            for c in range(first, min(first + TILE, k)):
                assign(target, place + c * LANES + m - g * LANES, get(numbers, at + c))


@inline
def fill_by_members(group, at, k, y, board, heats):
    """Take the softmax of the eight members of a group at once; return scores - log p."""
    scaled = take(heats.scaled, group)
    factor = exp_of(take(heats.heat, group))
    top = take(board.scores, at)
    for c in range(1, k):
        top = maximum(top, take(board.scores, at + c * LANES))
    sums = splat(0.0)
    for c in range(k):
        score = take(board.scores, at + c * LANES)
        below = (score - top) * factor
        e = exp_of(below)
        put(board.scores, at + c * LANES, where_above(scaled, 0.5, below, score))
        put(board.p, at + c * LANES, e)
        sums = sums + e
    each = 1.0 / sums
    for c in range(k):
        put(board.p, at + c * LANES, take(board.p, at + c * LANES) * each)
    if total(scaled) > 0.0 and 0 <= y < k:
        mean = splat(0.0)
        square = splat(0.0)
        for c in range(k):
            x = where_above(scaled, 0.5, take(board.scores, at + c * LANES), 0.0)
            part = take(board.p, at + c * LANES) * x
            mean = mean + part
            square = square + part * x
        truth = where_above(scaled, 0.5, take(board.scores, at + y * LANES), 0.0)
        curvature = take(heats.curvature, group) + maximum(square - mean * mean, 0.0)
        put(heats.curvature, group, curvature)
        step = maximum(heat_step(truth - mean, curvature), -MAX_STEP)
        put(heats.heat, group, take(heats.heat, group) + where_above(step, MAX_STEP, MAX_STEP, step))
    return where_above(scaled, 0.5, 0.0, top) + log_of(sums)


def board_trials(member_scores, block, stride, labels, known, heats, board, z, p, begin, end):
    """Collect the scores of all members, scale them by temperatures, and take the softmax of all at once.

    `member_scores` has the scores of a block by member, trial and class, of which there are `stride`.
    """
    members, wide = len(heats.row), board.classes * LANES
    width = len(z) // members
    for m in range(members):
        if heats.row[m] >= 0:
            heats.heat[m] = heats.table[heats.row[m], HEAT]
            heats.curvature[m] = heats.table[heats.row[m], CURVATURE]
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        if k == 0:
            continue
        by_class = 2 * members * ((k + LANES - 1) // LANES) < board.groups * k
        if by_class:
            for m in range(members):
                at = (m * block + row) * stride
                own, shares = z[m * width : (m + 1) * width], p[m * width : (m + 1) * width]
                for c in range(k):
                    own[c] = member_scores[at + c]
                board.shift[row * board.groups * LANES + m] = scale_by_class(own, k, y, m, heats, shares)
        for g in range(board.groups):
            place = row * board.groups + g
            if by_class:
                copy_to_board(z, 0, width, g, members, k, place * wide, board.scores)
                copy_to_board(p, 0, width, g, members, k, place * wide, board.p)
            else:
                copy_to_board(
                    member_scores, row * stride, block * stride, g, members, k, place * wide, board.scores
                )
                shift = fill_by_members(g * LANES, place * wide, k, y, board, heats)
                put(board.shift, place * LANES, shift)
    for m in range(members):
        if heats.row[m] >= 0:
            heats.table[heats.row[m], HEAT] = heats.heat[m]
            heats.table[heats.row[m], CURVATURE] = heats.curvature[m]


fill_board = CompiledKernel(board_trials)


def copy_probabilities(member_scores, block, stride, known, members, board, begin, end):
    """Collect the probabilities of all members, which are given instead of scores; log p is not needed."""
    wide = board.classes * LANES
    for t in range(begin, end):
        row = t - begin
        for g in range(board.groups):
            place = (row * board.groups + g) * wide
            copy_to_board(member_scores, row * stride, block * stride, g, members, known[t], place, board.p)


collect_probabilities = CompiledKernel(copy_probabilities)
