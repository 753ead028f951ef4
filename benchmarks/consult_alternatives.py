"""Other ways to stop a consultation before it is settled: would they ask fewer experts at the same risk?

The first half of a panel is learned in random order, and the second half is asked in that state. Each way has
a statistic of the answers so far and stops above a threshold. Thresholds are chosen in hindsight, so that a
given share of predictions changes: what a way loses by its calibration is not in these figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.problem import Panel
from linmax import Averaged, Fusion, Perceptron
from linmax.fusion.consult.paths import Paths, consultation_paths
from linmax.fusion.consult.record import changes_allowed

LEARNER = Averaged(Perceptron(slack=20.0, start="equal"))
RISK, CONFIDENCE = 0.01, 0.95
STEPS = 15
"""After so many answers, who has voted for what is not looked at any more."""
FEWEST = 15
"""Changed predictions from which such a model is learned."""
HIGHEST = 6.0
"""Larger distances are alike to the models."""

Floats = NDArray[np.float64]


def asked_at(statistic: Floats, leader: np.ndarray, shares: list[float]) -> list[float]:
    """Return how many experts are asked if a share of predictions changes.

    >>> leader = np.array([[0, 1, 1], [1, 1, 1]])
    >>> asked_at(np.array([[2.0, 3.0, np.inf], [1.0, 4.0, np.inf]]), leader, [0.0, 0.5])
    [1.0, 0.5]
    """
    critical = np.where(leader != leader[:, -1:], statistic, -np.inf).max(axis=1)
    thresholds = np.sort(critical)[::-1]
    return [
        float((statistic > thresholds[int(share * len(leader))]).argmax(axis=1).mean()) for share in shares
    ]


def logistic(x: Floats, y: np.ndarray, ridge: float = 1.0, steps: int = 10) -> Floats:
    """Return the weights of a logistic regression, by Newton's method.

    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]] * 50)
    >>> (logistic(x, np.arange(100) % 2) @ [1.0, 1.0]) > 2.0
    np.True_
    """
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30.0, 30.0)))
        curvature = (x * (p * (1.0 - p) + 1e-6)[:, None]).T @ x + ridge * np.eye(len(w))
        w = w + np.linalg.solve(curvature, x.T @ (y - p) - ridge * w)
    return w


def by_lead(paths: Paths, weights: Floats, learned: slice) -> Floats:
    """Return minus the logit of a change, by a model of the distance of the leader and of what is left."""
    d = np.minimum(np.where(np.isinf(paths.distance), HIGHEST, paths.distance), HIGHEST)
    size = abs(weights[paths.order[0]])
    left = np.append(size[::-1].cumsum()[::-1], 0.0) / max(size.sum(), 1e-9)
    rest = np.broadcast_to(np.log(left + 1e-3), d.shape)
    x = np.stack([np.ones_like(d), d, d * d, rest, rest * rest, rest * d, d * d * rest], axis=-1)
    open_items = np.isfinite(paths.distance)
    open_items[:, 0] = False
    used = np.zeros_like(open_items)
    used[learned] = open_items[learned]
    changed = paths.leader != paths.final[:, None]
    found = np.where(open_items, -(x @ logistic(x[used], changed[used])), np.inf)
    found[:, 0] = -np.inf
    return found


def by_votes(paths: Paths, votes: np.ndarray, before: Floats, learned: slice) -> Floats:
    """Return the same by a model per number of answers, of who agrees with the leader and who does not."""
    found, changed = before.copy(), paths.leader != paths.final[:, None]
    answers = votes[:, paths.order[0]]
    for m in range(1, min(STEPS, votes.shape[1])):
        given, leader = answers[:, :m], paths.leader[:, m, None]
        open_items = np.isfinite(before[:, m])
        agree, differ = given == leader, (given >= 0) & (given != leader)
        x = np.column_stack([agree, differ, np.where(open_items, before[:, m], 0.0), np.ones(len(votes))])
        used = np.flatnonzero(open_items[learned])
        if changed[used, m].sum() >= FEWEST:
            found[open_items, m] = -(x @ logistic(x[used], changed[used, m], 3.0))[open_items]
    return found


def pursuit(votes: np.ndarray, weights: Floats, k: int) -> list[int]:
    """Return the experts, each the one that explains most of the lead that those before it do not explain.

    The lead is that of the full panel's first class over its second; that is what remains to be predicted.
    """
    scores = np.stack([((votes == c) * weights).sum(axis=1) for c in range(k)], axis=1)
    second, first = scores.argsort(axis=1, kind="stable")[:, -2:].T
    x = ((votes == first[:, None]).astype(float) - (votes == second[:, None])) * weights
    table = np.cov(np.column_stack([x, x.sum(axis=1)]).T)
    order: list[int] = []
    while len(order) < len(weights):
        own = np.diag(table)[:-1]
        gain = np.where(own > 1e-9, table[:-1, -1] ** 2 / np.maximum(own, 1e-9), 0.0)
        gain[order] = -1.0
        i = int(gain.argmax())
        order.append(i)
        if own[i] > 1e-9:
            table = table - np.outer(table[:, i], table[i]) / table[i, i]
    return order


def prices_for(order: list[int], weights: Floats) -> Floats:
    """Return prices with which experts are asked in this order, by gain per price."""
    prices = np.ones(len(order))
    for rank, i in enumerate(order):
        prices[i] = max(abs(weights[i]), 1e-9) / (len(order) - rank)
    return prices


def measure_order(panel: Panel, votes: np.ndarray, labels: np.ndarray, shares: list[float]) -> dict[str, Any]:
    """Return what each way asks in one order of a panel."""
    items, n = votes.shape
    half = items // 2
    fusion = Fusion(LEARNER, experts=range(n), classes=range(panel.k))
    fusion.learn(votes[:half], labels[:half])
    weights = fusion._settled_by(None).found.diagonal[0, :, 0]
    everybody = np.ones(votes.shape, dtype=bool)
    paths = consultation_paths(fusion, votes, everybody)
    other = pursuit(votes[:half], weights, panel.k)
    moved = consultation_paths(fusion, votes, everybody, prices_for(other, weights))
    assert paths is not None
    assert moved is not None
    assert moved.order[0].tolist() == other
    first = slice(0, half)
    lead = by_lead(paths, weights, first)
    ways = {
        "lead over what is left": (paths.distance, paths),
        "logistic regression on it and on what is left": (lead, paths),
        "logistic regression on who voted for what": (by_votes(paths, votes, lead, first), paths),
        "lead over what is left, experts in the order of what they explain": (moved.distance, moved),
    }
    return {name: asked_at(one[half:], on.leader[half:], shares) for name, (one, on) in ways.items()}


def measure_alternatives(panel: Panel, orders: int) -> dict[str, Any]:
    """Return how many experts each way asks, at the risk itself and at what its calibration allows."""
    items = len(panel.labels) // 2
    shares = [RISK, changes_allowed(items, RISK, CONFIDENCE) / items]
    found = []
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(panel.labels))
        found.append(measure_order(panel, panel.votes[order], panel.labels[order], shares))
        print(seed, {name: np.round(asked, 2).tolist() for name, asked in found[-1].items()}, flush=True)
    ways = {name: np.mean([one[name] for one in found], axis=0).tolist() for name in found[0]}
    return {"orders": orders, "shares": shares, "ways": ways}
