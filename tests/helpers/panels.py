"""Small panels and banks of members, on which the slow committees are tried."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import numpy as np

from tests.oracles.committees import Committee, Item, Member, items
from tests.oracles.rules import Alma, Perceptron, Winnow
from tests.oracles.session import best

CLASSES = range(3)


def panel(count: int, seed: int = 0, *, silent: float = 0.1, noise: float = 0.15) -> list[tuple[Item, Any]]:
    """Five experts; the label is what the first three say, or noise."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (count, 5))
    labels = [best(Counter(sorted(row[:3].tolist()))) for row in rows]
    labels = [int(rng.integers(3)) if rng.random() < noise else y for y in labels]
    return list(zip(items(np.where(rng.random(rows.shape) < silent, -1, rows)), labels, strict=True))


def bank() -> list[Member]:
    plain = [Perceptron(), Winnow(1.3), Alma(2)]
    averages = [Member(copy.deepcopy(rule), averaged=True) for rule in plain]
    return [*map(Member, plain), *averages, Member(Perceptron(), averaged=True, recycled=(6, 2))]


def run(committee: Committee, stream: list[tuple[Item, Any]]) -> Any:
    for item, y in stream:
        committee.learn(item, y)
    return committee
