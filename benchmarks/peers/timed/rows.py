"""The rows that a peer learns, exchanged by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix


class Rows(NamedTuple):
    """Hard votes or attributes, their labels, and the number of classes."""

    votes: np.ndarray[Any, Any] | None
    attributes: Any  # a CSR matrix, or a dense one
    labels: np.ndarray[Any, Any]
    k: int

    def first(self, count: int) -> Rows:
        """Return the first rows."""
        if count > len(self.labels):
            raise ValueError(f"there are {len(self.labels)} rows, not {count}")
        votes = None if self.votes is None else self.votes[:count]
        attributes = None if self.attributes is None else self.attributes[:count]
        return Rows(votes, attributes, self.labels[:count], self.k)

    def matrix(self) -> Any:
        """Return the attributes, or the votes as sparse one-hot rows."""
        return self.attributes if self.votes is None else one_hot(self.votes, self.k)


def one_hot(votes: np.ndarray[Any, Any], k: int) -> csr_matrix:
    """Return votes as a sparse matrix with a column for each expert and class."""
    trials, experts = votes.shape
    said = votes >= 0
    columns = (np.arange(experts, dtype=np.int32) * k + votes)[said].astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(said.sum(axis=1))]).astype(np.int32)
    return csr_matrix((np.ones(len(columns)), columns, ends), shape=(trials, experts * k))


def write(path: Path, rows: Rows) -> Path:
    """Write rows to a file."""
    arrays = {"labels": rows.labels, "k": np.int64(rows.k)}
    if rows.votes is not None:
        arrays["votes"] = rows.votes
    elif isinstance(rows.attributes, np.ndarray):
        arrays["dense"] = rows.attributes
    else:
        arrays |= {name: getattr(rows.attributes, name) for name in ("data", "indices", "indptr")}
        arrays["shape"] = np.array(rows.attributes.shape)
    np.savez(path, **arrays)
    return path


def read(path: Path) -> Rows:
    """Read rows that `write` has written."""
    with np.load(path, allow_pickle=False) as held:
        attributes = held.get("dense")
        if "data" in held:
            parts = tuple(held[name] for name in ("data", "indices", "indptr"))
            attributes = csr_matrix(parts, shape=tuple(held["shape"]))
        votes = held.get("votes")
        return Rows(votes, attributes, held["labels"], int(held["k"]))
