"""Is this the file that was learned before? A digest of its first rows, and of some of all the others."""

from __future__ import annotations

import hashlib
from typing import Any

from linmax.streams import Piece

HEAD = 256  # rows that are all looked at
EVERY = 4096  # of those after them, one in so many


class Footprint:
    """A digest over ids, votes and attributes, row by row, however rows come in pieces.

    Labels are left out: rows may get theirs later.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> one, other = Footprint(), Footprint()
    >>> for piece in open_stream(io.BytesIO(b"ann,truth\\na,b\\nb,b\\n")):
    ...     one.add(piece)
    >>> for piece in open_stream(io.BytesIO(b"ann,truth\\na,b\\nb,b\\n"), piece=1):
    ...     other.add(piece)
    >>> one.rows, one.digest == other.digest
    (2, True)
    """

    def __init__(self, rows: int = 0, digest: str = "") -> None:
        self.rows, self.digest = rows, digest

    def add(self, piece: Piece) -> None:
        """Some rows that follow."""
        end = self.rows + piece.items
        some = (
            range(self.rows, min(end, HEAD)),
            range(-(-max(self.rows, HEAD) // EVERY) * EVERY, end, EVERY),
        )
        at = [row - self.rows for rows in some for row in rows]
        self.rows = end
        if at:
            part = piece.take(at)
            names = part.ids or [None] * len(at)
            for name, votes, traits in zip(names, part.ballots(), part.traits(), strict=True):
                told = (sorted(map(repr, one.items())) for one in (votes, traits))
                row = repr((self.digest, repr(name), *told))
                self.digest = hashlib.sha256(row.encode("utf-8", "backslashreplace")).hexdigest()


def head(piece: Piece | None, rows: int = HEAD) -> tuple[int, str]:
    """How many of the first rows of a file were looked at, at most so many, and their digest."""
    mark = Footprint()
    if piece is not None:
        mark.add(piece.part(0, min(rows, HEAD)))
    return mark.rows, mark.digest


def knows(notes: Any, piece: Piece | None) -> bool:
    """Whether a file begins as the one whose head was noted."""
    try:
        rows, digest = notes
        return bool(rows) and head(piece, int(rows)) == (rows, digest)
    except (TypeError, ValueError):
        return False
