"""Regression on the classes: each class has a target, and each input a weight per class.

All read the inputs of a trial as a list (`list_inputs`), go through the classes in vectors of eight, and keep
weights as float32.
"""

from typing import NamedTuple

import numpy as np

from linmax._jit.compilation import CompiledKernel, dispatched, inline
from linmax._jit.vectors import WIDTH, like, maximum, over_root, put, splat, take, total, where_above, wide
from linmax.kernels.elementwise import exp_of
from linmax.kernels.ensembles.mixtures import write_prediction
from linmax.kernels.forms.base import begin_trial, list_inputs

SMALLEST = 1e-9  # a smaller difference from the target is none: its square would be denormal
INPUTS_PER_CLASS, MOST_INPUTS = 10, 400  # beyond, a matrix of all pairs of inputs takes too long
SOFTNESS = 0.1  # the variance of the noise in units of the prior variance of a weight
LEAK = 1e-4  # the part of a matrix that returns to the prior at every trial


class Inputs(NamedTuple):
    """Scratch arrays of a trial.

    Parameters
    ----------
    index : ndarray, int64
        The first weight of each input.
    value : ndarray
        The value of each input.
    scores, errors : ndarray of shape (classes,)
        The scores of the classes, and how far each is from its target; complete vectors.
    steps : ndarray of shape (inputs * 8,), float32
        A step for each input and eight classes.
    """

    index: np.ndarray  # type: ignore[assignment]
    value: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    steps: np.ndarray


@dispatched
def learn_inputs(regression, work, count, k, y):
    """Update the weights on a trial whose label is y; `work` has its inputs and scores."""


@inline
def difference_from(target, score):
    """Return target - score, and 0 instead of a number whose square would be denormal."""
    return where_above(maximum(target - score, score - target), SMALLEST, target - score, 0.0)


class Hinge(NamedTuple):
    """The squared hinge loss, with a step per weight, each step followed to its end.

    Parameters
    ----------
    w, squares : ndarray of shape (weights,), float32
        The weights, and the sum of squares of their gradients.
    eta : float
        The rate.
    """

    w: np.ndarray
    squares: np.ndarray
    eta: float

    def learn_inputs(self, work, count, k, y):
        for c in range(k):
            work.errors[c] = -1.0
        work.errors[y] = 1.0
        for b in range(0, k, WIDTH):
            score = maximum(take(work.scores, b), -1.0)
            score = where_above(score, 1.0, 1.0, score)
            error = difference_from(take(work.errors, b), score)
            square = like(self.w, error * error * 4.0)
            path = like(self.w, splat(0.0))  # sum of x^2 / sqrt(G)
            for j in range(count):
                at = work.index[j] + b
                x = float(work.value[j])
                squares = take(self.squares, at) + square * (x * x)
                put(self.squares, at, squares)
                one = over_root(like(self.w, splat(x)), squares)
                put(work.steps, j * WIDTH, one)
                path = path + one * x
            whole = maximum(wide(path), 1e-12)
            step = like(self.w, error * (1.0 - exp_of(whole * (-2.0 * self.eta))) / whole)
            for j in range(count):
                at = work.index[j] + b
                put(self.w, at, take(self.w, at) + take(work.steps, j * WIDTH) * step)


class DiagonalSquares(NamedTuple):
    """Least squares with a variance per input, the same for all classes.

    Parameters
    ----------
    w : ndarray of shape (weights,), float32
        The weights.
    variances : ndarray of shape (inputs,)
        The variance of the weights of an input.
    stride : int
        The number of weights of an input.
    """

    w: np.ndarray
    variances: np.ndarray
    stride: int

    def learn_inputs(self, work, count, k, y):
        spread = SOFTNESS
        for j in range(count):
            spread += self.variances[work.index[j] // self.stride] * (work.value[j] * work.value[j])
        for c in range(k):
            work.errors[c] = 0.0
        work.errors[y] = 1.0
        for b in range(0, k, WIDTH):
            error = like(self.w, difference_from(take(work.errors, b), take(work.scores, b)) / spread)
            for j in range(count):
                at = work.index[j] + b
                x = float(work.value[j] * self.variances[work.index[j] // self.stride])
                put(self.w, at, take(self.w, at) + error * x)
        for j in range(count):
            i = work.index[j] // self.stride
            x = work.value[j] * self.variances[i]
            self.variances[i] -= x * x / spread


class MatrixSquares(NamedTuple):
    """Least squares with the covariance of all pairs of inputs, the same for all classes.

    It learns while there are few inputs. The covariance slowly returns to its prior, the unit matrix.

    Parameters
    ----------
    w : ndarray of shape (weights,), float32
        The weights.
    covariance : ndarray of shape (width * width,), float32
        The covariance of the weights of a class; symmetric.
    row, product : ndarray of shape (width,), float32
        The values of all inputs, and the covariance times them.
    inputs : ndarray of shape (1,), int64
        The number of inputs so far: the largest index and one.
    width : int
        The number of inputs that there is space for, a multiple of eight.
    stride : int
        The number of weights of an input.
    """

    w: np.ndarray
    covariance: np.ndarray
    row: np.ndarray
    product: np.ndarray
    inputs: np.ndarray
    width: int
    stride: int

    def learn_inputs(self, work, count, k, y):
        for j in range(count):
            self.inputs[0] = max(self.inputs[0], work.index[j] // self.stride + 1)
        n = self.inputs[0]
        if n > min(MOST_INPUTS, INPUTS_PER_CLASS * k):
            return
        none = like(self.w, splat(0.0))
        for i in range(0, n, WIDTH):
            put(self.row, i, none)
            put(self.product, i, none)
        for j in range(count):
            i = work.index[j] // self.stride
            x = float(work.value[j])
            self.row[i] = x
            for b in range(0, n, WIDTH):
                put(self.product, b, take(self.product, b) + take(self.covariance, i * self.width + b) * x)
        sums = none
        for b in range(0, n, WIDTH):
            sums = sums + take(self.product, b) * take(self.row, b)
        each = 1.0 / (1.0 + total(sums))
        for i in range(n):
            factor = float(each * np.float64(self.product[i]) * (1.0 - LEAK))
            for b in range(0, n, WIDTH):
                at = i * self.width + b
                put(
                    self.covariance,
                    at,
                    take(self.covariance, at) * (1.0 - LEAK) - take(self.product, b) * factor,
                )
            self.covariance[i * self.width + i] += LEAK
        for c in range(k):
            work.errors[c] = 0.0
        work.errors[y] = 1.0
        for b in range(0, k, WIDTH):
            error = like(self.w, difference_from(take(work.errors, b), take(work.scores, b)))
            for i in range(n):
                at = i * self.stride + b
                put(self.w, at, take(self.w, at) + error * float(each * np.float64(self.product[i])))


def regress_trials(form, labels, known, regression, work, guesses, out_scores, begin, end):
    """Run the trials begin <= t < end; row t - begin of the outputs takes the result."""
    for t in range(begin, end):
        k, y, row = known[t], labels[t], t - begin
        begin_trial(form, t)
        count = list_inputs(form, t, 0, work.index, work.value, 0)
        for b in range(0, k, WIDTH):
            score = like(regression.w, splat(0.0))
            for j in range(count):
                score = score + take(regression.w, work.index[j] + b) * float(work.value[j])
            put(work.scores, b, wide(score))
        write_prediction(work.scores, k, row, guesses, out_scores)
        if 0 <= y < k:
            learn_inputs(regression, work, count, k, y)


regress = CompiledKernel(regress_trials)
