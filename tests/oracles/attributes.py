"""Slow, obvious versions of what learns from attributes: standardising by definition, and regressions.

Nothing here is shared with the library.
"""

from __future__ import annotations

import hashlib

import numpy as np

Rows = np.ndarray


def standardised(rows: Rows) -> Rows:
    """Every row with the statistics of all rows up to itself, by their definitions; the constant is first."""
    scaled = np.zeros((len(rows), rows.shape[1] + 1))
    scaled[:, 0] = 1.0
    for t in range(len(rows)):
        for a in range(rows.shape[1]):
            seen = rows[: t + 1, a]
            if 2 * np.count_nonzero(seen) > len(seen):
                spread = np.sqrt(np.mean((seen - seen.mean()) ** 2))
                scaled[t, a + 1] = (seen[-1] - seen.mean()) / spread if spread > 0 else 0.0
            elif seen[-1] != 0.0:
                scaled[t, a + 1] = seen[-1] / np.sqrt(np.mean(seen[seen != 0.0] ** 2))
    return scaled


def unit(rows: Rows) -> Rows:
    """Rows of length 1."""
    return rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))


def random_features(rows: Rows, count: int) -> Rows:
    """A constant, and cosines of the standardised rows of length 1 in random directions."""
    phases, directions = np.random.default_rng(count).random(count), []
    for name in (None, *range(rows.shape[1])):
        seed = int.from_bytes(hashlib.blake2b(repr(name).encode(), digest_size=8).digest(), "little")
        directions.append(np.random.default_rng([count, seed]).normal(size=count))
    angles = 2.0 * unit(standardised(rows)) @ np.array(directions) + 2.0 * np.pi * phases
    return np.column_stack([np.ones(len(rows)), np.cos(angles)])


class SquaredHinge:
    """The formulas of `linmax.SquaredHinge`, one number after the other."""

    def __init__(self, inputs: int, classes: int, eta: float) -> None:
        self.w, self.G, self.eta = np.zeros((inputs, classes)), np.full((inputs, classes), 1e-12), eta

    def learn(self, x: Rows, y: int) -> Rows:
        scores = x @ self.w
        for c in range(self.w.shape[1]):
            error = (1.0 if c == y else -1.0) - min(max(scores[c], -1.0), 1.0)
            self.G[:, c] += 4.0 * error**2 * x**2
            a = x / np.sqrt(self.G[:, c])
            P = (x * a).sum()
            if P > 0:
                self.w[:, c] += error * (1.0 - np.exp(-2.0 * self.eta * P)) / P * a
        return scores


class DiagonalSquares:
    """The formulas of `linmax.LeastSquares("diagonal")`."""

    def __init__(self, inputs: int, classes: int) -> None:
        self.w, self.sigma = np.zeros((inputs, classes)), np.ones(inputs)

    def learn(self, x: Rows, y: int) -> Rows:
        scores = x @ self.w
        b = 1.0 / (0.1 + (self.sigma * x**2).sum())
        self.w += b * np.outer(self.sigma * x, np.eye(self.w.shape[1])[y] - scores)
        self.sigma = self.sigma - b * (self.sigma * x) ** 2
        return scores


class MatrixSquares:
    """The formulas of `linmax.LeastSquares("matrix")`."""

    def __init__(self, inputs: int, classes: int) -> None:
        self.w, self.P = np.zeros((inputs, classes)), np.eye(inputs)

    def learn(self, x: Rows, y: int) -> Rows:
        scores = x @ self.w
        u = self.P @ x
        b = 1.0 / (1.0 + x @ u)
        self.w += b * np.outer(u, np.eye(self.w.shape[1])[y] - scores)
        self.P = (1.0 - 1e-4) * (self.P - b * np.outer(u, u)) + 1e-4 * np.eye(len(x))
        return scores


def ridge_regression(rows: Rows, targets: Rows) -> Rows:
    """The weights that least squares with a unit prior would have, from the closed formula."""
    return np.linalg.solve(rows.T @ rows + np.eye(rows.shape[1]), rows.T @ targets)
