"""Some rows of a stream, evenly spread, in its order: all of them while there are few."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.streams.chunk import Piece, joined

MOST = 20_000
_ALL = 1 << 64


def keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each row that looks random and is always the same (splitmix64).

    >>> [hex(key) for key in keys(np.array([1, 2])).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    x = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass
class Rows:
    """What was seen of some rows."""

    row: NDArray[np.int64]  # in the stream, from 0 on
    truth: NDArray[np.int32]
    guess: NDArray[np.int32]
    margin: NDArray[np.float64]
    said: NDArray[np.int32]  # (rows, experts)
    piece: Piece  # the rows themselves

    def take(self, at: NDArray[Any]) -> Rows:
        """Some of them."""
        return Rows(
            self.row[at], self.truth[at], self.guess[at], self.margin[at], self.said[at], self.piece.take(at)
        )


@dataclass
class Sample:
    """A row is in if its key is below a limit, which is halved when there are too many.

    So a sample is that of the same rows however they come in pieces, and no row is likelier than another.
    """

    most: int = MOST
    limit: int = _ALL
    parts: list[Rows] = field(default_factory=list, repr=False)
    size: int = 0

    def wants(self, first: int, items: int) -> NDArray[np.bool_]:
        """Which rows of some that follow one another are to be added."""
        if self.limit >= _ALL:
            return np.ones(items, np.bool_)
        wanted: NDArray[np.bool_] = keys(np.arange(first, first + items)) < np.uint64(self.limit)
        return wanted

    def add(self, rows: Rows) -> None:
        """Take rows in that are wanted, and thin all out when they are too many."""
        self.parts.append(rows)
        self.size += len(rows.row)
        while self.size > self.most:
            self.limit //= 2
            whole = self.rows()
            assert whole is not None
            self.parts = [whole.take(np.flatnonzero(keys(whole.row) < np.uint64(self.limit)))]
            self.size = len(self.parts[0].row)

    def latest(self, most: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """What was said in the last rows of the sample, and their truths."""
        parts: list[Rows] = []
        for part in reversed(self.parts):
            parts.insert(0, part)
            if sum(len(one.row) for one in parts) >= most:
                break
        if not parts:
            return np.empty((0, 0), np.int32), np.empty(0, np.int32)
        widest = max(part.said.shape[1] for part in parts)
        said = np.concatenate([_wide(part.said, widest) for part in parts])
        return said[-most:], np.concatenate([part.truth for part in parts])[-most:]

    def rows(self) -> Rows | None:
        """All rows of the sample; None if there are none."""
        parts = [part for part in self.parts if len(part.row)]
        if not parts:
            return None
        widest = max(part.said.shape[1] for part in parts)
        parts = [replace(part, said=_wide(part.said, widest)) for part in parts]
        row, truth, guess, margin, said = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("row", "truth", "guess", "margin", "said")
        )
        whole = Rows(row, truth, guess, margin, said, joined([part.piece for part in parts]))
        self.parts = [whole]
        return whole


def _wide(said: NDArray[np.int32], experts: int) -> NDArray[np.int32]:
    return np.pad(said, ((0, 0), (0, experts - said.shape[1])), constant_values=-1)
