"""The input of a learner: votes or attributes, and labels, in the order of learning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Feed:
    """The items of one pass.

    Parameters
    ----------
    labels : ndarray of shape (items,)
        The labels.
    k : int
        The number of classes.
    votes : ndarray of shape (items, experts), optional
        The votes, -1 abstains.
    attributes : array or sparse matrix of shape (items, attributes), optional
        Numbers, standardised, or a sparse binary matrix.
    raw : array or sparse matrix of shape (items, attributes), optional
        The same as they are in the file, for learners that standardise by themselves.
    """

    labels: Ints
    k: int
    votes: Any = None
    attributes: Any = None
    raw: Any = None

    @property
    def form(self) -> str:
        """The kind of items: "votes", "numbers" or "words" (binary attributes)."""
        if self.votes is not None:
            return "votes"
        return "words" if sparse.issparse(self.attributes) else "numbers"

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are written to a file."""
        held = {"labels": self.labels, "k": np.int64(self.k)}
        if self.form == "votes":
            return held | {"votes": self.votes}
        if self.form == "numbers":
            return held | {"attributes": self.attributes}
        rows = self.attributes
        return held | {"indices": rows.indices, "indptr": rows.indptr, "shape": np.asarray(rows.shape)}

    @cached_property
    def digest(self) -> str:
        """A digest of all arrays."""
        found = hashlib.sha256()
        for name, array in sorted(self.arrays.items()):
            whole = np.ascontiguousarray(array, dtype="<f8" if name == "attributes" else "<i8")
            found.update(f"{name}{whole.shape}".encode() + whole.tobytes())
        return found.hexdigest()

    def as_dicts(self) -> Iterator[dict[Any, float]]:
        """Yield each item as a dict of votes or attributes."""
        if self.form == "votes":
            for row in self.votes.tolist():
                yield {f"{expert}={c}": 1 for expert, c in enumerate(row) if c >= 0}
        elif self.form == "numbers":
            for row in self.attributes.tolist():
                yield dict(enumerate(row))
        else:
            indices, indptr = self.attributes.indices.tolist(), self.attributes.indptr.tolist()
            for start, stop in pairwise(indptr):
                yield dict.fromkeys(indices[start:stop], 1)


def load_feed(file: Path) -> Feed:
    """Load a feed from a file of its arrays."""
    with np.load(file, allow_pickle=False) as held:
        arrays: dict[str, Any] = dict(held)
    labels, k = arrays["labels"], int(arrays["k"])
    if "indptr" in arrays:
        indices, indptr = arrays["indices"], arrays["indptr"]
        ones = np.ones(len(indices))
        arrays["attributes"] = sparse.csr_matrix((ones, indices, indptr), shape=tuple(arrays["shape"]))
    return Feed(labels, k, arrays.get("votes"), arrays.get("attributes"))
