"""Columns of text: the numbers they spell, and names without blanks and capitals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray


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
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which would copy it


def _numpy(column: Any) -> NDArray[np.float64]:
    values: NDArray[np.float64] = combined(column).to_numpy(zero_copy_only=False)
    return values
