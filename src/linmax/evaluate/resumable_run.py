"""Pieces whose votes are in the codes of a session before their turn comes: read beside the learning."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linmax.evaluate.audit import Audit, Milestone, Outcome
from linmax.evaluate.counts import Counts
from linmax.evaluate.experts import Losses
from linmax.evaluate.progressive import picks
from linmax.evaluate.sample import Rows
from linmax.fusion import Fusion
from linmax.inputs import Batch
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


def noted(audit: Audit) -> dict[str, Any]:
    """Everything but the rows of the sample, which are read again."""
    audit.settle()
    rows = audit.sample.rows()
    return {
        "items": [audit.items, audit.unlabelled, audit.novel],
        "counts": audit.counts.state(),
        "losses": audit.losses.table.tolist(),
        "step": audit.step,
        "moments": [[at, counts.state()] for at, counts in audit.moments],
        "milestones": [list(milestone) for milestone in audit.milestones],
        "confusion": [[*pair, count] for pair, count in sorted(audit.confusion.items())],
        "hardest": audit.hardest.state(),
        "doubtful": audit.doubtful.state(),
        "trust": audit.trust,
        "most": audit.sample.most,
        "limit": str(audit.sample.limit),
        "rows": [] if rows is None else rows.row.tolist(),
        "guesses": [] if rows is None else rows.guess.tolist(),
        "margins": [] if rows is None else np.nan_to_num(rows.margin, nan=-1.0).tolist(),
    }


class Recalled:
    """An audit that comes back: first what was noted, then the rows of its sample, piece by piece."""

    def __init__(self, notes: dict[str, Any], base: int = 0) -> None:
        self.base = base  # rows of the file before the audit began
        try:
            self.audit = _counted(notes)
            self._rows = np.array(notes["rows"], np.int64)
            self._guesses = np.array(notes["guesses"], np.int32)
            margins = np.array(notes["margins"], np.float64)
            self._margins = np.where(margins < 0.0, np.nan, margins)
            _demand(notes, self.audit, self._rows, self._guesses, self._margins)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise ValueError(
                "the notes of an interrupted run in this model are damaged; start anew"
            ) from None

    def pass_over(self, fusion: Fusion, piece: Piece) -> None:
        """Take the rows of the sample from a piece that was learned before."""
        first = piece.first - self.base
        begin, end = np.searchsorted(self._rows, (first, first + piece.items))
        if begin == end:
            return
        at = self._rows[begin:end] - first
        some = piece.take(at)
        batch = fusion.read(some.votes, some.truth, attributes=some.attributes)
        sample = self.audit.sample
        sample.parts.append(
            Rows(
                self._rows[begin:end], batch.labels, self._guesses[begin:end], self._margins[begin:end],
                picks(batch), some,
            )
        )  # fmt: skip
        sample.size += len(at)


def _counted(notes: dict[str, Any]) -> Audit:
    audit = Audit(int(notes["most"]))
    audit.items, audit.unlabelled, audit.novel = map(int, notes["items"])
    audit.counts = Counts.of(notes["counts"])
    audit.losses = Losses(np.array(notes["losses"], np.float64).reshape(-1, 5))
    audit.step = int(notes["step"])
    audit.moments = [(int(at), Counts.of(counts)) for at, counts in notes["moments"]]
    audit.milestones = [Milestone(*milestone) for milestone in notes["milestones"]]
    for truth, guess, count in notes["confusion"]:
        audit.confusion[int(truth), int(guess)] = int(count)
    audit.hardest.restore(notes["hardest"])
    audit.doubtful.restore(notes["doubtful"])
    audit.trust = [(int(at), [float(one) for one in pull]) for at, pull in notes["trust"]]
    audit.sample.limit = int(notes["limit"])
    return audit


def _demand(notes: dict[str, Any], audit: Audit, *columns: np.ndarray) -> None:
    """Notes that no audit makes are refused: later steps trust them."""
    size = len(notes["rows"])
    whole = [audit.items, audit.unlabelled, audit.novel, audit.counts.trials, audit.step, audit.sample.most]
    seats = len(audit.counts.spoke) + 2
    fits = (
        min(whole) >= 0
        and audit.counts.trials + audit.unlabelled + audit.novel == audit.items
        and audit.step & (audit.step - 1) == 0 < audit.step
        and 0 < audit.sample.limit <= 1 << 64
        and audit.sample.most > 0
        and all(column.shape == (size,) for column in columns)
        and size <= audit.sample.most
        and bool((np.diff(columns[0], prepend=-1) > 0).all())
        and audit.losses.table.shape == (len(audit.losses.table), 5)
        and all(at == int(at) and 0 < at <= audit.items for at, _ in audit.moments)
        and audit.counts.right.shape == audit.counts.both.shape == (seats,)
        and all(counts.right.shape == counts.both.shape for _, counts in audit.moments)
    )
    if not fits:
        raise ValueError("no audit makes these")


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
