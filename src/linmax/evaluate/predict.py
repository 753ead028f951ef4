"""What a session says about items whose labels it does not hear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linmax import inputs as ballots
from linmax.evaluate.counts import margins
from linmax.fusion import Fusion
from linmax.inputs import Batch, Dense, Hard
from linmax.streams.chunk import Piece

CELLS = 1 << 22  # scores in memory at once


class Foresight(NamedTuple):
    """Guesses for some items, and who votes on them."""

    piece: Piece
    guesses: NDArray[Any]
    margins: NDArray[np.float64]  # NaN where there is no rival
    experts: list[Any]


def foresee(fusion: Fusion, piece: Piece) -> Iterator[Foresight]:
    """Guess a piece with the weights of now, in parts whose scores fit into memory; nothing is learned.

    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.streams import open_stream
    >>> (piece,) = open_stream(io.BytesIO(b"ann,bob\\nham,ham\\nham,eggs\\n"))
    >>> fusion = Fusion(Winnow(1.5), classes=["spam", "ham"])
    >>> for part in foresee(fusion, piece):
    ...     print(part.guesses, part.margins, part.experts)
    ['ham' 'ham'] [0.66666667 0.        ] ['ann', 'bob']
    """
    rows = max(1, CELLS // max(1, len(fusion.classes)))
    for begin in range(0, piece.items, rows):
        part = piece.part(begin, begin + rows)
        batch = fusion.read(part.votes, attributes=part.attributes)
        verdict = fusion._council.run(batch, scores=True)
        yield Foresight(
            part,
            ballots.to_names(verdict.guesses, fusion.names.classes, batch.strangers),
            margins(verdict.board, batch.known, verdict.guesses),
            _experts(fusion, part, batch),
        )


def _experts(fusion: Fusion, piece: Piece, batch: Batch) -> list[Any]:
    """Those who have a column or, where there are no columns, a vote."""
    votes = batch.votes
    if isinstance(piece.votes, pa.Table):
        return list(piece.votes.column_names)
    if votes is None:
        return []
    if isinstance(votes, Hard):
        codes = np.flatnonzero((votes.codes >= 0).any(axis=0))
    elif isinstance(votes, Dense):
        codes = np.flatnonzero(votes.values.any(axis=(0, 2)))
    else:
        codes = np.unique(votes.expert)
    names = [*fusion.names.experts.names, *batch.new_experts]
    return [names[code] for code in codes.tolist()]
