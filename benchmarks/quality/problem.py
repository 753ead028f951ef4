"""Problems: votes or attributes with labels, and the orders of their items."""

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
    """Votes of experts on labelled items.

    Parameters
    ----------
    name : str
        The name of the problem.
    votes : ndarray of shape (items, experts)
        The votes, -1 abstains.
    labels : ndarray of shape (items,)
        The labels.
    k : int
        The number of classes.
    kind : str
        "panel", or "models" for a panel of models.
    filed : bool
        Whether the order of the file is meaningful.
    """

    name: str
    votes: Ints
    labels: Ints
    k: int
    kind: str = "panel"
    filed: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        """The sizes of the problem."""
        return {"items": len(self.labels), "experts": self.votes.shape[1], "classes": self.k}

    def feed(self, order: str) -> Feed:
        """Return the items in the order of the file or in the random order of a seed."""
        rows = ordered(len(self.labels), order)
        return Feed(self.labels[rows], self.k, votes=self.votes[rows])


@dataclass(frozen=True, eq=False)
class Stream:
    """Labelled items with attributes and without votes.

    Parameters
    ----------
    name : str
        The name of the problem.
    attributes : array or sparse matrix of shape (items, attributes)
        Numbers, or a sparse binary matrix.
    labels : ndarray of shape (items,)
        The labels.
    k : int
        The number of classes.
    fed : int
        The number of items that a learner gets in each order.
    filed : bool
        Whether the order of the file is meaningful.
    most : int
        The largest number of random orders.
    kind : str
        "stream".
    """

    name: str
    attributes: Any
    labels: Ints
    k: int
    fed: int
    filed: bool = True
    most: int = 4
    kind: str = "stream"

    @property
    def facts(self) -> dict[str, Any]:
        """The sizes of the problem."""
        sizes = {"items": self.fed, "in the file": len(self.labels)}
        return sizes | {"attributes": self.attributes.shape[1], "classes": self.k}

    def feed(self, order: str) -> Feed:
        """Return the first items of the file or of the random order of a seed."""
        rows = ordered(len(self.labels), order)[: self.fed]
        raw = self.attributes[rows]
        attributes = raw if sparse.issparse(raw) else standardised(raw)
        return Feed(self.labels[rows], self.k, attributes=attributes, raw=raw)


@dataclass(frozen=True, eq=False)
class Draws:
    """A generated problem, which is different for each seed."""

    name: str
    draw: Callable[[int], Feed]
    kind: str = "generated"
    filed: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """The sizes of the problem."""
        first = self.draw(0)
        width = "experts" if first.form == "votes" else "attributes"
        table = first.votes if first.form == "votes" else first.attributes
        return {"items": len(first.labels), width: table.shape[1], "classes": first.k}

    def feed(self, order: str) -> Feed:
        """Return the items of a seed."""
        return self.draw(int(order))


Problem = Panel | Stream | Draws


def orders(problem: Problem, permutations: int) -> list[str]:
    """Return the names of the orders: that of the file, if it is meaningful, and seeds."""
    most = min(permutations, getattr(problem, "most", permutations))
    return [AS_FILED] * problem.filed + [str(seed) for seed in range(most)]


def ordered(items: int, order: str) -> Ints:
    """Return the positions of the items in an order."""
    if order == AS_FILED:
        return np.arange(items, dtype=np.int64)
    return np.random.default_rng(int(order)).permutation(items)


def standardised(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardize attributes with mean and standard deviation of the items so far."""
    shifted = rows - rows[0]  # keeps the cumulative sums accurate
    many = np.arange(1, len(rows) + 1)[:, None]
    middle = np.cumsum(shifted, axis=0) / many
    spread = np.sqrt(np.maximum(np.cumsum(shifted**2, axis=0) / many - middle**2, 0.0))
    known = spread > 1e-9
    return np.where(known, (shifted - middle) / np.where(known, spread, 1.0), 0.0)
