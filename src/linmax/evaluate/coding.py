"""Pieces whose votes are in the codes of a session before their turn comes: read beside the learning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]

from linmax.ballots import Batch
from linmax.fusion import Fusion
from linmax.streams import Piece


class Coded(NamedTuple):
    """A piece, and what it was read as when a session knew so many classes and experts."""

    piece: Piece
    batch: Batch
    met: tuple[int, int]

    def batch_for(self, fusion: Fusion) -> Batch | None:
        """The batch, unless somebody was met since: then codes and known classes may be others."""
        return self.batch if met(fusion) == self.met else None


def met(fusion: Fusion) -> tuple[int, int]:
    """How many classes and experts a session knows."""
    return len(fusion.names.classes), len(fusion.names.experts)


def coded(fusion: Fusion, pieces: Iterable[Piece]) -> Iterator[Piece | Coded]:
    """The pieces, those read that bring nobody along; any thread may do it while the session learns.

    >>> import io
    >>> from linmax import Perceptron
    >>> from linmax.streams import open_stream
    >>> fusion = Fusion(Perceptron(), classes=["a", "b"], experts=["ann"])
    >>> stream = open_stream(io.BytesIO(b"ann,truth\\na,b\\nb,b\\nc,b\\n"), piece=2)
    >>> [type(one).__name__ for one in coded(fusion, stream)]
    ['Coded', 'Piece']
    """
    for piece in pieces:
        then, batch = met(fusion), None
        if isinstance(piece.votes, pa.Table) and piece.truth is not None and piece.attributes is None:
            with suppress(Exception):  # it is read again in its turn, and raises then
                batch = fusion.read(piece.votes, piece.truth)
        yield piece if batch is None or not batch.familiar else Coded(piece, batch, then)
