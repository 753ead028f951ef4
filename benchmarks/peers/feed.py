"""What a learner is fed: votes or attributes, and the truth, in the order in which it learns."""

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
    """The items of one pass."""

    labels: Ints  # (items,)
    k: int  # classes
    votes: Any = None  # (items, experts), -1 abstains
    attributes: Any = None  # (items, attributes), an array, or a sparse matrix of 0 and 1

    @property
    def form(self) -> str:
        """votes, numbers, or words, which are there or not."""
        if self.votes is not None:
            return "votes"
        return "words" if sparse.issparse(self.attributes) else "numbers"

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is, as a file holds it."""
        held = {"labels": self.labels, "k": np.int64(self.k)}
        if self.form == "votes":
            return held | {"votes": self.votes}
        if self.form == "numbers":
            return held | {"attributes": self.attributes}
        rows = self.attributes
        return held | {"indices": rows.indices, "indptr": rows.indptr, "shape": np.asarray(rows.shape)}

    @cached_property
    def digest(self) -> str:
        """A text that is another when anything in it is."""
        found = hashlib.sha256()
        for name, array in sorted(self.arrays.items()):
            whole = np.ascontiguousarray(array, dtype="<f8" if name == "attributes" else "<i8")
            found.update(f"{name}{whole.shape}".encode() + whole.tobytes())
        return found.hexdigest()

    def described(self) -> Iterator[dict[Any, float]]:
        """Each item as a dict: what which expert says, or the attributes that it has."""
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


def kept(file: Path) -> Feed:
    """A feed whose arrays a file holds."""
    with np.load(file, allow_pickle=False) as held:
        arrays: dict[str, Any] = dict(held)
    labels, k = arrays["labels"], int(arrays["k"])
    if "indptr" in arrays:
        indices, indptr = arrays["indices"], arrays["indptr"]
        ones = np.ones(len(indices))
        arrays["attributes"] = sparse.csr_matrix((ones, indices, indptr), shape=tuple(arrays["shape"]))
    return Feed(labels, k, arrays.get("votes"), arrays.get("attributes"))
