"""Ids that occur again in a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from linmax.streams.chunk import Chunk

MAX_IDS = 1 << 25
"""Items whose ids are compared; a hash takes 8 bytes."""


class RepeatedIds:
    """Counts ids that occur again, also in another chunk, by hashes; whitespace around them is left out.

    Parameters
    ----------
    missing : iterable of str
        Ids that mean that there is none.

    Examples
    --------
    >>> from linmax.streams import open_stream
    >>> import io
    >>> ids = RepeatedIds()
    >>> rows = io.BytesIO(b"id,ann,label\\na,x,x\\nb,x,y\\n a,y,x\\n")
    >>> stream = open_stream(rows, label="label", id="id")
    >>> sum(chunk.items for chunk in ids.watch(stream)), ids.count()
    (3, 1)
    """

    def __init__(self, missing: Iterable[str] = ()) -> None:
        self._missing = np.array([hash(text.strip()) for text in (*missing, "None")], np.int64)
        self._hashes: list[NDArray[np.int64]] = []
        self._size = 0

    def watch(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield chunks as they are, and store the hashes of their ids.

        Parameters
        ----------
        chunks : iterable of Chunk
            The chunks.
        """
        for chunk in chunks:
            if chunk.ids is not None and self._size < MAX_IDS:
                # texts, because the hashes of -1 and -2 are equal
                hashes = np.fromiter(map(hash, map(str.strip, map(str, chunk.ids))), np.int64, len(chunk.ids))
                self._hashes.append(hashes[~np.isin(hashes, self._missing)])
                self._size += len(hashes)
            yield chunk

    def count(self) -> int:
        """Return how many items have the id of an item before them."""
        hashes = np.sort(np.concatenate([*self._hashes, np.empty(0, np.int64)]))
        return int(np.count_nonzero(hashes[1:] == hashes[:-1]))
