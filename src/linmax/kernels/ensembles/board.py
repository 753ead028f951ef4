"""The board of an ensemble: the scores of its members, scaled and as probabilities."""

import math
from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, inline
from linmax._jit.vectors import assign, get, largest, maximum, put, splat, take, total
from linmax.kernels.elementwise import exp_of, log_of
from linmax.kernels.update import best_class

HEAT, CURVATURE = 0, 1  # columns of a table of temperatures
RATE = 0.1
MAX_STEP = 0.5
LANES = 8  # numbers in a vector
FEW = 4  # classes
NARROW = 8  # classes, of which a vector for each holds the members
NO_CLASS = -1e9  # the score of what only fills up a vector of classes


class Board(NamedTuple):
    """The scores of the members of an ensemble, for a block of trials.

    Scores are in the order of member, trial and class. The classes of a member and a trial are read by
    complete vectors.

    Parameters
    ----------
    scores, p : ndarray of shape (members * block * wide,)
        The scores of the members, and their softmax. One array is both, if members give probabilities and the
        ensemble needs no more (`Predictor.takes_probabilities`).
    shift : ndarray of shape (block * lanes,)
        log p = scores - shift, by trial and member.
    codes : ndarray of shape (members, block), int32
        The predictions of the members.
    block, wide : int
        The number of trials, and of classes that there is space for.
    """

    scores: np.ndarray
    p: np.ndarray
    shift: np.ndarray
    codes: np.ndarray
    block: int
    wide: int


@inline
def write_exponentials(scores, at, k, factor, p):
    """Write exp(factor * (scores - top)) of k > 0 scores from `at` on; return top, the largest, and the sum.

    Both arrays have space for complete vectors.
    """
    for c in range(k, -(-k // LANES) * LANES):
        assign(scores, at + c, NO_CLASS)
    tops = take(scores, at)
    for j in range(LANES, k, LANES):
        tops = maximum(tops, take(scores, at + j))
    top = largest(tops)
    sums = splat(0.0)
    for j in range(0, k, LANES):
        e = exp_of((take(scores, at + j) - top) * factor)
        put(p, at + j, e)
        sums = sums + e
    return top, total(sums)


@inline
def multiply(p, at, k, factor):
    """Multiply k numbers from `at` on, and what fills up the last vector."""
    for j in range(at, at + k, LANES):
        put(p, j, take(p, j) * factor)


@inline
def softmax(scores, k, p, sign=1.0):
    """Write the softmax of k > 0 scores, or minus it; return log p - scores, which is the same for all.

    Both arrays have space for complete vectors.
    """
    if k == 2:  # exp(0) = 1
        best = best_class(scores, k)
        e = math.exp(scores[1 - best] - scores[best])
        p[best] = sign / (1.0 + e)
        p[1 - best] = e * p[best]
        return -(scores[best] + math.log(1.0 + e))
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
    top, whole = write_exponentials(scores, 0, k, 1.0, p)
    multiply(p, 0, k, sign / whole)
    return -(top + math.log(whole))


class Temperatures(NamedTuple):
    """The temperatures of the members of a board that are scaled by one; others have 0 and do not learn.

    Parameters
    ----------
    table : ndarray of shape (temperatures, 2)
        The logarithms of all inverse temperatures of a session, and the curvatures of their losses.
    row : ndarray of shape (members,), int64
        The row of each member; -1 if it has none.
    """

    table: np.ndarray
    row: np.ndarray


@inline
def heat_step(error, curvature):
    """Return the step of the logarithm of an inverse temperature."""
    return error * RATE / (curvature * RATE + 1.0)


@inline
def scale_scores(board, at, k, y, top, heats, i):
    """Scale the scores of a member, less their top, by its temperature, which learns if there is a label."""
    factor = math.exp(heats[i, HEAT])
    mean = 0.0
    square = 0.0
    for c in range(at, at + k):
        x = (board.scores[c] - top) * factor
        board.scores[c] = x
        mean += board.p[c] * x
        square += board.p[c] * x * x
    if 0 <= y < k:
        heats[i, CURVATURE] += max(square - mean * mean, 0.0)
        step = heat_step(board.scores[at + y] - mean, heats[i, CURVATURE])
        heats[i, HEAT] += min(max(step, -MAX_STEP), MAX_STEP)


@inline
def fill_few(board, first, k, g, members, factors, tops, sums, e):
    """Write the probabilities of up to eight members for few classes: a vector holds one class of all."""
    between = board.block * board.wide
    for c in range(k):
        for m in range(g, min(g + LANES, members)):
            assign(e, c * LANES + m - g, get(board.scores, first + m * between + c))
    top = take(e, 0)
    for c in range(1, k):
        top = maximum(top, take(e, c * LANES))
    whole = splat(0.0)
    for c in range(k):
        one = exp_of((take(e, c * LANES) - top) * take(factors, g))
        put(e, c * LANES, one)
        whole = whole + one
    put(tops, g, top)
    put(sums, g, whole)
    each = 1.0 / whole
    for c in range(k):
        put(e, c * LANES, take(e, c * LANES) * each)
        for m in range(g, min(g + LANES, members)):
            assign(board.p, first + m * between + c, get(e, c * LANES + m - g))


def board_trials(labels, known, heats, board, factors, tops, sums, e, begin, end):
    """Take the softmax of the scores of all members, of some after they are scaled by a temperature."""
    members, lanes, between = len(heats.row), len(tops), board.block * board.wide
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        if k == 0:
            continue
        first = row * board.wide
        for m in range(members):
            if heats.row[m] >= 0:
                factors[m] = math.exp(heats.table[heats.row[m], HEAT])
        if k <= NARROW:
            for g in range(0, members, LANES):
                fill_few(board, first, k, g, members, factors, tops, sums, e)
        else:
            for m in range(members):
                at = first + m * between
                tops[m], sums[m] = write_exponentials(board.scores, at, k, factors[m], board.p)
                multiply(board.p, at, k, 1.0 / sums[m])
        for m in range(members):
            if heats.row[m] >= 0:
                scale_scores(board, first + m * between, k, y, tops[m], heats.table, heats.row[m])
                tops[m] = 0.0
        for m in range(0, members, LANES):
            put(board.shift, row * lanes + m, take(tops, m) + log_of(take(sums, m)))


fill_board = CompiledKernel(board_trials)
