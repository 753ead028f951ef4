"""Generated problems, each with several seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers.feed import Feed
from benchmarks.quality.problem import Draws
from linmax.problems import disjoint, drifting, majority, panel, penguin, shared


def generated(items: int) -> list[Draws]:
    """Return the generated problems; those with attributes have half as many items."""
    many: dict[str, Callable[..., Any]] = {
        "majority, no noise": majority,
        "majority, noise .05": partial(majority, noise=0.05),
        "majority, noise .2": partial(majority, noise=0.2),
        "majority, 3 of 20 decide": partial(majority, relevant=3),
        "drifting, 3 of 20 decide": partial(drifting, relevant=3, noise=0.05, every=items // 4),
    }
    two = {
        "yes or no, 3 of 100": panel,
        "yes or no, one of 3 against": partial(panel, signs=(1, 1, -1)),
    }
    tables = {"shared": shared, "disjoint": disjoint, "penguin": penguin}
    made = [Draws(name, partial(_votes, make, 5, items)) for name, make in many.items()]
    made += [Draws(name, partial(_votes, make, 2, items)) for name, make in two.items()]
    return made + [Draws(name, partial(_table, make, 16, items // 2)) for name, make in tables.items()]


def _votes(make: Callable[..., Any], k: int, items: int, seed: int) -> Feed:
    votes, labels = make(items, seed=seed)
    return Feed(labels, k, votes=votes)


def _table(make: Callable[..., Any], k: int, items: int, seed: int) -> Feed:
    attributes, labels = make(items, seed=seed)
    return Feed(labels, k, attributes=attributes)
