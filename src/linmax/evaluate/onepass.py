"""One pass over a stream: every item is guessed before its label is seen."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from linmax.evaluate.audit import Audit, Outcome
from linmax.evaluate.coding import Coded
from linmax.evaluate.footprint import Footprint
from linmax.evaluate.keeping import Recalled
from linmax.fusion import Fusion
from linmax.streams import Piece

SECONDS = 0.2  # of learning at a time: so long does an interrupt wait
FIRST = 256  # rows, before the rate is known; fewer with many classes
FEW = 5000  # scores of these first rows
SCORES = 1 << 22  # in memory at once


class Before(NamedTuple):
    """Rows at the beginning of a stream that a session has learned before: they are passed over."""

    rows: int
    digest: str  # the `Footprint` of them


NOTHING = Before(0, "")


class Pass:
    """A session that goes over a stream, and all that is counted on the way.

    Iterating yields an `Outcome` for every few rows, which always end at multiples of `every`. What is
    learned and counted does not depend on how many rows are taken at a time: that follows the clock.

    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,truth\\n" + b"ham,spam,spam\\nham,ham,ham\\n" * 4
    >>> done = Pass(Fusion(Winnow(1.5)), open_stream(io.BytesIO(text)))
    >>> [outcome.guesses.tolist() for outcome in done]
    [['ham', 'ham', 'spam', 'ham', 'spam', 'ham', 'spam', 'ham']]
    >>> done.audit.counts.mistakes.tolist()
    [1, 4, 4, 0]
    """

    def __init__(
        self,
        fusion: Fusion,
        stream: Iterable[Piece | Coded],
        *,
        before: Before = NOTHING,
        recalled: Recalled | None = None,
        every: int = 0,
        marked: bool = True,
    ) -> None:
        self.fusion, self.stream = fusion, stream
        self.before, self.recalled, self.every = before, recalled, every
        self.audit = Audit() if recalled is None else recalled.audit
        self.mark = Footprint()  # of all rows so far; if not `marked`, of those that were passed over
        self._marked = marked
        self._rate = 0.0

    def __iter__(self) -> Iterator[Outcome]:
        for coming in self.stream:
            ahead = coming if isinstance(coming, Coded) else None
            piece = coming.piece if isinstance(coming, Coded) else coming
            begin = self._passed_over(piece)
            yield from self._learned(piece, begin, ahead)
        self.audit.settle()
        if self.mark.rows < self.before.rows:
            raise ValueError(_other(f"it has {self.mark.rows:,} rows", self.before))

    def _passed_over(self, piece: Piece) -> int:
        """How many rows of a piece were learned before."""
        rows = min(self.before.rows - piece.first, piece.items)
        if rows <= 0:
            return 0
        old = piece.part(0, rows)
        self.mark.add(old)
        if self.recalled is not None:
            self.recalled.pass_over(self.fusion, old)
        if self.mark.rows == self.before.rows and self.mark.digest != self.before.digest:
            raise ValueError(_other("its rows are others", self.before))
        return rows

    def _learned(self, piece: Piece, at: int, ahead: Coded | None) -> Iterator[Outcome]:
        while at < piece.items:
            end = self._end(piece, at)
            begun = time.perf_counter()
            batch = ahead.batch_for(self.fusion) if ahead else None
            some = None if batch is None else batch.part(at, end)
            outcome = self.audit.learn(self.fusion, piece.part(at, end), some)
            self._rate = (end - at) / max(time.perf_counter() - begun, 1e-9)
            if self._marked:
                self.mark.add(outcome.piece)
            yield outcome
            at = end

    def _end(self, piece: Piece, at: int) -> int:
        """Where to stop for a moment: it is time, trust is to be looked at, or all is to be written down."""
        classes = max(len(self.fusion.classes), 1)
        rows = int(self._rate * SECONDS) if self._rate else min(FIRST, FEW // classes)
        rows = max(1, min(rows, SCORES // classes))
        here = self.audit.items
        last = here + min(rows, piece.items - at)
        stops = [last, *Audit.looks(here, last)]
        if self.every:
            stops.append((here // self.every + 1) * self.every)
        return at + min(stops) - here


def _other(why: str, before: Before) -> str:
    return (
        f"this is not the file of which {before.rows:,} rows were learned before: {why};"
        " give it as it was, or go on from another model"
    )
