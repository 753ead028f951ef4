"""What a stream yields: some items, in the order of the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Piece:
    """Some items of a stream: `fusion.learn(piece.votes, piece.labels, attributes=piece.attributes)`.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> (piece,) = open_stream(io.BytesIO(b"ann,bob,truth\\nham,spam,spam\\nham,,\\n"))
    >>> piece
    Piece(first=0, items=2)
    >>> piece.labels, piece.lines
    (array(['spam', None], dtype=object), array([2, 3]))
    """

    first: int  # number of the first item, from 0 on
    lines: NDArray[np.int64] = field(repr=False)  # where in the file each item begins, from 1 on
    votes: Any = field(repr=False)  # an Arrow table, Triplets or dicts; None where nobody votes
    labels: Any = field(repr=False)  # an array, with None where one is missing; None without a label column
    attributes: Any = field(repr=False)  # an Arrow table or dicts, or None
    ids: list[Any] | None = field(repr=False)

    @property
    def items(self) -> int:
        """How many there are."""
        return len(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __repr__(self) -> str:
        return f"Piece(first={self.first}, items={self.items})"


class Texts(NamedTuple):
    """A column of text."""

    array: Any

    def numbers(self) -> tuple[NDArray[np.float64], int]:
        """The numbers it spells, NaN where a cell is empty; and where the first is that is none, or -1.

        >>> Texts(pa.array(["1", " 2.5 ", None])).numbers()
        (array([1. , 2.5, nan]), -1)
        >>> Texts(pa.array(["1", "one"])).numbers()[1]
        1
        """
        texts = pc.utf8_trim_whitespace(self.array)
        try:
            return _numpy(pc.cast(texts, pa.float64())), -1
        except pa.ArrowException:
            pass
        values = np.full(len(texts), np.nan)
        for i, text in enumerate(texts.to_pylist()):
            try:
                if text:
                    values[i] = float(text.replace("_", "no"))
            except ValueError:
                return values, i
        return values, -1

    def folded(self) -> Any:
        """Without blanks around and without capitals; what is then empty is missing.

        >>> Texts(pa.array(["Spam ", "spam", " "])).folded().to_pylist()
        ['spam', 'spam', None]
        """
        coded = combined(self.array).dictionary_encode()
        names = pa.array([fold(name) for name in coded.dictionary.to_pylist()], pa.string())
        return names.take(coded.indices)


def fold(name: str | None) -> str | None:
    """One name without blanks around and without capitals, None if nothing is left."""
    return (name or "").strip().casefold() or None


def combined(column: Any) -> Any:
    """A column in one chunk."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numpy(column: Any) -> NDArray[np.float64]:
    values: NDArray[np.float64] = combined(column).to_numpy(zero_copy_only=False)
    return values
