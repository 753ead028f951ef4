"""A problem: votes or attributes with the truth, and the orders in which its items come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.peers.feed import Feed, Ints

AS_FILED = "file order"


@dataclass(frozen=True, eq=False)
class Panel:
    """What experts said about items whose truth is known."""

    name: str
    votes: Ints  # (items, experts), -1 abstains
    labels: Ints  # (items,)
    k: int  # classes
    kind: str = "panel"
    filed: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        """Its sizes."""
        return {"items": len(self.labels), "experts": self.votes.shape[1], "classes": self.k}

    def feed(self, order: str) -> Feed:
        """The items as they come, or in the random order of a seed."""
        rows = ordered(len(self.labels), order)
        return Feed(self.labels[rows], self.k, votes=self.votes[rows])


@dataclass(frozen=True, eq=False)
class Stream:
    """Items with attributes whose truth is known; nobody votes."""

    name: str
    attributes: Any  # (items, attributes), an array, or a sparse matrix of 0 and 1
    labels: Ints
    k: int
    fed: int  # items of an order that a learner gets
    filed: bool = True  # the order of the file means something
    most: int = 4  # random orders, if so many are asked for
    kind: str = "stream"

    @property
    def facts(self) -> dict[str, Any]:
        """Its sizes."""
        sizes = {"items": self.fed, "in the file": len(self.labels)}
        return sizes | {"attributes": self.attributes.shape[1], "classes": self.k}

    def feed(self, order: str) -> Feed:
        """The first items as they come, or of the random order of a seed."""
        rows = ordered(len(self.labels), order)[: self.fed]
        attributes = self.attributes[rows]
        if not sparse.issparse(attributes):
            attributes = standardised(attributes)
        return Feed(self.labels[rows], self.k, attributes=attributes)


@dataclass(frozen=True, eq=False)
class Draws:
    """A problem that is generated, each time with another seed."""

    name: str
    draw: Callable[[int], Feed]
    kind: str = "generated"
    filed: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """Its sizes."""
        first = self.draw(0)
        width = "experts" if first.form == "votes" else "attributes"
        table = first.votes if first.form == "votes" else first.attributes
        return {"items": len(first.labels), width: table.shape[1], "classes": first.k}

    def feed(self, order: str) -> Feed:
        """The draw of a seed."""
        return self.draw(int(order))


Problem = Panel | Stream | Draws


def orders(problem: Problem, permutations: int) -> list[str]:
    """Their names: the file's, where it means something, and the seeds of the random ones."""
    most = min(permutations, getattr(problem, "most", permutations))
    return [AS_FILED] * problem.filed + [str(seed) for seed in range(most)]


def ordered(items: int, order: str) -> Ints:
    """The places of the items in an order."""
    if order == AS_FILED:
        return np.arange(items, dtype=np.int64)
    return np.random.default_rng(int(order)).permutation(items)


def standardised(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each attribute less its mean and over its deviation, of the items up to this one, none ahead."""
    shifted = rows - rows[0]  # a cumulated sum keeps its digits
    many = np.arange(1, len(rows) + 1)[:, None]
    middle = np.cumsum(shifted, axis=0) / many
    spread = np.sqrt(np.maximum(np.cumsum(shifted**2, axis=0) / many - middle**2, 0.0))
    known = spread > 1e-9
    return np.where(known, (shifted - middle) / np.where(known, spread, 1.0), 0.0)
